"""What speaks for a memory as the answer to a prompt or question: signs that mean the same in any store.

A word that both have speaks for the memory by how unlikely it is that a memory has it by chance: by the
store's own counts, and as far as the store is young by how common the word is in its language. Function words
and courtesies of the question's language say nothing, words of any work on programs little. Of a question
with much text the opening says what it is about; and the more memories there are, the more have some word by
chance.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, cast

from context_graph.kernels.dense import Vectors
from context_graph.memory.embed import EmbeddingProvider, meaning_of, terms_of
from context_graph.memory.index.blend import hashes
from context_graph.model.spaces import SPACES, WEIGHTS
from context_graph.notes.said.language import LANGUAGES, language
from context_graph.text.english import WORK_WORDS
from context_graph.text.function_words import is_function_word, language_of, pairs_in, without_pairs
from context_graph.text.phrases import asks_something, is_question, sentences, word_set

NAMES: Final = (
    *("margin", "beyond", "opening", "lead", "files", "opening_files", "file_name", "cosine", "size"),
    "passage",
)
"""The signs; `Asked.signs` says what each is."""
STORED: Final = "stored"
"""The sign besides, of a question alone: ln(1 + all memories, notes too) / 5."""

_WORDS: Final = 256
"""Words of a question that are looked at, from its beginning."""
_WORD_CHARS: Final = 80
_OPENING_CHARS: Final = 200
_OPENING_WORDS: Final = 4
"""A shorter first sentence is a heading; the next one belongs to it."""
_CONTENT_CHARS: Final = 8000
"""Characters that are read of a memory's text."""
_LEAD_CHARS: Final = 260
_KEPT: Final = 512
"""Memories whose terms are remembered, some 8 KB each: a session's prompts judge many of them again."""
_FAR: Final = 5.0
"""Standard deviations; where nothing else has a word of the question one common word is farther out."""
_ENOUGH: Final = 6.0
"""Nats that an opening's words must have together to be held in full; `run the tests` has less."""
_LOOKED_UP: Final = 3
"""Words of a query that are all meant, whatever they are."""
_YOUNG: Final = 50.0
"""Memories at which the store's own count of a word counts as much as its language's."""
_LARGEST: Final = 100_000
"""Memories of the largest store that was fitted; for ``size`` a larger one counts as that."""
_WORD: Final = re.compile(r"[^\W_][\w./:\-]*")
_SIGNS: Final = "./:-"
"""Inside a word they are part of it, at its end they are not."""
_NAMED: Final = re.compile(r"\d|\w[_./:]\w|[a-z][A-Z]")
"""What an identifier, a path, a code has and a plain word has not."""
_SENTENCE_END: Final = re.compile(r"[.!?。！？](?:\s|$)|\n|[。！？]")
_FIRST_WORD: Final = 1996
"""The vocabulary's first whole word, `the`; from there on words stand in order of their frequency."""
_LEAST: Final = 2.0
_PLAIN: Final = 6.0
_NAME: Final = 9.0
"""Nats: what a word of the language says at most before the store knows it, and what an identifier does."""
_PAIR: Final = 4.5
"""The same of two letters of a script without spaces."""
_USUAL_TERMS: Final = 40
"""Terms of a memory in which a word is as likely as said; in a longer one it is likelier by chance."""
_PIECE: Final = 4
_ALIKE: Final = 0.65
"""Share of a word's pieces from which a text has it in another form, or in a compound."""
_WORKADAY: Final = word_set(
    """
    add adding again all another any argument arguments ask back better bit call called change changed
    changes check choose chose chosen clean code comment count create day decide decided delete different
    do does done edit error errors explain file files find first fix fixed function functions get give go
    good happen happened happens help import imports instead issue it its keep last let like line lines
    list look loop make makes mean means message method methods more move name names need new next no not
    now number numbers one open order other out pick picked please print problem project put read remove
    rename run running runs same see set show simple small some something sort split start stop take takes
    taken tell test tests text thing things three time times took try turn two type types update use used
    uses using value values variable variables want way what when where which who why word words work
    works write yes
    """
)
"""Words of any programming request: sharing them shows little."""
_WORKADAY_WORTH: Final = 0.2
_WORK: Final = frozenset({"task", "conduct", "content", "keep", "choose"})
"""Lists of `notes.said.languages` that have such words in other languages."""
_CODE_WORTH: Final = 0.5
"""What words of code and of its tools count."""
_GOAL: Final = "Goal: "
_PROMPTS: Final = (_GOAL, "Then: ")
"""How the lines of a summary begin that quote a prompt."""
_FILES: Final = ("Changed: ", "Looked at: ", "Worked on: ")
"""How the lines of a summary begin (`context.summary`)."""
_SCRATCH: Final = ("repro", "scratch", "tmp", "temp", "debug", "verify")

