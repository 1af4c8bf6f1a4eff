"""Matches ids that mean the same session: the full id, or the 8 hex digits that begin it.

The original kept 8 characters of every id, so that session-10 and session-11 were one session. Here the full
id is kept, and the short form is an alias only for ids that begin with 8 hex digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

MAX_ID = 100
"""Characters of an id that are kept, as in the stores (seed 000 REQ-SESSION-01)."""

_ALIAS = 8
_FEWEST = 4
_HEX = frozenset("0123456789abcdefABCDEF")
_NAME_KEEPS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def alias_of(session_id: str) -> str:
    """Return the 8 lower-case hex digits for ``session_id``; empty if it does not begin with such."""
    head = session_id[: _ALIAS + 1].replace("-", "")[:_ALIAS]
    return head.lower() if len(head) == _ALIAS and _HEX.issuperset(head) else ""


def is_alias(session_id: str) -> bool:
    """Return whether ``session_id`` is the short form itself."""
    return len(session_id) == _ALIAS and _HEX.issuperset(session_id)


def same_session(first: str, other: str) -> bool:
    """Return whether both are the same id, or one is the other's short form. Two full ids never do."""
    if first == other:
        return True
    if not (is_alias(first) or is_alias(other)):
        return False
    alias = alias_of(first)
    return bool(alias) and alias == alias_of(other)


def candidates(session_id: str, known: Iterable[str]) -> list[str]:
    """Return the full ids in ``known`` that ``session_id`` may mean, sorted; an exact match alone if any."""
    matches = {candidate for candidate in known if same_session(session_id, candidate)}
    if session_id in matches and not is_alias(session_id):
        return [session_id]
    full = sorted(session_id for session_id in matches if not is_alias(session_id))
    return full or sorted(matches)


def begun_by(prefix: str, known: Iterable[str]) -> list[str]:
    """Return the ids among ``known``, sorted, that begin with ``prefix``, at least four hex digits: what a
    person types. Records are never matched by it."""
    if len(prefix) < _FEWEST or not _HEX.issuperset(prefix.replace("-", "")):
        return []
    return sorted(session_id for session_id in known if session_id.lower().startswith(prefix.lower()))


def problem(session_id: str) -> str:
    """Return why ``session_id`` can't be a session's id; empty if it can be one."""
    if not session_id or not session_id.strip():
        return "the session id is empty"
    if len(session_id) > MAX_ID:
        return f"the session id has {len(session_id)} characters; the limit is {MAX_ID}"
    if not session_id.isprintable():
        return "the session id holds a control character"
    return ""


def safe_name(session_id: str) -> str:
    """Return a file name for ``session_id``, never a path: its alias, or its plain characters and a hash."""
    plain = "".join(char if char in _NAME_KEEPS else "_" for char in session_id[:24])
    return alias_of(session_id) or f"{plain}.{_hash(session_id)}"


def own_name(session_id: str) -> str:
    """Return a file name that no other session has: ``safe_name`` with a hash of the whole id."""
    return f"{safe_name(session_id)}.{_hash(session_id)}"


def _hash(session_id: str) -> str:
    return f"{crc32(session_id.encode('utf-8', 'surrogatepass')):08x}"
