"""Whether two short texts say the same, or the opposite, by rules over their words.

Sober on purpose: a wrong "these contradict each other" costs more than a missed one, so texts are compared
word by word, and must be the same but for the one thing in which they differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from context_graph.memory.saying import Saying, saying
from context_graph.memory.word_order import same_order

__all__ = ["opposition", "same", "same_saying", "short_name"]

MAX_CHARS: Final = 4000
"""Of each text that are compared; the rest must be of like length."""
MAX_OPPOSED_WORDS: Final = 60
"""Longer texts say many things: one differing number in them is no contradiction."""
MIN_SHARED_WORDS: Final = 3

_TOKEN: Final = re.compile(
    r"""(?P<quoted>"[^"\n]{1,200}"|`[^`\n]{1,200}`)|(?P<sign>[=:<>]+)"""
    r"""|(?P<word>(?:\w[\w%]*+|%[\w%]++|[@#$%][@#$./:+-]{0,32}+[\w%]++)(?:[@#$./:+-]{1,200}+[\w%]++)*+)"""
)
_CONTRACTED: Final = re.compile(r"(?i)\b(\w{1,24}?)n['’]t\b")
_FULL: Final = {"wo": "will", "sha": "shall", "can": "can"}
_DIGITS: Final = re.compile(r"\b\d++\b")
_NUMBER: Final = re.compile(r"[$#]?\d[\d.,]*+(?:[a-z%]{0,3})")
_ASSERTS: Final = frozenset(["is", "are", "be", "equals", "=", ":", "to", "at", "exactly"])
"""What stands before a number that is asserted; `step 3` and `run 4` only name."""
_OPPOSITES: Final = frozenset(
    map(
        frozenset,
        [
            *(
                ("enabled", "disabled"),
                ("enables", "disables"),
                ("true", "false"),
                ("yes", "no"),
                ("on", "off"),
            ),
            *(("allowed", "forbidden"), ("allowed", "denied"), ("allows", "forbids"), ("always", "never")),
            *(("required", "optional"), ("mandatory", "optional"), ("supported", "unsupported")),
            *(("synchronous", "asynchronous"), ("mutable", "immutable"), ("public", "private")),
        ],
    )
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s")
_MARKUP: Final = re.compile(r"^[\s#>*\-+]*+(?:\d++[.)]\s++)?|[*`]{1,3}")


def _tokens(text: str) -> list[str]:
    """Words, numbers, names, quotations and signs of assignment, in lower case, negations spelt out."""
    spelt = _CONTRACTED.sub(lambda found: f"{_FULL.get(found[1].lower(), found[1])} not", text[:MAX_CHARS])
    return [
        found[0].lower().rstrip(".:") or found[0]
        for found in _TOKEN.finditer(spelt.replace("cannot", "can not"))
    ]


def same_saying(one: str, other: str) -> bool:
    """Whether two texts say the same, maybe in other words or another order.

    They do not when they differ in a number, path, id or quotation, in a negation, or in any word that
    carries meaning, however like they are (D5.2: such memories never merge).

    Cost: some 3 us a word; next to nothing where the texts are equal or give other numbers.
    """
    return one == other or (_numbers(one) == _numbers(other) and same(saying(one), saying(other)))


def _numbers(text: str) -> list[str]:
    """Its numbers, sorted, but for those in words (k8s): what says the same has the same, spelt alike."""
    return sorted(_DIGITS.findall(text))


def same(one: Saying, other: Saying) -> bool:
    """`same_saying` of texts that are already read."""
    if one.text == other.text:
        return True
    return (
        bool(one.key)
        and one.key == other.key
        and one.past == other.past
        and (one.optional <= other.optional or other.optional <= one.optional)
        and _same_exact(one, other)
        and same_order(one.sentences, other.sentences, optional=one.optional | other.optional)
    )


def _same_exact(one: Saying, other: Saying) -> bool:
    """Whether ids, paths and quotations are the same to the letter.

    Their case does not count where one text as a whole was put into another case: then plain words tell so.
    """
    if one.exact == other.exact:
        return True
    whole = any(text in (text.lower(), text.upper(), text.title()) for text in (one.text, other.text))
    ours, theirs = (sorted(filter(str.isalpha, text.text.split()[1:])) for text in (one, other))
    return (
        whole
        and sorted(map(str.lower, one.exact)) == sorted(map(str.lower, other.exact))
        and ours != theirs
        and sorted(map(str.lower, ours)) == sorted(map(str.lower, theirs))
    )


def opposition(one: str, other: str) -> str | None:
    """In what two texts that are else the same contradict each other; None when they do not, plainly.

    Found: a negation in one of them, another number in an assertion, an opposite word (enabled / disabled).
    """
    first, second = _tokens(one), _tokens(other)
    if max(len(first), len(second)) > MAX_OPPOSED_WORDS or first == second:
        return None
    start = _shared(first, second)
    end = _shared(first[start:][::-1], second[start:][::-1])
    if start + end < MIN_SHARED_WORDS:
        return None
    ours, theirs = first[start : len(first) - end], second[start : len(second) - end]
    if _is_negation(ours, theirs) or _is_negation(theirs, ours):
        return "one denies what the other says"
    if len(ours) != 1 or len(theirs) != 1:
        return None
    return _opposed(ours[0], theirs[0], first[start - 1] if start else "")


def _opposed(ours: str, theirs: str, before: str) -> str | None:
    if frozenset((ours, theirs)) in _OPPOSITES:
        return f"{ours} / {theirs}"
    numbers = _NUMBER.fullmatch(ours) and _NUMBER.fullmatch(theirs)
    return f"{ours} / {theirs}" if numbers and before in _ASSERTS else None


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def _is_negation(plain: Sequence[str], denied: Sequence[str]) -> bool:
    """Whether ``denied`` is ``plain`` with a negation: `` / not``, ``uses / does not use``."""
    if not plain:
        return list(denied) in (["not"], ["never"], ["no", "longer"], ["do", "not"])
    if len(plain) == 1 and len(denied) == 3 and denied[0] in ("does", "do", "did") and denied[1] == "not":
        stem = denied[2]
        return plain[0] in (stem, stem + "s", stem + "es", stem + "d", stem + "ed", stem[:-1] + "ies")
    return False


def short_name(content: str, limit: int = 48) -> str:
    """A name for a memory, taken from its text: its first heading or sentence, cut after a word."""
    lines = (_MARKUP.sub("", line).strip() for line in content[:MAX_CHARS].splitlines())
    first = next((line for line in lines if line), content.strip())
    name = " ".join(_SENTENCE.split(first)[0].split()).rstrip(" .:;,")
    if len(name) <= limit:
        return name
    kept = name[: limit - 1]
    return (kept.rsplit(" ", 1)[0] if " " in kept[limit // 2 :] else kept).rstrip(" ,;:([{") + "…"
