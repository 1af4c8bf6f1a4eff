"""The twin of the launcher in Python: it says what the launcher says, loads little, and fails open."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.gates.installed import no_owner

from context_graph.claude.hooks.claude import EVENT_OF_VERB
from context_graph.cli.command_table import FORMAT
from context_graph.front.options import CLIENTS, FORMATS, OPTIONS, budget_ms
from context_graph.hosts.translate import CLIENT_FORMATS
from context_graph.owner.sessions.spool import decode_line

START = "from context_graph.front.main import main; main()"
BODY = json.dumps({"session_id": "s-1", "tool_name": "Bash", "tool_input": {"command": "ls"}})
HEAVY = {
    *(
        "typing",
        "dataclasses",
        "inspect",
        "pathlib",
        "json",
        "re",
        "contextlib",
        "socket",
        "selectors",
        "enum",
    ),
    *("subprocess", "logging", "collections", "functools", "datetime", "tempfile", "importlib.metadata"),
    *("numpy", "msgspec", "orjson", "typer", "click", "pydantic", "re2", "rocksdict"),
}
"""What a hook must not wait for; each costs 3 ms or more."""
SOURCES = Path(__file__).resolve().parents[3] / "ext" / "launcher" / "src"


def in_python(
    cli: Cli, *args: str, stdin: str = "", code: str = START, flags: tuple[str, ...] = (), **env: str
) -> subprocess.CompletedProcess[str]:
    """The front as its script starts it."""
    return subprocess.run(
        [sys.executable, *flags, "-P", "-c", code, *args],
        input=stdin,
        capture_output=True,
        text=True,
        env={**cli.env, **env},
        cwd=cli.project,
        timeout=60,
        check=False,
    )


def loaded(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The modules that `-X importtime` lists."""
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.count("|") == 2}


def records(cli: Cli) -> list[bytes]:
    """The lines in the spools of all stores."""
    spools = sorted(cli.root.glob("stores/*/spool/events*.log"))
    return [line for path in spools for line in path.read_bytes().split(b"\n") if line]


def test_input_that_a_busy_client_brings_late_is_recorded(cli: Cli) -> None:
    command = [sys.executable, "-P", "-c", START, "hooks", "post-tool", "--format", "claude"]
    with no_owner(cli), subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dict(cli.env), cwd=cli.project, text=True,
    ) as late:  # fmt: skip
        time.sleep(1.3)
        _, said = late.communicate(BODY, timeout=60)
        assert (late.returncode, said, len(records(cli))) == (0, "", 1)


@pytest.mark.parametrize("verb", ["pre-tool", "post-tool", "stop"])
def test_a_hook_that_an_owner_answers_loads_only_what_it_uses(cli: Cli, verb: str) -> None:
    cli.start_owner()
    in_python(cli, "hooks", "session-start", "--format", "claude", stdin=BODY)
    done = in_python(cli, "hooks", verb, "--format", "claude", stdin=BODY, flags=("-X", "importtime"))
    found = loaded(done)
    assert done.returncode == 0 and "context_graph.front.hook" in found
    assert not HEAVY & found
    assert not {name for name in found if name.startswith("context_graph.")} - {
        "context_graph.claude",
        "context_graph.claude.hooks",
        "context_graph.claude.hooks.claude",
        "context_graph.config",
        "context_graph.config.places",
        "context_graph.config.repository",
        "context_graph.errors",
        "context_graph.front",
        *(f"context_graph.front.{name}" for name in ("call", "client", "event", "gate", "hook", "main")),
        *(f"context_graph.front.{name}" for name in ("options", "paths", "programs", "trouble")),
        "context_graph.system",
        "context_graph.system.peers",
        "context_graph.system.streams",
        "context_graph.wire",
        "context_graph.wire.layout",
    }


def test_a_brief_loads_only_what_it_uses(cli: Cli) -> None:
    done = in_python(cli, "consciousness", "brief", flags=("-X", "importtime"))
    assert (done.returncode, done.stdout) == (0, "[C:? r=? IC=?]\n")
    assert not HEAVY & loaded(done)


CALLS = [
    ("consciousness", "brief"),
    ("consciousness", "brief", "--session-id=x", "odd"),
    ("hooks", "no-such-hook"),
    ("hooks", "no-such-hook", "--format", "claude"),
    ("hooks", "pre-tool", "--colour"),
    ("hooks", "pre-tool", "--success", "perhaps", "--format", "json-compact"),
    ("hooks", "pre-tool", "--format", "xml"),
    ("hooks", "pre-tool", "--db-path", ""),
    ("hooks", "pre-tool", "--db-path", "/nowhere/else", "--format", "claude"),
    ("hooks", "pre-tool", "--stdin", "--format", "json"),
    ("hooks", "post-tool", "--format", "text", "--session-id", "s"),
    ("hooks", "post-tool", "--stdin=false", "--format", "json-compact"),
    ("hooks", "session-start", "--format", "claude"),
    ("hooks", "session-end", "--format", "claude"),
    ("hooks", "session-start", "--format", "codex"),
    ("hooks", "pre-tool", "--format", "cursor"),
    ("hooks", "post-tool", "--format=gemini"),
    ("hooks", "session-start", "--format=cursor"),
    ("hooks", "prompt-submit", "--format", "claude", "--prompt", "--odd"),
    ("req", "statusline"),
    ("status", "--line"),
    ("mcp", "--odd"),
    ("mcp", "--db-path"),
]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
@pytest.mark.parametrize("stdin", ["", "{", BODY], ids=["empty", "torn", "event"])
def test_it_says_what_the_launcher_says(cli: Cli, call: tuple[str, ...], stdin: str) -> None:
    """Without an owner, and none to be had: exit code, output and messages are the same."""
    away = {"CONTEXT_GRAPH_PYTHON": "/nowhere/python"}
    said = []
    for front in ("", "python"):
        done = cli.run(*call, stdin=stdin, env={**away, "CONTEXT_GRAPH_FRONT": front})
        plain = re.sub(r'("execution_time_ms": ?|success: \w+ \()\d+', r"\1N", done.stdout)
        # The launcher's own words for what is wrong with JSON; a place is all they have in common.
        plain = re.sub(r"not a JSON object: .*? at byte \d+", "not a JSON object", plain)
        words = re.sub(r"not a JSON object: .*? at byte \d+", "not a JSON object", done.stderr)
        spaced = any(
            host in call[-1] for host in ("codex", "gemini", "cursor")
        )  # the same, with other spaces
        said.append((done.returncode, json.loads(plain) if spaced and plain else plain, words))
        for told in cli.root.glob("run/told-*"):
            told.unlink()  # each is the first to tell
    assert said[0] == said[1]


