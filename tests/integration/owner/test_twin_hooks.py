"""Our hooks in the client's settings and in a plugin at once, through the real launcher and owner."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.support.cli import Cli
from tests.support.gates.installed import GateProject

REQUIREMENTS = """
version: "1.0"
inherit: false
requirements:
  plan: {enabled: true, scope: session, message: Say what you will change.}
  verify: {enabled: true, scope: session, stop_only: true, message: Run the tests before you stop.}
"""
PLUGIN = {"CLAUDE_PLUGIN_ROOT": "/opt/context-graph"}
TOOL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1", "prompt_id": "p1"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("session-start", {"source": "startup"}),
    ("prompt-submit", {"prompt": "list the files", "prompt_id": "p1"}),
    ("pre-tool", TOOL),
    ("post-tool", {**TOOL, "tool_response": {"stdout": "a"}}),
    ("stop", {"last_assistant_message": "Listed.", "prompt_id": "p1"}),
    ("pre-compact", {"trigger": "manual"}),
    ("session-end", {"reason": "other"}),
]


def fire(cli: Cli, verb: str, session: str = "one", *, plugin: bool = False, **fields: Any) -> str | None:
    """One hook's standard output; None where a busy machine kept the owner from answering it in time."""
    given = json.dumps({"session_id": session, **fields})
    env = {"CONTEXT_GRAPH_DEBUG": "1", **(PLUGIN if plugin else {})}
    done = cli.run("hooks", verb, "--format", "claude", stdin=given, env=env)
    assert done.returncode == 0
    return None if "in time" in done.stderr else done.stdout


def shown(cli: Cli, session: str = "one") -> Any:
    done = cli.run("session", "show", "--session-id", session, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_event_of_both_is_applied_once_and_answered_once(cli: Cli) -> None:
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    cli.run("owner", "start")
    answers = [(fire(cli, verb, **fields), fire(cli, verb, plugin=True, **fields)) for verb, fields in CALLS]
    in_time = [(told, again) for told, again in answers if told is not None and again is not None]
    assert any("additionalContext" in told for told, _ in in_time)
    assert not any("additionalContext" in again for _, again in in_time)
    session = shown(cli)
    counted = session["events_by_kind"]
    assert counted.pop("pre-tool", 1) == 1, "asked about, or not kept"
    assert counted == {verb: 1 for verb, _ in CALLS if verb != "pre-tool"}
    assert session["events_duplicate"] >= len(counted)  # and those that a busy owner answered too late


def test_events_of_both_that_waited_in_the_log_are_applied_once(cli: Cli) -> None:
    """Which hook wrote it stands in the record: nobody was there to tell them apart."""
    cli.run("hooks", "session-start", "--format", "claude", stdin='{"session_id":"one","source":"startup"}')
    cli.run("owner", "stop")
    absent = {"CONTEXT_GRAPH_PYTHON": "/bin/true"}
    for env in (absent, {**absent, **PLUGIN}):
        given = '{"session_id":"one","last_assistant_message":"Listed."}'
        assert cli.run("hooks", "stop", "--format", "claude", stdin=given, env=env).returncode == 0
    assert shown(cli)["events_by_kind"] == {"session-start": 1, "stop": 1}


def test_a_resumed_session_s_tool_calls_may_bear_old_ids(cli: Cli) -> None:
    for prompt in ("p1", "p2"):
        fire(cli, "session-start", source="startup" if prompt == "p1" else "resume")
        fire(cli, "post-tool", **{**TOOL, "prompt_id": prompt}, tool_response={"stdout": "a"})
    assert shown(cli)["events_by_kind"] == {"session-start": 2, "post-tool": 2}


def test_a_clear_that_comes_again_keeps_what_came_after_it(cli: Cli) -> None:
    """A log whose end was not stored is applied once more, the clear among it."""
    given = '{"session_id":"one","source":"clear"}'
    cli.run("owner", "start")
    cli.run("owner", "stop")
    absent = {"CONTEXT_GRAPH_PYTHON": "/bin/true"}
    cli.run("hooks", "session-start", "--format", "claude", stdin=given, env=absent)
    call = json.dumps({"session_id": "one", **TOOL})
    cli.run("hooks", "post-tool", "--format", "claude", stdin=call, env=absent)
    (segment,) = Path(cli.env["CONTEXT_GRAPH_HOME"]).glob("stores/*/events/*.log")
    lines = segment.read_bytes()
    assert shown(cli)["events_by_kind"] == {"session-start": 1, "post-tool": 1}
    segment.with_name("0000000000001-00000000.log").write_bytes(lines)
    assert shown(cli)["events_by_kind"] == {"session-start": 1, "post-tool": 1}


def test_a_stop_is_held_by_one_of_both(cli: Cli) -> None:
    """The model reads the reason once; a denial of a tool call is said by each."""
    shutil.rmtree(cli.project / ".git")
    project = GateProject(cli)
    project.git("init", "-q", "-b", "feature/rates")
    project.configure(REQUIREMENTS)
    cli.run("owner", "start")
    edit = {
        "tool_name": "Edit",
        "tool_input": {"file_path": f"{project.root}/a.py"},
        "tool_use_id": "toolu_1",
    }
    denials = [fire(cli, "pre-tool", plugin=plugin, **edit) for plugin in (False, True)]
    assert all("Say what you will change" in told for told in denials if told is not None)
    cli.run("req", "satisfy", "plan", "--session", "one")
    fire(cli, "pre-tool", **{**edit, "tool_use_id": "toolu_2"})
    held = fire(cli, "stop", last_assistant_message="Done.")
    twin = fire(cli, "stop", plugin=True, last_assistant_message="Done.")
    assert held is None or "Run the tests" in held
    assert not twin
