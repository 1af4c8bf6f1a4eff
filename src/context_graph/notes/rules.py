"""Finds what a prompt says beyond its one task: rules and decisions of the user, in his own sentences.

All that makes notes of prompts goes through here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from context_graph.model.note import NoteKind
from context_graph.text import phrases
from context_graph.text.patterns import linear
from context_graph.text.phrases import unquoted

SENTENCE_CHARS: Final = 400
_LASTING: Final = linear(
    r"(?i)^(?:(?:please|and|so|no),? )?(?:always|never)(?:\W|$)|"
    r"(?:^|\W)(?:from now on|we (?:always|never|use)|"
    r"we (?:don['’]t|do not) use|(?:our|the) convention|as a rule|each time|every time|any more|any longer|"
    r"in this (?:project|repo|repository|codebase))(?:\W|$)"
)


class Said(NamedTuple):
    """One sentence of a user that holds on."""

    kind: NoteKind
    """RULE or DECISION."""
    text: str
    wants: str = ""
    """do, dont or fact; "" where it is not told."""
    scope: str = "project"
    """project, or user where it speaks of all work."""
    chosen: str = ""
    instead_of: str = ""


def said_in(prompt: str) -> list[Said]:
    """What ``prompt`` says that holds on, in order, at most 400 characters each. Cost: 1 ms for 1 KB."""
    own = unquoted(prompt)
    decided = phrases.decisions_in(own.text, by_user=True, limit=SENTENCE_CHARS)
    wished = phrases.wishes_in(own.text, limit=SENTENCE_CHARS)
    found: dict[str, Said] = {}
    for sentence in dict.fromkeys([*decided, *wished]):
        kind = NoteKind.RULE if _LASTING.found(sentence) else NoteKind.DECISION
        if kind is NoteKind.RULE or sentence in decided:
            text = own.whole(sentence)
            found.setdefault(text, Said(kind, text))
    return list(found.values())
