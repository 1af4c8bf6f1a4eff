"""Defines a memory and what describes it: seed 003's types (appendix A) and ours. Standard library only.

A node is a value: nothing changes one in place. Real numbers are Python floats (f64), so that 0.8 stays 0.8
on its way to the disk and into JSON; only embeddings are float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any, Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.model.spaces import EMBEDDING_BYTES

MAX_CONTENT_CHARS: Final = 65_536
"""Characters (code points), REQ-CORE-001."""
MIN_RATIONALE_CHARS: Final = 10
MAX_RATIONALE_CHARS: Final = 500
MAX_DEPTH: Final = 64
"""Of metadata: how many objects and lists may stand in one another."""
MIN_RELEVANCE: Final = 0.3
"""Relevance below which recall calls a memory weak and inject_context returns none (docs/dev/recall.md)."""
USER_REQUESTED: Final = "user_requested"
"""The only reason for which a memory is deleted for good (REQ-CORE-013)."""

CAPTURED: Final = "capture"
"""Who stored a session's summary, which its session rewrites."""
NOTED: Final = "note"
"""Who stored a session's notes, which it rewrites as well."""
SEARCHED: Final = "searched"
"""Key of a memory's metadata: text that finds it and is not shown."""
ACCEPTED: Final = "accepted"
"""Key of a memory's metadata: somebody found it fine as it is, alone or not."""
CONFIRMED: Final = "confirmed"
"""Key of a memory's metadata: when somebody confirmed it, and what taking that back puts back."""
REWORDED: Final = "reworded"
"""Key of a memory's metadata: when somebody gave it the text that it has."""

HIGH_ENTROPY: Final = 0.7
_LOW: Final = 0.4
_HIGH_COHERENCE: Final = 0.5


def check_content(content: object) -> None:
    """Raise InvalidParamsError unless ``content`` is text of 1 to 65,536 characters (EC-CORE-001)."""
    if not isinstance(content, str):
        raise InvalidParamsError.of("content", f"must be a string, is {type(content).__name__}")
    if len(content) > MAX_CONTENT_CHARS:
        raise InvalidParamsError(
            f"Content exceeds maximum length of {MAX_CONTENT_CHARS} characters",
            parameter="content",
            row="ERR-CORE-006",
            detail=f"Invalid params: content exceeds maximum length of {MAX_CONTENT_CHARS} characters "
            f"(received: {len(content)})",
            recovery="Split content into multiple memories or summarize before storing",
        )
    if not content or content.isspace():
        raise InvalidParamsError.of("content", "is empty; give at least one character that is no space")


def plain_tag(tag: str) -> str:
    """Return ``tag`` as it is kept and looked for: case and blanks make no difference."""
    return " ".join(tag.split()).lower()


def check_rationale(rationale: object) -> None:
    """Raise InvalidParamsError unless ``rationale`` has 10 to 500 characters (EC-CORE-002, EC-CORE-003)."""
    if rationale is None or rationale == "":
        raise _rationale(f"Rationale is required ({MIN_RATIONALE_CHARS}-{MAX_RATIONALE_CHARS} characters)")
    if not isinstance(rationale, str):
        raise InvalidParamsError.of("rationale", f"must be a string, is {type(rationale).__name__}")
    if len(rationale) > MAX_RATIONALE_CHARS:
        raise _rationale(f"Rationale must be at most {MAX_RATIONALE_CHARS} characters")
    if len(rationale.strip()) < MIN_RATIONALE_CHARS:
        raise _rationale(f"Rationale must be at least {MIN_RATIONALE_CHARS} characters")


def _rationale(message: str) -> InvalidParamsError:
    return InvalidParamsError(
        message,
        parameter="rationale",
        row="ERR-CORE-005",
        detail="Invalid params: rationale is required "
        f"({MIN_RATIONALE_CHARS}-{MAX_RATIONALE_CHARS} characters)",
        recovery="Provide meaningful rationale explaining why this memory should be stored",
    )


def check_unit(name: str, value: object) -> None:
    """Raise InvalidParamsError unless ``value`` is a number in [0, 1]."""
    check_range(name, value, 0.0, 1.0)


def check_range(name: str, value: object, low: float, high: float) -> None:
    """Raise InvalidParamsError unless ``value`` is a number in [low, high]; NaN is not."""
    if type(value) is float or type(value) is int:  # bool is no number here
        if low <= value <= high:
            return
        raise InvalidParamsError.of(name, f"is {value!r}, must be between {low:g} and {high:g}")
    raise InvalidParamsError.of(name, f"must be a number, is {type(value).__name__}")


