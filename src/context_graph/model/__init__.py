"""Defines the records that cross the layers. Standard library only; no behaviour beyond their invariants.

Here: hook events, session identity snapshots and reports about them. What only memory needs is in modules of
its own (`model.memory`, `model.edge`, …), so that clients and hooks don't load it.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, get_args, get_type_hints

SHELLS: Final = frozenset({"Bash", "PowerShell"})
"""The client's tools that run a command line."""
EDITING: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
"""The client's tools that change a file."""


@dataclass(slots=True)
class EventParts:
    """The parts of one event, redacted and bounded; what does not apply is empty."""

    file_path: str = ""
    """As the call gives it: of a file tool, or the folder of a search."""
    command: str = ""
    description: str = ""
    """The model's own words about a command or a subagent's task."""
    pattern: str = ""
    """What was searched for, in files or in the web."""
    url: str = ""
    old_text: str = ""
    new_text: str = ""
    """Of an edit; of several the first. A new file's or cell's beginning."""
    is_whole: bool = False
    """Whether both texts are whole lines of the file that was edited."""
    writes: list[str] = field(default_factory=list)
    """Files that a new script may write."""
    symbols: list[str] = field(default_factory=list)
    """Functions and classes that an edit touches, or that stand in what was written or read."""
    patched: list[list[str]] = field(default_factory=list)
    """[file, what was there, what is there now, *functions and classes] of each change in a diff that a
    command printed."""
    tail: str = ""
    """The end of an output that is longer than the event's text."""
    exit_code: int | None = None
    agent: str = ""
    """The kind of a subagent that a call has work."""
    task: str = ""
    """What it is told; the question that a page is read for."""
    answers: list[list[str]] = field(default_factory=list)
    """[question, what the user chose]."""
    todos: list[list[str]] = field(default_factory=list)
    """[state, subject] of each item of a list."""
    todo: list[str] = field(default_factory=list)
    """[id, state, subject] of the one task that was made or changed; "" for what is not told."""
    plan: str = ""
    words: str = ""
    """The whole of a message whose event's text is shorter: a prompt, last words, a compaction's summary."""
    remarks: list[str] = field(default_factory=list)
    """Of a stop: what the assistant said since the prompt, between its calls, that tells something."""
    account: str = ""
    """Of a prompt: the store of what its user says of all his work (`config.account_of`)."""

    def to_json(self) -> dict[str, Any]:
        """Return the parts that are there, as JSON values, for from_json."""
        values = {name: getattr(self, name) for name in _NAMES}
        return {name: value for name, value in values.items() if value or (value is not False and value == 0)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> EventParts:
        """Return the parts that to_json gave; a name or type that is not ours is left out."""
        made = cls()
        for name, value in record.items():
            if name in _TYPES and isinstance(value, _TYPES[name]):
                setattr(made, name, value)
        return made


_NAMES: Final = tuple(part.name for part in fields(EventParts))
_TYPES: Final = {
    name: list if "list" in str(kind) else tuple(get_args(kind)) or kind
    for name, kind in get_type_hints(EventParts).items()
}


KURAMOTO_N: Final = 13
"""Oscillators, embedding spaces and purpose-vector components (AP-25)."""
MAX_TRAJECTORY_LEN: Final = 50
MAX_SESSION_ID_LEN: Final = 100
"""Characters, not bytes: a cut never falls inside a character."""
CRISIS_THRESHOLD: Final = 0.5
"""IDENTITY-007; exactly 0.5 is no crisis."""
EVENT_TEXT_BYTES: Final = 2048
"""What one event keeps of each of its two texts, after redaction."""
NOTIFICATION: Final = "notification"
"""How the ``source`` of a PROMPT_SUBMIT begins that nobody wrote: the client's own message."""
_DELEGATING: Final = frozenset({"Agent", "Task"})
"""The client's tools that let a subagent work; their texts are what it is told and what it says."""


class EventKind(StrEnum):
    """What happened; the values are the CLI's verbs. Their order is on disk: a new kind comes last."""

    SESSION_START = "session-start"
    PRE_TOOL = "pre-tool"
    POST_TOOL = "post-tool"
    POST_TOOL_FAILURE = "post-tool-failure"
    PROMPT_SUBMIT = "prompt-submit"
    STOP = "stop"
    PRE_COMPACT = "pre-compact"
    SESSION_END = "session-end"
    PERMISSION_REQUEST = "permission-request"
    SUBAGENT_STOP = "subagent-stop"
    PROMPT_EXPANSION = "prompt-expansion"
    PERMISSION_DENIED = "permission-denied"
    POST_COMPACT = "post-compact"
    SUBAGENT_START = "subagent-start"
    CONFIG_CHANGE = "config-change"


@dataclass(slots=True)
class HookEvent:
    """One hook call, normalised from either stdin shape, redacted and cut.

    ``input_text`` and ``output_text`` hold at most EVENT_TEXT_BYTES each (UTF-8), already
    redacted: nothing that reads a HookEvent ever sees the raw text.
    """

    kind: EventKind
    session_id: str
    event_id: str
    """Unique for one call of the hook; a replay of the same call has the same id."""
    at_ms: int
    """Unix milliseconds at which the hook started."""
    tool_name: str = ""
    tool_use_id: str = ""
    prompt_id: str = ""
    input_text: str = ""
    """Prompt, or the flattened tool input."""
    output_text: str = ""
    """Flattened tool response, or the error of a failed tool."""
    success: bool | None = None
    """None when the event says nothing about success."""
    source: str = ""
    """SessionStart: startup, resume, clear, compact, fork. A prompt: who wrote it, as far as the client
    tells; NOTIFICATION, with a colon and the client's word for it if there is one, where nobody did."""
    reason: str = ""
    """SessionEnd: why; status of seed 001."""
    previous_session_id: str = ""
    duration_ms: int = 0
    cwd: str = ""
    agent_id: str = ""
    """The subagent that did it; empty for the session's own work."""
    parts: EventParts = field(default_factory=EventParts)
    """What the two texts hold, each part by itself: redacted and cut as they are."""
    from_plugin: bool = False
    """The client runs the hook for a plugin, not for its settings. Not kept."""
    is_elsewhere: bool = False
    """Another host than Claude Code sent it: nobody there has read Claude Code's own memory. Not kept."""
    is_canary: bool = False
    """`doctor` sent it to see whether hooks work: it is recorded and does nothing else. Not kept."""

    @property
    def output(self) -> str:
        """What is kept of a command's output or error: its beginning and, of a longer one, its end."""
        return f"{self.output_text}\n{self.parts.tail}" if self.parts.tail else self.output_text

    @property
    def is_prompt(self) -> bool:
        """Whether somebody asks for something: a prompt that is no notification."""
        return self.kind is EventKind.PROMPT_SUBMIT and not self.source.startswith(NOTIFICATION)

    @property
    def is_delegated(self) -> bool:
        """Whether a subagent did it, or it is the call that had one work: none of the session's own doing."""
        return bool(self.agent_id) or self.tool_name in _DELEGATING

    @property
    def counted_as(self) -> str:
        """The name under which a session counts it: its kind, `notification` or `subagent`."""
        if self.agent_id and self.kind not in (EventKind.SUBAGENT_START, EventKind.SUBAGENT_STOP):
            return "subagent"
        return (
            NOTIFICATION if self.kind is EventKind.PROMPT_SUBMIT and not self.is_prompt else self.kind.value
        )

    @property
    def has_own_key(self) -> bool:
        """Whether the client names the event itself, so that it is known when another hook brings it."""
        return bool(self.tool_use_id or (self.prompt_id and self.kind is EventKind.PROMPT_SUBMIT))

    def dedupe_key(self) -> str:
        """Return the key under which this event is applied once (invariant 6)."""
        if self.tool_use_id:
            # With the prompt, where it is known: a gateway or model that numbers its tool uses may begin anew
            # when a session is resumed.
            prompt = f"\0p\0{self.prompt_id}" if self.prompt_id else ""
            return f"{self.kind.value}\0u\0{self.tool_use_id}{prompt}"
        if self.prompt_id and self.kind is EventKind.PROMPT_SUBMIT:
            # A notification may come under the id of the prompt that it belongs to.
            notice = "" if self.is_prompt else f"\0{NOTIFICATION}\0{self.input_text}"
            return f"{self.kind.value}\0p\0{self.prompt_id}{notice}"
        return f"{self.kind.value}\0i\0{self.event_id}"


def cut_session_id(session_id: str) -> str:
    """Return the first MAX_SESSION_ID_LEN characters of ``session_id`` (REQ-SESSION-01)."""
    return session_id[:MAX_SESSION_ID_LEN]


def _uniform_vector() -> list[float]:
    return [1.0 / math.sqrt(KURAMOTO_N)] * KURAMOTO_N


@dataclass(slots=True)
class SessionIdentitySnapshot:
    """A session's identity: the 14 fields of seeds 000 and 001, with their defaults (REQ-SESSION-01).

    ``cross_session_ic`` is None where a session follows another and was not compared with it yet; until a
    session has measured something itself, ``purpose_vector`` is that of the session before.

    Vectors are lists of KURAMOTO_N floats. ``kuramoto_phases`` are radians in [0, 2*pi);
    ``purpose_vector`` and the trajectory's entries are float32 on disk.
    """

    session_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    timestamp_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    previous_session_id: str | None = None
    cross_session_ic: float | None = 1.0
    kuramoto_phases: list[float] = field(default_factory=lambda: [0.0] * KURAMOTO_N)
    coupling: float = 0.5
    purpose_vector: list[float] = field(default_factory=_uniform_vector)
    trajectory: list[list[float]] = field(default_factory=list)
    last_ic: float = 1.0
    crisis_threshold: float = CRISIS_THRESHOLD
    consciousness: float = 0.0
    integration: float = 0.0
    reflection: float = 0.0
    differentiation: float = 0.0

    def __post_init__(self) -> None:
        self.session_id = cut_session_id(self.session_id)

    def append_to_trajectory(self, purpose_vector: list[float]) -> None:
        """Append a copy of ``purpose_vector``; the oldest entry leaves beyond MAX_TRAJECTORY_LEN."""
        self.trajectory.append(list(purpose_vector))
        if len(self.trajectory) > MAX_TRAJECTORY_LEN:
            del self.trajectory[: len(self.trajectory) - MAX_TRAJECTORY_LEN]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsciousnessMeasures:
    """REQ-HOOKS-14: the five measures, each in [0, 1], and the system's Johari quadrant."""

    consciousness: float
    integration: float
    reflection: float
    differentiation: float
    identity_continuity: float
    johari_quadrant: str
    """open, blind, hidden or unknown (REQ-HOOKS-16)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ICClassification:
    """REQ-HOOKS-15: an IC in [0, 1], its level (healthy, normal, warning, critical) and the alarm."""

    value: float
    level: str
    crisis_triggered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftMetrics:
    """How far a session is from the one before it."""

    ic_delta: float
    """Its IC minus the earlier session's last IC, in [-1, 1]."""
    purpose_drift: float
    """1 - cross-session IC, in [0, 1]; of two given snapshots 1 - cosine of their vectors, in [0, 2]."""
    time_since_snapshot_ms: int
    kuramoto_phase_drift: float
    """Mean absolute phase difference of the oscillators, radians in [0, pi]."""
