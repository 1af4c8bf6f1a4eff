"""How likely it is that a memory is what a prompt or question asks for: one definition for all recalls.

A ranking always has a best memory, also for a question about something else. What tells is absolute, and
means the same for a question of any length and in a store of any size: the signs of `memory/asked.py`.

Summaries of sessions, their notes, code and other texts speak differently, so each kind has weights of its
own, fitted against its own negatives by `python -m research.fit.floor --fit DATA`; those of notes were chosen
between that fit and one to questions about sessions (docs/dev/adr/0033-floors.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from operator import itemgetter, mul
from typing import Final, Protocol, TypeVar

from context_graph.memory.asked import NAMES, STORED
from context_graph.model.memory import CAPTURED, NOTED, MemoryNode
from context_graph.model.note import NoteKind
from context_graph.model.note import kind_of_memory as note_kind
from context_graph.text import sentences


class Judged(Protocol):
    """A memory that a recall found, with its relevance."""

    @property
    def node(self) -> MemoryNode: ...
    @property
    def score(self) -> float: ...
    @property
    def parts(self) -> Mapping[str, float]: ...


_Row = TypeVar("_Row", bound=Judged)
_Signs = TypeVar("_Signs")


class Kind(StrEnum):
    """What a memory's text is."""

    SUMMARY = "summary"
    NOTE = "note"
    CODE = "code"
    TEXT = "text"


_CONSTANT: Final[Mapping[Kind, float]] = {
    Kind.SUMMARY: -2.494,
    Kind.NOTE: -3.6,
    Kind.CODE: -3.875,
    Kind.TEXT: -1.99,
}
_WEIGHTS: Final[Mapping[Kind, tuple[float, ...]]] = {
    Kind.SUMMARY: (0.161, 1.053, 0.557, 1.821, 0.186, 0.504, 0.447, 0.943, -0.934, 0.0),
    Kind.NOTE: (0.1, 1.0, 2.4, 0.0, 0.0, 0.5, 0.3, 1.2, 0.0, 3.0),
    Kind.CODE: (0.581, 1.064, 2.204, 1.339, 0.0, 0.0, 0.0, 6.297, -3.012, 0.0),
    Kind.TEXT: (0.34, 1.699, 0.705, 2.667, 0.0, 0.0, 0.0, 1.434, -1.534, 0.0),
}
"""Weights of NAMES; but for notes made by `python -m research.fit.floor --fit DATA`."""

_LOOKED_UP: Final = (-4.0, (0.1, 0.7, 1.6, 0.0, 0.0, 0.5, 0.3, 2.0, 0.0, 4.0))
"""Constant and weights of notes where somebody asks: he asks in other words than theirs, and judges himself
what is near."""

SECOND: Final = "second"
"""The cosine of second vectors, which tell what is said in other words."""
_ANSWER: Final[tuple[float, Mapping[str, float]]] = (
    -2.7,
    {"opening": 5.1, "cosine": 1.5, "passage": 2.6, STORED: -2.1},
)
"""Constant and weights of what answers a question, the same for all that sessions leave."""
_ANSWER_BY_SECOND: Final[tuple[float, Mapping[str, float]]] = (
    -3.16,
    {
        **{"beyond": 1.14, "opening": 3.41, "opening_files": 1.02, "cosine": 0.17, "passage": 2.9},
        **{STORED: -2.12, SECOND: 4.97},
    },
)
"""The same with second vectors, made by `python -m research.fit.answers DATA --second`; the first is fitted
to questions about recorded sessions too (docs/dev/adr/0036-answers.md)."""
ANSWER_BAR: Final = 0.5
"""How much of its kind's bar an answer must take: it saves a search."""
LEFT: Final = frozenset({CAPTURED, NOTED})
"""Sources of what a session left: its summary and its notes."""

