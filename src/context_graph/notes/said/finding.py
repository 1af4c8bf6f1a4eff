"""Finds in a prompt the statements that hold beyond its task, and in an agent's message what it decided."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, NamedTuple

from context_graph.notes.said.content import read_content
from context_graph.notes.said.evidence import Reading
from context_graph.notes.said.language import language_of
from context_graph.notes.said.reading import Prompt
from context_graph.notes.said.scoring import Span, best_span, weights
from context_graph.notes.said.statement import Kind, Statement
from context_graph.notes.said.values import values_by_kind
from context_graph.text.patterns import linear

MOST_STATEMENTS: Final = 12
"""Statements of one text: one that says more is a document."""
_MOST_SENTENCES: Final = 300
_EDGES: Final = " \t,;:，；：、-–—"
_TIED_CHARS: Final = 80
"""Characters up to which a sentence may be part of the one before it."""
_TALK: Final = 4
"""Sentences up to which a prompt is talk, of which any part may be a rule."""
_DOCUMENT_CHARS: Final = 300
"""Characters of a prompt's sentences together from which it is a report or a description, in which only what
says that it lasts is a rule."""
_ORDERED: Final = 2.0
"""What speaks more for a sentence that begins by how long it holds, and less for one that holds for once or
is reported.
"""
_ALLOWED: Final = 3.0
"""What speaks more for one that takes back what was said: a rule that its user took back does harm."""
_STATED: Final = 0.9
"""The same for a prompt that does nothing but state a fact: why else would it be said?"""
_NO_FACT: Final = frozenset({"state", "past", "symptom", "task", "maybe", "hearsay", "denied", "this"})
_SAYS_HOW: Final = frozenset({"be", "keep", "env", "limit", "base"})
_LIMITS: Final = frozenset({"only", "instead"})
_LIMIT_WORDS: Final = 3
"""Words of a clause among which one says that it limits what stands before it: `but only`, `except`."""
_LONGER: Final = 1.5
"""How much more must speak for a rule among e times as many sentences: a description has no more of them."""
_OURS: Final = frozenset({"house", "you", "prefer", "attention"})
_BINDS: Final = frozenset({"standing", "forbid", "must", "only", "keep", "prefer"})
_SHOULD: Final = frozenset(
    {"standing", "forbid", "must", "only", "prefer", "house", "attention", "universal"}
)
_BINDING: Final = frozenset({"standing", "must", "only", "house"})
_LASTS: Final = frozenset(
    {*_BINDING, "forbid", "you", "me", "prefer", "attention", "universal", "everywhere", "habit", "instead"}
) | {"keep", "choose", "tongue", "base"}
"""Kinds of words one of which a sentence has that holds beyond its task."""
_DENIES: Final = frozenset({"be", "forbid"})
_THOUGH: Final = linear(
    r"(?i)(?:^|\W)(?:(?:al)?though|obwohl|obgleich|alors que|bien que|aunque|a pesar de que|"
    r"embora|apesar de|хотя)(?:\W|$)|虽然|尽管|のに"
)
_REPORTS: Final = frozenset({"state", "past", "maybe", "hearsay", "this", "symptom", "base"})
_OPEN: Final = frozenset({"maybe", "ask", "hearsay"})
"""Kinds of words by which an agent's sentence leaves open what is chosen."""


class _Candidate(NamedTuple):
    kind: Kind
    at: int
    span: Span
    text: str


def statements(prompt: str) -> list[Statement]:
    """Return the rules and decisions in ``prompt``, in its order; [] for most prompts.

    At most `MOST_STATEMENTS`. Of a prompt beyond 64 KB, or with more than some hundred sentences, the first
    are read. Raises nothing. Takes some 1.5 ms for 1 KB, in proportion to its length.
    """
    reading = Reading(Prompt(prompt))
    candidates: list[_Candidate] = []
    for at in range(min(len(reading.clauses), _MOST_SENTENCES)):
        best = None if _announces(reading, at) else _best(reading, at)
        if best is None or not _stands_out(reading, best):
            continue
        if candidates and _is_tied(reading, candidates[-1], best):
            before = candidates.pop()
            best = before._replace(at=best.at, span=best.span, text=f"{before.text} {best.text}")
        candidates.append(best)
    language = reading.prompt.language
    return [
        read_content(candidate.kind, candidate.text, language, candidate.span.score)
        for candidate in candidates[:MOST_STATEMENTS]
    ]