def test_both_spool_the_same_event(cli: Cli) -> None:
    given = json.dumps({**json.loads(BODY), "prompt": "ä \u2028 password=hunter2", "n": [1, 2.5, None, True]})
    env = {"CONTEXT_GRAPH_PYTHON": "/bin/true", "CLAUDE_CODE_SESSION_ID": "s-1", "CLAUDE_PLUGIN_ROOT": "/p"}
    for front in ("", "python"):
        done = cli.run(
            "hooks", "post-tool", "--format=claude", stdin=given, env={**env, "CONTEXT_GRAPH_FRONT": front}
        )
        assert done.returncode == 0
    one, other = map(decode_line, records(cli))
    assert one.id != other.id and b"hunter2" not in b"".join(records(cli))
    assert (one.verb, one.session, one.project, one.cwd, one.params) == (
        *(other.verb, other.session, other.project, other.cwd, other.params),
    )
    assert one.body is not None and other.body is not None
    assert one.body.keys() == other.body.keys() and one.body["n"] == other.body["n"]


BROKEN = [
    ("context_graph.front.client", "ask", 1),
    ("context_graph.front.gate", "is_governed", 1),
    ("context_graph.front.trouble", "Silence.heard", 1),
    ("context_graph.front.fallback", "Fallback.run", 0),
    ("context_graph.front.hook", "_prepare", 0),
]


@pytest.mark.parametrize(("module", "name", "kept"), BROKEN, ids=[name for _, name, _ in BROKEN])
def test_a_defect_of_ours_blocks_nobody_and_is_told(cli: Cli, module: str, name: str, kept: int) -> None:
    """Exit 0 and nothing for the model; the event is in the spool, or it is said that it is not."""
    cli.start_owner()
    break_it = f"import {module} as it\ndef fail(*_): raise ZeroDivisionError\nit.{name} = fail\n"
    away = {"CONTEXT_GRAPH_HOME": str(cli.root)}
    if name == "Fallback.run":
        cli.stop_owner()
        away["CONTEXT_GRAPH_PYTHON"] = "/bin/true"
    done = in_python(
        cli, "hooks", "pre-tool", "--format", "claude", stdin=BODY, code=break_it + START, **away
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert len(records(cli)) == kept or "may be lost: ZeroDivisionError" in done.stderr
    plain = in_python(cli, "hooks", "post-tool", stdin=BODY, code=break_it + START, **away)
    assert plain.returncode != 2 or "timeout" in plain.stdout


def test_where_no_launcher_is_the_python_commands_serve_hooks(cli: Cli, tmp_path: Path) -> None:
    """`context-graph-py` alone, as on a system without the native program."""
    code = (
        "import context_graph.cli.native as native\n"
        "def gone(*_): raise native.ConfigError('there is none')\n"
        "native.find_launcher = gone\n"
        "from context_graph.cli.main import main; main()"
    )
    done = in_python(cli, "consciousness", "brief", code=code)
    assert (done.returncode, done.stdout) == (0, "[C:? r=? IC=?]\n")
    done = in_python(cli, "hooks", "session-start", "--format=claude", stdin=BODY, code=code)
    assert done.returncode == 0 and "hookSpecificOutput" in json.loads(done.stdout)


def test_the_launcher_and_its_twin_have_the_same_tables() -> None:
    options = re.findall(r'\("([a-z-]+)", Takes::(\w+)\)', (SOURCES / "options.rs").read_text())
    takes = ["Switch", "Boolean", "Format", "Milliseconds", "Name", "Path", "Text"]
    assert [(name, takes.index(kind)) for name, kind in options] == list(OPTIONS.items())
    kinds = re.findall(r'"hooks\.([a-z-]+)", "(\w+)", ([\d_]+)', (SOURCES / "kind.rs").read_text())
    assert {verb: (name, int(ms)) for verb, name, ms in kinds} == {
        verb: (name, budget_ms(verb)) for verb, name in EVENT_OF_VERB.items()
    }
    assert set(FORMATS) == set(FORMAT.choices) and set(CLIENTS) == set(CLIENT_FORMATS)
