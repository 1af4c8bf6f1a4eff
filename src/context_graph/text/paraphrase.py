"""Compares two short texts by rules over their words: do they mean the same, or contradict each other?

Cautious on purpose: a wrong contradiction costs more than a missed one, and a wrong merge more than two
copies. Word order tells who does what to whom, so in doubt the texts differ. ADR 0021 says
what it finds and misses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from context_graph.text.english import ORDERED, spelt
from context_graph.text.meaning import Meaning, Word, read_meaning

MAX_CHARS: Final = 4000
"""Of each text that are compared for a contradiction; the rest must be of like length."""
MAX_OPPOSED_WORDS: Final = 60
"""Longer texts say many things: one differing number in them is no contradiction."""
MIN_SHARED_WORDS: Final = 3
MAX_WORDS: Final = 80
"""Of a sentence that is compared in other forms."""
MAX_REWORDED: Final = 40
"""Sentences that are told in other words, one by one; texts in which more are differ."""
MAX_MOVED: Final = 4
"""Words of a possessor, and between it and what it has."""

Words = Sequence[Word]
_Phrases = frozenset[tuple[str, tuple[tuple[str, bool], ...]]]
_BEGINS: Final = ("", False)
_CLAUSES: Final = frozenset(
    [
        *("", "to", "when", "until", "because", "before", "after", "while", "since"),
        *("unless", "though", "although", "than", "versus", "or"),
    ]
)
"""Marks of clauses, which go on up to the next mark or comma; phrases of others end before `the` and `we`."""

_TOKEN: Final = re.compile(
    r"""(?P<quoted>"[^"\n]{1,200}"|`[^`\n]{1,200}`)|(?P<sign>[=:<>]+)"""
    r"""|(?P<word>(?:\w[\w%]*+|%[\w%]++|[@#$%][@#$./:+-]{0,32}+[\w%]++)(?:[@#$./:+-]{1,200}+[\w%]++)*+)"""
)
_DIGITS: Final = re.compile(r"\b\d++\b")
_NUMBER: Final = re.compile(r"[$#]?\d[\d.,]*+(?:[a-z%]{0,3})")
_ASSERTS: Final = frozenset(
    ["is", "are", "be", "equals", "=", ":", "to", "at", "exactly", "ist", "sind", "beträgt", "betragen"]
)
"""What stands before a number that is asserted; `step 3` and `run 4` only name."""
_LIMITS: Final = frozenset(["after", "within", "every", "than", "nach", "alle", "innerhalb"])
"""What stands before one that is asserted with its unit: `after 30 minutes`."""
_NEGATIONS: Final = frozenset(["not", "never", "no", "nicht", "nie", "niemals"])
_KEINEN: Final = 6
"""Letters of the longest form of *kein*."""
_MODALS: Final = frozenset(["will", "can", "kann", "wird"])
_ANY_MORE: Final = re.compile(r"(?i)\b(?:any ?more|any longer|longer|länger|mehr)\b")
_CONDITIONS: Final = frozenset(
    [
        *("if", "when", "whenever", "unless", "until", "while", "without", "that", "which", "who", "whose"),
        *("where", "because", "since", "before", "after", "or", "although", "though", "whether"),
        *("wenn", "falls", "dass", "weil", "ob", "bevor", "bis", "oder", "solange"),
    ]
)
"""Words after which a negation denies nothing: `files that are not signed are refused`."""
_UN: Final = ("un", "non", "non-", "de", "dis", "in", "im")
_OPPOSED_CHARS: Final = 5
_SINGLE: Final = frozenset(["default", "primary", "main", "current", "latest", "only", "official"])
"""What is said of one alone."""
_OPPOSITES: Final = frozenset(
    map(
        frozenset,
        [
            *(("enabled", "disabled"), ("enables", "disables"), ("true", "false"), ("yes", "no")),
            *(("allowed", "forbidden"), ("allowed", "denied"), ("allows", "forbids"), ("always", "never")),
            *(("required", "optional"), ("mandatory", "optional"), ("supported", "unsupported")),
            *(("synchronous", "asynchronous"), ("mutable", "immutable"), ("public", "private")),
            ("on", "off"),
        ],
    )
)


def _tokens(text: str) -> list[str]:
    """Return words, numbers, names, quotations and signs of assignment, negations spelt out."""
    return [
        match[0].lower().rstrip(".:") or match[0]
        for match in _TOKEN.finditer(spelt(text[:MAX_CHARS]).replace("cannot", "can not"))
    ]


