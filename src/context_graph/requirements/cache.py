"""What a long-lived process remembers between decisions; each entry is checked against its file."""

from __future__ import annotations

from context_graph.requirements.config import inputs_hold, load_rules
from context_graph.requirements.files import Signature, is_settled, signature
from context_graph.requirements.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["GateCache"]

_ENTRIES = 256


class GateCache:
    """Parsed configurations and documents. Nothing is believed that a stat does not confirm.

    May be shared by threads: entries are replaced whole, and documents from here are never changed in place.
    """

    __slots__ = ("_documents", "_rules", "counts", "notes")

    def __init__(self) -> None:
        self._rules: dict[tuple[str, str], tuple[list[list[Any]], Rules]] = {}
        self._documents: dict[str, tuple[Signature, Any]] = {}
        self.counts: dict[tuple[str, str], dict[str, int]] = {}
        """Calls by tool that are not written down yet, by repository and session."""
        self.notes: dict[str, float] = {}
        """What was said to a session, so that it is not said on every call."""

    def rules(self, root: str, claude_dir: str, cache_dir: str) -> Rules:
        """The project's rules. Cost: a stat a file while nothing changes."""
        key = (root, claude_dir)
        kept = self._rules.get(key)
        if kept is not None and inputs_hold(kept[0]):
            return kept[1]
        rules, inputs = load_rules(root, claude_dir, cache_dir)
        if all(is_settled(sign) for _, sign in inputs):
            _make_room(self._rules)
            self._rules[key] = (inputs, rules)
        return rules

    def document(self, path: str, read: Callable[[str], Any]) -> Any:
        """What ``read(path)`` gives, read again only when the file changed."""
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
        """Read ``path`` anew next time."""
        self._documents.pop(path, None)

    def first_time(self, note: str, now: float, every_s: float = 3600.0) -> bool:
        """Whether ``note`` has not been said within ``every_s``; then it counts as said."""
        said = self.notes.get(note)
        if said is not None and 0 <= now - said < every_s:
            return False
        _make_room(self.notes)
        self.notes[note] = now
        return True


def _make_room(entries: dict[Any, Any]) -> None:
    if len(entries) >= _ENTRIES:
        entries.clear()
