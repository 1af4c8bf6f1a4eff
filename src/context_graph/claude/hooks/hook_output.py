"""Renders what a hook prints: seed 001's HookOutput in its three formats (sections 2.2 and 3.3, REQ-HOOKS-04,
13..16), and one document of Claude Code's schema, by rules observed in the real client.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import msgspec

from context_graph.claude.events import EVENTS
from context_graph.model import ConsciousnessMeasures, DriftMetrics, ICClassification

FORMATS: Final = ("json", "json-compact", "text")
_DECIMALS: Final = 6
"""float32 carries seven significant digits; more would print noise such as 0.8999999761581421."""


@dataclass(slots=True, kw_only=True)
class HookOutput:
    """REQ-HOOKS-13. A field that is None or empty is left out of every rendering, never null."""

    success: bool
    execution_time_ms: int
    error: str | None = None
    consciousness_state: ConsciousnessMeasures | None = None
    ic_classification: ICClassification | None = None
    context_injection: str | None = None
    drift_metrics: DriftMetrics | None = None


def render_output(output: HookOutput, fmt: str) -> bytes:
    """Return ``output`` in one of FORMATS, newline included. Cost: tens of microseconds.

    Raises:
        ValueError: For an unknown format, or a number that is NaN or infinite: that is never a state.
    """
    if fmt not in FORMATS:
        raise ValueError(f"format {fmt!r} is none of {', '.join(FORMATS)}")
    document = _document(output)
    if fmt == "text":
        return _as_text(document).encode("utf-8", "replace")
    encoded = msgspec.json.encode(document)
    return (msgspec.json.format(encoded, indent=2) if fmt == "json" else encoded) + b"\n"


def _document(output: HookOutput) -> dict[str, Any]:
    document: dict[str, Any] = {"success": output.success}
    if output.error:
        document["error"] = _clean(output.error)
    for name in ("consciousness_state", "ic_classification"):
        part = getattr(output, name)
        if part is not None:
            document[name] = _plain(part)
    if output.context_injection:
        document["context_injection"] = _clean(output.context_injection)
    if output.drift_metrics is not None:
        document["drift_metrics"] = _plain(output.drift_metrics)
    document["execution_time_ms"] = max(0, output.execution_time_ms)
    return document


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # a lone surrogate can't be written as JSON


def _plain(part: ConsciousnessMeasures | ICClassification | DriftMetrics) -> dict[str, object]:
    plain = asdict(part)
    for name, value in plain.items():
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ValueError(f"{name} is {value}; a measure must be a finite number")
            plain[name] = round(value, _DECIMALS)
    return plain


def _as_text(document: dict[str, Any]) -> str:
    lines = [f"success: {'yes' if document['success'] else 'no'} ({document['execution_time_ms']} ms)"]
    if "error" in document:
        lines.append(f"error: {document['error']}")
    state = document.get("consciousness_state")
    if state:
        lines.append(
            f"consciousness: C={state['consciousness']:.2f}"
            f" (integration {state['integration']:.2f}, reflection {state['reflection']:.2f},"
            f" differentiation {state['differentiation']:.2f}), johari: {state['johari_quadrant']}"
        )
    ic = document.get("ic_classification")
    if ic:
        alarm = ", crisis" if ic["crisis_triggered"] else ""
        lines.append(f"identity continuity: {ic['value']:.2f} ({ic['level']}{alarm})")
    drift = document.get("drift_metrics")
    if drift:
        lines.append(
            f"since the last session: IC {drift['ic_delta']:+.2f},"
            f" purpose drift {drift['purpose_drift']:.2f},"
            f" phase drift {drift['kuramoto_phase_drift']:.2f} rad,"
            f" {drift['time_since_snapshot_ms'] / 1000:.0f} s"
        )
    if "context_injection" in document:
        lines.append(document["context_injection"])
    return "\n".join(lines) + "\n"


CONTEXT_CHARS = 10_000
"""Longest text the client inlines; one more and the model gets a 2 KB preview and a file name."""

_EVENTS = {event.name: event for event in EVENTS}

_CUT = "\n[cut]"

_TASKS, _RUNNING = 200, ("running", "pending")


def background_work(tasks: Any) -> list[tuple[str, str]]:
    """Return (type, id) of what runs on, of a Stop's ``background_tasks``; an odd entry is none."""
    entries = tasks[:_TASKS] if isinstance(tasks, list) else []
    running = [task for task in entries if isinstance(task, dict) and task.get("status") in _RUNNING]
    return [(str(task.get("type", "")), str(task.get("id", ""))) for task in running]


