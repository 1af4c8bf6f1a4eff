"""One voice: `context-graph-cli: what is wrong; the cure`, once, on standard error, whoever noticed it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.sessions import hook, memory, remember, work_session

from context_graph.memory.capture import capture_id

_FOREIGN = (
    "Error:",
    "Usage:",
    "Invalid",
    "Input should",
    "Value error",
    "Traceback",
    "context-graph: ",
    "Try '",
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["memory", "recall"], "QUERY is missing; `context-graph-cli memory recall --help`"),
        (["memory", "reccall", "x"], "no such command 'reccall'; did you mean 'recall'?"),
        (["memory", "recall", "x", "--bogus"], "no such option: --bogus"),
        (["memory", "recall", "x", "--top-k", "0"], "--top-k is '0'; give a whole number from 1 to 100"),
        (
            ["memory", "recall", "x", "--min-importance", "2"],
            "--min-importance is '2'; give a number from 0 to 1",
        ),
        (["memory", "list", "one", "two"], "too many words: one two"),
        (["memory", "list", "--format", "yaml"], "--format is 'yaml'; choose one of text, json"),
        (["memory", "show", "zzzz"], "ID is 'zzzz'; give a UUID or its first digits"),
        (["memory", "show", "12"], "ID is '12', too short to name a memory"),
        (["memory", "inject", "x", "--mode", "poetic"], "--mode is 'poetic'; choose one of auto, raw,"),
        (["memory", "export", "--format", "yaml"], "--format is 'yaml'; choose one of jsonl, markdown"),
        (["memory", "edit", "zzzz"], "ID is 'zzzz'"),
        (["session", "list", "--limit", "0"], "--limit is '0'; give a whole number from 1 to 1000"),
        (["session", "list", "--format", "yaml"], "--format is 'yaml'; choose one of text, json"),
        (["session", "show", "--session-id", "nobody"], "nobody"),
        (
            ["consciousness", "inject-context", "--format", "short"],
            "--format is 'short'; choose one of compact,",
        ),
        (["owner", "start", "--timeout", "soon"], "--timeout is 'soon'; give a number from 0.1 to 600"),
        (["req", "list", "--format", "yaml"], "--format is 'yaml'; choose one of text, json"),
        (["backup"], "FOLDER is missing"),
        (["nonsense"], "no such command 'nonsense'"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_an_error_is_one_line_in_our_words(shared_cli: Cli, words: list[str], said: str) -> None:
    done, code = shared_cli.run(*words), 1 if {"nobody", "show", "edit", "short"} & {*words} else 2
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("context-graph-cli: ") and said in line
    assert not [word for word in _FOREIGN if word in line]


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["session", "list"],
            ["status"],
            ["owner", "status"],
            ["req", "keys"],
            ["consciousness", "status"],
        ),
        *(
            ["memory", "list"],
            ["memory", "stats"],
            ["memory", "runs"],
            ["memory", "goals"],
            ["owner", "retry"],
        ),
    ],
    ids=" ".join,
)
def test_json_is_asked_for_in_either_form(shared_cli: Cli, words: list[str]) -> None:
    one, other, text = (shared_cli.run(*words, *form).stdout for form in (["--json"], ["--format=json"], []))
    assert json.loads(one).keys() == json.loads(other).keys()
    assert not text.startswith("{")


def test_a_text_is_edited_and_the_change_undone(cli: Cli) -> None:
    """The new text supersedes the old one, and takes its tags and importance along."""
    old = memory(cli, "store", "Staging listens on 8443", "--tag", "ops", "--importance", "0.9")["id"]
    assert memory(cli, "edit", old[:8], "--content", "Staging listens on 8443")["unchanged"]
    new = memory(cli, "edit", old[:8], "--content", "Staging listens on 9443")["id"]
    shown = memory(cli, "show", new[:6])
    assert (shown["content"], shown["tags"], shown["importance"]) == ("Staging listens on 9443", ["ops"], 0.9)
    first, second = memory(cli, "recall", "staging", "port")["nodes"]
    assert (first["id"], second["id"], second["standing"]) == (new, old, f"superseded by {new[:8]}")
    cli.run("memory", "forget", new)
    (only,) = memory(cli, "recall", "staging", "port")["nodes"]
    assert only["id"] == old and not only.get("standing")


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("sed -i s/8443/9443/", 0, "Staging listens on 9443"),
        ("sh -c 'printf anew > $0.tmp && mv $0.tmp $0'", 0, "anew"),
        ("true", 0, "is unchanged"),
        ("false", 1, "ended with 1; nothing was changed"),
        ("truncate -s 0", 1, "the text is empty"),
        ("/nowhere/editor", 1, "can't be run"),
    ],
    ids=lambda one: str(one),
)
def test_the_editor_is_opened_in_a_terminal(cli: Cli, script: str, code: int, said: str) -> None:
    node_id = remember(cli, "Staging listens on 8443")
    assert "no terminal" in cli.run("memory", "edit", node_id).stderr
    run_in_terminal = "import pty, sys; raise SystemExit(pty.spawn(sys.argv[1:]) >> 8)"
    done = subprocess.run(
        [sys.executable, "-c", run_in_terminal, str(cli.launcher), "memory", "edit", node_id[:8]],
        capture_output=True, text=True, env={**cli.env, "EDITOR": script, "VISUAL": ""}, cwd=cli.project,
        stdin=subprocess.DEVNULL, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, said in done.stdout) == (code, True), done


def test_a_session_s_summary_and_what_is_forgotten_are_not_edited(cli: Cli) -> None:
    """The one is written anew by hooks, the other comes back first."""
    work_session(cli, "s-1")
    summary = cli.run("memory", "edit", str(capture_id("s-1")), "--content", "else")
    assert summary.returncode == 1 and "is a session's summary, which hooks write" in summary.stderr
    node_id = remember(cli, "Staging listens on 8443")
    cli.run("memory", "forget", node_id)
    assert "is forgotten; `context-graph-cli memory restore" in cli.run("memory", "edit", node_id).stderr


def test_ids_are_named_by_their_beginning_and_what_they_mean_is_shown(cli: Cli) -> None:
    session = "5e551011-1111-4222-8333-444444444444"
    hook(cli, "prompt-submit", session, prompt="hello", prompt_id="1")
    one = remember(cli, "Staging listens on 8443", "--session-id", session)
    two = remember(cli, "Deploys run from main only")
    assert [node["id"] for node in memory(cli, "list", "--session-id", "5e55")["nodes"]] == [one]
    assert memory(cli, "list", "--session-id", "0000")["nodes"] == []
    assert session in cli.run("session", "show", "--session-id", "5e551").stdout
    linked = cli.run("memory", "link", one[:6], two[:6]).stdout
    assert "Staging listens on 8443" in linked and "Deploys run from main only" in linked
    assert "Deploys run from main only" in cli.run("memory", "history", two[:5]).stdout
    assert "Deploys run from main only" in cli.run("memory", "forget", two[:5]).stdout
    assert "Deploys run from main only" in cli.run("memory", "restore", two[:5]).stdout


def test_outputs_are_in_words_for_people(cli: Cli) -> None:
    """Not a dump of names and figures; these are in --json."""
    node_id = remember(cli, "Staging listens on port 8443")
    hook(cli, "prompt-submit", "s-1", prompt="What port does staging listen on?", prompt_id="1")
    said = "".join(
        cli.run(*words).stdout
        for words in (
            ["memory", "stats"],
            ["memory", "show", node_id],
            ["memory", "consolidate", "--mode", "deep"],
            ["memory", "runs"],
            ["owner", "status"],
        )
    )
    assert "1 memory on 1 occasion, 0 used" in said and " 0 of 1 used" in said
    for word in (
        "quadrant  unknown",
        "quadrant unknown",
        "bloom",
        "memtable",
        "None",
        "True",
        "{",
        "to mend",
    ):
        assert word not in said


def test_status_says_in_its_first_line_whether_it_works_and_what_it_knew(cli: Cli) -> None:
    """Before setup, after it, and at work."""

    def first() -> str:
        return cli.run("status").stdout.splitlines()[0]

    assert first() == "Not working: no hooks are set up here; run `context-graph-cli setup`."
    assert cli.run("setup", "--yes").returncode == 0
    assert first().startswith("Ready: hooks are set up and nothing has happened yet; 0 memories.")
    remember(cli, "Staging listens on port 8443")
    hook(cli, "prompt-submit", "s-1", prompt="What port does staging listen on?", prompt_id="1")
    hook(cli, "prompt-submit", "s-2", prompt="What port does staging listen on?", prompt_id="2")
    shown = json.loads(cli.run("status", "--json").stdout)
    assert shown["works"] and shown["sentence"].endswith(" 1 memory, 2 shown today.")
    assert first().startswith("Working: last event ")
    assert cli.run("setup", "--remove", "--yes").returncode == 0
    assert first().startswith("No hooks are set up here, but an event came ")
    assert cli.run("setup", "--host", "codex", "--yes").returncode == 0
    assert first().startswith("Working: last event ")


def test_status_without_an_owner_says_that_it_does_not_work_and_why(cli: Cli, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\ncase "$*" in *context_graph.owner*) echo "no rocks here" >&2; exit 3;; esac\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)
    env = {"CONTEXT_GRAPH_PYTHON": str(python)}
    done = cli.run("status", env=env)
    assert done.returncode == 1
    assert done.stdout.startswith("Not working: ") and "no rocks here" in done.stdout
    broken = json.loads(cli.run("status", "--json", env=env).stdout)
    assert broken["works"] is False and broken["sentence"].startswith("Not working: ")