Idfs = Callable[["array[int]"], Sequence[float]]
"""The idf in the store of each of these terms."""


class _Word(NamedTuple):
    text: str
    terms: tuple[int, ...]
    usual: float
    """Nats that it says in a store that does not know it."""
    share: float
    """What of that counts: little for words of any work."""
    pair: bool
    pieces: tuple[str, ...]
    """Each four neighbouring letters, of a word of a language that inflects and joins words."""

    @property
    def is_plain(self) -> bool:
        """Whether a text has the word exactly if it has the word's only term."""
        return len(self.terms) == 1 and not self.pair and not self.pieces


class _TermsOf(NamedTuple):
    """The terms of a memory's text, of its first line, and of the files that it names."""

    content: frozenset[int]
    first: frozenset[int]
    folders: frozenset[int]
    files: frozenset[int]


class _Weighed(NamedTuple):
    word: _Word
    says: float
    """Nats that it says in this store."""


def words_in(text: str) -> list[str]:
    """Return the words of ``text``, each once, in order."""
    return list(dict.fromkeys(match.rstrip(_SIGNS) for match in _WORD.findall(text)))


def opening(text: str) -> str:
    """Return the first sentence or line of ``text`` that has some words; 200 characters at most."""
    text = text.strip()
    for end in _SENTENCE_END.finditer(text[:_OPENING_CHARS]):
        begin = text[: end.start()]
        if len(words_in(without_pairs(begin))) + len(pairs_in(begin)) >= _OPENING_WORDS:
            return begin
    if len(text) <= _OPENING_CHARS:
        return text
    return text[:_OPENING_CHARS].rsplit(None, 1)[0]


def joins_words(text: str) -> bool:
    """Return whether ``text`` is in a language whose words are compared by their letters, too."""
    return language_of(text) != "en" and not pairs_in(text)


