"""Tells what a statement gives up: `Staging listens on 9000 now instead of 8443` gives up `8443`.

By rule, over words, in English and German: a text says that something holds no longer, and an earlier text
says just that of the same subject. Cautious on purpose: a memory that is wrongly called superseded is one
that is not believed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple

from context_graph.text.english import IRREGULAR, STOP_WORDS, same_word, spelt
from context_graph.text.sentences import common_ends

LANGUAGES: Final = ("en", "de")
MAX_CHARS: Final = 600
"""Longer texts say many things; giving up one of them does not end the others."""
_GIVEN_UP_WORDS: Final = 5
_SHARED_BESIDE: Final = 2
"""Words that both have, beside which the later one may say the earlier one's verb in another way."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOKEN: Final = re.compile(r"[\w@#$%/.:+-]+|[,;!?()\n]")
_TRAILING: Final = "@#$/.:+-"
_STOPS: Final = _words(", ; . ! ? ( )") | {"\n"}
_CLAUSE_ENDS: Final = _STOPS | _words("because since so but while now weil da sondern jetzt")
"""What ends a clause that denies something: `it is no longer on 8443, it is on 9000 now`."""
_ENDS: Final = _CLAUSE_ENDS | _words("as when and which that anymore from-now today und der die das")
_PLACES: Final = _words(
    "for in on at before after to by with from of during under für auf an bei vor nach zu mit von unter aus"
)
"""Before what is given up they are no part of it; behind it they end it."""
_LEADS: Final = _PLACES | _words(
    "use uses using run runs call calls need needs have has the a an den dem der die das"
)
_AFTER: Final = {
    signs[0]: signs
    for signs in (
        *(("instead", "of"), ("rather", "than"), ("replaces",), ("supersedes",), ("formerly",)),
        *(("statt",), ("anstatt",), ("anstelle", "von")),
    )
}
"""What is given up follows these words, told by the first of them."""
_ANY_MORE: Final = _words("anymore more longer")
"""After a `not`; the last two after an `any`."""
_FROM: Final = _words("switched moved migrated changed renamed")
"""`switched the tests from A to B`"""
_BETWEEN: Final = {
    **dict.fromkeys(("replaced", "replace"), _words("with by")),
    **dict.fromkeys(("dropped", "ditched", "swapped", "abandoned"), _words("for in")),
    **dict.fromkeys(_FROM, _words("to")),
}
"""What is given up stands between the verb, or its `from`, and one of these."""
_NO_LONGER: Final = {("no", "longer"), ("no", "more"), ("used", "to"), ("nicht", "mehr"), ("nicht", "länger")}
_STOPPED: Final = _words("stopped quit retired ceased")
"""All that follows them in their clause is given up."""
_NOW: Final = _words("now today nowadays currently meanwhile jetzt nun inzwischen mittlerweile nunmehr")
_ONWARD: Final = (
    *("from now on", "as of now", "as of today", "from today on"),
    *("ab sofort", "ab jetzt", "ab heute"),
)
"""Said of what holds from here on; each is read as one `now`."""
_SINCE: Final = re.compile(r"\b(?:since|seit) \w++ ")
"""When something changed says nothing of what changed."""
_BE: Final = _words(
    "is are was were be been has had does did do will can ist sind war waren hat hatte wird werden"
)
"""A text that differs in its verb says something else, not the same of another value."""
_EMPTY: Final = (
    frozenset(word.decode() for word in STOP_WORDS)
    | _BE
    | _NOW
    | _PLACES
    | _words(
        "no not more longer any anymore use uses using used rather than instead und oder der die das den dem "
        "ein eine einen einem einer nicht kein keine keinen mehr länger sondern statt wir es"
    )
)
"""Words that say nothing of what a text is about."""

_HINT: Final = re.compile(
    "|".join(
        sorted(
            {max(signs, key=len) for signs in _AFTER.values()}
            | _BETWEEN.keys()
            | _ANY_MORE
            | _STOPPED
            | {rf"\b{word}\b" for word in _NOW}
            | {"now on", "as of", "ab sofort", "ab heute", "used to", "n't", "länger", "gone"}
            | {r"\bnot\b", r"\bmehr\b"}
        )
    )
)
"""Part of every text that says that something holds no longer; many texts have none of it."""


