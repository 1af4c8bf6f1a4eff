"""What a hook is told after it has stopped waiting was read by nobody: it is told again."""

from __future__ import annotations

import json
import logging
import time
from itertools import count
from pathlib import Path

from context_graph.config import Settings
from context_graph.owner.service import OwnerService, build_service
from context_graph.wire.frames import Request

_NUMBERS = count(1)
RULE = "Never use floats for money."


def _told(service: OwnerService, root: Path, verb: str, session: str, *, waits_ms: int, **body: str) -> str:
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
