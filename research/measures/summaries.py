"""Stores of session summaries, made of recorded sessions as the hooks would make them."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from research.fit.drift_data import hook_event

from context_graph.config.settings import MemoryConfig
from context_graph.consolidation import snapshot
from context_graph.consolidation.snapshot import Snapshot
from context_graph.memory.capture import capture
from context_graph.memory.embed import default_provider
from context_graph.memory.memex import Memex
from context_graph.redact import Redactor

DAY_MS: Final = 86_400_000
BEGAN_MS: Final = 1_700_000_000_000


def handover_sessions(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Project -> its recorded sessions in order, as JSON; {} without the file."""
    projects: dict[str, list[dict[str, Any]]] = {}
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                session = json.loads(line)
                projects.setdefault(session["project"], []).append(session)
    return projects


@contextmanager
def summarised(sessions: Sequence[dict[str, Any]]) -> Iterator[Snapshot]:
    """A store with the summary of each session, three days apart, as a snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        redactor = Redactor()
        with Memex.open(
            Path(folder) / "store", config=MemoryConfig(), redactor=redactor, provider=default_provider()
        ) as memex:
            for number, session in enumerate(sessions):
                capture_session(memex, f"s{number}", session, BEGAN_MS + 3 * DAY_MS * number, redactor)
            with memex.core.operation("read") as core:
                yield snapshot.read(core.store, taken_ms=BEGAN_MS + 3 * DAY_MS * len(sessions))


def capture_session(memex: Memex, name: str, session: dict[str, Any], at_ms: int, redactor: Redactor) -> None:
    events = [
        replace(hook_event(name, number, event, redactor), at_ms=at_ms + 10_000 * number)
        for number, event in enumerate(session["events"])
    ]
    numbered = list(enumerate(events, start=1))
    capture(memex, name, lambda after: numbered[after:], project="project")
