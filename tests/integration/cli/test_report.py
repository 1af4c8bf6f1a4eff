"""`report` over stores that the installed program filled: what is in the file, and where it is written."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.sessions import hook, memory, remember, work_session
from tests.support.view.chromium import browser, needs_chromium, opened

from context_graph.cli.view import report
from context_graph.errors import ConfigError

NAME = "context-graph-report.html"
RULES = """version: "1.0"
enabled: true
requirements:
  commit_plan:
    enabled: true
    scope: session
    trigger_tools: [Edit, Write]
    message: Write a plan first.
"""
SECRETS = ("ghp_" + "a8Zk3LmQ9xT2vB7nR4cW6yD1sF5gH0jK2pE3", "AKIA" + "7LRWFVEALKXWKKXZ")
HOSTILE = "<script>alert(1)</script> </script><img src=x onerror=alert(2)> {{7*7}} \u202egnp.exe"


def fill(cli: Cli) -> None:
    """Memories, two sessions, a refused edit, a forgotten memory and a consolidation."""
    subprocess.run(["git", "init", "-q", "-b", "feature/limits"], cwd=cli.project, check=True)
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude" / "requirements.yaml").write_text(RULES)
    remember(cli, "Rate limits count per API key, not per IP.")
    remember(cli, "The gateway listens on port 8443 in staging.")
    remember(cli, HOSTILE)
    memory(cli, "forget", remember(cli, "The parser keeps comments of a file."))
    work_session(cli, "session-one")
    hook(cli, "session-start", "session-two", source="startup")
    hook(cli, "prompt-submit", "session-two", prompt="Why do rate limits count per key?", prompt_id="two-1")
    edit = {"file_path": str(cli.project / "limits.py"), "old_string": "a", "new_string": "b"}
    hook(cli, "pre-tool", "session-two", tool_name="Edit", tool_input=edit)
    memory(cli, "consolidate", "--mode", "deep")


def made(cli: Cli, *words: str) -> str:
    """The report's text."""
    done = cli.run("report", *words, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    return (cli.project / NAME).read_text(encoding="utf-8")


def test_the_file_has_what_hooks_and_commands_left(cli: Cli) -> None:
    fill(cli)
    text = made(cli)
    for part in (
        *("Rate limits count per API key, not per IP.", "Make the token bucket refill lazily"),
        *("The parser keeps comments of a file.", "forgotten", "commit_plan", "denied", "prompt-submit"),
        *("IC, and what happened", "Told and used by day", ": deep, "),
    ):
        assert part in text, part
    assert "could not be read" not in text and "not in this file" not in text
    assert "<script>alert" not in text and "{{7*7}}" in text and "\u202e" not in text
    assert stat.S_IMODE((cli.project / NAME).stat().st_mode) == 0o600
    assert [one.name for one in cli.project.glob(".context-graph-report*")] == []


@pytest.mark.thorough
def test_the_same_store_gives_the_same_bytes_later_and_from_another_owner(cli: Cli) -> None:
    fill(cli)
    first = made(cli)
    time.sleep(1.2)
    assert made(cli) == first
    cli.stop_owner()
    time.sleep(1.2)
    assert made(cli) == first
    remember(cli, "One more.")
    assert made(cli) != first


def test_no_secret_that_was_planted_reaches_the_file(cli: Cli) -> None:
    fill(cli)
    planted = " and ".join(SECRETS)
    remember(cli, f"The tokens are {planted}.", "--tag", "tokens")
    hook(cli, "prompt-submit", "session-two", prompt=f"Use {planted} for the deploy", prompt_id="two-2")
    called = {"tool_name": "Bash", "tool_input": {"command": f"curl -H {planted}"}}
    hook(cli, "post-tool-failure", "session-two", **called, error=f"401: {planted}")
    edit = {"file_path": str(cli.project / "limits.py"), "old_string": "a", "new_string": planted}
    hook(cli, "pre-tool", "session-two", tool_name="Edit", tool_input=edit)
    text = made(cli)
    assert "The tokens are" in text and "for the deploy" in text and "401:" in text
    for secret in SECRETS:
        assert secret not in text and secret[8:30] not in text


def test_since_bounds_it_and_the_file_says_so(cli: Cli) -> None:
    fill(cli)
    assert "It shows everything that is kept." in made(cli)
    assert re.search(r"what happened since \d{4}-\d\d-\d\d\.", text := made(cli, "--since", "2d"))
    assert "Rate limits count per API key" in text
    later = made(cli, "--since", "2999-01-01")
    assert "what happened since 2999-01-01" in later and "Memories: none." in later
    done = cli.run("report", "--since", "someday")
    assert done.returncode == 2 and "--since is 'someday'; give a time such as 7d" in done.stderr


def test_a_project_without_anything_has_a_report(cli: Cli) -> None:
    text = made(cli)
    assert "where nothing has happened yet" in text and "Memories: none." in text


def test_only_a_report_is_replaced(cli: Cli) -> None:
    mine = cli.project / NAME
    mine.write_text("<!doctype html>\n<p>my own page")
    done = cli.run("report")
    assert done.returncode == 1 and "is there and is no report; name another file with -o" in done.stderr
    assert mine.read_text() == "<!doctype html>\n<p>my own page"
    other = cli.project / "other.html"
    other.touch()
    for _ in range(2):
        done = cli.run("report", "-o", "other.html")
        assert done.returncode == 0 and done.stdout.startswith(f"{other}: "), done
    target = cli.project / "target.html"
    link = cli.project / "link.html"
    link.symlink_to(target)
    assert cli.run("report", "-o", "link.html").returncode == 0
    assert link.is_symlink() and target.read_bytes()[:1000] == other.read_bytes()[:1000]
    for place, said in ((".", "is no report"), ("no/such/folder.html", "is no folder; make it first")):
        done = cli.run("report", "-o", place)
        assert done.returncode == 1 and said in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_dash_is_standard_output(cli: Cli) -> None:
    remember(cli, "The gateway listens on port 8443.")
    done = cli.run("report", "-o", "-")
    assert done.returncode == 0 and done.stdout.startswith("<!doctype html>")
    assert done.stdout == made(cli)
    done = cli.run("report", "-o", "-", "--open")
    assert done.returncode == 2 and "--open needs a file" in done.stderr


def test_it_is_opened_in_the_browser_that_the_environment_names(cli: Cli, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" >"{told}"\n')
    program.chmod(0o755)
    done = cli.run("report", "--open", env={"BROWSER": f"{program} %s"})
    assert done.returncode == 0, done
    assert told.read_text().strip() == (cli.project / NAME).as_uri()


def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigError, match=r"needs Jinja2.*context-graph-cli\[view\]") as raised:
        report(None, "report.html", False, None)
    assert "\n" not in str(raised.value)


@pytest.mark.thorough
@needs_chromium
def test_a_browser_opens_it_without_a_complaint(cli: Cli) -> None:
    fill(cli)
    made(cli)
    with browser() as started, opened(started, cli.project / NAME) as found:
        assert found.requests == [(cli.project / NAME).as_uri()] and found.said == []
        shown = found.cells("memories", 0)
        assert "Rate limits count per API key, not per IP." in shown
        assert "\\u202egnp.exe" in next(one for one in shown if "alert(1)" in one)
        found.page.locator('[data-name="memories"] th').nth(5).get_by_role("button").click()
        assert found.cells("memories", 5) == sorted(found.cells("memories", 5), reverse=True)