def _tokens(text: str) -> list[str]:
    """Return words in lower case, and the signs that end a phrase."""
    lower = spelt(text[:MAX_CHARS]).lower().replace("'s ", " ").replace("’s ", " ")
    lower = _SINCE.sub("", lower)
    for onward in _ONWARD:
        lower = lower.replace(onward, "now")
    tokens: list[str] = []
    for token in _TOKEN.findall(lower):
        word = token.rstrip(_TRAILING)
        tokens += [word] if word else []
        if "." in token[len(word) :]:
            tokens.append(".")
    return tokens


def _content(tokens: Iterable[str]) -> frozenset[str]:
    """Return the words that a text is about, each in one form."""
    return frozenset(same_word(word) for word in tokens if word not in _EMPTY and word not in _STOPS)


def may_give_up(text: str) -> bool:
    """Return whether ``text`` says that something holds no longer, or holds now."""
    if _HINT.search(text.lower()) is None:
        return False
    return bool(given_up(text)) or bool(_NOW & set(_tokens(text)))


def given_up(text: str) -> frozenset[str]:
    """Return the content words of what ``text`` says holds no longer; none if it says nothing of the kind."""
    if len(text) > MAX_CHARS:
        return frozenset()
    tokens = _tokens(text)
    return _given_up(tokens, _denials(tokens))


def _given_up(tokens: list[str], denials: list[_Denial]) -> frozenset[str]:
    phrases: list[list[str]] = []
    for at, word in enumerate(tokens):
        marks = _AFTER.get(word, ())
        if marks and tuple(tokens[at : at + len(marks)]) == marks:
            phrases.append(_phrase(tokens, at + len(marks), frozenset()))
        if word in _BETWEEN:
            phrases.append(_between(tokens, at, _BETWEEN[word], needs_from=word in _FROM))
    phrases += [[word for word in denial.what if word not in _LEADS] for denial in denials]
    gone = [word for phrase in phrases for word in phrase]
    kept = Counter(tokens) - Counter(gone)  # phrases may overlap: `replaces the formerly used port`
    return _content(gone) - _content(kept)


class _Denial(NamedTuple):
    """A clause that says that something holds no longer."""

    about: list[str]
    """What stands before the denial."""
    what: list[str]
    """What it denies."""


def _denials(tokens: list[str]) -> list[_Denial]:
    """Return the clauses that deny something, and those that say what was: `used to be A`, `was A, now`."""
    clauses: list[list[str]] = [[]]
    for token in tokens:
        if token in _CLAUSE_ENDS and not (token in ("now", "jetzt") and not clauses[-1]):
            clauses.append([])
        else:
            clauses[-1].append(token)
    is_now = bool(_NOW & set(tokens))
    denials = [_denial(clause, is_now=is_now, alone=len(clauses) < 2) for clause in clauses]
    return [denial for denial in denials if denial is not None and denial.what]


def _denial(clause: list[str], *, is_now: bool, alone: bool) -> _Denial | None:
    for at, (word, after) in enumerate(pairwise(clause)):
        if (word, after) in _NO_LONGER:
            return _Denial(_last_part(clause[:at]), [token for token in clause[at + 2 :] if token != "be"])
    for at, word in enumerate(clause):
        if word in _STOPPED:
            return _Denial(clause[:at], clause[at + 1 :])
        if word == "gone":
            return _Denial([], clause[:at])
        if word in ("was", "were") and is_now and at and not alone:
            return _Denial(clause[:at], clause[at + 1 :])
        if word == "not" and (_any_more(clause) or at == 0):
            rest = [token for token in clause[at + 1 :] if token not in _ANY_MORE and token != "any"]
            return _Denial(clause[:at], rest)
        if word.startswith("kein") and "mehr" in clause[at:]:
            return _Denial(clause[:at], [token for token in clause[at + 1 :] if token != "mehr"])
    return None


def _last_part(about: list[str]) -> list[str]:
    """Return what follows the last `and`: `it is in B and no longer in A` denies nothing of B."""
    joined = max((at for at, word in enumerate(about) if word in ("and", "und")), default=-1)
    return about[joined + 1 :]


