"""Writes and reads what restoring a live session needs beside its snapshot and goals, as versioned bytes."""

from __future__ import annotations

import math
from array import array
from typing import Annotated, Final

import msgspec

from context_graph.errors import CorruptedIdentityError
from context_graph.identity.across import Before
from context_graph.identity.brief import StateAndLevel, is_known
from context_graph.identity.circles import CirclesState
from context_graph.model import KURAMOTO_N

IC_HISTORY: Final = 200
"""IC values kept for `session show`, as 32-bit floats."""

_MAGIC: Final = b"CGR\x01"
"""The last byte is the version: never renumber."""

Count = Annotated[int, msgspec.Meta(ge=0)]
Unit = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class Runtime(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """State of a live session beside its snapshot and goals. Fields by position: append only."""

    alignment: bytes
    """13 doubles, as are level and identity."""
    level: bytes
    identity: bytes
    since_prompt: Count
    has_evidence: bool
    root: str
    """Folder that paths in texts are read relative to, with a final slash; "" for none."""
    predictions: tuple[list[tuple[str, str, Count, Count]], list[Count], Count]
    """Rates, nothing any longer, forecasts scored: parts of PredictionTracker.to_state(), as is forecasts."""
    monitor: tuple[Unit | None, bool, int | None]
    events_by_kind: dict[str, Count]
    events_duplicate: Count
    ic_history: bytes
    """32-bit floats, oldest first."""
    before: Before | None = None
    """None too in sessions stored before it was kept."""
    circles: CirclesState | None = None
    """Circles.to_state(); None in a record of an earlier version: nothing to repeat yet."""
    told: StateAndLevel | None = None
    """LiveSession.told."""
    forecasts: tuple[list[tuple[Unit, bool]], list[tuple[Count, bool]]] | None = None
    """None in sessions stored before forecasts had probabilities: the score begins afresh, the rates stay."""


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Runtime)


def encode_runtime(runtime: Runtime) -> bytes:
    """Return ``runtime`` as versioned bytes: 0.5 KB for a new session, some 2 KB for a long one."""
    return _MAGIC + _ENCODER.encode(runtime)


def decode_runtime(packed: bytes) -> Runtime:
    """Return the runtime that encode_runtime gave.

    Raises CorruptedIdentityError for other bytes, a later version, or numbers no session can have.
    """
    if packed[: len(_MAGIC)] != _MAGIC:
        raise CorruptedIdentityError(
            f"session runtime is damaged or of a later version: it begins with {packed[:4]!r}"
        )
    try:
        runtime = _DECODER.decode(packed[len(_MAGIC) :])
    except msgspec.DecodeError as error:
        raise CorruptedIdentityError(f"session runtime can't be read: {error}") from error
    for name in ("alignment", "level", "identity"):
        _require_numbers(name, getattr(runtime, name))
    if runtime.before is not None:
        _require_numbers("before.phases", runtime.before.phases)
    if runtime.told is not None and not is_known(runtime.told):
        raise CorruptedIdentityError(f"session runtime: {runtime.told!r} is no state and level")
    if len(runtime.ic_history) % 4 or len(runtime.ic_history) > 4 * IC_HISTORY:
        raise CorruptedIdentityError(f"session runtime has {len(runtime.ic_history)} bytes of IC history")
    return runtime


def _require_numbers(name: str, packed: bytes) -> None:
    if len(packed) != 8 * KURAMOTO_N or not all(map(math.isfinite, array("d", packed))):
        raise CorruptedIdentityError(f"session runtime: {name} is not {KURAMOTO_N} finite numbers")