def read(kind: Kind, text: str) -> Statement:
    """Return the statement that ``text`` makes, which is known to be one; its score is 0."""
    return read_content(kind, text, language_of(text), 0.0)


def _best(reading: Reading, at: int) -> _Candidate | None:
    """Return what sentence ``at`` is, and which of its clauses say it; None if it holds for this task
    only."""
    rule = best_span(reading, at, weights("rule"))
    rule = replace(rule, score=rule.score + _lasts(reading, at, rule))
    decision = best_span(reading, at, weights("decision"))
    if max(rule.score, decision.score) < 0:
        return None
    kind, span = ("rule", rule) if rule.score >= decision.score else ("decision", decision)
    if reading.is_keyed(at):
        span = replace(span, start=0, end=len(reading.clauses[at]))
    span = _with_limits(reading, at, span)
    return _Candidate("rule" if kind == "rule" else "decision", at, span, _text(reading, at, span))


def _announces(reading: Reading, at: int) -> bool:
    """Return whether a sentence only heads what follows it: `Log levels:`, `Do the following:`."""
    return reading.prompt.sentences[at].text.endswith((":", "："))


def _stands_out(reading: Reading, candidate: _Candidate) -> bool:
    """Return whether it would be a rule in a text of this length too; what asks is none, unless it orders; a
    single task is none, nor what complains.
    """
    if _is_one_task(reading, candidate) or _complains(reading, candidate):
        return False
    clauses, count = reading.clauses[candidate.at], len(reading.clauses)
    asks = candidate.span.end == len(clauses) or "ask" in clauses[candidate.span.start].kinds
    if asks and reading.prompt.sentences[candidate.at].asks:
        return _orders(reading, candidate.text)
    if candidate.span.score < _LONGER * math.log(max(1.0, count / _TALK)):
        return False
    is_report = reading.prompt.is_report
    chars = sum(len(reading.prompt.whole(sentence.text)) for sentence in reading.prompt.sentences)
    if chars <= _DOCUMENT_CHARS and not is_report:
        return True
    if is_report and candidate.at == 0:
        return _orders(reading, candidate.text)
    kinds = _kinds_of(reading, candidate)
    binds = (_orders(reading, candidate.text) or kinds & _OURS) and kinds & _BINDS
    return bool(binds) and not kinds & _REPORTS and not (is_report and "task" in kinds)


def _kinds_of(reading: Reading, candidate: _Candidate) -> frozenset[str]:
    span = reading.clauses[candidate.at][candidate.span.start : candidate.span.end]
    return frozenset[str]().union(*(clause.kinds for clause in span))


def _is_one_task(reading: Reading, candidate: _Candidate) -> bool:
    """Return whether it begins with the verb of a task and has no word of how long it holds or of what was
    chosen: `make the parser work for lists in lists`.
    """
    language = reading.prompt.language
    marks = language.marks(language.words(candidate.text))
    begins = any(mark.kind == "task" and mark.start == 0 for mark in marks)
    return begins and _LASTS.isdisjoint(_kinds_of(reading, candidate))


def _complains(reading: Reading, candidate: _Candidate) -> bool:
    """Return whether it says that something is not so though it could be: `retries are not counted although
    the queue knows them`.
    """
    kinds = _kinds_of(reading, candidate)
    is_denied = "denied" in kinds or kinds >= _DENIES
    return is_denied and _THOUGH.found(candidate.text) and _BINDING.isdisjoint(kinds)


def _orders(reading: Reading, text: str) -> bool:
    """Return whether it begins with a word that says how long it holds: `from now on`, `never`."""
    language = reading.prompt.language
    return any(mark.kind == "standing" and mark.start == 0 for mark in language.marks(language.words(text)))


def _lasts(reading: Reading, at: int, span: Span) -> float:
    """Return what the sentence's first words, and the sentence behind it, say of how long it holds."""
    if _orders(reading, _text(reading, at, span)) or _binds_all(reading, at):
        return _ORDERED
    if _allows_after_all(reading, at):
        return _ALLOWED
    if _is_for_once(reading, at) or _is_reported(reading, at):
        return -_ORDERED
    return _STATED if _states_a_fact(reading, at) else 0.0