def document(
    event_name: str, *, context: str = "", system_message: str = "", refusal: str = ""
) -> dict[str, object]:
    """Return the document that tells the model ``context``, the user ``system_message``, and refuses if told
    to.

    Args:
        event_name: The client's name of the event that fired, as in `events.toml`.
        context: Cut to CONTEXT_CHARS UTF-16 units (the client counts JavaScript's way); dropped for events
            that take none.
        system_message: Cut as well; dropped on SessionEnd, which shows none.
        refusal: Why the call is denied or the stop blocked; empty allows, without a word of it. Cut in the
            middle, so that its last lines, which say what to do, stay.

    Returns:
        No key at all when there is nothing to say; never a key that is null, which would lose the rest.

    Raises:
        ValueError: If the client has no such event, or the event can't be refused: a wrong key would lose the
            whole document.
    """
    event = _EVENTS.get(event_name)
    if event is None:
        raise ValueError(f"{event_name!r} is none of {', '.join(_EVENTS)}")
    if refusal and not event.refusal:
        known = ", ".join(event.name for event in EVENTS if event.refusal)
        raise ValueError(f"{event_name} can't be refused; only {known} can")
    made: dict[str, object] = {}
    own: dict[str, object] = {}
    if system_message and event_name != "SessionEnd":
        made["systemMessage"] = cut(system_message)
    # A refusal is the only decision we make: `allow` would skip the user's own permissions.
    if refusal and event.refusal == "block":
        made["decision"], made["reason"] = "block", cut(refusal, keep_end=True)
    elif refusal and event.refusal == "permission":
        own["decision"] = {"behavior": "deny", "message": cut(refusal, keep_end=True)}
    elif refusal:
        own["permissionDecision"] = "deny"
        own["permissionDecisionReason"] = cut(refusal, keep_end=True)
    if context and event.context:
        own["additionalContext"] = cut(context)
    if own:
        made["hookSpecificOutput"] = {"hookEventName": event_name, **own}
    return made


def cut(text: str, *, keep_end: bool = False) -> str:
    """At most CONTEXT_CHARS UTF-16 code units, cut between characters, with a mark at the cut."""
    clean = text.encode("utf-8", "replace").decode()  # a lone surrogate can't be written as JSON
    if len(clean) * 2 <= CONTEXT_CHARS:
        return clean
    units = clean.encode("utf-16-le")
    if len(units) <= 2 * CONTEXT_CHARS:
        return clean
    keep = 2 * (CONTEXT_CHARS - len(_CUT))
    if not keep_end:
        return units[:keep].decode("utf-16-le", "ignore") + _CUT
    half = keep // 4 * 2  # of each end, in whole units
    return units[:half].decode("utf-16-le", "ignore") + _CUT + units[-half:].decode("utf-16-le", "ignore")


def render(event_name: str, *, context: str = "", system_message: str = "", refusal: str = "") -> bytes:
    """Return one line of JSON with its newline, or nothing at all when there is nothing to say.

    Arguments and errors as those of `document`.
    """
    import msgspec

    made = document(event_name, context=context, system_message=system_message, refusal=refusal)
    return msgspec.json.encode(made) + b"\n" if made else b""
