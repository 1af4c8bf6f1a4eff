"""Inputs of other hosts as Claude Code's, and our answers as theirs: shapes alone, without a process."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.clients.hosts import GOLDEN, NAMES
from tests.support.examples import examples

from context_graph.claude.hooks import hook_output
from context_graph.claude.hooks.hook_input import HookInput
from context_graph.claude.hosts.host import NOT_THE_USER
from context_graph.claude.hosts.translate import HOSTS, answer_of, input_of, readable_of, takes_context
from context_graph.errors import InvalidInputError
from context_graph.model import EventKind

PRE, POST, PROMPT, STOP = (
    *(EventKind.PRE_TOOL, EventKind.POST_TOOL),
    *(EventKind.PROMPT_SUBMIT, EventKind.STOP),
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    (
        *("session_id", "conversation_id", "hook_event_name", "tool_name", "tool_input", "tool_response"),
        *("prompt", "prompt_response", "cwd", "workspace_roots", "tool_output", "mcp_context", "loop_count"),
        *("text", "duration", "error_message", "turn_id", "generation_id", "source", "timestamp"),
    )
)


def read(host: str, kind: EventKind, **fields: Any) -> HookInput:
    body = json.dumps({"session_id": "s", "cwd": "/work", **fields}).encode()
    return input_of(kind, body, {"format": host})


def written(host: str, event: str, **said: str) -> Any:
    answer = answer_of(host, event, hook_output.render(event, **said))
    return json.loads(answer) if answer else {}


def patch(*lines: str, tool_response: str = "Exit code: 0\nSuccess.") -> HookInput:
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))
    return read(
        "codex", POST, tool_name="apply_patch", tool_input={"command": text}, tool_response=tool_response
    )


@pytest.mark.parametrize("host", NAMES)
def test_recordings_say_what_they_are(host: str) -> None:
    document = json.loads((GOLDEN / host / "work.json").read_text())
    assert document["host"] == host
    assert document["version"] and document["source"]
    for call in document["calls"]:
        body = json.dumps(call["input"]).encode()
        found = input_of(EventKind(call["verb"]), body, {"format": host})
        assert found.session_id == document["calls"][0]["input"]["session_id"]
        assert "tool" not in call["verb"] or found.tool_name


def test_a_patch_is_an_edit_of_the_files_that_it_names() -> None:
    found = patch(
        *("*** Update File: src/a.py", "@@ def f():", "-    old", "+    new", " kept"),
        *("*** Add File: b.py", "+made", "*** Delete File: c.py"),
        *("*** Update File: d.py", "*** Move to: e.py"),
    )
    assert found.tool_name == "Edit"
    assert found.tool_input == {
        "file_path": "/work/src/a.py",
        "old_string": "    old",
        "new_string": "    new\nmade",
        "paths": ["/work/b.py", "/work/c.py", "/work/d.py", "/work/e.py"],
    }
    assert found.kind is POST and found.success


def test_a_patch_that_only_adds_a_file_writes_it() -> None:
    found = patch("*** Add File: /tmp/b.py", "+one", "+two")
    assert (found.tool_name, found.tool_input) == ("Write", {"file_path": "/tmp/b.py", "content": "one\ntwo"})


def test_a_patch_that_failed_is_a_failed_call() -> None:
    found = patch("*** Update File: a", "-x", tool_response="Exit code: 1\nno such lines")
    assert found.kind is EventKind.POST_TOOL_FAILURE
    assert found.error.startswith("Exit code: 1")


def test_codex_does_not_tell_whether_a_command_failed() -> None:
    found = read("codex", POST, tool_name="Bash", tool_input={"command": "false"}, tool_response="")
    assert found.success is None
    assert read("codex", POST, tool_name="view_image", tool_input={}).success


def test_several_prompts_of_one_turn_are_several_events() -> None:
    assert read("codex", PROMPT, prompt="a", turn_id="t").prompt_id == ""
    assert read("codex", PRE, tool_name="Bash", turn_id="t").prompt_id == "t"


def test_gemini_s_outcomes_are_told_apart() -> None:
    def after(tool: str, **response: Any) -> HookInput:
        return read("gemini", POST, tool_name=tool, tool_input={}, tool_response=response)

    shown = "<untrusted_context>\nOutput: no\nExit Code: 3\nProcess Group PGID: 9\n</untrusted_context>"
    failed = after("run_shell_command", llmContent=shown, returnDisplay="no")
    assert (failed.kind, failed.error) == (EventKind.POST_TOOL_FAILURE, "Exit code 3\nno")
    assert after("read_file", llmContent=shown, returnDisplay="").kind is POST, "a file may say so"
    broken = after("replace", llmContent="x", error={"message": "no such text", "type": "t"})
    assert (broken.kind, broken.error) == (EventKind.POST_TOOL_FAILURE, "no such text")
    assert after("run_shell_command", llmContent="Output: hi\n", returnDisplay="hi").tool_response == "hi"


def test_servers_tools_have_claude_code_s_names() -> None:
    asked = {"server_name": "files", "tool_name": "read_it"}
    found = read("gemini", PRE, tool_name="mcp_files_read_it", tool_input={"path": "a"}, mcp_context=asked)
    assert (found.tool_name, found.tool_input) == ("mcp__files__read_it", {"path": "a"})
    assert read("cursor", PRE, tool_name="MCP:read_it", tool_input={}).tool_name == "mcp__cursor__read_it"


@pytest.mark.parametrize(
    "prompt", ["<hook_context>told</hook_context>\n\n<hook_context>b</hook_context>\n\nhi", "hi"]
)
def test_what_hooks_told_is_no_part_of_gemini_s_prompt(prompt: str) -> None:
    assert read("gemini", PROMPT, prompt=prompt).prompt == "hi"


def test_a_block_that_is_never_closed_stays_what_it_is() -> None:
    assert read("gemini", PROMPT, prompt="<hook_context>x").prompt == "<hook_context>x"


@pytest.mark.parametrize("host", ["gemini", "cursor"])
def test_our_own_words_are_nobody_s_prompt(host: str) -> None:
    assert read(host, PROMPT, prompt=f"{NOT_THE_USER} go on").source.startswith("notification")
    assert not read(host, PROMPT, prompt=f"Why did you say {NOT_THE_USER}?").source


def test_cursor_s_last_words_come_before_its_stop_and_hold_nothing() -> None:
    said = read("cursor", STOP, hook_event_name="afterAgentResponse", text="Done.")
    assert (said.last_message, said.stop_hook_active) == ("Done.", True)
    assert not read("cursor", STOP, hook_event_name="stop", loop_count=0).stop_hook_active
    assert read("cursor", STOP, hook_event_name="stop", loop_count=2).stop_hook_active


@pytest.mark.parametrize("host", NAMES)
def test_another_event_s_input_is_refused(host: str) -> None:
    with pytest.raises(InvalidInputError, match=f"is not the event of `hooks stop` in {host}"):
        read(host, STOP, hook_event_name="PreCompress")


@pytest.mark.parametrize("host", NAMES)
def test_a_translation_changes_nothing_that_it_is_given(host: str) -> None:
    for call in json.loads((GOLDEN / host / "work.json").read_text())["calls"]:
        before = deepcopy(call["input"])
        HOSTS[host].to_claude(EventKind(call["verb"]), call["input"])
        assert call["input"] == before


def test_each_host_refuses_in_its_own_words() -> None:
    refused = {host: written(host, "PreToolUse", refusal="no", context="c") for host in NAMES}
    own = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}
    assert refused["codex"] == {"hookSpecificOutput": {**own, "additionalContext": "c"}}
    assert refused["gemini"] == {"decision": "deny", "reason": "no"}
    denied = {"permission": "deny", "user_message": "no", "agent_message": "no"}
    assert refused["cursor"] == {**denied, "additional_context": "c"}


def test_each_host_is_told_where_it_listens() -> None:
    told = {host: written(host, "UserPromptSubmit", context="c", system_message="m") for host in NAMES}
    assert told["gemini"]["hookSpecificOutput"] == {"hookEventName": "BeforeAgent", "additionalContext": "c"}
    assert told["gemini"]["systemMessage"] == told["codex"]["systemMessage"] == "m"
    assert told["cursor"] == {"user_message": "m", "additional_context": "c"}
    assert not written("gemini", "PreToolUse", context="c")
    assert not takes_context("gemini", PRE) and takes_context("claude", PRE)


def test_nothing_to_say_is_nothing_but_for_cursor() -> None:
    assert [answer_of(host, "Stop", b"") for host in NAMES] == [b"", b"", b"{}\n"]
    assert answer_of("claude", "Stop", b"x") == b"x"


@pytest.mark.parametrize("host", NAMES)
@settings(max_examples=examples(150), deadline=None)
@given(fields=st.dictionaries(KEYS, JSON_VALUES, max_size=8), kind=st.sampled_from(EventKind))
def test_no_input_breaks_a_translation(host: str, fields: dict[str, Any], kind: EventKind) -> None:
    body = json.dumps(fields).encode()
    readable_of(kind, body, {"format": host})
    try:
        input_of(kind, body, {"format": host})
    except InvalidInputError:
        return


def test_the_largest_inputs_are_read_in_one_pass() -> None:
    """Blocks and lines by the hundred thousand; slicing the rest each time would take hours."""
    assert read("gemini", PROMPT, prompt="<hook_context></hook_context>" * 100_000 + "hi").prompt == "hi"
    lines = [f"*** Update File: f{number}" for number in range(100_000)]
    assert len(patch(*lines).tool_input["paths"]) == 1_999


@pytest.mark.parametrize(
    ("host", "tool", "key"), [("gemini", "run_shell_command", "dir_path"), ("cursor", "Shell", "cwd")]
)
@pytest.mark.parametrize("kind", [PRE, POST])
@pytest.mark.parametrize(
    ("given", "folder"),
    [("repo", "/work/repo"), ("./a/../repo/", "/work/repo"), ("/else/where", "/else/where"), ("..", "/")]
    + [(none, "/work") for none in ("", None, 7, [])],
)
def test_a_shell_s_own_folder_is_the_one_it_runs_in(
    host: str, tool: str, key: str, kind: EventKind, given: Any, folder: str
) -> None:
    found = read(host, kind, tool_name=tool, tool_input={"command": "git commit", key: given})
    assert found.tool_name == "Bash" and found.cwd == folder


@pytest.mark.parametrize(("host", "tool", "key"), [("gemini", "glob", "dir_path"), ("cursor", "Grep", "cwd")])
def test_another_tool_s_folder_is_what_it_looks_into(host: str, tool: str, key: str) -> None:
    assert read(host, PRE, tool_name=tool, tool_input={key: "/else"}).cwd == "/work"
