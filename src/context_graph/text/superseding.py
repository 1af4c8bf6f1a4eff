"""Tells what a statement gives up: `Staging listens on 9000 now instead of 8443` gives up `8443`.

By rule, over words: a text says that something holds no longer, and an earlier text says just that of the
same subject. Cautious on purpose: a memory that is wrongly called superseded is one that is not believed.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Final, NamedTuple

from context_graph.text.english import spelt
from context_graph.text.sentences import content_words

MAX_CHARS: Final = 600
"""Longer texts say many things; giving up one of them does not end the others."""
_GIVEN_UP_WORDS: Final = 5
_SHARED_BESIDE: Final = 2
"""Words that both have, beside which the later one may say the earlier one's verb in another way."""

_TOKEN: Final = re.compile(r"[\w@#$%/.:+-]+|[,;!?()\n]")
_TRAILING: Final = "@#$/.:+-"
_ENDS: Final = frozenset(
    [
        *(",", ";", ".", "!", "?", "(", ")", "\n"),
        *("because", "since", "as", "now", "when", "so", "but", "while", "and", "which", "that", "anymore"),
    ]
)
_PLACES: Final = frozenset(
    ["for", "in", "on", "at", "before", "after", "to", "by", "with", "from", "of", "during", "under"]
)
"""Before what is given up they are no part of it; behind it they end it."""
_AFTER: Final = {
    signs[0]: signs for signs in (("instead", "of"), ("replaces",), ("supersedes",), ("formerly",))
}
"""What is given up follows these words, told by the first of them."""
_CLAUSE_ENDS: Final = frozenset(
    [",", ";", ".", "!", "?", "(", ")", "\n", "because", "since", "so", "but", "while", "now"]
)
"""What ends a clause that denies something: `it is no longer on 8443, it is on 9000 now`."""
_ANY_MORE: Final = frozenset({"anymore", "more", "longer"})
"""After a `not`; the last two after an `any`."""
_LEADS: Final = _PLACES | frozenset(
    ["use", "uses", "using", "run", "runs", "call", "calls", "need", "needs", "have", "has", "the", "a", "an"]
)
_FROM: Final = frozenset({"switched", "moved", "migrated", "changed", "renamed"})
"""`switched the tests from A to B`"""
_BETWEEN: Final = {
    **dict.fromkeys(("replaced", "replace"), frozenset({"with", "by"})),
    **dict.fromkeys(_FROM, frozenset({"to"})),
}
"""What is given up stands between the verb, or its `from`, and one of these."""


_BE: Final = frozenset(["is", "are", "was", "were", "be", "has", "had", "does", "did", "will", "can"])
"""A text that differs in its verb says something else, not the same of another value."""

_HINT: Final = re.compile(
    "|".join(
        sorted(
            {max(signs, key=len) for signs in _AFTER.values()} | _BETWEEN.keys() | _ANY_MORE | {r"\bnow\b"}
        )
    )
)
"""Part of every text that says that something holds no longer; most texts have none of it."""


def _tokens(text: str) -> list[str]:
    """Return words in lower case, and the signs that end a phrase."""
    tokens: list[str] = []
    for token in _TOKEN.findall(spelt(text[:MAX_CHARS]).lower()):
        word = token.rstrip(_TRAILING)
        tokens += [word] if word else []
        if "." in token[len(word) :]:
            tokens.append(".")
    return tokens


def may_give_up(text: str) -> bool:
    """Return whether ``text`` says that something holds no longer, or holds now. Cost: some us for most
    texts."""
    if _HINT.search(text.lower()) is None:
        return False
    return bool(given_up(text)) or "now" in _tokens(text)


def given_up(text: str) -> frozenset[str]:
    """Return the content words of what ``text`` says holds no longer; none if it says nothing of the kind."""
    if len(text) > MAX_CHARS:
        return frozenset()
    tokens = _tokens(text)
    phrases: list[list[str]] = []
    for at, word in enumerate(tokens):
        marks = _AFTER.get(word, ())
        if marks and tuple(tokens[at : at + len(marks)]) == marks:
            phrases.append(_phrase(tokens, at + len(marks), frozenset()))
        if word in _BETWEEN:
            phrases.append(_between(tokens, at, _BETWEEN[word], needs_from=word in _FROM))
    phrases += [_without_leads(denial.what) for denial in _denials(tokens)]
    gone = [word for phrase in phrases for word in phrase]
    kept = Counter(tokens) - Counter(gone)  # phrases may overlap: `replaces the formerly used port`
    return content_words(" ".join(gone)) - content_words(" ".join(kept))