BARS: Final[Mapping[str, float]] = {
    NoteKind.RULE: -0.8,
    NoteKind.DECISION: -0.4,
    NoteKind.WAY: -0.4,
    NoteKind.OPEN: -0.4,
    NoteKind.LESSON: 0.0,
    NoteKind.CHANGE: 0.9,
    NoteKind.FINDING: 1.0,
    Kind.TEXT: 0.0,
    Kind.SUMMARY: 1.1,
    Kind.CODE: 1.5,
}
"""What a floor is raised by at prompts, in log-odds: what a wrong line of that kind costs against what a
right one is worth. A rule that is missed is a mistake made again; findings and code are long and many, and
nearly every prompt finds some that looks alike. Chosen so that at most 3 in 100 prompts of other work bring
something."""

_MOST_BEYOND: Final = 0.3
_BEYOND: Final = (0.35, -0.25)
"""Of the sign ``size``: tens of nats beyond chance that the opening must say in a store that is not young. A
single word in common is likelier to be about something else the more there are."""
_LEAST_SHARED: Final = 0.15
"""Share of what the opening says that a memory must have at a prompt, unless the meanings are close."""
_CLOSE: Final = 0.45
_ASKED_FOR: Final = 0.4
"""Log-odds by which the floor is lower where the prompt asks something: an answer saves a search."""
_LEAST_ASKED: Final = 0.1
"""As _LEAST_SHARED, where the prompt asks something."""
_BRIEF: Final = (120, 0.4)
"""Characters of a request that says little, and log-odds by which the floor is higher for it: some memory of
nearly any project has a word of `fix the test of the parser`."""
_MEANS: Final = (2.0, _CLOSE)
"""Tens of nats that a cosine says beyond this one, of an opening that the memory has whole."""
_LIKE_WORK: Final = 8.0
"""Log-odds for a whole share of work in common."""
_LIKE_PROMPT: Final = 28.0
"""The same, for what a prompt and an earlier session's work have in common."""
_USUAL_SHARE: Final = 0.1
"""What any two sessions of a project have in common."""
_LITTLE: Final = 1e-9
_BESIDE: Final = 0.6
_BESIDE_ASKED: Final = 0.2
"""Share of the best one's relevance that another must have; less where the prompt asks something: beside an
answer the store knows what is asked about, and only the sentences that come nearest are told."""
_GOAL: Final = "Goal: "
_WHY: Final = ("Cause:", "Fix:", "Done:", "Decided:", "Commit:")
"""How the lines of a change begin that say more than what was asked for and where."""
_KIND_CHARS: Final = 4000
_CODE_SHARE: Final = 0.25
"""Share of a text's characters from which it is code; functions with a long description have no more."""


def kind_of(content: str) -> Kind:
    """Return what a memory's text is, by its form."""
    if content.startswith(_GOAL):
        return Kind.SUMMARY
    begin = content[:_KIND_CHARS]
    if not sentences.may_hold_code(begin):
        return Kind.TEXT
    parts = sentences.segments(begin)
    code = sum(len(part.text) for part in parts if part.kind is sentences.Kind.CODE)
    return Kind.CODE if code > _CODE_SHARE * sum(len(part.text) for part in parts) else Kind.TEXT


def kind_of_memory(node: MemoryNode | None) -> Kind:
    """Return what a memory's text is: all of a session's notes speak alike, but for the user's rules."""
    if node is None:
        return Kind.TEXT
    kind = note_kind(node.metadata) if node.metadata else None
    if kind is None:
        return kind_of(node.content)
    return Kind.TEXT if kind is NoteKind.RULE else Kind.NOTE


_values: Final = itemgetter(*NAMES)


def probability(kind: Kind, signs: Mapping[str, float], *, looks_up: bool = False) -> float:
    """That the memory is what was asked for, (0, 1).

    Args:
        looks_up: Somebody asks, and it is not a prompt that brings it.
    """
    asked = looks_up and kind is Kind.NOTE
    constant, weights = _LOOKED_UP if asked else (_CONSTANT[kind], _WEIGHTS[kind])
    return _logistic(constant + sum(map(mul, weights, _values(signs))))


def of_memory(
    node: MemoryNode | None, signs: Mapping[str, float], *, asks: bool, looks_up: bool = False
) -> float:
    """`answer` for what a session left, where a question is asked, else `probability`."""
    if asks and node is not None and node.source in LEFT:
        return answer(signs)
    return probability(kind_of_memory(node), signs, looks_up=looks_up)


