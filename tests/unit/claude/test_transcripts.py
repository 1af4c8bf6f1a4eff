"""Transcripts are input from outside: whatever a file holds, it is read to its end and told in bounds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_graph.claude.transcripts import folder_name, told_by

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
