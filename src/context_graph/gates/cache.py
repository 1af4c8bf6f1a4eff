"""Caches between decisions what a stat confirms: rules, documents, and what a session was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from context_graph.gates.files import Signature, is_settled, signature
from context_graph.gates.rules import Rules

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

    def rules(
        self, root: str, claude_dir: str, compiled: Callable[[str, str], tuple[Rules, Inputs]]
    ) -> Rules:
        """The rules that ``compiled(root, claude_dir)`` gives. Cost: a stat per file while nothing
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

    def document(self, path: str, read: Callable[[str], Any]) -> Any:
        """The result of ``read(path)``, read again only when the file changed."""
        sign = signature(path)
        if sign is None:
            self._documents.pop(path, None)
            return read(path)
        kept = self._documents.get(path)
        if kept is not None and kept[0] == sign:
            return kept[1]
        value = read(path)
        if is_settled(sign):
            _make_room(self._documents)
            self._documents[path] = (sign, value)
        return value

    def forget_document(self, path: str) -> None:
        """Drop the cached document, so that ``path`` is read again."""
        self._documents.pop(path, None)

    def first_time(self, note: str, now: float, every_s: float = 3600.0) -> bool:
        """Whether ``note`` was not given within the last ``every_s`` seconds; records it as given now."""
        said = self.notes.get(note)
        if said is not None and 0 <= now - said < every_s:
            return False
        _make_room(self.notes)
        self.notes[note] = now
        return True


def _make_room(entries: dict[Any, Any]) -> None:
    if len(entries) >= _ENTRIES:
        entries.clear()
