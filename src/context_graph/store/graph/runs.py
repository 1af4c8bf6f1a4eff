"""Encodes runs, each one range of commit numbers and one batch: consolidations, and the undoing of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from context_graph.store.graph.records import damaged_memory, decode_meta, encode_meta

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


def encode_run(key: bytes, run: Run) -> bytes:
    """The record of ``run``. Raises InvalidParamsError: more than 1 MiB of details."""
    return encode_meta(key, msgspec.to_builtins(run))


def decode_run(key: bytes, record: bytes) -> Run:
    """The run in ``record``. Raises as decode_node."""
    try:
        return msgspec.convert(decode_meta(key, record), Run)
    except msgspec.ValidationError as error:
        raise damaged_memory(key, f"run: {error}") from error
