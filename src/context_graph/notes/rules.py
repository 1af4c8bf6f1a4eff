"""Finds what a prompt says beyond its one task: rules and decisions of the user, in his own sentences.

All that makes notes of prompts goes through here; `said` tells what holds further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from context_graph.claude.hooks.origin import own_words
from context_graph.model import HookEvent
from context_graph.model.note import EVERYWHERE, NoteKind
from context_graph.notes.said import Statement, read, replaces, statements
from context_graph.notes.said.likeness import says_change
from context_graph.notes.said.reading import Prompt
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

SENTENCE_CHARS: Final = 400
_TALK_CHARS: Final = 300
"""Characters of a prompt up to which it is talk, and no report."""
_PLACES: Final = linear(r"https?://\S{8,}|(?:~|/[\w.@+-]+)(?:/[\w.@+-]+){2,}")


class UserSentence(NamedTuple):
    """One sentence of a user that holds on."""

    kind: NoteKind
    """RULE or DECISION."""
    text: str
    wants: str = ""
    """do, dont or fact."""
    scope: str = "project"
    """project, user or everywhere, as a `Statement`'s."""
    chosen: str = ""
    instead_of: str = ""


def user_sentences(event: HookEvent) -> list[UserSentence]:
    """Return what a prompt says that holds on; [] for any other event. Cost: as `sentences_in`."""
    return sentences_in(_words_of(event))


def _words_of(event: HookEvent) -> str:
    """Return what a prompt says, "" for any other event."""
    return own_words(event.parts.words or event.input_text) if event.is_prompt else ""


def ending_in(event: HookEvent, known: Callable[[], Sequence[Statement]]) -> list[UserSentence]:
    """Return the sentences of a short prompt that end one of ``known``, whatever else speaks for them:
    `PRs go to trunk now`, where somebody said that they go to develop.
    """
    prompt = _words_of(event)
    if not prompt or len(prompt) > _TALK_CHARS:
        return []
    reading = Prompt(prompt)
    later = (read("rule", reading.whole(each.text)) for each in reading.sentences if not each.asks)
    return [
        _sentence_of(new) for new in later if says_change(new) and any(replaces(new, old) for old in known())
    ]


def without_the_users_own(prompt: str, sentences: Sequence[UserSentence]) -> str:
    """Return ``prompt`` without what it says of all of its user's work: that is his, and not this
    session's."""
    for sentence in sentences:
        if sentence.scope == EVERYWHERE:
            begin, end = _place(sentence.text, prompt)
            prompt = prompt[:begin] + prompt[end:]
    return prompt


def _place(text: str, prompt: str) -> tuple[int, int]:
    """Return where ``prompt`` has the letters of ``text``, whatever signs and blanks it has; (0, 0) for
    nowhere.

    Of a text that was cut its whole line counts.
    """
    letters = [at for at, letter in enumerate(prompt) if letter.isalnum()]
    wanted = "".join(filter(str.isalnum, text))
    begin = "".join(prompt[at] for at in letters).find(wanted)
    if not wanted or begin < 0:
        return 0, 0
    end = letters[begin + len(wanted) - 1] + 1
    line_end = prompt.find("\n", end) if text.endswith("…") else end
    return letters[begin], len(prompt) if line_end < 0 else line_end


def pointer_in(prompt: str, root: str) -> str:
    """Return a short prompt that names a page or a place outside ``root``, on one line: what somebody is to
    look at may serve again. "" for any other, and for one that asks.
    """
    text = " ".join(prompt.split())
    is_talk = len(text) <= _TALK_CHARS and not any(sentence.asks for sentence in Prompt(prompt).sentences)
    return text if is_talk and any(not place.startswith(root or "\0") for place in _places_in(text)) else ""


def _places_in(text: str) -> Iterator[str]:
    return (match[0] for match in _PLACES.finditer(text))


def sentences_in(prompt: str) -> list[UserSentence]:
    """Return what ``prompt`` says that holds on, in order, at most 400 characters each. Cost: 2 ms for 1
    KB."""
    return [_sentence_of(statement) for statement in statements(prompt)]


def _sentence_of(statement: Statement) -> UserSentence:
    return UserSentence(
        NoteKind.RULE if statement.kind == "rule" else NoteKind.DECISION,
        shortened(statement.text, SENTENCE_CHARS),
        statement.wants,
        statement.scope,
        statement.chosen,
        statement.instead_of,
    )
