"""Takes out of a line what is old soon: how far the work was when it was written.

Of `x.py (new, currently has a syntax error)` the file stays, and of `read but not yet changed` nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from context_graph.notes.message import announces, is_soon_old, is_under_way
from context_graph.text.patterns import Linear, linear

_BRACKETS: Final = linear(r"\s*[(\[]([^()\[\]]{2,200})[)\]]")
_COMMA: Final = linear(r"[,;，；]\s*")
_JOINT: Final = linear(r"[.;!]\s+|[。；！]|\s[—–-]{1,2}\s")
_AROUND: Final = " \t.,;!—–-"


def settled(text: str, *, is_changed: bool = False) -> str:
    """Return ``text`` without the clauses and bracketed words that tell a state; "" if it has no others.

    Args:
        is_changed: Whether what it is about was changed afterwards: then its errors are old too.
    """
    text = _BRACKETS.sub(lambda match: _bracketed(match, is_changed=is_changed), text)
    clauses = _pieces(text, _JOINT)
    kept = [clause for clause in clauses if not _is_state(clause, is_changed=is_changed)]
    return text.strip() if len(kept) == len(clauses) else "".join(kept).strip(" \t,;—–-")


def is_open(lines: Sequence[str]) -> bool:
    """Return whether what ``lines`` tell begins or ends with work under way: they do not say how it went."""
    in_brackets = [piece for match in _BRACKETS.finditer(lines[0]) for piece in _pieces(match[1], _COMMA)]
    ends = (_pieces(lines[0], _JOINT)[0], _pieces(lines[-1], _JOINT)[-1], *in_brackets)
    return any(_is_state(text) for text in ends)


def _bracketed(match: Any, *, is_changed: bool) -> str:
    pieces = _pieces(match[1], _COMMA)
    kept = [piece.strip(_AROUND) for piece in pieces if not _is_state(piece, is_changed=is_changed)]
    if len(kept) == len(pieces):
        return str(match[0])
    return f" ({', '.join(kept)})" if kept else ""


def _is_state(text: str, *, is_changed: bool = False) -> bool:
    bare = text.strip(_AROUND)
    return is_under_way(bare) or (is_changed and is_soon_old(bare) and not announces(bare))


def _pieces(text: str, joint: Linear) -> list[str]:
    """Return the pieces of ``text``, each with the joint behind it; none is within a name in backticks."""
    ends = [stop.end() for stop in joint.finditer(text) if text[: stop.start()].count("`") % 2 == 0]
    begins = [0, *(end for end in ends if end < len(text))]
    return [text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]
