"""Claude Code transcripts as the events that hooks would have told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from research.measures import sessions


def line(second: int, kind: str, content: object, **more: object) -> dict[str, object]:
    stamp = f"2026-01-05T10:00:{second:02d}.000Z"
    return {"type": kind, "timestamp": stamp, "cwd": "/w/p", "message": {"content": content}, **more}


def call(second: int, name: str, command: str, result: str, **more: object) -> list[dict[str, object]]:
    told = {"type": "tool_result", "tool_use_id": f"toolu_{second}", "content": result}
    failed = {"is_error": True} if more.pop("failed", False) else {}
    use = {"type": "tool_use", "id": f"toolu_{second}", "name": name, "input": {"command": command}}
    return [line(second, "assistant", [use], **more), line(second + 1, "user", [told | failed], **more)]


def written(path: Path, lines: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in lines) + "not json\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "proj"
    main = [
        line(0, "user", "Make the lighthouse blink twice"),
        line(1, "user", "<local-command-stdout>ok</local-command-stdout>"),
        line(2, "user", "a reminder", isMeta=True),
        *call(3, "Bash", "make blink", "blinked"),
        *call(5, "Bash", "make test", "Exit code 2", failed=True),
        *call(7, "Bash", "rm x", "The user doesn't want to proceed with this tool use.", failed=True),
        line(9, "user", "This session is being continued", isCompactSummary=True),
        line(20, "user", [{"type": "text", "text": "And now three times"}]),
    ]
    written(project / "first.jsonl", main)
    inside = [line(10, "user", "Look for lamps", isSidechain=True), *call(11, "Grep", "lamp", "3 lamps")]
    written(project / "first" / "subagents" / "agent-a1.jsonl", [{**one, "agentId": "a1"} for one in inside])
    beside = [{**one, "agentId": "b2", "sessionId": "first"} for one in call(13, "Grep", "bulb", "1 bulb")]
    written(project / "agent-b2.jsonl", beside)
    written(project / "talk.jsonl", [line(0, "user", "hello")])
    return tmp_path


def test_a_transcript_gives_the_events_that_hooks_would_have_told(folder: Path) -> None:
    (found,) = sessions.transcripts(folder)
    assert (found.name, found.project, sessions.set_of(found)) == ("first", "proj", "own")
    assert [(e.kind.value, e.input_text, e.agent_id) for e in found.events if not e.source] == [
        ("prompt-submit", "Make the lighthouse blink twice", ""),
        ("post-tool", "make blink", ""),
        ("post-tool-failure", "make test", ""),
        ("post-tool", "lamp", "a1"),
        ("post-tool", "bulb", "b2"),
        ("prompt-submit", "And now three times", ""),
    ]
    assert [e.success for e in found.events if e.tool_name] == [True, False, True, True]


def test_text_that_nobody_typed_is_no_prompt(folder: Path) -> None:
    (found,) = sessions.transcripts(folder)
    prompts = [e for e in found.events if e.kind.value == "prompt-submit"]
    assert [e.is_prompt for e in prompts] == [True, False, True]


def test_times_are_those_of_the_transcript(folder: Path) -> None:
    (found,) = sessions.transcripts(folder)
    times = [e.at_ms for e in found.events]
    assert times == sorted(times)
    assert times[-1] - times[0] == 20_000
