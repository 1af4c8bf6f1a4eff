"""What a hook prints for the real client: exactly one JSON document of its schema, or nothing."""

from __future__ import annotations

from typing import Final

import msgspec

from context_graph.model import EventKind
from context_graph.protocol.documents import CONTEXT_CHARS, EVENT_OF_VERB, document

__all__ = ["CONTEXT_CHARS", "EVENT_NAMES", "render", "render_system_message"]

EVENT_NAMES: Final[dict[EventKind, str]] = {EventKind(verb): name for verb, name in EVENT_OF_VERB.items()}
"""The client's own name of each event; ``hookEventName`` must be the one that fired."""


def render(event_name: str, *, context: str = "", system_message: str = "", refusal: str = "") -> bytes:
    """One line of JSON with its newline, or nothing at all when there is nothing to say.

    Arguments and errors as those of ``documents.document``.
    """
    made = document(event_name, context=context, system_message=system_message, refusal=refusal)
    return msgspec.json.encode(made) + b"\n" if made else b""


def render_system_message(text: str) -> bytes:
    """A document that only tells the user something; valid on every event. Nothing for an empty text."""
    return render("Stop", system_message=text)
