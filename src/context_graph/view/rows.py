"""The rows of the pane: how this project's store is, and what was put before the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

TEXT_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class Shown:
    """One memory that was put before the model."""

    memory_id: str
    at_ms: int
    cause: str
    """prompt, startup, resume, clear, compact, file, subagent."""
    relevance: float
    """In [0, 1]; 0 where a rule chose it."""
    tokens: int
    used: str
    """What showed that the model used it; "" if nothing did."""
    text: str
    """Its beginning, on one line; "" if it was forgotten."""
    is_forgotten: bool


@dataclass(frozen=True, slots=True)
class Pane:
    """Everything that one look at the pane shows."""

    health: Sequence[tuple[str, str]]
    """Name and text, the most important first."""
    shown: Sequence[Shown]
    """Newest first."""

    def to_json(self) -> dict[str, Any]:
        """As JSON, for a renderer elsewhere."""
        return {"health": [list(row) for row in self.health], "shown": [asdict(one) for one in self.shown]}


def shown_rows(
    entries: Iterable[Mapping[str, Any]], content: Callable[[str], str | None], *, limit: int
) -> list[Shown]:
    """The newest memories of the ledger's ``entries``, each once.

    Args:
        entries: As `Ledger.recent`, newest first.
        content: The text of a memory; None if it was forgotten.
    """
    found: dict[str, Shown] = {}
    for entry in entries:
        for one in entry["memories"]:
            if one["id"] in found or len(found) == limit:
                continue
            text = content(one["id"])
            found[one["id"]] = Shown(
                memory_id=one["id"],
                at_ms=entry["at_ms"],
                cause=entry["event"],
                relevance=one["score"],
                tokens=one["tokens"],
                used=one["used"],
                text=" ".join((text or "").split())[:TEXT_CHARS],
                is_forgotten=text is None,
            )
    return list(found.values())