class Asked:
    """What a question asks for. Cost: 1 to 5 us a word, 8 us a memory, some 50 the first time."""

    def __init__(
        self,
        text: str,
        provider: EmbeddingProvider,
        idfs: Idfs,
        memories: int,
        *,
        notes: int = 0,
        looks_up: bool = False,
    ) -> None:
        """For a store with that number of memories; ``idfs`` is asked again for each memory.

        Args:
            notes: Memories besides that are notes, which share their sessions' words.
            looks_up: Somebody asked for these words: a few of them, however common, are all meant.
        """
        self._provider, self._idfs, self._memories = provider, idfs, memories
        self._size = math.log(max(1, min(memories, _LARGEST))) / 5.0
        self._chance = math.log(1.0 + memories)
        self._stored = math.log(1.0 + min(memories + notes, _LARGEST)) / 5.0
        code = language_of(text)
        words = self._read(text, code)
        begin = opening(text)
        first = self._read(begin, code) if begin != text.strip() else words
        weighed = self._weighed(words, memories)
        self._opening = self._weighed(first, memories) if first is not words else weighed
        self._opening_terms = {term for word in first for term in word.terms}
        self._joined = [term for term in self._opening if not term.word.is_plain]
        # Most words are one term: these are looked up for each memory without a call.
        self._plain = [
            (*term.word.terms, term.word.share, term.says) for term in self._opening if term.word.is_plain
        ]
        self._says = {
            term: weight.word.share * weight.says for weight in weighed for term in weight.word.terms
        }
        whole = sum(weight.word.share * weight.says for weight in self._opening)
        means_all = looks_up and len(first) <= _LOOKED_UP
        self._whole = whole if means_all and whole > 0.0 else max(_ENOUGH, whole)
        self.asks = is_question(text)
        """Whether the text is a question, and sets no task."""

    def _read(self, text: str, code: str) -> list[_Word]:
        """Return the words, and the pairs of letters, that say what ``text`` is about."""
        provider = cast(Hashable, self._provider)
        plain = (word[:_WORD_CHARS] for word in words_in(without_pairs(text)))
        known = [(word, False) for word in plain] + [(pair, True) for pair in pairs_in(text)]
        return [
            word
            for text, pair in known[:_WORDS]
            if not is_function_word(text, code) and (word := _word(provider, text, code, pair)).terms
        ]

    def _weighed(self, words: Sequence[_Word], memories: int) -> list[_Weighed]:
        """Return what each word says: how unlikely it is that another memory has it, in nats.

        The store tells it by its memories, a young one by the language: there nearly every word is new.
        """
        idfs = iter(self._idfs(array("Q", [term for word in words for term in word.terms])))
        weighed = []
        for word in words:
            rarest = max(next(idfs) for _ in word.terms)
            holders = max(
                0.0, (memories + 1.0) / math.exp(rarest) - 0.5 - 1.0
            )  # but for the one that is judged
            likely = (holders + _YOUNG * math.exp(-word.usual)) / (memories + _YOUNG)
            weighed.append(_Weighed(word, max(0.0, -math.log(min(1.0, likely)))))
        return weighed

    def answers_in(self, content: str) -> str:
        """Return ``content`` as it may answer a question: without what its session asked."""
        if not self.asks or not content.startswith(_PROMPTS):
            return content
        lines = content.split("\n")
        return "\n".join(
            line for line in lines if not (line.startswith(_PROMPTS) and asks_something(line[len(_GOAL) :]))
        )

    def signs(self, content: str, margin: float, cosine: float, passage: float) -> dict[str, float]:
        """The values of NAMES for a memory; where a question is asked STORED too.

        margin: its score's distance from the store's mean, in standard deviations, at most 5. beyond: what
        the question's opening words that it has say, less what some memory of the store has by chance, in
        tens of nats. opening: the share of what its opening says that it has; lead: that its first line has.
        files: ln(1 + what the words in its files' paths say that the question has); opening_files: that the
        opening has; file_name: of the names without folders. cosine: of the meanings. size: ln(memories) / 5.
        passage: the cosine of its sentence that comes nearest (`nearest`).
        """
        content = content[:_CONTENT_CHARS]
        first = content.split("\n", 1)[0][:_LEAD_CHARS]
        terms = _terms_of(cast(Hashable, self._provider), content, first)
        opened = self._said(terms.content, content)
        leads = opened if terms.first is terms.content else self._said(terms.first, first)
        return {
            "margin": min(_FAR, margin),
            "beyond": max(-1.0, (opened - self._chance) / 10.0),
            "opening": opened / self._whole,
            "lead": leads / self._whole,
            "files": self._worth(terms.folders),
            "opening_files": self._worth(terms.folders & self._opening_terms),
            "file_name": self._worth(terms.files),
            "cosine": cosine,
            "size": self._size,
            "passage": passage,
            **({STORED: self._stored} if self.asks else {}),
        }

    def _said(self, terms: frozenset[int], text: str) -> float:
        """Nats that those of the opening's words say that a text has."""
        longer = max(0.0, math.log(max(1, len(terms)) / _USUAL_TERMS))
        says = sum(
            share * (says - longer) for term, share, says in self._plain if term in terms and says > longer
        )
        lower = text.lower() if self._joined else ""
        for term in self._joined:
            if term.says > longer:
                says += term.word.share * (term.says - longer) * _held(term.word, terms, lower)
        return says

    def _worth(self, terms: frozenset[int]) -> float:
        """ln(1 + what those of the terms say that the question has)."""
        if not terms:
            return 0.0
        return math.log1p(sum(self._says[term] for term in terms & self._says.keys()))


def _held(word: _Word, terms: frozenset[int], lower: str) -> float:
    """Return how much of ``word`` a text has, [0, 1]; of an inflected word what its letters tell."""
    if word.pair:
        return float(word.text in lower)
    whole = len(terms.intersection(word.terms)) / len(word.terms)
    if whole == 1.0 or not word.pieces:
        return whole
    pieces = sum(piece in lower for piece in word.pieces) / len(word.pieces)
    return max(whole, pieces if pieces >= _ALIKE else 0.0)


def files_of(content: str) -> list[str]:
    """Return the project's files that a summary names as changed, else as looked at, without extensions."""
    paths = []
    for line in content.splitlines():
        if line.startswith(_FILES):
            for part in line.split(": ", 1)[1].split("; "):
                path = part.split(" (", 1)[0].strip()
                if "/" in path[1:] and path[0] != "/" and not _is_scratch(path):
                    paths.append(path.rsplit(".", 1)[0])
    return paths


def _is_scratch(path: str) -> bool:
    """Return whether a file was made to try something out, by the names that such files are given."""
    return any(part.startswith(_SCRATCH) for part in path.lower().replace("_", "/").split("/"))


