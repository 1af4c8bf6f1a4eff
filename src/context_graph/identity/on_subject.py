"""Tells whether a session's last calls have to do with what the user asked: by the words that both have.

The numbers of identity compare calls with the work so far; the first look at another part of the project, or
a script that reproduces what the user reported, is unlike that and yet on the subject. Of 92 sessions half
of the last six calls share a word with the prompts in 82 %; eight calls after those of another project were
put in, in 16 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_graph.model import HookEvent
from context_graph.text.patterns import linear
from context_graph.text.phrases import word_set

CALLS: Final = 6
"""Calls that are looked at, the last ones."""
_READ_CHARS: Final = 200
_PROMPT_CHARS: Final = 8000
_PIECE: Final = linear(r"\p{Lu}?\p{Ll}{3,}")
_COMMON: Final = word_set(
    """test tests testing python file files lib class self issue reproduce none true false with from import
    return that this type name error code base init main util utils core make line data list value values
    when then should have into what which does"""
)
"""Words that calls and prompts of any work share."""


def words_asked(prompt: str) -> frozenset[str]:
    """Return the words by which calls may have to do with a prompt."""
    return _words(prompt[:_PROMPT_CHARS])


def words_called(event: HookEvent) -> frozenset[str]:
    """Return the words of a tool call: of its command, else of what it was given. Cost: some 10 us."""
    return _words((event.parts.command or event.parts.file_path or event.input_text)[:_READ_CHARS])


def is_on_subject(asked: frozenset[str], calls: Sequence[frozenset[str]]) -> bool:
    """Return whether half of the last calls share a word with what was asked."""
    last = calls[-CALLS:]
    return bool(last) and 2 * sum(not asked.isdisjoint(words) for words in last) >= len(last)


def _words(text: str) -> frozenset[str]:
    return frozenset(match[0].lower() for match in _PIECE.finditer(text)) - _COMMON