class _Denial(NamedTuple):
    """A clause that says that something holds no longer."""

    about: list[str]
    """What stands before the denial."""
    what: list[str]
    """What it denies."""


def _denials(tokens: list[str]) -> list[_Denial]:
    denials = []
    start = 0
    for end in range(len(tokens) + 1):
        if end < len(tokens) and tokens[end] not in _CLAUSE_ENDS:
            continue
        clause, start = tokens[start:end], end + 1
        if "longer" in clause and (at := clause.index("longer")) and clause[at - 1] == "no":
            denials.append(_Denial(clause[: at - 1], clause[at + 1 :]))
        elif "not" in clause and _any_more(clause):
            at = clause.index("not")
            rest = [word for word in clause[at + 1 :] if word not in _ANY_MORE and word != "any"]
            denials.append(_Denial(clause[:at], rest))
    return [denial for denial in denials if denial.what]


def _any_more(clause: list[str]) -> bool:
    return "anymore" in clause or any(
        word == "any" and after in _ANY_MORE for word, after in pairwise(clause)
    )


def _without_leads(phrase: list[str]) -> list[str]:
    """Without the words that lead to what is denied: `use`, `on`, `the`."""
    return [word for word in phrase if word not in _LEADS]


def _between(tokens: list[str], at: int, ends: frozenset[str], *, needs_from: bool) -> list[str]:
    """Return the words between a verb, or the `from` that follows it, and the first of ``ends``."""
    start = at + 1
    if needs_from:
        if "from" not in tokens[start : start + _GIVEN_UP_WORDS]:
            return []
        start = tokens.index("from", start) + 1
    reach = tokens[start : start + _GIVEN_UP_WORDS + 1]
    return _phrase(tokens, start, ends) if ends & set(reach) else []


def _phrase(tokens: list[str], start: int, ends: frozenset[str]) -> list[str]:
    """Return the words from ``start`` up to one that ends a phrase, without those that only lead to it."""
    phrase: list[str] = []
    for word in tokens[start : start + _GIVEN_UP_WORDS]:
        if word in _ENDS or word in ends or (phrase and word in _PLACES):
            break
        if phrase or word not in _LEADS:
            phrase.append(word)
    return phrase


def supersedes(later: str, earlier: str) -> bool:
    """Return whether ``later`` says that what ``earlier`` states holds no longer.

    It gives up words of the earlier text and shares the others, but for a verb, or it is the earlier text
    with `now` and another value. A clause that denies something says nothing that the earlier text does not:
    what is no longer so of search may be so of payments. An earlier text that gives the same up itself is no
    statement of it.
    """
    if len(earlier) > MAX_CHARS or len(later) > MAX_CHARS:
        return False
    old, new = content_words(earlier), content_words(later)
    gone = given_up(later)
    if not gone:
        return _says_now(later, earlier)
    if not gone <= old or gone & given_up(earlier):
        return False
    rest, denials = old - gone, _denials(_tokens(later))
    shared = rest & (new - gone)
    missing = rest - shared
    if denials:
        # All that the clauses deny is said there, and at most the verb is another one.
        words = [word for denial in denials for word in (*denial.about, *denial.what)]
        return bool(shared) and len(missing) <= 1 and content_words(" ".join(_without_leads(words))) <= old
    beside = len(missing) == 1 and len(shared) >= _SHARED_BESIDE and missing <= _verbs(earlier)
    return bool(shared) and (not missing or beside)


def _verbs(text: str) -> frozenset[str]:
    """Return what may be the verb of a statement, by its ending and by what stands around it."""
    tokens = _tokens(text)
    words = [
        word
        for before, word, after in zip(tokens, tokens[1:], [*tokens[2:], ""], strict=False)
        if (word.endswith(("s", "ed")) or after in _PLACES) and before not in _PLACES | _LEADS | _ENDS
    ]
    return content_words(" ".join(words))


def _says_now(later: str, earlier: str) -> bool:
    """Return whether the texts are equal but for `now` and one value of at most three words."""
    new, old = _tokens(later.rstrip(".! ")), _tokens(earlier.rstrip(".! "))
    if "now" not in new or "now" in old:
        return False
    new = [word for word in new if word != "now"]
    start = 0
    while start < min(len(new), len(old)) and new[start] == old[start]:
        start += 1
    end = 0
    while end < min(len(new), len(old)) - start and new[-1 - end] == old[-1 - end]:
        end += 1
    new_value, old_value = new[start : len(new) - end], old[start : len(old) - end]
    values = all(0 < len(value) <= 3 and value[0] not in _BE for value in (new_value, old_value))
    return values and start >= 2 and start + end >= 3