def answer(signs: Mapping[str, float]) -> float:
    """That a summary or a note answers a question, [0, 1); 0 if it was not judged by one."""
    if STORED not in signs:
        return 0.0
    constant, weights = _ANSWER_BY_SECOND if SECOND in signs else _ANSWER
    return _logistic(constant + sum(weight * signs.get(name, 0.0) for name, weight in weights.items()))


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(30.0, max(-30.0, odds))))


def with_like_work(
    relevances: Sequence[float], sessions: Sequence[str], alike: Mapping[str, float], *, by_query: bool
) -> list[float]:
    """Return the relevances of memories of these sessions, with what the work of each says for them.

    By the query: of each session for its likeliest, the others would stand before the best of other sessions.
    """
    shares = [alike.get(name, 0.0) for name in sessions]
    if not by_query:
        return of_like_work(relevances, shares)
    rising = sorted(range(len(relevances)), key=relevances.__getitem__)
    best = {sessions[at]: at for at in rising}.values()
    return in_order_of_like_work(
        relevances, [share if at in best else 0.0 for at, share in enumerate(shares)]
    )


def of_like_work(relevances: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return the relevances of memories whose sessions' work has those shares in common."""
    added = (_LIKE_WORK * max(0.0, share - _USUAL_SHARE) for share in shares)
    return [
        _raised(relevance, odds) if odds else relevance
        for relevance, odds in zip(relevances, added, strict=True)
    ]


def in_order_of_like_work(relevances: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return the same before the session has worked, by what its prompt and theirs have in common.

    It says which of them first, not whether any is meant: the highest stays as high as it was. What was
    measured is in docs/identity.md; it changes little from 28 to 40 log-odds for a whole share.
    """
    added = [_LIKE_PROMPT * share for share in shares]
    raised = [_raised(relevance, odds) for relevance, odds in zip(relevances, added, strict=True)]
    above = _odds(max(raised, default=0.5)) - _odds(max(relevances, default=0.5))
    return [_raised(relevance, -above) for relevance in raised]


def in_ranked_order(
    judged: Sequence[tuple[int, float, _Signs]], stored: Sequence[int]
) -> list[tuple[int, float, _Signs]]:
    """Return rows with their relevances and signs, the stored ones in the ranking's order: of what somebody
    stored it knows more, what neighbours and links say. The relevances stay where they are.

    So 83 % of LoCoMo's questions have an answer among the first ten, by relevance 78; of CoSQA's 63 and 63.

    Args:
        judged: The likeliest first.
        stored: Those rows that somebody stored, as ranked.
    """
    rows = {row: signs for row, _, signs in judged}
    here = set(stored)
    ranked = iter(stored)
    order = [next(ranked) if row in here else row for row, _, _ in judged]
    return [(row, likely, rows[row]) for row, (_, likely, _) in zip(order, judged, strict=True)]


def _odds(probability: float) -> float:
    return math.log(probability / (1.0 - probability))


def _raised(probability: float, odds: float) -> float:
    """The probability with log-odds added; they stay within 30, so that no probability becomes 0 or 1."""
    return _logistic(_odds(probability) + odds)


def worth(kind: Kind, signs: Mapping[str, float]) -> dict[str, float]:
    """Return what each sign adds to the log-odds of `probability`, the largest first; {} without signs."""
    if not signs.keys() >= set(NAMES):
        return {}
    added = {name: round(a * signs[name], 2) for name, a in zip(NAMES, _WEIGHTS[kind], strict=True)}
    return dict(
        sorted(((name, value) for name, value in added.items() if value), key=lambda item: -abs(item[1]))
    )


def bar_of(node: MemoryNode) -> str:
    """Return the kind by which a memory's bar is chosen: that of a note, else that of its text."""
    return note_kind(node.metadata) or kind_of(node.content)


def floor_unasked(floor: float, kind: str, *, asks: bool = False) -> float:
    """Return the least relevance of a memory that nobody asked for, from a text's; 0 lets all pass, 1 none.

    Args:
        kind: As `bar_of` gives it.
        asks: Whether the prompt asks something.
    """
    return _lifted(floor, BARS[kind] - _ASKED_FOR * asks)


def least_answer(floor: float, kind: str) -> float:
    """The same of what a session left, as the answer to a question (`answer`)."""
    return _lifted(floor, ANSWER_BAR * BARS[kind])


def _lifted(floor: float, odds: float) -> float:
    return _raised(floor, odds) if 0.0 < floor < 1.0 else floor


def is_brought(
    floor: float, kind: str, relevance: float, signs: Mapping[str, float], *, asks: bool = False
) -> bool:
    """Return whether a prompt brings a memory that nobody asked for.

    Args:
        floor: The setting, [0, 1]: what a text must reach.
        kind: As `bar_of` gives it.
        signs: What the relevance is made of (`asked.NAMES`).
        asks: Whether the prompt asks something: then one sentence that is near is enough.
    """
    if not 0.0 < floor < 1.0:
        return relevance >= floor
    opening, cosine = signs.get("opening", 0.0), signs.get("cosine", 0.0)
    slope, start = _BEYOND
    least = min(_MOST_BEYOND, slope * signs.get("size", 0.0) + start)
    worth, usual = _MEANS
    means = worth * max(0.0, cosine - usual) * opening
    if asks:
        says_enough = opening >= _LEAST_ASKED or max(cosine, signs.get("passage", 0.0)) >= _CLOSE
    else:
        shares = opening >= _LEAST_SHARED or cosine >= _CLOSE
        says_enough = shares and (kind == NoteKind.RULE or signs.get("beyond", 0.0) + means >= least)
    return says_enough and relevance >= floor_unasked(floor, kind, asks=asks)


def brought(
    rows: Iterable[_Row], floor: float, moved: float, *, asks: bool, is_brief: bool = False
) -> list[_Row]:
    """Return those of ``rows`` that a prompt brings, those first that are farthest above their bars: of
    summaries, and at a task of changes that say no more than where, only the likeliest, and none far below
    the likeliest of all. Beside an answer others need not take their bars.

    Args:
        floor: As of `is_brought`.
        moved: The floor as what was used has moved it; it never rises for rules: what a user said is never
            silenced.
        asks: As of `is_brought`.
        is_brief: Whether the prompt is a short request (`is_brief_request`): only rules are told as easily.
    """
    raised = _lifted(moved, _BRIEF[1]) if is_brief else moved
    likely: list[tuple[float, float, _Row]] = []
    is_known, only_once = False, set[str]()
    judged = []
    for row in rows:
        answers = asks and row.node.source in LEFT
        judged.append((answer(row.parts) if answers else row.score, answers, row))
    for relevance, answers, row in sorted(judged, key=lambda each: -each[0]):
        bar = bar_of(row.node)
        least = min(floor, moved) if bar == NoteKind.RULE else raised
        if answers:
            enough = is_known or relevance >= least_answer(least, bar)
            is_known = is_known or enough
        else:
            enough = is_brought(least, bar, relevance, row.parts, asks=asks)
        says_little = bar == Kind.SUMMARY or (
            bar == NoteKind.CHANGE
            and not asks
            and not any(line.startswith(_WHY) for line in row.node.content.splitlines())
        )
        if not enough or (says_little and bar in only_once):
            continue
        if says_little:
            only_once.add(bar)
        likely.append((_log_odds(relevance) - BARS[bar], relevance, row))
    beside = _BESIDE_ASKED if asks else _BESIDE
    least = beside * likely[0][1] if likely else 0.0
    near = [(above, row) for above, relevance, row in likely if relevance >= least]
    return [row for _, row in sorted(near, key=lambda pair: -pair[0])]


def is_brief_request(prompt: str, *, asks: bool) -> bool:
    """Return whether a prompt sets a task in a line."""
    return not asks and len(prompt) <= _BRIEF[0]


def _log_odds(probability: float) -> float:
    return math.log(max(_LITTLE, probability) / max(_LITTLE, 1.0 - probability))