@lru_cache(maxsize=_KEPT)
def _terms_of(provider: Hashable, content: str, first: str) -> _TermsOf:
    def terms(text: str) -> frozenset[int]:
        return frozenset(hashes(terms_of(cast(EmbeddingProvider, provider), text)) if text else ())

    whole, paths = terms(content), files_of(content)
    return _TermsOf(
        whole,
        whole if len(first) == len(content) else terms(first),  # a note of one line says all of it there
        terms(" ".join(paths).replace("/", " ").replace("_", " ")),
        terms(" ".join(path.rsplit("/", 1)[-1] for path in paths)),
    )


@lru_cache(maxsize=4096)  # a session's prompts have most of their words in common
def _word(provider: Hashable, text: str, code: str, pair: bool) -> _Word:
    """Return a word, or a pair of letters, as `Asked` weighs it in a text of that language."""
    encoded = cast(EmbeddingProvider, provider).encode(text)
    lower = text.lower()
    share = _CODE_WORTH if lower.encode() in WORK_WORDS else 1.0
    share = _WORKADAY_WORTH if lower in _WORKADAY or lower in _workaday(code) else share
    usual = _PAIR if pair else _NAME if _NAMED.search(text) else _usual(encoded.pieces)
    joins = not pair and code != "en" and len(lower) > _PIECE and lower.isalpha()
    pieces = tuple(lower[at : at + _PIECE] for at in range(len(lower) - _PIECE + 1)) if joins else ()
    return _Word(lower, tuple(hashes(encoded.terms)), usual, share, pair, pieces)


@cache
def _workaday(code: str) -> frozenset[str]:
    """Words, and pairs of letters, of any request in that language; none for one without lists."""
    if code == "en" or code not in LANGUAGES:
        return frozenset()
    phrases = [
        phrase for all_of in language(code).phrases.values() for phrase, kind in all_of if kind in _WORK
    ]
    if language(code).signs:
        return frozenset("".join(pair) for phrase in phrases for pair in pairwise(phrase))
    return frozenset(phrase[0] for phrase in phrases if len(phrase) == 1)


def _usual(packed: bytes) -> float:
    """Nats that a plain word says to a store without it: by Zipf's law rank k has a share of 1 / (10 k)."""
    pieces = memoryview(packed).cast("H")
    rank = pieces[0] - _FIRST_WORD + 1 if len(pieces) == 1 else 0
    return min(_PLAIN, max(_LEAST, math.log(10.0 * rank / 60.0))) if rank > 0 else _PLAIN


SEMANTIC: Final = WEIGHTS[SPACES.index("Semantic")]
"""Product of two Semantic slices of one direction."""
_READ_CHARS: Final = 8000
"""Characters that are read of a memory's text."""
_SENTENCES: Final = 64
_READ_KEPT: Final = 512
"""Memories whose sentences are remembered: some 3 KB each."""


def nearest(provider: EmbeddingProvider, content: str, dense: memoryview[float]) -> float:
    """Return the cosine of a question's meaning and that of the sentence of ``content`` that is nearest, [-1,
    1].

    Args:
        dense: The question's Semantic slice.

    Cost: 3 us; the first time some 5 us a sentence.
    """
    return max(_cosines(_read(cast(Hashable, provider), content), dense))


def closeness(provider: EmbeddingProvider, dense: memoryview[float]) -> Callable[[str], float]:
    """Tells of a text, as a whole, the cosine of its meaning and a question's. Cost: some 4 us a text."""
    return lambda text: _cosines(_encoded(provider, [text]), dense)[0]


@lru_cache(maxsize=_READ_KEPT)
def _read(provider: Hashable, content: str) -> Vectors:
    begin = content[:_READ_CHARS]
    texts = list(sentences(begin))[:_SENTENCES] or [begin]
    return _encoded(cast(EmbeddingProvider, provider), texts)


def _encoded(provider: EmbeddingProvider, texts: Iterable[str]) -> Vectors:
    parts = [meaning_of(provider, text) for text in texts]
    vectors = Vectors(len(parts[0]))
    for part in parts:
        vectors.append(part)
    return vectors


def _cosines(vectors: Vectors, dense: memoryview[float]) -> list[float]:
    scores = array("f", bytes(4 * len(vectors)))
    vectors.scan(dense, b"\1" * len(vectors), scores)
    return [max(-1.0, min(1.0, score / SEMANTIC)) for score in scores]
