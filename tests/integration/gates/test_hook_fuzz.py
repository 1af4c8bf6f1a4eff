"""Whatever stands on a hook's standard input: exit 0, at most one document, and no refusal talked away.

Through the installed launcher, with an owner and without one. CONTEXT_GRAPH_FUZZ_EXAMPLES sets how many
inputs each property is tried with.
"""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.cli import Cli
from tests.support.gates.installed import EVENTS, A, an_owner

EXAMPLES = int(os.environ.get("CONTEXT_GRAPH_FUZZ_EXAMPLES", "12"))
REQUIREMENTS = r"""
version: "1.0"
inherit: false
requirements:
  plan: {enabled: true}
  review: {enabled: true, scope: single_use, trigger_tools: [{tool: Bash, command_pattern: 'git\s+commit'}]}
  verify: {enabled: true, stop_only: true}
"""
KEYS = (
    *(
        "session_id",
        "transcript_path",
        "cwd",
        "permission_mode",
        "hook_event_name",
        "tool_name",
        "tool_input",
    ),
    *("tool_response", "tool_use_id", "prompt", "prompt_id", "source", "reason", "error", "stop_hook_active"),
    *("agent_id", "duration_ms", "trigger", "payload", "hook_type", "timestamp_ms", "truncated", "effort"),
)
texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", "Edit", "Bash", "Skill", "../../x", "\0", "/", "\ud83d", "x" * 5000, "req satisfy plan"]
    ),
)
numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
odd_numbers = st.sampled_from(["1e999", "-0", "9" * 25, "9" * 5000, "1.5e-400"])


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory, forked_python: Path) -> Iterator[Cli]:
    """One governed project for all inputs."""
    folder = tmp_path_factory.mktemp("fuzz")
    project = folder / "repo"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "requirements.yaml").write_text(REQUIREMENTS)
    subprocess.run(["git", "init", "-q", "-b", "feature/x", project], check=True)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "CONTEXT_GRAPH_HOME": str(folder / "cg"),
        "CONTEXT_GRAPH_PYTHON": str(forked_python),
        "CLAUDE_PROJECT_DIR": str(project),
        "CLAUDE_CODE_SESSION_ID": A,
    }
    made = Cli(Path(sysconfig.get_path("scripts")) / "context-graph-cli", project, env)
    with an_owner(made):
        yield made


def _run(cli: Cli, *words: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    """As `Cli.run`, but bytes come out: what is no UTF-8 must show."""
    return subprocess.run(
        [str(cli.launcher), *words],
        input=stdin,
        env=cli.env,
        cwd=cli.project,
        capture_output=True,
        timeout=30,
        check=False,
    )


def documents(cli: Cli, verb: str, stdin: bytes) -> dict[str, Any]:
    """What the hook printed: nothing, or one document of its event, as the client checks it."""
    done = _run(cli, "hooks", verb, "--format", "claude", stdin=stdin)
    assert done.returncode == 0, done.stderr
    if not done.stdout.strip():
        return {}
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    assert None not in document.values()
    own = document.get("hookSpecificOutput", {"hookEventName": EVENTS[verb]})
    assert own["hookEventName"] == EVENTS[verb]
    assert "allow" not in (own.get("permissionDecision"), document.get("decision"))
    return document


slow = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.timeout(0)
@slow
@given(verb=st.sampled_from(sorted(EVENTS)), stdin=st.binary(max_size=300))
def test_bytes(cli: Cli, verb: str, stdin: bytes) -> None:
    """No exit other than 0, no two documents."""
    documents(cli, verb, stdin)


@pytest.mark.timeout(0)
@slow
@given(
    verb=st.sampled_from(sorted(EVENTS)),
    given_=st.dictionaries(st.sampled_from(KEYS), values, max_size=8),
    cut=st.integers(0, 3),
)
def test_objects(cli: Cli, verb: str, given_: dict[str, Any], cut: int) -> None:
    """The client's keys with anything in them, and a text that ends too early."""
    stdin = json.dumps({"hook_event_name": EVENTS[verb], **given_}).encode("utf-8", "replace")
    documents(cli, verb, stdin[: len(stdin) - cut])


@pytest.mark.timeout(0)
@slow
@given(
    more=st.dictionaries(
        st.sampled_from([key for key in KEYS if key not in ("tool_name", "payload")]), values, max_size=6
    ),
    number=odd_numbers,
    call=st.sampled_from([("Edit", {"file_path": "src/a.py"}), ("Bash", {"command": "git commit -m x"})]),
)
def test_no_refusal_is_talked_away(
    cli: Cli, more: dict[str, Any], number: str, call: tuple[str, dict[str, str]]
) -> None:
    """No wrong allow for a valid configuration, whatever else the input says."""
    tool, tool_input = call
    body = {"session_id": A, "cwd": str(cli.project), "hook_event_name": "PreToolUse", **more}
    body |= {"tool_name": tool}
    if tool == "Bash" or not isinstance(body.get("tool_input"), dict):
        body["tool_input"] = tool_input
    if isinstance(body.get("cwd"), str) and body["cwd"].startswith("/"):
        body["cwd"] = str(cli.project)
    if tool == "Edit":
        body["tool_input"] = {
            **tool_input,
            **{k: v for k, v in body["tool_input"].items() if k != "file_path"},
        }
    stdin = json.dumps(body)[:-1] + f', "odd": {number if tool == "Edit" else 1}}}'
    document = documents(cli, "pre-tool", stdin.encode("utf-8", "replace"))
    assert document["hookSpecificOutput"].get("permissionDecision") == "deny", stdin


@pytest.mark.timeout(0)
@slow
@given(
    given_=st.one_of(
        st.binary(max_size=200), values.map(lambda value: json.dumps(value).encode("utf-8", "replace"))
    )
)
def test_the_status_line(cli: Cli, given_: bytes) -> None:
    """One line, exit 0."""
    done = _run(cli, "req", "statusline", stdin=given_)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)
