"""Holds what came of one prompt: files, commits, and the assistant's words at its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from context_graph.notes.changes import Files
from context_graph.notes.remarks import MAX_CHARS, lasting_text
from context_graph.text.sentences import shortened


@dataclass(slots=True)
class Turn:
    """What came of one prompt."""

    prompt: str = ""
    number: int = 0
    at_ms: int = 0
    words: list[list[Any]] = field(default_factory=list)
    """[text, role, worth] of the most telling units of what the assistant said at its end."""
    worth: float = 0.0
    """Of the whole message they are from."""
    remarks: list[str] = field(default_factory=list)
    """What was said between the calls, that tells something."""
    said_at: int = 0
    """Number of the event that brought them."""
    heard_at: int = 0
    """Number of the last message, whatever it was worth."""
    heard_ms: int = 0
    files: Files = field(default_factory=Files)
    gone: list[str] = field(default_factory=list)
    """Files and folders of the project that it removed."""
    commits: list[list[Any]] = field(default_factory=list)
    """[subject, body, number of its event, `uncommitted` as it was]."""
    uncommitted: dict[str, list[str]] = field(default_factory=dict)
    """Files changed since the last commit -> functions and classes touched in each."""
    tests: str = ""
    """The last run of tests without failure."""
    calls: int = 0
    title: int = 0
    """Characters of `prompt` that are its first line, where that heads what follows."""
    gist: str = ""
    """What else tells of a prompt, its title left out; of one without a title, its gist."""

    def remark(self, texts: Iterable[str]) -> None:
        """Keep what else the assistant said; the later word stays where there is too much. Of the one before
        only what lasts: the session goes on.
        """
        before = [lasting_text(text) for text in self.remarks[-1:]]
        kept = dict.fromkeys(filter(None, [*self.remarks[:-1], *before, *texts]))
        self.remarks, room = [], MAX_CHARS
        for text in reversed(kept):
            room -= len(text) + 3
            self.remarks = [text, *self.remarks] if room >= 0 else self.remarks

    def asked_for(self, limit: int) -> list[str]:
        """Return its prompt in ``limit`` characters; the title, if it has one, is a line of its own."""
        if not self.title:
            shown = self.prompt if len(self.prompt) <= limit else self.gist
            return [shortened(shown or self.prompt, limit)] if self.prompt else []
        return [self.prompt[: self.title], *([f"Details: {self.gist}"] if self.gist else [])]

    @property
    def came_of_it(self) -> bool:
        """Whether files or commits came of it, scratch too: then something was done, whoever said so."""
        return bool(self.files.symbols or self.files.made or self.commits or self.gone)
