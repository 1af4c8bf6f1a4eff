"""Builds what a hook prints for Claude Code: one JSON document of its schema, or nothing.

The rules were observed in the real client.
"""

from __future__ import annotations

from typing import Any

from context_graph.claude.events import EVENTS

CONTEXT_CHARS = 10_000
"""Longest text the client inlines; one more and the model gets a 2 KB preview and a file name."""

_EVENTS = {event.name: event for event in EVENTS}

_CUT_MARK = "\n[cut]"

_TASKS, _RUNNING = 200, ("running", "pending")


def background_work(tasks: Any) -> list[tuple[str, str]]:
    """Return (type, id) of what runs on in the background, of a Stop's ``background_tasks``; an odd entry is
    none."""
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
    keep = 2 * (CONTEXT_CHARS - len(_CUT_MARK))
    if not keep_end:
        return units[:keep].decode("utf-16-le", "ignore") + _CUT_MARK
    half = keep // 4 * 2  # of each end, in whole units
    return (
        units[:half].decode("utf-16-le", "ignore") + _CUT_MARK + units[-half:].decode("utf-16-le", "ignore")
    )


def render(event_name: str, *, context: str = "", system_message: str = "", refusal: str = "") -> bytes:
    """Return one line of JSON with its newline, or nothing at all when there is nothing to say.

    Arguments and errors as those of `document`.
    """
    import msgspec

    made = document(event_name, context=context, system_message=system_message, refusal=refusal)
    return msgspec.json.encode(made) + b"\n" if made else b""
