"""Reads what a lesson teaches: an error, and what solved it.

A command's lesson has both in lines of their own, one from a compaction's summary says them in a sentence or
two. What a test of one's own says of the code under work teaches nobody anything, nor does an error like most
others, nor one whose solution deletes or forces something.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from context_graph.notes.command_lines import only_looks
from context_graph.notes.failure import counts_only
from context_graph.notes.message import units_of
from context_graph.text.destroying import tells_of_destroying
from context_graph.text.patterns import linear

_SOLVED: Final = "Solved by: "
_FROM: Final = "From: "
_ERROR: Final = linear(r"Error(?: \(\d+ times\))?: ")
_LEAST_WORDS: Final = 3
"""Words of an error that tell one from another: an exit code alone says nothing."""
_IN_WORDS: Final = frozenset({"fix", "decision"})
"""Roles of the sentence that says what was done about an error."""
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_NAMED: Final = linear(r"[\"'`“”‘’«»]([^\"'`“”‘’«»]{1,80})[\"'`“”‘’«»]")
_CITED: Final = linear(r"[\"“]([^\"“”]{12,200})[\"”]")
_LINE_OF_FILE: Final = linear(r"\S+\.[A-Za-z]{1,5}(?::\d+|\(\d+)\S*")
_PATH: Final = linear(r"[\w@.~-]*(?:[/\\][\w@.+-]+)+")
_BEHIND_TEST: Final = linear(r"^(?:E\s+|(?:FAILED|ERROR) \S+ - )")
_OF_A_TEST: Final = linear(
    r"(?i)^E?\s*assert |failed asserting|assertion(?:failed)?error|(?-i:^FAILED )|^--- FAIL|"
    r"expected:? .{1,80} (?:to (?:be|equal|have|match|contain)|but (?:got|was))"
)
"""What a test of one's own says of the code under work: its cure was an edit of that code."""


class Taught(NamedTuple):
    """An error and what solved it."""

    error: str
    solved: str
    in_words: bool = False
    """Whether a person or model said so, and no command showed it."""
    command: str = ""
    """What failed; "" if it is not known."""


@lru_cache(maxsize=512)  # at a file the same notes are read again and again
def taught_by(content: str, known_error: str = "") -> Taught | None:
    """Return what the text of a lesson teaches; None for nothing.

    Args:
        known_error: What the note itself has as its error, for a text without one.

    Cost: some 50 us.
    """
    lines = content.splitlines()
    solved, command = (
        next((line.removeprefix(head) for line in lines if line.startswith(head)), "")
        for head in (_SOLVED, _FROM)
    )
    if not solved:
        taught = _in_words(content)
        return taught if taught and teaches(taught.error) else None
    head = _ERROR.match(lines[0])
    error = without_runner(lines[0][head.end() :] if head else known_error)
    serves = teaches(error) and not only_looks(solved)
    return Taught(error, solved, command=command) if serves else None


def has_form(content: str) -> bool:
    """Return whether a lesson's text has what solved an error in a line of its own."""
    return f"\n{_SOLVED}" in content


def _in_words(content: str) -> Taught | None:
    """Return the error that the first sentences name and what the rest says was done about it."""
    before: list[str] = []
    for unit in (unit for line in content.splitlines() for unit in units_of(line)):
        head, _, tail = unit.text.rpartition(": ")
        if head and _is_cure(tail):
            before, solved = [*before, head], tail
            break
        if before and unit.role in _IN_WORDS:
            solved = unit.text
            break
        before.append(unit.text)
    else:
        return None
    if tells_of_destroying(solved):
        return None
    cited = (match[1] for text in before for match in _CITED.finditer(text))
    error = max(filter(teaches, cited), key=len, default=before[0])
    return Taught(without_runner(error).rstrip(": "), solved, in_words=True)


def _is_cure(text: str) -> bool:
    return any(unit.role in _IN_WORDS for unit in units_of(text)[:1])


def without_runner(line: str) -> str:
    """Return an error's line without what a test runner puts before it."""
    return _BEHIND_TEST.sub("", line)


def teaches(error: str) -> bool:
    """Return whether an error is unlike most others: no count of errors, nor what a test says of the code
    under work."""
    is_usual = counts_only(error) or _OF_A_TEST.found(error)
    return len({*_WORD.findall(_unplaced(error))}) >= _LEAST_WORDS and not is_usual


@lru_cache(maxsize=1024)
def telling(error: str) -> frozenset[str]:
    """Return the words of an error, without what it names and where it is."""
    return frozenset(_WORD.findall(_PATH.sub(" ", _unplaced(error)).casefold()))


def _unplaced(error: str) -> str:
    """Return an error without what it quotes and where it is."""
    return _LINE_OF_FILE.sub(" ", _NAMED.sub(" ", error))


def quoted_in(error: str) -> frozenset[str]:
    """Return what an error has in quotes."""
    return frozenset(match[1] for match in _NAMED.finditer(error))
