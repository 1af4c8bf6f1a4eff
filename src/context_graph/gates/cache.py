"""Keeps what the gates read between decisions, as long as a stat call confirms it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from context_graph.gates.rules import Rules
from context_graph.system.small_files import Signature, is_settled, signature

_Read = TypeVar("_Read")
Inputs = list[tuple[str, Signature | None]]
"""Files that rules were made from, absent ones too, with their signatures."""

_ENTRIES = 256


class GateCache:
    """Caches files for a long-lived process; every entry is checked by a stat before use.

    May be shared by threads: entries are replaced whole, and documents from here are never changed in place.
    """

    def __init__(self) -> None:
        self._rules: dict[tuple[str, str], tuple[Inputs, Rules]] = {}
        self._documents: dict[str, tuple[Signature, Any]] = {}
        self.counts: dict[tuple[str, str], dict[str, int]] = {}
        """Calls by tool that are not written down yet, by repository and session."""
        self.notes: dict[str, float] = {}
        """What was said to a session, so that it is not said on every call."""
        self.numbers: dict[tuple[str, ...], dict[str, Any]] = {}
        """The latest ``value`` of a dynamic requirement, when (``at``), the ``error`` of a failure since."""
        self._failures: dict[tuple[str, str], list[float]] = {}

    def rules(
        self, root: str, claude_dir: str, compiled: Callable[[str, str], tuple[Rules, Inputs]]
    ) -> Rules:
        """Return the rules that ``compiled(root, claude_dir)`` gives. Cost: a stat per file while nothing
        changes.
        """
        kept = self._rules.get((root, claude_dir))
        if kept is not None and all(signature(path) == sign for path, sign in kept[0]):
            return kept[1]
        rules, inputs = compiled(root, claude_dir)
        if all(is_settled(sign) for _, sign in inputs):
            _make_room(self._rules)
            self._rules[root, claude_dir] = (inputs, rules)
        return rules

    def document(self, path: str, read: Callable[[str], _Read]) -> _Read:
        """Return the result of ``read(path)``, read again only when the file changed; not to be changed."""
        sign = signature(path)
        if sign is None:
            self._documents.pop(path, None)
            return read(path)
        kept = self._documents.get(path)
        if kept is not None and kept[0] == sign:
            result: _Read = kept[1]
            return result
        value = read(path)
        if is_settled(sign):
            _make_room(self._documents)
            self._documents[path] = (sign, value)
        return value

    def forget_document(self, path: str) -> None:
        """Drop the cached document, so that ``path`` is read again."""
        self._documents.pop(path, None)

    def keep_number(self, key: tuple[str, ...], number: dict[str, Any]) -> None:
        """Keep what a calculation gave."""
        if key not in self.numbers:
            _make_room(self.numbers)
        self.numbers[key] = number

    def failures_of(self, session_id: str, tool: str) -> list[float]:
        """Return when calls of the tool failed since the last that did not; to be added to."""
        row = self._failures.get((session_id, tool))
        if row is None:
            _make_room(self._failures)
            row = self._failures[session_id, tool] = []
        return row

    def forget_failures(self, session_id: str, tool: str = "") -> None:
        """Begin anew for one tool of the session, or for all."""
        for key in [key for key in self._failures if key[0] == session_id and tool in ("", key[1])]:
            del self._failures[key]

    def first_time(self, note: str, now: float, every_s: float = 3600.0) -> bool:
        """Return whether ``note`` was not given within the last ``every_s`` seconds; records it."""
        last = self.notes.get(note)
        if last is not None and 0 <= now - last < every_s:
            return False
        _make_room(self.notes)
        self.notes[note] = now
        return True


def _make_room(entries: dict[Any, Any]) -> None:
    if len(entries) >= _ENTRIES:
        entries.clear()