def same_meaning(first: str, other: str) -> bool:
    """Return whether two texts mean the same, maybe in other words or another order.

    They do not if they differ in a number, path, id or quotation, in a negation, or in any word with a
    meaning, however similar they are (D5.2). Cost: some 3 us a word; almost nothing for equal texts or other
    numbers.
    """
    return first == other or (
        _numbers(first) == _numbers(other) and same(read_meaning(first), read_meaning(other))
    )


def _numbers(text: str) -> list[str]:
    """Return the text's numbers, sorted, except those in words (k8s): equal meanings have equal numbers."""
    return sorted(_DIGITS.findall(text))


def same(first: Meaning, other: Meaning) -> bool:
    """`same_meaning` for texts that were already read."""
    if first.text == other.text:
        return True
    return (
        bool(first.key)
        and first.key == other.key
        and first.past == other.past
        and (first.optional <= other.optional or other.optional <= first.optional)
        and _same_exact(first, other)
        and _same_sentences(first, other)
    )


def _same_exact(first: Meaning, other: Meaning) -> bool:
    """Return whether ids, paths and quotations are equal, but for the case of the text as a whole."""
    if first.exact == other.exact:
        return True
    whole = any(text in (text.lower(), text.upper(), text.title()) for text in (first.text, other.text))
    words, other_words = (sorted(filter(str.isalpha, text.text.split()[1:])) for text in (first, other))
    return (
        whole
        and sorted(map(str.lower, first.exact)) == sorted(map(str.lower, other.exact))
        and words != other_words
        and sorted(map(str.lower, words)) == sorted(map(str.lower, other_words))
    )


def _same_sentences(first: Meaning, other: Meaning) -> bool:
    """Return whether both have the same sentences, in whatever order."""
    unmatched = _unmatched(first.sentences, other.sentences)
    other_unmatched = _unmatched(other.sentences, first.sentences)
    if len(unmatched) != len(other_unmatched) or len(unmatched) > MAX_REWORDED:
        return False
    optional = first.optional | other.optional
    for sentence in unmatched:
        at = next(
            (at for at, twin in enumerate(other_unmatched) if _reworded(sentence, twin, optional)), None
        )
        if at is None:
            return False
        del other_unmatched[at]
    return True


def _unmatched(sentences: Sequence[Words], others: Sequence[Words]) -> list[Words]:
    there, rest = Counter(map(_phrases, others)), list[Words]()
    for sentence in sentences:
        phrases = _phrases(sentence)
        there[phrases] -= 1
        if there[phrases] < 0:
            rest.append(sentence)
    return rest


def _phrases(words: Words) -> _Phrases:
    """Return the words by the mark that their phrase begins with, in order: `for X we use Y` is `we use Y for
    X`.

    A phrase may move, but not past another with the same mark: `from A to B` is not `from B to A`, and what
    has no mark keeps its order, which says who does what to whom.
    """
    phrases: dict[str, list[tuple[str, bool]]] = {}
    mark = ""
    for word in _listed(words):
        if word.mark or word.fronted or (word.definite and mark not in _CLAUSES):
            mark = word.mark
            if mark:
                phrases.setdefault(mark, []).append(_BEGINS)
        phrases.setdefault(mark, []).append((word.word, word.be and word.past))
    return frozenset((mark, tuple(phrase)) for mark, phrase in phrases.items())


def _listed(words: Words) -> Words:
    """Return ``words`` with the members of each list in one order: `a, b and c`, of a word each."""
    if not any(word.joined for word in words) or any(word.word in ORDERED for word in words):
        return words
    result = list(words)
    start = 0
    for end in range(1, len(words) + 1):
        if end < len(words) and not words[end].mark and (words[end].joined or words[end].fronted):
            continue
        ends = end == len(words) or words[end].mark or words[end].be or not start
        if ends and any(word.joined for word in words[start + 1 : end]):
            names = sorted(word.word for word in words[start:end])
            result[start:end] = [
                word._replace(word=name, joined=False, fronted=word.fronted and word is words[start])
                for word, name in zip(words[start:end], names, strict=True)
            ]
        start = end
    return result


