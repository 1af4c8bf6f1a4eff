"""Holds the map of a store: what its memories are about.

A deep or rem run draws it and keeps it as a fact about the store (docs/dev/formats.md). It is there to be
looked at; nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from context_graph.errors import DatabaseCorruptionError

MAX_CLUSTERS: Final = 200
"""The largest ones."""
MAX_DRIFT: Final = 200
"""Measurements of drift that are kept, the newest: one for each rem run that measured another one."""
_VERSION: Final = 2
_READ: Final = (1, _VERSION)
"""Version 1 also said where in two dimensions each memory lay, and the last commit that it knew."""


class Group(msgspec.Struct, frozen=True):
    """One cluster."""

    label: str
    memories: int
    coherence: float


class Recurring(msgspec.Struct, frozen=True):
    """One pattern."""

    text: str
    memories: int
    confidence: float


class Measured(msgspec.Struct, frozen=True):
    """Drift, as one run measured it (`plan.Drift`)."""

    at_ms: int
    similarity: float
    level: str


class StoreMap(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    at_ms: int
    clusters: tuple[Group, ...] = ()
    patterns: tuple[Recurring, ...] = ()
    drift: tuple[Measured, ...] = ()
    """Oldest first."""
    version: int = _VERSION


def encode_map(drawn: StoreMap) -> dict[str, Any]:
    """Return the fact: JSON-able, at most some 40 KB."""
    document: dict[str, Any] = msgspec.to_builtins(drawn)
    return document


def decode_map(fact: Mapping[str, Any] | None) -> StoreMap | None:
    """Return what `encode_map` was given; None without such a fact.

    Raises DatabaseCorruptionError if it can't be read or is of a later version; nothing is guessed.
    """
    if fact is None:
        return None
    if fact.get("version") not in _READ:
        raise DatabaseCorruptionError(
            f"the map of this store is of version {fact.get('version')!r}; this build reads {_VERSION}"
        )
    try:
        return msgspec.convert({**fact, "version": _VERSION}, StoreMap)
    except msgspec.ValidationError as error:
        raise DatabaseCorruptionError(f"the map of this store can't be read: {error}") from error


def with_drift(kept: tuple[Measured, ...], now: Measured | None) -> tuple[Measured, ...]:
    """Return the measurements with ``now`` at the end, unless it says the same as the last."""
    if now is None or (kept and kept[-1] == msgspec.structs.replace(now, at_ms=kept[-1].at_ms)):
        return kept
    return (*kept, now)[-MAX_DRIFT:]


def is_redrawn(kept: StoreMap | None, drawn: StoreMap) -> bool:
    """Return whether anything but the time differs, so that a run with nothing to do writes nothing.

    The first map of a store needs something to show: a cluster, a pattern or drift.
    """
    if kept is None:
        return bool(drawn.clusters or drawn.patterns or drawn.drift)
    return msgspec.structs.replace(drawn, at_ms=kept.at_ms) != kept
