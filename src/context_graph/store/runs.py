"""Runs: consolidations and what undid them, each one contiguous range of commit numbers and one batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context_graph.store.graph_records import decode_meta, encode_meta
from context_graph.store.memory_envelope import damaged_memory

__all__ = ["UNDO", "Run", "decode_run", "encode_run"]

UNDO = "undo"
"""The mode of a run that undid another."""


@dataclass(frozen=True, slots=True)
class Run:
    """One consolidation, or the undoing of one."""

    token: UUID
    """By which it is undone."""
    mode: str
    """light, deep, rem, or undo."""
    at_ms: int
    first: int
    """Commit number of its first change, Op.RUN."""
    last: int
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many of each kind of change it made."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What its caller wanted to be kept with it, a JSON object."""
    undoes: UUID | None = None
    """The run that this one undid."""
    undone_by: UUID | None = None
    """The run that undid this one."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "token": str(self.token),
            "mode": self.mode,
            "at_ms": self.at_ms,
            "first": self.first,
            "last": self.last,
            "counts": dict(self.counts),
            "details": dict(self.details),
            "undoes": str(self.undoes) if self.undoes else None,
            "undone_by": str(self.undone_by) if self.undone_by else None,
        }


def encode_run(key: bytes, run: Run) -> bytes:
    """The record of ``run``. Raises InvalidParamsError: more than 1 MiB of details."""
    return encode_meta(key, run.as_dict())


def decode_run(key: bytes, record: bytes) -> Run:
    """The run in ``record``. Raises as decode_node."""
    found = decode_meta(key, record)
    try:
        return _run(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged_memory(key, f"run: {error}") from error


def _run(found: Mapping[str, Any]) -> Run:
    return Run(
        token=UUID(found["token"]),
        mode=found["mode"],
        at_ms=found["at_ms"],
        first=found["first"],
        last=found["last"],
        counts=found["counts"],
        details=found["details"],
        undoes=UUID(found["undoes"]) if found["undoes"] else None,
        undone_by=UUID(found["undone_by"]) if found["undone_by"] else None,
    )
