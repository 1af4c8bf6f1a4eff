"""Tells what of a prompt is a template that sessions share, as a harness or a saved command writes it.

The runs of words of each session's prompts are counted, not kept: what earlier sessions had word for word is
the template, and what differs is what was asked.
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Iterable, Sequence
from typing import Any, Final

from context_graph.text.patterns import linear

VERSION: Final = 1
SESSIONS: Final = 2
"""Earlier ones that must have had a run of words."""
_RUN: Final = 4
"""Words that are counted as one."""
_LEAST: Final = 9
"""Words in a row that make a template; what people say twice is shorter."""
_WORDS: Final = 600
"""Words of a prompt that are compared, from its beginning."""
_KEPT: Final = 3_000
"""Runs that are remembered, the last ones: some 50 KB."""
_WORD: Final = linear(r"\S+")


class Templates:
    """What the prompts of a store's sessions have in common."""

    def __init__(self, seen: dict[str, int] | None = None) -> None:
        self._seen = seen or {}
        self._fresh: dict[str, None] = {}

    def own(self, prompt: str) -> str:
        """Return ``prompt`` without what is a template; all of it where nothing else is left.

        Cost: one pass over its first 600 words.
        """
        spans = [match.span() for match in _WORD.finditer(prompt)][:_WORDS]
        keys = _keys([prompt[slice(*span)] for span in spans])
        self._fresh |= dict.fromkeys(keys)
        shared = [self._seen.get(key, 0) >= SESSIONS for key in keys]
        is_template = [any(shared[max(0, at - _RUN + 1) : at + 1]) for at in range(len(spans))]
        rest, done = list[str](), 0
        for first, after in _runs(is_template):
            rest.append(prompt[done : spans[first][0]].strip())
            done = spans[after - 1][1]
        rest.append(prompt[done:].strip())
        return "\n".join(filter(None, rest)) or prompt

    def learn(self) -> None:
        """Count what `own` was asked about: the prompts of one session that was not counted yet."""
        for key in self._fresh:
            self._seen[key] = self._seen.pop(key, 0) + 1
        self._fresh = {}
        for key in list(self._seen)[: max(0, len(self._seen) - _KEPT)]:
            del self._seen[key]

    def to_json(self) -> dict[str, Any]:
        """As JSON values, for `from_json`."""
        return {"version": VERSION, "seen": self._seen}

    @classmethod
    def from_json(cls, state: object) -> Templates:
        """Return what `to_json` gave; a new one for anything else, as it is only an aid."""
        seen = state.get("seen") if isinstance(state, dict) and state.get("version") == VERSION else None
        if not isinstance(seen, dict):
            return cls()
        return cls({str(key): times for key, times in seen.items() if isinstance(times, int)})


def _keys(words: Sequence[str]) -> list[str]:
    lower = [word.casefold() for word in words]
    runs = (" ".join(lower[at : at + _RUN]) for at in range(len(lower) - _RUN + 1))
    return [f"{crc32(run.encode('utf-8', 'replace')):x}" for run in runs]


def _runs(marked: Iterable[bool]) -> Iterable[tuple[int, int]]:
    """Yield (first, after the last) of each row of marked places that is long enough."""
    first = -1
    for at, mark in enumerate((*marked, False)):
        if mark and first < 0:
            first = at
        elif not mark and first >= 0:
            if at - first >= _LEAST:
                yield first, at
            first = -1
