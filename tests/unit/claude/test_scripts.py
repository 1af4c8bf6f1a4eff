"""The five scripts in four shells: they run the CLI on the hook's own stdin and can do no harm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from context_graph.claude.events import REGISTERED
from context_graph.claude.settings.hook_commands import command_line
from context_graph.claude.settings.scripts import SHELLS, script_name, script_text

SCRIPTED = [event for event in REGISTERED if event.script]
EACH_SHELL = [pytest.param(name, marks=() if name == "bash" else pytest.mark.thorough) for name in SHELLS]
INSTALL = {"powershell": "https://aka.ms/powershell"}
NASTY = (
    b'{"session_id":"s","prompt":"$(touch pwned) `touch pwned` \\"; touch pwned; \' %s -- \\\\ ${HOME}"}\n'
)
STAND_IN = """#!/bin/sh
printf '%s\\n' "$*" > args
cat > input
printf '{"systemMessage":"hi"}\\n'
exit {code}
"""


def test_there_are_seed_001s_five_scripts_in_every_shell() -> None:
    """REQ-HOOKS-22: names of section 5, extensions per shell."""
    stems = [script_name(event, "bash") for event in SCRIPTED]
    assert stems == [
        *("session_start.sh", "pre_tool_use.sh", "post_tool_use.sh"),
        *("user_prompt_submit.sh", "session_end.sh"),
    ]
    assert [script_name(SCRIPTED[0], shell)[13:] for shell in SHELLS] == [
        ".sh",
        ".zsh",
        ".fish",
        ".ps1",
    ]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("event", SCRIPTED, ids=lambda event: event.verb)
def test_a_script_names_its_requirements_and_never_looks_at_the_input(shell: str, event: object) -> None:
    """REQ-HOOKS-31: no jq, no variable of the input, no exit code but 0."""
    (one,) = [known for known in REGISTERED if known == event]
    text = script_text(one, shell)
    assert text.startswith("#!/usr/bin/env ")
    assert one.requirements in text and "REQ-HOOKS-31" in text
    assert f"hooks {one.verb} --stdin --format claude" in text
    code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert not re.search(r"jq|eval|INPUT|read |\$\(|`", code)
    assert set(re.findall(r"exit (\d+)", code)) == {"0"}
    assert text.endswith("exit 0\n")


def runner(shell: str) -> str:
    found = shutil.which({"powershell": "pwsh"}.get(shell, shell))
    if found is None:
        pytest.skip(f"no {shell} here: {INSTALL.get(shell, f'apt-get install {shell}')}")
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working folder, and a PATH folder that holds nothing but what the scripts' shells need."""
    (tmp_path / "bin").mkdir()
    for tool in ("cat", "sh", "env", "touch"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def run_script(
    shell: str, event: object, place: Path, stdin: bytes = NASTY
) -> subprocess.CompletedProcess[bytes]:
    (one,) = [known for known in REGISTERED if known == event]
    script = place / script_name(one, shell)
    script.write_text(script_text(one, shell))
    return subprocess.run(
        [runner(shell), str(script)],
        input=stdin,
        capture_output=True,
        cwd=place,
        env={"PATH": str(place / "bin"), "HOME": str(place)},
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 1, 2, 6])
@pytest.mark.parametrize("shell", EACH_SHELL)
def test_a_script_hands_stdin_over_unchanged_and_exits_0_whatever_the_cli_does(
    shell: str, code: int, place: Path
) -> None:
    """REQ-HOOKS-31: bytes in, bytes out; exit 2 would block the client."""
    runner(shell)
    stand_in = place / "bin" / "context-graph-cli"
    stand_in.write_text(STAND_IN.replace("{code}", str(code)))
    stand_in.chmod(0o755)
    done = run_script(shell, REGISTERED[4], place)
    assert done.returncode == 0
    assert done.stdout == b'{"systemMessage":"hi"}\n' and done.stderr == b""
    assert (place / "input").read_bytes() == NASTY
    assert (place / "args").read_text() == "hooks prompt-submit --stdin --format claude\n"
    assert not (place / "pwned").exists()


@pytest.mark.parametrize("shell", EACH_SHELL)
@pytest.mark.parametrize("event", SCRIPTED, ids=lambda event: event.verb)
def test_a_script_without_the_cli_prints_nothing_and_exits_0(shell: str, event: object, place: Path) -> None:
    """Harmless in a checkout of somebody who has not installed it."""
    done = run_script(shell, event, place)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


BROKEN = {
    "missing": None,
    "exits 2": b"#!/bin/sh\nexit 2\n",
    "no program of this machine": b"\x7fELF(((\x00 not really",
    "dies": b"#!/bin/sh\nkill -9 $$\n",
}


@pytest.mark.parametrize("state", BROKEN)
@pytest.mark.parametrize("event", REGISTERED, ids=lambda event: event.verb)
def test_the_settings_command_exits_0_whatever_stands_on_path(event: object, state: str, place: Path) -> None:
    """REQ-SESSION-16: run as the client runs it: /bin/sh -c; never 2, and of a missing program one word."""
    (one,) = [known for known in REGISTERED if known == event]
    content = BROKEN[state]
    if content is not None:
        (place / "bin" / "context-graph-cli").write_bytes(content)
        (place / "bin" / "context-graph-cli").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", command_line(one) + " "],
        input=NASTY,
        capture_output=True,
        cwd=place,
        env={"PATH": str(place / "bin")},
        timeout=30,
        check=False,
    )
    told = state == "missing" and one.name == "SessionStart"
    assert (done.returncode, bool(done.stdout)) == (0, told)
    if state == "missing":
        assert done.stderr == b""


def test_the_settings_command_passes_stdin_and_output_through(place: Path) -> None:
    """The launcher's JSON is what the client reads."""
    stand_in = place / "bin" / "context-graph-cli"
    stand_in.write_text(STAND_IN.replace("{code}", "0"))
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", command_line(REGISTERED[1])],
        input=NASTY,
        capture_output=True,
        cwd=place,
        env={**os.environ, "PATH": str(place / "bin")},
        timeout=30,
        check=True,
    )
    assert done.stdout == b'{"systemMessage":"hi"}\n'
    assert (place / "input").read_bytes() == NASTY
    assert (place / "args").read_text() == "hooks pre-tool --format claude\n"