def check_depth(name: str, value: Mapping[str, Any]) -> None:
    """Raise InvalidParamsError if JSON is nested deeper than MAX_DEPTH: whoever walks through it recurses."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        parts = (
            part for whole in level for part in (whole.values() if isinstance(whole, Mapping) else whole)
        )
        level = [part for part in parts if isinstance(part, Mapping | list | tuple)]
        if not level:
            return
    raise InvalidParamsError.of(name, f"is nested more than {MAX_DEPTH} deep; keep it flatter, or as text")


class JohariQuadrant(StrEnum):
    """The quadrants of the Johari window; UNKNOWN where nothing is known yet (REQ-HOOKS-16, REQ-CORE-002)."""

    OPEN = "open"
    BLIND = "blind"
    HIDDEN = "hidden"
    UNKNOWN = "unknown"


class Modality(StrEnum):
    """The form of a memory's content before it was text."""

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"


class VerbosityLevel(IntEnum):
    """How much an answer tells (REQ-CORE-005); some 100, 200 and 800 tokens."""

    RAW_ONLY = 0
    TEXT_AND_IDS = 1
    FULL_INSIGHTS = 2

    @classmethod
    def from_value(cls, value: int) -> VerbosityLevel:
        """Return the level of that number; TEXT_AND_IDS for every other number."""
        try:
            return cls(value)
        except ValueError:
            return cls.TEXT_AND_IDS


class SuggestedAction(StrEnum):
    """The next step that the state of the store suggests (REQ-CORE-004)."""

    CONSOLIDATE = "consolidate"
    EXPLORE = "explore"
    CLARIFY = "clarify"
    CURATE = "curate"
    READY = "ready"
    EPISTEMIC_ACTION = "epistemic_action"
    TRIGGER_DREAM = "trigger_dream"

    @classmethod
    def for_state(
        cls, entropy: float, coherence: float, *, curation_pending: bool = False
    ) -> SuggestedAction:
        """Return the action for entropy and coherence in [0, 1]; the first rule that fits wins.

        Curation pending: curate. Entropy above 0.7: trigger_dream with coherence below 0.4,
        epistemic_action with coherence above 0.5, else consolidate. Coherence below 0.4: explore with
        entropy below 0.4, else clarify. Otherwise ready.

        Source: seed 003 REQ-CORE-004, whose rules overlap; D4.4 orders them.
        """
        if curation_pending:
            return cls.CURATE
        if entropy > HIGH_ENTROPY:
            if coherence < _LOW:
                return cls.TRIGGER_DREAM
            return cls.EPISTEMIC_ACTION if coherence > _HIGH_COHERENCE else cls.CONSOLIDATE
        if coherence < _LOW:
            return cls.EXPLORE if entropy < _LOW else cls.CLARIFY
        return cls.READY


@dataclass(frozen=True, slots=True)
class CognitivePulse:
    """The header of every answer (REQ-CORE-003); entropy and coherence in [0, 1]."""

    entropy: float
    coherence: float
    suggested_action: SuggestedAction
    about: str = ""
    """What is to be clarified, by the ids of the memories; "" where nothing in particular is."""

    def __post_init__(self) -> None:
        check_unit("entropy", self.entropy)
        check_unit("coherence", self.coherence)

    def as_dict(self) -> dict[str, object]:
        """Return JSON-able, by seed 003's field names, with two decimals: every answer carries it."""
        return {
            "entropy": round(self.entropy, 2),
            "coherence": round(self.coherence, 2),
            "suggested_action": self.suggested_action.value,
            **({"about": self.about} if self.about else {}),
        }


@dataclass(frozen=True, slots=True)
class UTLState:
    """A memory's learning state (REQ-CORE-006): L = f((delta_s * delta_c) * w_e * cos phi)."""

    delta_s: float = 0.5
    """Entropy change (surprise), [0, 1]."""
    delta_c: float = 0.5
    """Coherence change, [0, 1]."""
    w_e: float = 1.0
    """Emotional weight, [0.5, 1.5]."""
    phi: float = 0.0
    """Phase, [0, pi] radians."""

    def __post_init__(self) -> None:
        check_range("delta_s", self.delta_s, 0.0, 1.0)
        check_range("delta_c", self.delta_c, 0.0, 1.0)
        check_range("w_e", self.w_e, 0.5, 1.5)
        check_range("phi", self.phi, 0.0, math.pi)