def _states_a_fact(reading: Reading, at: int) -> bool:
    """Return whether a prompt is one sentence that says how something is, by a value, or has become, and asks
    for nothing: `staging is on db-2`.
    """
    kinds = reading.around[at]
    if len(reading.clauses) > 1 or reading.prompt.sentences[at].asks or kinds & _NO_FACT:
        return False
    return bool(kinds & {"ends", "over"}) or bool(
        kinds & _SAYS_HOW and values_by_kind(reading.prompt.sentences[at].text)
    )


def _binds_all(reading: Reading, at: int) -> bool:
    """Return whether a sentence says what all things must be, and is no report: `everything has to stay
    here`."""
    first = reading.clauses[at][0]
    return "s:universal" in first.leading and "must" in first.kinds and not first.kinds & _REPORTS


def _allows_after_all(reading: Reading, at: int) -> bool:
    """Return whether somebody changed his mind and says where alone something may be; without a limit it may
    be a task: `you can run the tests after all`.
    """
    kinds = reading.around[at]
    return {"revised", "must", "only"} <= kinds and not kinds & {"hearsay", "state", "symptom"}


def _is_for_once(reading: Reading, at: int) -> bool:
    """Return whether a sentence begins by saying that it holds this time: `for this one`, no single `now`."""
    language = reading.prompt.language
    marks = language.marks(language.words(reading.prompt.sentences[at].text))
    first = [mark for mark in marks if mark.start == 0]
    lasts = any(mark.kind in ("ends", "standing") for mark in first)
    return not lasts and any(
        mark.kind == "now" and (language.signs or mark.end - mark.start > 1) for mark in first
    )


def _is_reported(reading: Reading, at: int) -> bool:
    """Return whether the next sentence asks to find out why it is so, and it says of nothing that it should
    be."""
    if at + 1 >= len(reading.clauses) or reading.around[at] & _SHOULD:
        return False
    return reading.around[at + 1] >= {"ask", "task"}


def _with_limits(reading: Reading, at: int, span: Span) -> Span:
    """Return the span with the clauses behind it that limit it: `use signals, but only to clear the
    cache`."""
    language, clauses = reading.prompt.language, reading.prompt.sentences[at].clauses
    end = span.end
    while end < len(clauses) and "s:task" not in reading.clauses[at][end].leading:
        marks = language.marks(language.words(clauses[end].text))
        if not any(mark.kind in _LIMITS and mark.start < _LIMIT_WORDS for mark in marks):
            break
        end += 1
    return replace(span, end=end)


def _text(reading: Reading, at: int, span: Span) -> str:
    sentence = reading.prompt.sentences[at]
    begin, end = sentence.clauses[span.start].start, sentence.clauses[span.end - 1].end
    return reading.prompt.whole(sentence.text[begin:end].strip(_EDGES))


def _is_tied(reading: Reading, before: _Candidate, candidate: _Candidate) -> bool:
    """Return whether a rule is the other side of the one before it: `Use tabs. Never use spaces.`"""
    if (
        (before.kind, candidate.kind) != ("rule", "rule")
        or candidate.at != before.at + 1
        or len(candidate.text) > _TIED_CHARS
    ):
        return False
    language = reading.prompt.language
    both = [language.words(each.text) for each in (before, candidate)]
    marks = [language.marks(words) for words in both]
    denies = ["forbid" in {mark.kind for mark in each} for each in marks]
    verbs = [
        {tuple(words[mark.start : mark.end]) for mark in each if mark.kind == "keep"}
        for words, each in zip(both, marks, strict=True)
    ]
    return denies[0] != denies[1] and bool(verbs[0] & verbs[1])


def decisions(message: str) -> list[Statement]:
    """Return what an agent's ``message`` says that it chose, in its order: one thing for another, or with a
    reason.

    At most `MOST_STATEMENTS`. Cost and limits are those of `statements`.
    """
    prompt = Prompt(message)
    statements: list[Statement] = []
    for sentence in prompt.sentences[:_MOST_SENTENCES]:
        words = prompt.language.words(sentence.text)
        kinds = {mark.kind for mark in prompt.language.marks(words)}
        if sentence.asks or kinds & _OPEN or not kinds & {"choose", "instead", "past", "me", "house"}:
            continue
        statement = read_content("decision", prompt.whole(sentence.text), prompt.language, 0.0)
        swapped = bool(statement.chosen and statement.instead_of)
        if swapped or ("choose" in kinds and (statement.reason or statement.chosen)):
            statements.append(statement)
    return statements[:MOST_STATEMENTS]
