"""Follows a session's edits, however they were made, into the files of its turns. Not kept on disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from context_graph.model import EventParts
from context_graph.notes.changes import Files
from context_graph.notes.edits.rows import are_incidental
from context_graph.notes.edits.seen import Look, SeenTexts
from context_graph.notes.edits.swaps import LineEdit, Swap, line_edits_in, swaps_in, swaps_of_script
from context_graph.notes.edits.whole import whole_edit

_SCRIPTS: Final = 8


@dataclass(slots=True)
class EditTracker:
    """What was read of files, and what scripts put in place of what."""

    _seen: SeenTexts = field(default_factory=SeenTexts)
    _scripts: dict[str, list[Swap]] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self._seen

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def text_of(self, path: str) -> str:
        """Return what was last seen of a file; "" if nothing was."""
        return self._seen.text_of(path)

    def place_of(self, path: str, old: str) -> list[str]:
        """Return the definitions that an edit of ``old`` is in; [] where that was not seen."""
        return self._seen.place_of(path, old)

    def set_back(self, path: str) -> None:
        """Note that a file is again as it was before the session."""
        self._seen.set_back(path)

    def note_script(self, path: str, text: str) -> None:
        """Note what a script replaces that the session wrote."""
        swaps = swaps_of_script(text) if ".replace(" in text else []
        if swaps:
            self._scripts[path] = swaps
        while len(self._scripts) > _SCRIPTS:
            del self._scripts[next(iter(self._scripts))]

    def take_edit(self, files: Files, path: str, parts: EventParts, turn: int, *, is_write: bool) -> None:
        """Take in an edit that a tool made."""
        if is_write and not parts.is_whole:
            self.take_text(files, path, parts.new_text, turn)
        else:
            self._put(files, path, whole_edit(self._seen, path, parts))

    def take_text(self, files: Files, path: str, text: str, turn: int) -> None:
        """Take in what was written as all of a file; one that was not read before is new."""
        if path in self._seen:
            self._look_at(files, path, self._seen.read(path, text, turn=turn, changed=True))

    def take_look(
        self, files: Files | None, path: str, text: str, turn: int, *, changed: bool
    ) -> list[str] | None:
        """Take in what was read of a file; returns what the edits are in that are seen by it alone, None for
        none.

        Args:
            files: The turn's; None for a file of which nothing is told.
            changed: Whether the session changed the file before.
        """
        looks = self._seen.read(path, text, turn=turn, changed=changed)
        if files is None or not self._look_at(files, path, looks):
            return None
        pairs = [pair for look in looks for pair in look.pairs]
        telling = [new for old, new in pairs if not are_incidental(_added(old, new))]
        return list(dict.fromkeys(name for new in telling for name in self.place_of(path, new)))

    def take_swaps(self, files: Files, path: str, command: str) -> list[str]:
        """Take in what a command, or a script that it runs, replaced in a file, as far as that was read;
        returns what the edits are in."""
        swaps = swaps_in(command)
        swaps += [swap for script, own in self._scripts.items() if script in command for swap in own]
        places: list[str] = []
        for old, new in swaps:
            pair = None if self._seen.has(path, new) else self._seen.whole_lines(path, old, new)
            places += self.place_of(path, pair[0]) if pair else []
            self._put(files, path, [pair] if pair else [])
        for edit in line_edits_in(command):
            before = self._seen.lines(path, edit.first, edit.last)
            places += self.place_of(path, before[0]) if before else []
            if before and edit.verb != "d":
                self._put(files, path, [_by_line(before, edit)])
            elif before:  # most often something else comes there: a look will tell
                self._seen.edited(path, *_by_line(before, edit))
        return places

    def take_diff(self, files: Files, patched: Sequence[Sequence[str]], own: Collection[str] | None) -> None:
        """Take in a diff that a command printed.

        Args:
            patched: Of files that the session changed or named.
            own: Files that it wrote as new ones, if the diff is of the working tree: then it says how the
                edits ended. None for another diff.
        """
        for path in dict.fromkeys(row[0] for row in patched) if own is not None else ():
            files.edits = [row for row in files.edits if row[0] != path]
        for path, old, new, *names in patched:
            files.changed(path, names)
            if own is not None and path not in own:
                files.edited(path, old, new, names[0] if len(names) == 1 else "")

    def _look_at(self, files: Files, path: str, looks: Iterable[Look]) -> bool:
        """Set a file's edits to what looks at it tell; returns whether that is news."""
        before = list(files.edits)
        for look in looks:
            files.edits = [row for row in files.edits if row[0] != path or not look.has(row)]
            self._put(files, path, (pair for pair in look.pairs if not self._is_moved(path, *pair)))
        return any(row not in before for row in files.edits)

    def _is_moved(self, path: str, old: str, new: str) -> bool:
        """Return whether what was taken away stands somewhere else now."""
        gone = old.split("\n")[1:3] if old.startswith(new) else []
        return bool(gone) and self._seen.has(path, "\n".join(gone))

    def _put(self, files: Files, path: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Note what edits put in place of what, whole lines both."""
        for old, new in pairs:
            place = self.place_of(path, old) or self.place_of(path, new)
            files.edited(path, old, new, "".join(place[-1:]))
            self._seen.edited(path, old, new)


def _by_line(before: list[str], edit: LineEdit) -> tuple[str, str]:
    lines = edit.text.split("\n") if edit.verb != "d" else []
    after = {"a": [*before, *lines], "i": [*lines, *before]}.get(edit.verb, lines)
    return "\n".join(before), "\n".join(after)


def _added(old: str, new: str) -> set[str]:
    return {line.strip() for line in new.splitlines()} - {line.strip() for line in old.splitlines()}
