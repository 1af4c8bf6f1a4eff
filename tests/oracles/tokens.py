"""Turns texts into WordPieces, lexical terms and an embedding: the twin of ext/kernels/tokens.pyx.

Standard library only. Both twins agree exactly in pieces, terms and cuts, and within 1e-5 in embeddings. The
text's bytes are in `text`, Semantic and Temporal in `spaces` and `form`, the bags in `features`.

**Pieces** are those of BERT's uncased WordPiece: control characters dropped, every ideograph a word, accents
stripped, lower case, punctuation marks words of their own, then the longest piece first. A word of more than
100 characters, or with a part that no piece covers, is [UNK]. Special tokens written out, such as ``[SEP]``,
are pieces.

**Terms** are what lexical search counts. A run of letters, digits and underscores is an *identifier*; its
*parts* are cut at underscores and humps (``getUserName``, ``HTTPServer``, ``foo_bar``). Identifiers joined by
one of ``. / - : ' @`` are a *compound* (a path, a date, a decimal number, an e-mail address).

1. Each part: hash of its stem; nothing for a stop word. Parts beyond 40 bytes are not stemmed.
2. Each identifier of several parts: hash of the whole.
3. Each compound of at most 64 bytes: hash of the whole. An apostrophe makes no compound, and the
   ``s t d m re ve ll`` after one are left out.
4. Each ideograph is a part of its own.
5. Letters of scripts without spaces between words, or with particles joined to them (kana, Hangul, Thai, Lao,
   Khmer, Myanmar), make of a run, instead of 1, each pair of neighbours (Hangul: syllables); a run of one is
   that one. An identifier is cut where they begin and stop, before it is cut into parts.

Terms are lower case, without accents; a hash is FNV-1a over UTF-8, 64 bits, then MurmurHash3's finaliser.

**Terms**, the thirteenth space: signed hashes of the terms, each n / (n + 0.9) for its n occurrences.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from tests.oracles.features import EventFeatures
from tests.oracles.form import add_dates
from tests.oracles.scripts import pairs, runs
from tests.oracles.spaces import (
    ALONE,
    CAUSAL,
    FIRST,
    INFLECTED,
    INFLECTION,
    OPENS,
    STEPS,
    STOPS,
    TEMPORAL,
    TERMS,
    WIDTH,
    Pieces,
    Table,
    add_signed,
    causes,
    meaning,
    scaled,
    steps,
    times,
)
from tests.oracles.text import (
    BLANK,
    NEWLINE,
    SINGLE,
    SPECIAL,
    SPECIALS,
    TERM,
    WORD,
    Text,
    cleaned,
    hash_of,
)
from typing_extensions import Buffer

_TERM: Final = struct.Struct("<QHH")
_MOST_FREQUENT: Final = 65_535
_LONGEST_STEMMED: Final = 40
_LONGEST_COMPOUND: Final = 64
_LONGEST_WORD: Final = 100
_JOINERS: Final = frozenset(b"./-:'@")
_CLITICS: Final = frozenset((b"s", b"t", b"d", b"m", b"re", b"ve", b"ll"))


class Encoded:
    """Holds the result of encoding a text."""

    __slots__ = ("embedding", "pieces", "terms", "tokens")

    def __init__(self) -> None:
        self.embedding = self.terms = self.pieces = b""
        self.tokens = 0


def _packed(terms: Mapping[int, int]) -> bytes:
    return b"".join(_TERM.pack(term, min(count, _MOST_FREQUENT), 0) for term, count in terms.items())


class Encoder:
    """Cuts, counts and embeds texts. Not thread-safe: the compiled one reuses its scratch memory."""

    def __init__(
        self,
        vocabulary: bytes,
        rows: Buffer,
        scales: Buffer,
        marks: Buffer,
        lexicons: Sequence[tuple[Buffer, Buffer, Buffer]],
        stop_words: Iterable[bytes],
        stem: Callable[[str], str],
        reader: EventFeatures,
        bags: bytes,
        begins: Sequence[int],
        weights: Sequence[float],
    ) -> None:
        self._names = vocabulary.split(b"\n")
        self._ids = {name: i for i, name in enumerate(self._names)}
        if b"[UNK]" not in self._ids:
            raise ValueError("vocabulary: [UNK] is missing")
        size = len(self._names)
        if len(lexicons) != 2:
            raise ValueError(f"lexicons must be 2, got {len(lexicons)}")
        if len(begins) != 14 or len(weights) != 13 or begins[13] != 1536:
            raise ValueError("begins must have 14 values up to 1536, weights 13")
        self._table = Table(
            _view(rows, "b", size * WIDTH, "rows"),
            _view(scales, "f", size, "scales"),
            bytes(_view(marks, "B", 2 * size, "marks")),
            _lexicon(TEMPORAL.stop - TEMPORAL.start, *lexicons[0]),
            _lexicon(STEPS.stop - STEPS.start, *lexicons[1]),
        )
        self._reader, self._bags, self._begins, self._weights = reader, bags, begins, weights
        self._stop = frozenset(bytes(word) for word in stop_words)
        self._stem = stem

    @property
    def vocabulary_size(self) -> int:
        return len(self._names)

    def encode(self, text: str) -> Encoded:
        """A text's embedding, terms and pieces; the Semantic space is the plain sum of the rows."""
        clean = cleaned(text)
        return self._encoded(text, clean, self._pieces(clean), None)

    def query(self, text: str, counts: Buffer, total: int, a: float = 1e-3) -> Encoded:
        """As ``encode``, the Semantic space weighted by rarity: a / (a + share of the piece among all)."""
        seen = memoryview(counts)
        if len(seen) != len(self._names):
            raise ValueError(f"counts must have {len(self._names)} values, got {len(seen)}")
        if not a > 0.0:
            raise ValueError(f"a must be above 0, got {a!r}")
        clean = cleaned(text)
        pieces = self._pieces(clean)
        return self._encoded(
            text, clean, pieces, [a / (a + seen[piece] / max(total, 1)) for piece in pieces.ids]
        )

    def terms_of(self, text: str) -> bytes:
        """The terms that `encode` gives, without the rest."""
        return _packed(self._terms(cleaned(text)))

    def meaning_of(self, text: str) -> bytes:
        """The Semantic space that `encode` gives, float32, without the rest."""
        return self.encode(text).embedding[: 4 * self._begins[1]]

    def count(self, text: str) -> int:
        """How many pieces a text has."""
        return len(self._pieces(cleaned(text)).ids)

    def cut(self, text: str, tokens: int) -> str:
        """The longest beginning of whole words with at most ``tokens`` pieces."""
        if tokens < 0:
            raise ValueError(f"tokens must be at least 0, got {tokens}")
        clean = cleaned(text)
        pieces = self._pieces(clean)
        if len(pieces.ids) <= tokens:
            return text
        if tokens == 0:
            return ""
        k = tokens
        while k > 0 and not pieces.flags[k] & FIRST:  # the whole word or nothing of it
            k -= 1
        if k > 0:
            end = pieces.ends[k - 1]
        else:
            end = next(i for i, kind in enumerate(clean.kinds) if not kind & BLANK)
            end += sum(len(self._names[piece].removeprefix(b"##")) for piece in pieces.ids[:tokens])
        return text[: clean.origin[end] if end < len(clean) else len(text)]

    def _pieces(self, text: Text) -> Pieces:
        pieces = Pieces([], [], [])
        opens = True
        for start, end in _words(text):
            opens = opens or any(kind & NEWLINE for kind in text.kinds[(pieces.ends or [0])[-1] : start])
            if text.kinds[start] & SPECIAL:
                self._put(
                    pieces,
                    [self._ids.get(SPECIALS[text.data[start]].encode(), self._ids[b"[UNK]"])],
                    FIRST,
                    end,
                )
            else:
                self._put_word(pieces, text, start, end, OPENS if opens else 0)
            stops = bool(self._table.flags(pieces.ids[-1]) & STOPS)
            opens = stops and bool(text.kind(end) & BLANK)
        return pieces

    def _put_word(self, pieces: Pieces, text: Text, start: int, end: int, opens: int) -> None:
        ids = self._cut_word(bytes(text.data[start:end]))
        flags = FIRST | opens
        if len(ids) == 1:
            flags |= ALONE
        elif len(ids) == 2 and self._table.role(ids[1]) == INFLECTION:
            flags |= INFLECTED
        self._put(pieces, ids, flags, end)

    @staticmethod
    def _put(pieces: Pieces, ids: list[int], flags: int, end: int) -> None:
        pieces.ids.extend(ids)
        pieces.flags.extend([flags, *[0] * (len(ids) - 1)])
        pieces.ends.extend([end] * len(ids))

    def _cut_word(self, word: bytes) -> list[int]:
        """Cut the word by repeatedly taking the longest piece from its start."""
        characters = word.decode()
        unknown = [self._ids[b"[UNK]"]]
        if len(characters) > _LONGEST_WORD:
            return unknown
        ids: list[int] = []
        start = 0
        while start < len(characters):
            for end in range(len(characters), start, -1):
                name = ("##" if start else "") + characters[start:end]
                found = self._ids.get(name.encode())
                if found is not None:
                    break
            else:
                return unknown
            ids.append(found)
            start = end
        return ids

    def _terms(self, text: Text) -> dict[int, int]:
        """Hash of each term -> occurrences."""
        counts: dict[int, int] = {}
        for term in self._all_terms(text):
            if term:
                counts[term] = counts.get(term, 0) + 1
        return counts

    def _all_terms(self, text: Text) -> Iterator[int]:
        i = 0
        while i < len(text):
            if text.kinds[i] & (SINGLE | TERM) == SINGLE | TERM:
                end = _character_end(text, i)
                yield self._part_term(bytes(text.data[i:end]))
                i = end
            elif text.is_part(i):
                end = _compound_end(text, i)
                yield from self._compound_terms(text, i, end)
                i = end
            else:
                i += 1

    def _compound_terms(self, text: Text, start: int, end: int) -> Iterator[int]:
        joined, i, apostrophe = 0, start, False
        while True:
            stop = text.identifier_end(i)
            if not (apostrophe and bytes(text.data[i:stop]) in _CLITICS):
                yield from self._identifier_terms(text, i, stop)
                joined += 1
            if stop == end:
                break
            apostrophe = text.data[stop] == ord("'")
            joined -= apostrophe
            i = stop + 1
        if joined > 1 and end - start <= _LONGEST_COMPOUND:
            yield hash_of(text.data[start:end])

    def _identifier_terms(self, text: Text, start: int, end: int) -> Iterator[int]:
        parts, i = 0, start
        for run, joined in runs(text.data[start:end].decode()):
            stop = i + len(run.encode())
            if joined:
                yield from (hash_of(pair.encode()) for pair in pairs(run))
            else:
                cut = text.parts(i, stop)
                yield from (self._part_term(bytes(text.data[a:b])) for a, b in cut)
                parts += len(cut)
            i = stop
        if parts > 1:
            yield hash_of(text.data[start:end])

    def _part_term(self, part: bytes) -> int:
        """Hash of the stem, 0 for a stop word."""
        if part in self._stop:
            return 0
        return hash_of(self._stem(part.decode()).encode() if len(part) <= _LONGEST_STEMMED else part)

    def _encoded(self, text: str, clean: Text, pieces: Pieces, weights: Sequence[float] | None) -> Encoded:
        terms = self._terms(clean)
        encoded = Encoded()
        encoded.tokens = len(pieces.ids)
        encoded.pieces = array("H", pieces.ids).tobytes()
        encoded.terms = _packed(terms)
        encoded.embedding = self._vector(text, clean, pieces, terms, weights).tobytes()
        return encoded

    def _vector(
        self, text: str, clean: Text, pieces: Pieces, terms: dict[int, int], weights: Sequence[float] | None
    ) -> array[float]:
        if not pieces.ids:
            return array("f", bytes(4 * TERMS.stop))
        dated = times(self._table, pieces)
        add_dates(dated, clean)
        bags = array("f", bytes(4 * TERMS.stop))
        self._reader.scan(text.encode("utf-8", "replace"), b"")
        self._reader.fold(bags, self._bags, array("i", self._begins[2:13]))
        bags[STEPS] = array("f", steps(self._table, pieces))
        hashed = [0.0] * (TERMS.stop - TERMS.start)
        for term, count in terms.items():
            count = min(count, _MOST_FREQUENT)
            add_signed(hashed, term, count / (count + 0.9))
        bags[CAUSAL] = array("f", causes(self._table, pieces))
        whole = [*meaning(self._table, pieces, weights), *dated, *bags[CAUSAL.start : TERMS.start], *hashed]
        ends = zip(self._begins, self._begins[1:], self._weights, strict=False)
        return array("f", [value for start, end, w in ends for value in scaled(whole[start:end], w)])