def _reworded(first: Words, other: Words, optional: frozenset[str]) -> bool:
    if _bag(first) != _bag(other):
        return False
    if _in_order(first) == _in_order(other):
        return True
    if max(len(first), len(other)) > MAX_WORDS:
        return False
    other_forms = list(_forms(other, optional))
    return any(
        _phrases(_possessive(form, there)) == _phrases(_possessive(there, form))
        for form in _forms(first, optional)
        for there in other_forms
    )


def _bag(words: Words) -> list[str]:
    return sorted(word.word for word in words)


def _in_order(words: Words) -> list[tuple[str, str, bool]]:
    return [(word.word, word.mark, word.be and word.past) for word in words]


def _forms(words: Words, optional: frozenset[str]) -> Iterator[Words]:
    """Yield the sentence, and its active form and its turned form where it has them."""
    yield words
    yield from _active(words, optional)
    yield from _turned(words)


def _active(words: Words, optional: frozenset[str]) -> Iterator[Words]:
    """`B is called by A in C` -> `A calls B in C`; where a text has `we`, `B is called` -> `we call B`."""
    verb = next((at for at, word in enumerate(words) if word.be and word.past), None)
    if verb is None:
        return
    start = max((at for at in range(verb + 1) if words[at].fronted), default=0)
    patient = [words[verb]._replace(be=False, fronted=False), *_bare(words[start:verb])]
    agent = next((at for at in range(verb + 1, len(words)) if words[at].mark == "by"), None)
    if agent is None:
        if "we" in optional and start < verb:
            yield [*words[:start], *patient, *words[verb + 1 :]]
        return
    end = next((at for at in range(agent + 1, len(words)) if words[at].mark or words[at].fronted), len(words))
    yield [*words[:start], *_bare(words[agent:end]), *patient, *words[verb + 1 : agent], *words[end:]]


def _turned(words: Words) -> Iterator[Words]:
    """`the owner of X is A` -> `A is the owner of X`, and back."""
    at = next((at for at, word in enumerate(words) if word.be), None)
    if not at or sum(word.be for word in words) > 1 or words[at].past or words[at].mark:
        return
    left, right = words[:at], words[at:]
    if any(word.fronted for word in (*left[1:], *right)) or any(" " in word.word for word in right):
        return
    if any(word.definite or word.mark == "'s" for word in words):
        turned = [right[0]._replace(be=False, fronted=left[0].fronted), *right[1:]]
        yield [*turned, left[0]._replace(be=True, fronted=False), *left[1:]]


def _bare(words: Words) -> list[Word]:
    """Return the words without the connective before the first of them."""
    return [words[0]._replace(mark="", be=False, fronted=False), *words[1:]] if words else []


def _possessive(words: Words, other: Words) -> list[Word]:
    """Return ``words`` with `X's Y` and `X Y` put as `Y of X` or `Y for X`, where the other does."""
    result = list(words)
    for at, word in enumerate(other):
        if word.mark not in ("of", "for") or at == 0:
            continue
        possessor = _possessor(result, other, at)
        if possessor is not None:
            start, size, head = possessor
            owner = [result[start]._replace(mark=word.mark, fronted=False), *result[start + 1 : start + size]]
            had = [result[start + size]._replace(mark=result[start].mark, fronted=result[start].fronted)]
            had += result[start + size + 1 : head + 1]
            had[0] = had[0]._replace(be=result[start].be, definite=result[start].definite)
            result[start : head + 1] = [*had, *owner]
    return result


def _possessor(words: Words, other: Words, at: int) -> tuple[int, int, int] | None:
    """Return where the words after `of` at ``at`` stand before what they have: (start, words, head)."""
    head = other[at - 1].word
    for start, word in enumerate(words):
        if word.word != other[at].word or word.mark in ("of", "for"):
            continue
        size = 1
        while (
            size < MAX_MOVED
            and start + size < len(words)
            and at + size < len(other)
            and words[start + size].word == other[at + size].word
            and words[start + size].mark == other[at + size].mark == ""
        ):
            size += 1
        for last in range(start + size, min(start + size + MAX_MOVED, len(words))):
            if words[last].mark not in (("", "'s") if last == start + size else ("",)) or words[last].fronted:
                break
            if words[last].word == head:
                if words[start + size].mark == "'s":  # a message for Ada is not Ada's
                    return (start, size, last) if other[at].mark == "of" else None
                alike = _is_next(words, last + 1) == _is_next(other, at + size)
                return (start, size, last) if alike else None
    return None


def _is_next(words: Words, at: int) -> bool:
    """Return whether a form of `be` follows: as in `the gateway timeout is 5`, not in `Alice manages Bob`."""
    return at < len(words) and words[at].be