def _any_more(clause: list[str]) -> bool:
    return "anymore" in clause or any(
        word == "any" and after in _ANY_MORE for word, after in pairwise(clause)
    )


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
    with `now` and another value. Neither says more of its subject than the other: what is no longer so of
    search may be so of payments, and what is so of staging's cache need not be so of the cache. An earlier
    text that gives the same up itself is no statement of it.
    """
    if len(earlier) > MAX_CHARS or len(later) > MAX_CHARS:
        return False
    new_tokens, old_tokens = _tokens(later), _tokens(earlier)
    denials = _denials(new_tokens)
    gone = _given_up(new_tokens, denials)
    if gone and not gone & _given_up(old_tokens, _denials(old_tokens)):
        old, new = _content(old_tokens), _content(new_tokens)
        if gone <= old and not _is_narrower(new_tokens, old_tokens, old, gone):
            return _is_of_the_same(old, new, gone, denials, old_tokens)
    return not gone and _says_now(new_tokens, old_tokens)


def _is_of_the_same(
    old: frozenset[str],
    new: frozenset[str],
    gone: frozenset[str],
    denials: list[_Denial],
    old_tokens: list[str],
) -> bool:
    """Return whether both texts have the rest of the earlier one's words, but for its verb at most."""
    shared = (old - gone) & new
    missing = old - gone - new
    denied = frozenset.union(*(_content((*it.about, *it.what)) for it in denials)) if denials else gone
    if not denied <= old or not (shared or len(gone) >= _SHARED_BESIDE):
        return False
    if not missing:
        return True
    enough = bool(denials) or len(shared) >= _SHARED_BESIDE
    return len(missing) == 1 and enough and missing <= _verbs(old_tokens)


def _is_narrower(tokens: list[str], old_tokens: list[str], old: frozenset[str], gone: frozenset[str]) -> bool:
    """Return whether ``tokens`` say more of what both are about: `staging cache` or `cache of staging`, where
    the other says `cache`.

    Args:
        old: What ``old_tokens`` are about.
    """
    valued = {word for before, word in pairwise(old_tokens) if _content([before]) & gone}  # Anna's *team*
    for earlier, before, word in zip(["", *tokens], tokens, tokens[1:], strict=False):
        if before in ("of", "von"):
            before, word = word, earlier
        shared = _content([word])
        if not shared or not shared <= old - gone or word in valued or before[0].isdigit():
            continue
        if not _content([before]) <= old and not _is_verb(before, after=earlier):
            return True
    return False


def _is_verb(word: str, after: str) -> bool:
    """Return whether ``word`` may be no part of a name but a verb, by its ending and the word before it."""
    if word.endswith("ing"):
        return after in _STOPPED
    return word.endswith(("s", "ed")) or word in IRREGULAR or word in _BETWEEN or word in _STOPPED


def _verbs(tokens: list[str]) -> frozenset[str]:
    """Return what may be the verb of a statement: by its ending, and by what stands around it."""
    words = [
        word
        for before, word, after in zip(tokens, tokens[1:], [*tokens[2:], ""], strict=False)
        if (word.endswith(("s", "ed", "t")) or word in IRREGULAR or after in _PLACES)
        and before not in _PLACES | _LEADS | _ENDS
    ]
    return _content(words)


def _says_now(new_tokens: list[str], old_tokens: list[str]) -> bool:
    """Return whether the texts are equal but for `now` and one value of at most three words."""
    if not _NOW & set(new_tokens) or _NOW & set(old_tokens):
        return False
    new = [word for word in new_tokens if word not in _NOW and word not in _STOPS]
    old = [word for word in old_tokens if word not in _STOPS]
    start, end = common_ends(new, old)
    new_value, old_value = new[start : len(new) - end], old[start : len(old) - end]
    if {*new_value[:1]} & _PLACES != {*old_value[:1]} & _PLACES:
        return False  # `weekly` and `to admins` are no two values of one thing
    values = all(
        0 < len(value) <= 3 and value[0] not in _BE and not _PLACES & {*value[1:]}
        for value in (new_value, old_value)
    )
    return values and start >= 2 and start + end >= 3
