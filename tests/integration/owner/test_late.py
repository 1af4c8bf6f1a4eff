"""What a hook is told after it has stopped waiting was read by nobody: it is told again."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from context_graph.config import Settings
from context_graph.owner.service import OwnerService, build_service
from context_graph.wire.frames import Request

_NUMBERS = count(1)
TOPICS = (
    "bakery knead levain/rye_starter.flour hydrate_dough oven.spring crumb::open crusty sourdough ",
    "ticker candles futures/oil_spread.csv hedge_ratio margin.call broker::quote volatility strike ",
    "vim colorscheme palette/gruvbox_dark.vim highlight_group syntax.region theme::contrast terminal ",
    "xylophone tune mallets/rosewood_bar.scad resonator_tube overtone.hz pitch::octave hammer glissando ",
)
WORK = [f"pytest tests/test_bucket.py -k {letter}" for letter in "abcdefghijkl"]
SAID = "unlike what this session has been about"
RULE = "Never use floats for money."


def _told(service: OwnerService, root: Path, verb: str, session: str, *, waits_ms: int, **body: Any) -> str:
    """The context that a hook's answer has, whose process began a second ago."""
    reply = service.handle(
        Request(
            verb=f"hooks.{verb}",
            event_id=f"{next(_NUMBERS):032x}",
            params={"format": "claude"},
            body=json.dumps({"session_id": session, "cwd": str(root), **body}).encode(),
            store=root / "store",
            project=root,
            at_ms=time.time_ns() // 1_000_000 - 1000,
            deadline_ms=waits_ms,
        )
    )
    service.settle()
    document = json.loads(reply.stdout) if reply.stdout else {}
    return str(document.get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_a_rule_that_came_too_late_is_told_at_the_next_prompt(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    service = build_service(tmp_path, Settings(), logging.getLogger("test"))
    _told(service, tmp_path, "session-start", "s-1", waits_ms=60_000, source="startup")
    _told(service, tmp_path, "prompt-submit", "s-1", waits_ms=60_000, prompt=f"Add the basket. {RULE}")
    _told(service, tmp_path, "session-end", "s-1", waits_ms=60_000, reason="exit")
    asked = "Sum up the money of the basket"
    _told(service, tmp_path, "session-start", "s-2", waits_ms=1, source="startup")
    assert RULE not in _told(service, tmp_path, "prompt-submit", "s-2", waits_ms=1, prompt=asked)
    assert RULE in _told(service, tmp_path, "prompt-submit", "s-2", waits_ms=60_000, prompt=f"{asked} again")
    assert RULE not in _told(service, tmp_path, "prompt-submit", "s-2", waits_ms=60_000, prompt=asked)
    service.close()


def _calls(commands: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, command in enumerate(commands):
        call = {"tool_name": "Bash", "tool_use_id": f"toolu_{number}", "tool_input": {"command": command}}
        yield {**call, "tool_response": {"stdout": f"{command} ok", "stderr": ""}}


def test_an_alarm_that_came_too_late_is_said_at_the_next_prompt(tmp_path: Path) -> None:
    """The session leaves its track while nobody waits for what its calls and its prompt are told."""
    service = _off_track(tmp_path)
    for done in _calls([*WORK, *(topic * 4 for topic in TOPICS)]):
        assert not _told(service, tmp_path, "post-tool", "s-1", waits_ms=1, **done)
    assert SAID not in _told(service, tmp_path, "prompt-submit", "s-1", waits_ms=1, prompt="look at it")
    assert SAID in _told(service, tmp_path, "prompt-submit", "s-1", waits_ms=60_000, prompt="look again")
    assert SAID not in _told(service, tmp_path, "prompt-submit", "s-1", waits_ms=60_000, prompt="and again")
    service.close()


def test_an_alarm_that_half_of_the_last_calls_speak_against_waits_for_the_next_ones(tmp_path: Path) -> None:
    service = _off_track(tmp_path)
    told = [
        _told(service, tmp_path, "post-tool", "s-1", waits_ms=60_000, **done)
        for done in _calls([*WORK, *(topic * 4 for topic in TOPICS * 2)])
    ]
    said = [number for number, text in enumerate(told) if SAID in text]
    assert said[0] == len(WORK) + 3, "half of eight; the one before crossed the line"
    service.close()


def _off_track(root: Path) -> OwnerService:
    """A service with a session that is about to work on one thing."""
    (root / "cache").mkdir()
    service = build_service(root, Settings(), logging.getLogger("test"))
    _told(service, root, "session-start", "s-1", waits_ms=60_000, source="startup")
    _told(service, root, "prompt-submit", "s-1", waits_ms=60_000, prompt="please look at the bucket")
    return service