DEFAULT_UTL: Final = UTLState()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNode:
    """One memory (REQ-CORE-001). Make one with `Memex.store`, which checks what goes in."""

    id: UUID
    content: str
    rationale: str
    """Why it is kept, 10 to 500 characters (CON-CORE-012)."""
    created_at_ms: int
    """Unix milliseconds: when it happened, or was stored."""
    last_accessed_ms: int
    importance: float = 0.5
    """[0, 1]."""
    access_count: int = 0
    johari_quadrant: JohariQuadrant = JohariQuadrant.UNKNOWN
    utl_state: UTLState = DEFAULT_UTL
    agent_id: str | None = None
    session_id: str | None = None
    project: str | None = None
    semantic_cluster: UUID | None = None
    modality: Modality = Modality.TEXT
    tags: tuple[str, ...] = ()
    pinned: bool = False
    source: str = "library"
    """Who stored it: tool, capture, note, import, cli, library."""
    commit_seq: int = 0
    """Its place in the order of commits of its store, from 1."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """A JSON object. Not to be changed: nodes are shared through the cache."""
    embedding: bytes | None = field(default=None, repr=False, compare=False)
    """1536 float32, little-endian; None when it was not loaded with the node (`Memex.embedding`)."""

    def __hash__(self) -> int:
        return hash(self.id)

    def validate(self) -> None:
        """Check every field against seed 003's limits, for nodes that come from elsewhere as a whole.

        Raises InvalidParamsError, naming the field and its limit.
        """
        check_content(self.content)
        check_rationale(self.rationale)
        check_unit("importance", self.importance)
        for name in ("created_at_ms", "last_accessed_ms", "access_count"):
            check_range(name, getattr(self, name), 0, _COUNTS[name])
        if self.embedding is not None and len(self.embedding) != EMBEDDING_BYTES:
            raise InvalidParamsError.of(
                "embedding", f"has {len(self.embedding)} bytes, must have {EMBEDDING_BYTES} (1536 float32)"
            )


_COUNTS: Final = {
    "created_at_ms": (1 << 63) - 1,
    "last_accessed_ms": (1 << 63) - 1,
    "access_count": (1 << 32) - 1,
}


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The trace of a deleted memory (REQ-CORE-013)."""

    id: UUID
    deleted_at_ms: int
    reason: str
    soft: bool
    """Soft: the memory can be restored until it is purged."""

    @property
    def merged_into(self) -> UUID | None:
        """The memory that it became part of in a consolidation."""
        if not self.reason.startswith(_MERGED):
            return None
        try:
            return UUID(self.reason.removeprefix(_MERGED))
        except ValueError:
            return None


TOMBSTONE_LOST: Final = "its tombstone was lost"
"""The reason in the tombstone that a repair makes for a memory that was soft-deleted."""
_MERGED: Final = "merged into "


def merged_reason(survivor: UUID) -> str:
    """Return the reason in the tombstone of a memory that was merged into ``survivor``."""
    return _MERGED + str(survivor)


LAST_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: years of four digits end there, and with them what a memory's time may be."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


def iso_time(at_ms: int) -> str:
    """Return ISO 8601 in UTC, 2026-11-21T09:30:00.000Z; a later time than `LAST_MS` is told as that, an
    earlier one than 1970 as its begin."""
    at = _EPOCH + timedelta(milliseconds=max(0, min(at_ms, LAST_MS)))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_ms(text: str) -> int:
    """Return Unix ms of an ISO 8601 text, without an offset in UTC, cut to whole milliseconds; negative
    before 1970.

    Raises ValueError for any other text.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return (moment - _EPOCH) // _MS
    except OverflowError as error:  # an offset that leads out of the calendar
        raise ValueError(str(error)) from error


def parse_time(name: str, value: object) -> int:
    """Return Unix ms of an ISO 8601 text (without an offset: UTC) or of Unix ms as they are.

    Raises InvalidParamsError for anything else.
    """
    if type(value) is int and 0 <= value <= LAST_MS:
        return value
    if isinstance(value, str):
        try:
            return instant_ms(value)
        except ValueError:
            pass
    raise InvalidParamsError.of(
        name,
        f"must be a date and time such as 2026-01-31T12:00:00Z, or Unix milliseconds from 0 to {LAST_MS}; "
        f"is {value!r:.80}",
    )


MERGED_FROM: Final = "merged_from"
"""In the metadata of a memory into which others were merged: a list of objects with ``id`` and ``content``,
oldest merge first."""
TOLD_BY: Final = "told_by"
"""Key of the metadata of a memory from another machine: {"machine": id, "author": login in the hub, if it
came by one}. Each machine writes it for itself; it does not travel: none signs with another's name."""
_LOGIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-")
_MAX_LOGIN: Final = 63


def plain_login(name: object) -> str:
    """Return ``name`` if it may stand before a model as it is, else ""."""
    fits = isinstance(name, str) and len(name) <= _MAX_LOGIN and _LOGIN.issuperset(name)
    return str(name) if fits else ""


def author_of(node: MemoryNode) -> str:
    """Return the colleague who told a memory; "" if it is one's own, or nobody knows."""
    return _told_by(node, "author")


def machine_of(node: MemoryNode) -> str:
    """Return the id of the machine that told a memory; "" if it is one's own."""
    return _told_by(node, "machine")


def _told_by(node: MemoryNode, what: str) -> str:
    origin = node.metadata.get(TOLD_BY)
    return plain_login(origin.get(what)) if isinstance(origin, dict) else ""
