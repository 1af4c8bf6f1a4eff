"""Transcripts are input from outside: whatever a file holds, it is read to its end and told in bounds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_graph.claude.transcripts import folder_name, said_between, told_by

NAMES = {"", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"}

_plain = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9)
_values = st.recursive(
    _plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
_blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["tool_use", "tool_result", "text", "thinking"])},
    optional={
        **dict.fromkeys(("id", "tool_use_id"), st.sampled_from(["a", "b"]) | _values),
        **dict.fromkeys(("name", "input", "content", "text", "is_error"), _values),
    },
)
_lines = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "summary"])},
    optional={
        "timestamp": st.sampled_from(["2026-01-01T00:00:00Z", "never"]) | _values,
        "message": st.fixed_dictionaries({"content": st.lists(_blocks, max_size=4) | _values}) | _values,
        **dict.fromkeys(("cwd", "isMeta", "toolUseResult", "agentId", "isSidechain"), _values),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(said=st.lists(_lines | _values, max_size=8), raw=st.binary(max_size=40))
def test_anything_is_read_to_its_end(tmp_path: Path, said: list[object], raw: bytes) -> None:
    path, odd = tmp_path / "s.jsonl", Counter[str]()
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in said) + raw)
    for told in told_by(path, odd):
        assert told.name in NAMES and told.at_ms >= 0
        json.dumps(told.body)
    assert odd["lines"] <= len(said) + raw.count(b"\n") + 1


def test_a_projects_folder_is_named_as_the_client_names_it() -> None:
    assert folder_name(Path("/home/ada/My App_2")) == "-home-ada-My-App-2"


def line(kind: str, content: object, **more: object) -> str:
    return json.dumps({"type": kind, "timestamp": AT, "message": {"content": content}, **more})


AT = "2026-01-01T10:00:00.000Z"
CALL = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}
ANSWER = [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]


def text(said: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": said}]


SPOKEN = [
    line("user", "Old prompt"),
    line("assistant", text("Said before.")),
    line("user", "Why is it slow?"),
    line("assistant", text("The index is missing.")),
    line("assistant", [CALL]),
    line("user", ANSWER),
    line("assistant", [*text("It scans all rows."), CALL]),
    line("user", text("Stop hook feedback: run the tests"), isMeta=True),
    line("assistant", text("Somebody else's words."), isSidechain=True),
    line("assistant", text("Done for now.")),
    line("user", "Stop hook feedback: run the tests", isMeta=True),
    line("assistant", text("Tests pass.")),
]


def test_a_stop_tells_what_was_said_between_calls_and_each_that_a_hook_held_back(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(SPOKEN))
    stops = [told.body for told in told_by(path) if told.name == "Stop"]
    assert [(stop["last_assistant_message"], stop["between"]) for stop in stops] == [
        ("Said before.", []),
        ("Done for now.", ["The index is missing.", "It scans all rows."]),
        ("Tests pass.", ["The index is missing.", "It scans all rows."]),
    ]


def test_a_running_session_s_words_between_calls_are_read_from_its_own_file_alone(tmp_path: Path) -> None:
    path, link = tmp_path / "s.jsonl", tmp_path / "t.jsonl"
    path.write_text("\n".join(["{torn", *SPOKEN]))
    link.symlink_to(path)
    words = ["The index is missing.", "It scans all rows."]
    assert said_between(path, "s", None) == said_between(path, "s", 1 << 60) == words
    assert said_between(path, "s", 1) == []
    assert said_between(path, "t", None) == said_between(link, "t", None) == []
    assert said_between(tmp_path / "u.jsonl", "u", None) == said_between(tmp_path, tmp_path.name, None) == []


def test_of_a_large_transcript_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join([SPOKEN[2], line("user", ANSWER, more="x" * (3 << 20)), *SPOKEN[6:]]))
    assert said_between(path, "s", None) == ["It scans all rows."]


def test_a_history_that_is_repeated_under_new_numbers_counts_once(tmp_path: Path) -> None:
    def session(name: str, *more: str) -> Path:
        lines = [
            line("assistant", [CALL], uuid=f"{name}-1"),
            line("user", ANSWER, uuid=f"{name}-2", toolUseResult={"stdout": "x"}),
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join([*lines, *more]) + "\n")
        return path

    seen: set[str] = set()
    fresh = [
        line("assistant", [{**CALL, "id": "b"}], uuid="second-3"),
        line("user", [{**ANSWER[0], "tool_use_id": "b"}], uuid="second-4"),
    ]
    calls = [
        [event.body["tool_use_id"] for event in told_by(path, None, seen) if event.name == "PostToolUse"]
        for path in (session("first"), session("second", *fresh))
    ]
    assert calls == [["a"], ["b"]]
