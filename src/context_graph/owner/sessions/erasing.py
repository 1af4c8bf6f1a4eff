"""Finds the words of a memory that is forgotten in what was recorded of sessions, and takes them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from context_graph.model import HookEvent
from context_graph.model.event_parts import EventParts
from context_graph.store.sessions.sessions import SessionStore

if TYPE_CHECKING:
    from context_graph.memory.traces import Words
    from context_graph.owner.sessions.store_context import StoreContext

_SESSIONS: Final = 1_000_000
_TEXTS: Final = ("input_text", "output_text")


def recorded(context: StoreContext, words: Words, *, erase: bool) -> list[str]:
    """Return the sessions whose events or compactions have these words; ``erase`` takes them out, off the
    disk too.

    Raises StoreError, CorruptedIdentityError. Cost: a look at each recorded event, some 20 us.
    """
    store, session_ids = context.store, list[str]()
    for session_id in (row.session_id for row in store.list_sessions(_SESSIONS)[0]) if words else ():
        changed = _changed(store, session_id, words)
        compactions = store.load_compactions(session_id)
        clean: list[Mapping[str, Any]] = words.taken_out_of(compactions)
        if not changed and clean == compactions:
            continue
        session_ids.append(session_id)
        if erase:
            store.save_compactions(session_id, clean)
            store.event_log.rewrite(session_id, changed)
    return session_ids


def _changed(store: SessionStore, session_id: str, words: Words) -> dict[int, HookEvent]:
    """Return the events of a session that have the words, without them."""
    changed = {}
    for number, event in store.event_log.numbered_after(session_id, 0):
        texts = {name: words.taken_out(getattr(event, name)) for name in _TEXTS}
        content = event.parts.to_json()
        parts = words.taken_out_of(content)
        if parts != content or any(getattr(event, name) != text for name, text in texts.items()):
            clean = replace(event, parts=EventParts.from_json(parts))
            clean.input_text, clean.output_text = texts.values()
            changed[number] = clean
    return changed
