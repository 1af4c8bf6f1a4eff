"""How likely it is that a memory is what a prompt or question asks for: one definition for all recalls.

A ranking always has a best memory, also for a question about something else. What tells is absolute and
independent of the question's length: how much of its opening the memory has, and the memory's first line; how
rare the best words are that both have; whether the question names the memory's files; the cosine of the
meanings; how far the memory's score is from the store's mean.

Summaries of sessions, code and other texts speak differently, so each kind has weights of its own, fitted
against its own negatives by `python -m research.fit.floor --fit DATA`.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, cast

from context_graph.memory.embed import EmbeddingProvider, terms_of
from context_graph.memory.index.blend import FUNCTION_WORDS, hashes
from context_graph.model.memory import MemoryNode
from context_graph.model.note import NoteKind
from context_graph.model.note import kind_of_memory as note_kind
from context_graph.text import sentences
from context_graph.text.phrases import word_set

NAMES: Final = (
    *("margin", "opening", "lead", "rare", "files", "opening_files", "file_name", "cosine", "size"),
)
"""What the probability is made of; `Asked.signs` says what each is."""


class Kind(StrEnum):
    """What a memory's text is."""

    SUMMARY = "summary"
    CODE = "code"
    TEXT = "text"


_CONSTANT: Final[Mapping[Kind, float]] = {
    Kind.SUMMARY: -2.854,
    Kind.CODE: -3.81,
    Kind.TEXT: -2.13,
}
_WEIGHTS: Final[Mapping[Kind, tuple[float, ...]]] = {
    Kind.SUMMARY: (0.153, 1.239, 1.431, 0.062, 0.558, 0.825, 0.493, 1.275, -0.469),
    Kind.CODE: (0.632, 3.88, 1.982, -0.073, 0.0, 0.0, 0.0, 6.3, -3.732),
    Kind.TEXT: (0.388, 1.114, 3.042, 0.337, 0.0, 0.0, 0.0, 1.568, -2.834),
}
"""Of NAMES; made by `python -m research.fit.floor --fit DATA`."""

_UNASKED: Final[Mapping[Kind, float]] = {Kind.SUMMARY: 1.3, Kind.CODE: 1.9, Kind.TEXT: 0.0}
"""What a floor is raised by at prompts, in log-odds: among summaries and code nearly every prompt finds
something that looks alike. Chosen so that at most 3 in 100 prompts of other work bring something."""

_WORDS: Final = 256
"""Words of a question that are looked at, from its beginning."""
_WORD_CHARS: Final = 80
_OPENING_CHARS: Final = 200
_OPENING_WORDS: Final = 4
"""A shorter first sentence is a heading; the next one belongs to it."""
_CONTENT_CHARS: Final = 8000
"""Of a memory's text."""
_LEAD_CHARS: Final = 260
_KIND_CHARS: Final = 4000
_CODE_SHARE: Final = 0.25
"""Of the characters; functions with a long description have no more."""
_BEST: Final = 3
_FAR: Final = 5.0
"""Standard deviations; where nothing else has a word of the question one common word is farther out."""
_ENOUGH: Final = 0.7
"""Rarity that an opening's words must have together to be held in full; `run the tests` has less."""
_LOOKED_UP: Final = 3
"""Words of a query that are all meant, whatever they are."""
_YOUNG: Final = 50.0
"""Memories at which the store's own estimate of a word's rarity counts as much as the vocabulary's."""
_LARGEST: Final = 1000
"""Memories of the largest store that was fitted; a larger one counts as that."""
_WORD: Final = re.compile(r"[^\W_][\w./:\-]*")
_SIGNS: Final = "./:-"
"""Inside a word they are part of it, at its end they are not."""
_SENTENCE_END: Final = re.compile(r"[.!?](?:\s|$)|\n")
_FIRST_WORD: Final = 1996
"""The vocabulary's first whole word, `the`; from there on words stand in order of their frequency."""
_RARE: Final = 8.0
_WORKADAY: Final = word_set(
    """
    add adding again all another any argument arguments ask back better bit call called change changed changes
    check clean code comment count create day delete different do does done edit error errors explain file
    files find first fix fixed function functions get give go good help import imports instead issue it its
    keep last let like line lines list look loop make makes message method methods more move name names need
    new next no not now number numbers one open order other out please print problem project put read remove
    rename run running runs same see set show simple small some something sort split start stop tell test
    tests text thing things three time times try turn two type types update use used uses using value values
    variable variables want way what when where which who why word words work works write yes
    """
)
"""Words of any programming request: sharing them shows little."""
_WORKADAY_WORTH: Final = 0.2
_GOAL: Final = "Goal: "
_FILES: Final = ("Changed: ", "Looked at: ", "Worked on: ")
"""How the lines of a summary begin (`context.summary`)."""
_SCRATCH: Final = ("repro", "scratch", "tmp", "temp", "debug", "verify")