def opposition(text: str, other: str) -> str | None:
    """Return the contradiction between two otherwise equal texts; None if they don't contradict plainly.

    Found, in English and German: a negation in one of them, another number in an assertion, an opposite word
    (enabled / disabled, signed / unsigned), another name in a role (`the lead of X is Ada`). The rest may be
    told in other words (`same_meaning`).
    """
    first, second = _tokens(text), _tokens(other)
    if max(len(first), len(second)) > MAX_OPPOSED_WORDS or first == second:
        return None
    if min(len(first), len(second)) >= MIN_SHARED_WORDS:
        denials = sum(map(_is_negation, first)), sum(map(_is_negation, second))
        if (denials == (1, 0) and _denies(text, other)) or (denials == (0, 1) and _denies(other, text)):
            return "one denies what the other says"
    alone = [*(Counter(first) - Counter(second))], [*(Counter(second) - Counter(first))]
    differing = [
        (mine, their)
        for mine in alone[0]
        for their in alone[1]
        if (_is_asserted(mine, first) and _is_asserted(their, second))
        or _are_opposite(mine, their)
        or (_is_in_role(mine, first, text) and _is_in_role(their, second, other))
    ]
    if len(differing) != 1 or min(len(first), len(second)) < MIN_SHARED_WORDS:
        return None
    mine, their = differing[0]
    return f"{mine} / {their}" if same_meaning(text, _with(other, their, mine)) else None


def _denies(text: str, plain: str) -> bool:
    """Return whether ``text`` says just that ``plain`` is not so: without its one negation it says the same.

    A negation after `if`, `that`, `which` only tells of what something is said.
    """
    whole = spelt(text).replace("cannot", "can not").replace("CANNOT", "CAN NOT")
    words = list(_TOKEN.finditer(whole))
    begin, end = next(word.span() for word in words if _is_negation(word[0]))
    sentence = max(whole.rfind(sign, 0, begin) for sign in (". ", "! ", "? ", "; ", "\n"))
    before = [word[0].lower() for word in words if sentence < word.start() < begin]
    if _CONDITIONS & {*before}:
        return False
    head, tail = whole[:begin], whole[end:]
    forms = [head + tail, head + _ANY_MORE.sub("", tail)]
    if before and before[-1] in _MODALS:
        forms.append(head.rstrip()[: -len(before[-1])] + tail)
    if whole[begin:end].lower().startswith("kein"):
        forms.append(head + whole[begin + 1 : end] + tail)
    return any(same_meaning(form, plain) for form in forms)


def _is_negation(word: str) -> bool:
    lower = word.lower()
    return lower in _NEGATIONS or (lower.startswith("kein") and len(lower) <= _KEINEN)


def _is_asserted(token: str, tokens: Sequence[str]) -> bool:
    at = tokens.index(token)
    if at == 0 or _NUMBER.fullmatch(token) is None:
        return False
    has_unit = at + 1 < len(tokens) and tokens[at + 1].isalpha()
    return tokens[at - 1] in _ASSERTS or (has_unit and tokens[at - 1] in _LIMITS)


def _are_opposite(mine: str, their: str) -> bool:
    if frozenset((mine, their)) in _OPPOSITES:
        return True
    short, long = sorted((mine, their), key=len)
    return len(short) >= _OPPOSED_CHARS and any(long == before + short for before in _UN)


def _is_in_role(token: str, tokens: Sequence[str], text: str) -> bool:
    """Return whether a text ends with this name of who or what has a role that one alone can have."""
    role = tokens[:-2]
    if len(tokens) < MIN_SHARED_WORDS or tokens[-1] != token or tokens[-2] not in ("is", "ist"):
        return False
    is_one = bool(_SINGLE & {*role})
    is_of = bool({"of", "for", "von", "der", "des"} & {*role}) or "'s " in text.lower()
    name = text.split()[-1].lstrip("\"'`(")
    return is_one or (is_of and name[:1] != name[:1].lower())


def _with(text: str, old: str, new: str) -> str:
    """Return ``text`` with another token in the place of one of it, given in lower case."""

    def replaced(match: re.Match[str]) -> str:
        bare = match[0].rstrip(".:") or match[0]
        return new + match[0][len(bare) :] if bare.lower() == old else match[0]

    return _TOKEN.sub(replaced, spelt(text))