def _words(text: Text) -> Iterator[tuple[int, int]]:
    """Return the positions of BERT's words."""
    i = 0
    while i < len(text):
        if text.kinds[i] & BLANK:
            i += 1
            continue
        end = i + 1
        if text.kinds[i] & SINGLE:
            end = end if text.kinds[i] & SPECIAL else _character_end(text, i)
        else:
            while text.kind(end) & WORD:
                end += 1
        yield i, end
        i = end


def _character_end(text: Text, i: int) -> int:
    end = i + 1
    while (
        end < len(text) and text.data[end] & 0xC0 == 0x80 and text.kinds[end] & (SINGLE | SPECIAL) == SINGLE
    ):
        end += 1
    return end


def _compound_end(text: Text, i: int) -> int:
    """End of identifiers joined by one of ``. / - : ' @`` each."""
    while True:
        i = text.identifier_end(i)
        if not (text.byte(i) in _JOINERS and text.is_part(i + 1)):
            return i
        i += 1


def _view(source: Buffer, kind: Literal["b", "B", "f"], n: int, name: str) -> memoryview[Any]:
    view: memoryview[Any] = memoryview(source).cast("B").cast(kind)
    if len(view) != n:
        raise ValueError(f"{name} must have {n} values, got {len(view)}")
    return view


def _lexicon(size: int, pieces: Buffer, scales: Buffer, values: Buffer) -> dict[int, list[float]]:
    ids = memoryview(pieces).cast("B").cast("H")
    factors = _view(scales, "f", len(ids), "a lexicon's scales")
    numbers = _view(values, "b", len(ids) * size, "a lexicon's values")
    return {
        piece: [factors[row] * value for value in numbers[row * size : (row + 1) * size]]
        for row, piece in enumerate(ids)
    }