Idfs = Callable[["array[int]"], Sequence[float]]
"""The idf in the store of each of these terms."""


def rarity(packed: bytes) -> float:
    """How informative a word is, by its pieces: up to 8 for rare words and for words that are not English.

    By Zipf's law the word of rank k has a share of about 1 / (10 k); the value is the logarithm of its
    inverse, less 5.
    """
    pieces = memoryview(packed).cast("H")
    if len(pieces) != 1:
        return _RARE
    rank = pieces[0] - _FIRST_WORD + 1
    return min(_RARE, max(1.0, math.log(10.0 * rank) - 5.0)) if rank > 0 else 1.0


def words_in(text: str) -> list[str]:
    """The words of ``text``, each once, in order."""
    return list(dict.fromkeys(found.rstrip(_SIGNS) for found in _WORD.findall(text)))


def opening(text: str) -> str:
    """The first sentence or line of ``text`` that has some words, with what is before it; 200 characters."""
    text = text.strip()
    for found in _SENTENCE_END.finditer(text[:_OPENING_CHARS]):
        if len(words_in(text[: found.start()])) >= _OPENING_WORDS:
            return text[: found.start()]
    if len(text) <= _OPENING_CHARS:
        return text
    return text[:_OPENING_CHARS].rsplit(None, 1)[0]


def kind_of(content: str) -> Kind:
    """What a memory's text is, by its form."""
    if content.startswith(_GOAL):
        return Kind.SUMMARY
    begin = content[:_KIND_CHARS]
    if not sentences.may_hold_code(begin):
        return Kind.TEXT
    parts = sentences.segments(begin)
    code = sum(len(part.text) for part in parts if part.kind is sentences.Kind.CODE)
    return Kind.CODE if code > _CODE_SHARE * sum(len(part.text) for part in parts) else Kind.TEXT


def kind_of_memory(node: MemoryNode | None) -> Kind:
    """What a memory's text is: a session's notes speak as its summary does, but for the user's rules."""
    if node is None:
        return Kind.TEXT
    kind = note_kind(node.metadata) if node.metadata else None
    if kind is None:
        return kind_of(node.content)
    return Kind.TEXT if kind is NoteKind.RULE else Kind.SUMMARY


def probability(kind: Kind, signs: Mapping[str, float]) -> float:
    """That the memory is what was asked for, (0, 1)."""
    values = (signs[name] for name in NAMES)
    score = _CONSTANT[kind] + sum(a * b for a, b in zip(_WEIGHTS[kind], values, strict=True))
    return 1.0 / (1.0 + math.exp(-min(30.0, max(-30.0, score))))


def worth(kind: Kind, signs: Mapping[str, float]) -> dict[str, float]:
    """What each sign adds to the log-odds of `probability`, the largest first, without what adds nothing.

    ``signs`` may hold other values too; {} where it has none of NAMES.
    """
    if not signs.keys() >= set(NAMES):
        return {}
    added = {name: round(a * signs[name], 2) for name, a in zip(NAMES, _WEIGHTS[kind], strict=True)}
    return dict(sorted(((name, one) for name, one in added.items() if one), key=lambda item: -abs(item[1])))


def floor_unasked(floor: float, kind: Kind) -> float:
    """The least relevance of a memory that nobody asked for, from a text's; 0 lets all pass, 1 none."""
    if not 0.0 < floor < 1.0:
        return floor
    return 1.0 / (1.0 + math.exp(-math.log(floor / (1.0 - floor)) - _UNASKED[kind]))


