"""A call's parts: each by itself, bounded, without secrets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.events import bash, call, edit, prompt, read, stop, told, write

from context_graph.config import account_of
from context_graph.model import EVENT_TEXT_BYTES, EventParts

KEY = "ghp_" + "a8Zk3LmQ9xT2vB7nR4cW6yD1sF5gH0jK2pE3"


def test_a_command_stands_without_what_is_beside_it() -> None:
    parts = bash("make check", "Exit code 2\nno rule", failed=True, description="Run Checks", timeout=9).parts
    assert (parts.command, parts.description, parts.exit_code) == ("make check", "Run Checks", 2)


@pytest.mark.parametrize("name", ["Jenkinsfile", "my notes/a b.md", ".env"])
def test_a_path_is_whole_whatever_its_name(name: str) -> None:
    for event in (edit(f"/p/{name}"), write(f"/p/{name}"), read(f"/p/{name}")):
        assert event.parts.file_path == f"/p/{name}"


def test_an_edit_names_where_it_is_by_the_file_as_it_was() -> None:
    original = "class Cart:\n    def add(self, item):\n        self.items.append(item)\n"
    one = edit(
        "/p/cart.py", "        self.items.append(item)", "        self.items += [item]", originalFile=original
    )
    assert one.parts.symbols == ["Cart", "add"] and one.parts.new_text == "        self.items += [item]"
    several = call(
        "MultiEdit",
        {
            "file_path": "/p/a.js",
            "edits": [{"old_string": "a", "new_string": "function pay() {}"}, {"new_string": 3}, 7],
        },
    )
    assert several.parts.symbols == ["pay"]


def test_a_new_script_says_what_it_may_write_however_long_it_is() -> None:
    text = "x = 1\n" * 2000 + "open('src/rates.py', 'w').write(x)\n"
    assert "src/rates.py" in write("/p/fix.py", text).parts.writes
    assert write("/p/fix.py", "print('src/rates.py')").parts.writes == []


def test_of_a_long_output_the_end_stays_too_and_of_a_diff_its_hunks() -> None:
    event = bash("make", "\n".join([*(f"line {n}" for n in range(900)), "error: the last line says why"]))
    assert event.parts.tail.endswith("error: the last line says why") and len(event.parts.tail) <= 1000
    assert event.output.startswith("line 0") and event.output.endswith("says why")
    assert bash("make", "short").parts.tail == ""
    diff = "diff --git a/b.py b/b.py\n+++ b/b.py\n@@ -1,2 +1,2 @@ def load(path):\n-    a\n+    b\n"
    assert bash("git diff", diff).parts.patched == [["b.py", "    a", "    b", "load"]]


def test_questions_lists_plans_and_tasks_are_taken_apart() -> None:
    asked = call(
        "AskUserQuestion", {"questions": [{"question": "Which?"}]}, {"answers": {"Which?": "The second"}}
    )
    assert asked.parts.answers == [["Which?", "The second"]]
    todo = call("TodoWrite", {"todos": [{"content": "Port it", "status": "pending"}, "odd"]})
    assert todo.parts.todos == [["pending", "Port it"]]
    assert call("ExitPlanMode", {"plan": "# Plan\n\n1. Move it"}).parts.plan == "# Plan\n\n1. Move it"
    done = call("TaskUpdate", {"taskId": "7", "status": "completed"}, {"success": True, "taskId": "7"})
    assert done.parts.todo == ["7", "completed", ""]


def test_a_message_is_kept_whole_where_its_event_s_text_is_shorter() -> None:
    long = "The cache is filled in `warm`. " * 300
    for event in (prompt(long), stop(long), told("PostCompact", compact_summary=long)):
        assert len(event.input_text.encode()) <= EVENT_TEXT_BYTES >= len(event.output_text.encode())
        assert len(event.parts.words) > 9000
    assert prompt("short").parts == EventParts(account=account_of({}))
    assert len(stop("word " * 20_000).parts.words) <= 16_384


@pytest.mark.parametrize(
    "made",
    [
        lambda: bash(f"curl -H 'Authorization: Bearer {KEY}' https://x.example"),
        lambda: bash("env", "a\n" * 3000 + f"GITHUB_TOKEN={KEY}\n"),
        lambda: edit("/p/.env", "A=1", f"TOKEN={KEY}"),
        lambda: call("AskUserQuestion", {}, {"answers": {"Token?": KEY}}),
        lambda: call("TodoWrite", {"todos": [{"content": f"rotate {KEY}", "status": "pending"}]}),
        lambda: stop("word " * 800 + KEY),
        lambda: call("Agent", {"prompt": f"use {KEY}", "subagent_type": "x"}, {"content": f"used {KEY}"}),
    ],
)
def test_no_part_has_a_secret(made: Any) -> None:
    event = made()
    assert KEY not in str(event.parts.to_json()) and "[redacted:" in str(event.parts.to_json())


@pytest.mark.parametrize(
    "given_", [None, 7, "text", [], {"file_path": 7, "edits": 3, "todos": {"a": 1}, "command": []}]
)
@pytest.mark.parametrize(
    "tool", ["Edit", "Bash", "TodoWrite", "TaskUpdate", "AskUserQuestion", "WebFetch", "Read"]
)
def test_a_shape_that_nobody_knows_has_no_parts_and_does_no_harm(tool: str, given_: Any) -> None:
    parts = call(tool, given_, given_).parts
    assert EventParts.from_json(parts.to_json()) == parts


_KEYS = ("command", "file_path", "edits", "content", "stdout", "file", "task", "answers", "plan", "todos")
_MORE = ("status", "id", "originalFile", "old_string", "new_string", "results", "text", "taskId", "subject")
_TOOLS = ("Edit", "Write", "Bash", "Read", "TodoWrite", "TaskUpdate", "Agent", "AskUserQuestion", "WebFetch")
_LONG = st.sampled_from([" " * 5000, "\n" * 5000, "a" * 5000])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20) | _LONG,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_KEYS + _MORE), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(st.sampled_from(_TOOLS), _JSON, _JSON)
def test_no_input_is_too_odd(tool: str, given_: Any, answer: Any) -> None:
    """What can't be taken apart must not cost the event."""
    parts = call(tool, given_, answer).parts
    assert EventParts.from_json(parts.to_json()) == parts


def test_what_is_no_part_of_ours_is_left_out_on_reading() -> None:
    assert EventParts.from_json({"command": "ls", "symbols": "x", "later": 1, "exit_code": 0}) == EventParts(
        command="ls", exit_code=0
    )


def test_what_is_put_behind_a_function_is_not_in_it() -> None:
    source = "def add(a, b):\n    return a + b\n"
    last = "    return a + b"
    event = edit("/p/m.py", last, f"{last}\n\n\ndef times(a, b):\n    return a * b", originalFile=source)
    assert event.parts.symbols == ["times"] and event.parts.is_whole
    assert edit("/p/m.py", last, f"    c = 1\n{last}", originalFile=source).parts.symbols == ["add"]