class Asked:
    """What a question asks for. Cost: 1 to 5 us a word, then some 50 us a memory of 200 words."""

    def __init__(
        self, text: str, provider: EmbeddingProvider, idfs: Idfs, memories: int, *, looks_up: bool = False
    ) -> None:
        """For a store with that number of memories; ``idfs`` is asked again for each memory.

        ``looks_up`` says that somebody asked for these words: a few of them, however common, are all meant.
        """
        self._looks_up = looks_up
        self._provider, self._idfs = provider, idfs
        self._size = math.log(max(1, min(memories, _LARGEST))) / 5.0
        self._rarity: dict[int, float] = {}
        for word in _informative(text)[:_WORDS]:
            known = _word(cast(Hashable, provider), word)
            for term in known[0]:
                self._rarity.setdefault(term, known[1])
        self._opening = self._weighed(_informative(opening(text)), memories)
        self._opening_terms = {term for terms, _ in self._opening for term in terms}

    def _weighed(self, words: Sequence[str], memories: int) -> list[tuple[tuple[int, ...], float]]:
        """(terms, weight) of words: how rare each is, in [0, 1].

        The store tells it by its memories, a young one by the vocabulary: there nearly every word is new.
        """
        provider = cast(Hashable, self._provider)
        known = [found for found in (_word(provider, word) for word in words) if found[0]]
        idfs = iter(self._idfs(array("Q", [term for terms, _ in known for term in terms])))
        most = math.log(1.0 + (memories + 0.5) / 0.5)
        grown = memories / (memories + _YOUNG)
        weighed = []
        for terms, rare in known:
            idf = sum(next(idfs) for _ in terms) / len(terms)
            weighed.append((terms, grown * idf / most + (1.0 - grown) * rare))
        self._whole = sum(weight for _, weight in weighed)
        means_all = self._looks_up and len(known) <= _LOOKED_UP
        self._telling = 1.0 if means_all else min(1.0, sum(rare for _, rare in known) / _ENOUGH)
        return weighed

    def signs(self, content: str, margin: float, cosine: float) -> dict[str, float]:
        """The values of NAMES for a memory.

        margin: given, its score's distance from the store's mean, in standard deviations, at most 5.
        opening: the share of the weight of the question's opening words that it has; lead: that
        its first line has. rare: the mean rarity, up to 8, of the three rarest words that both have.
        files: ln(1 + weight of the words in its files' paths that the question has);
        opening_files: that the opening has; file_name: of the names
        without folders. cosine: given. size: ln(memories) / 5.
        """
        content = content[:_CONTENT_CHARS]
        mine = self._terms(content)
        lead = self._terms(content.split("\n", 1)[0][:_LEAD_CHARS])
        rare = sorted((self._rarity[term] for term in mine & self._rarity.keys()), reverse=True)[:_BEST]
        paths = files_of(content)
        folders = self._terms(" ".join(paths).replace("/", " ").replace("_", " ")) if paths else set()
        names = self._terms(" ".join(path.rsplit("/", 1)[-1] for path in paths)) if paths else set()
        return {
            "margin": min(_FAR, margin),
            "opening": self._share(mine),
            "lead": self._share(lead),
            "rare": _RARE * sum(rare) / _BEST,
            "files": self._worth(folders & self._rarity.keys()),
            "opening_files": self._worth(folders & self._opening_terms & self._rarity.keys()),
            "file_name": self._worth(names & self._rarity.keys()),
            "cosine": cosine,
            "size": self._size,
        }

    def _terms(self, text: str) -> set[int]:
        return set(hashes(terms_of(self._provider, text)))

    def _share(self, held: set[int]) -> float:
        """The share of the opening's weight that these terms have."""
        if not self._whole:
            return 0.0
        found = sum(weight * len(held.intersection(terms)) / len(terms) for terms, weight in self._opening)
        return self._telling * found / self._whole

    def _worth(self, terms: set[int]) -> float:
        """ln(1 + the terms' idf, each times its word's rarity)."""
        if not terms:
            return 0.0
        some = array("Q", terms)
        found = zip(some, self._idfs(some), strict=True)
        return math.log1p(sum(idf * self._rarity[term] for term, idf in found))


def files_of(content: str) -> list[str]:
    """The files in the project that a summary names as changed, or else as looked at, without extensions."""
    found = []
    for line in content.splitlines():
        if line.startswith(_FILES):
            for part in line.split(": ", 1)[1].split("; "):
                path = part.split(" (", 1)[0].strip()
                if "/" in path[1:] and path[0] != "/" and not _is_scratch(path):
                    found.append(path.rsplit(".", 1)[0])
    return found


def _is_scratch(path: str) -> bool:
    """Whether a file was made to try something out, by the names that people and agents give such files."""
    return any(part.startswith(_SCRATCH) for part in path.lower().replace("_", "/").split("/"))


def _informative(text: str) -> list[str]:
    return [word[:_WORD_CHARS] for word in words_in(text) if word.lower() not in FUNCTION_WORDS]


@lru_cache(maxsize=4096)  # a session's prompts have most of their words in common
def _word(provider: Hashable, word: str) -> tuple[tuple[int, ...], float]:
    """A word's terms, and how rare it is, in (0, 1]."""
    encoded = cast(EmbeddingProvider, provider).encode(word)
    worth = _WORKADAY_WORTH if word.lower() in _WORKADAY else 1.0
    return tuple(hashes(encoded.terms)), worth * rarity(encoded.pieces) / _RARE
