"""Keeps an inverted index in memory and computes BM25 scores: the twin of ext/kernels/lexical.pyx.

Standard library only. Rows are documents, numbered in the order they are added. A removed row keeps its
postings; whoever holds the index says with ``live`` (one byte a row, nonzero: live) which rows count, so that
removing and restoring are one store each and document frequencies are exact at once. Both twins read each
other's bytes.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAX_ROWS: Final = 1 << 24
"""Rows of an index: a posting keeps its row in 24 bits."""
TERM: Final = Struct("<QHH")
"""One packed term of a document: hash, frequency, reserved."""
MOST_OFTEN: Final = 255
MOST_LENGTH: Final = 65_535

MAGIC: Final = b"CGL\x02"
HEAD: Final = Struct("<4sIQ")
LIST: Final = Struct("<QI")


class Postings:
    """Postings and document lengths of rows 0, 1, ... Not thread-safe; ``score`` gives the GIL up."""

    def __init__(self) -> None:
        self._lists: dict[int, array[int]] = {}
        self._lengths = array("H")

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def terms(self) -> int:
        """Distinct terms, those of removed rows included."""
        return len(self._lists)

    @property
    def postings(self) -> int:
        """Postings, those of removed rows included."""
        return sum(map(len, self._lists.values()))

    def add(self, terms: Buffer) -> int:
        """Append a row with these packed terms (see TERM), each hash once; the row's number."""
        packed = memoryview(terms)
        if packed.nbytes % TERM.size:
            raise ValueError(f"terms must be a multiple of {TERM.size} bytes, got {packed.nbytes}")
        row = len(self._lengths)
        if row >= MAX_ROWS:
            raise ValueError(f"rows must be at most {MAX_ROWS}")
        total = 0
        for term, often, _ in TERM.iter_unpack(packed):
            if often:
                self._lists.setdefault(term, array("I")).append(row << 8 | min(often, MOST_OFTEN))
                total += often
        self._lengths.append(min(total, MOST_LENGTH))
        return row

    def totals(self, live: Buffer) -> tuple[int, int]:
        """(live rows, sum of their lengths)."""
        alive = self._alive(live)
        lengths = [length for length, here in zip(self._lengths, alive, strict=False) if here]
        return len(lengths), sum(lengths)

    def shares(self, terms: Buffer, live: Buffer, rows: Buffer) -> list[float]:
        """For each of these rows (uint32) the idf-weighted share of the terms that it holds, in [0, 1]."""
        living, total = self.totals(live)[0], 0.0
        asked, alive = memoryview(rows), self._alive(live)
        held = [0.0] * len(asked)
        for term in memoryview(terms):
            holders = {posting >> 8 for posting in self._lists.get(term, ())}
            idf = _idf(living, sum(alive[row] != 0 for row in holders))
            total += idf
            for i, row in enumerate(asked):
                held[i] += idf if row in holders else 0.0
        return [share / total for share in held] if total else held

    def few(self, terms: Buffer, live: Buffer, most: int, dead: int) -> int:
        """How many of these packed terms (see TERM) have one to ``most`` live rows."""
        packed, alive = memoryview(terms), self._alive(live)
        if packed.nbytes % TERM.size:
            raise ValueError(f"terms must be a multiple of {TERM.size} bytes, got {packed.nbytes}")
        found = 0
        for term, _, _ in TERM.iter_unpack(packed):
            postings = self._lists.get(term, ())
            if len(postings) > most + dead:
                continue
            held = sum(alive[posting >> 8] != 0 for posting in postings)
            found += 0 < held <= most
        return found

    def score(
        self,
        terms: Buffer,
        weights: Buffer,
        live: Buffer,
        rows: float,
        mean_length: float,
        k1: float,
        b: float,
        scores: array[float],
    ) -> int:
        """Add each term's BM25 share to the scores of its live rows; the number of terms that had any."""
        wanted, weight, alive = memoryview(terms), memoryview(weights), self._alive(live)
        if len(weight) != len(wanted):
            raise ValueError(f"weights must have {len(wanted)} values, got {len(weight)}")
        if len(scores) < len(self._lengths):
            raise ValueError(f"scores must have {len(self._lengths)} values, got {len(scores)}")
        if not self._lengths or mean_length <= 0.0:
            return 0
        base, slope = k1 * (1.0 - b), k1 * b / mean_length
        found, single = 0, array("f", [0.0])
        for term, factor in zip(wanted, weight, strict=True):
            held = [p for p in self._lists.get(term, ()) if alive[p >> 8]]
            if not held:
                continue
            found += 1
            share = factor * _idf(rows, len(held)) * (k1 + 1.0)
            for posting in held:
                row, often = posting >> 8, posting & MOST_OFTEN
                single[0] = share * often / (often + base + slope * self._lengths[row])
                scores[row] += single[0]
        return found

    def mark(self, terms: Buffer, value: float, out: array[float]) -> None:
        """Write the value to every row (dead or live) that holds one of the terms."""
        if len(out) < len(self._lengths):
            raise ValueError(f"out must have {len(self._lengths)} values, got {len(out)}")
        for term in memoryview(terms):
            for posting in self._lists.get(term, ()):
                out[posting >> 8] = value

    def _alive(self, live: Buffer) -> memoryview:
        alive = memoryview(live)
        if len(alive) < len(self._lengths):
            raise ValueError(f"live must have {len(self._lengths)} values, got {len(alive)}")
        return alive

    def kept(self, live: Buffer) -> Postings:
        """A copy with the live rows alone, renumbered in their order. Cost: one pass over all postings."""
        other = Postings()
        if not self._lengths:
            return other
        alive = self._alive(live)
        number: dict[int, int] = {}
        for row, length in enumerate(self._lengths):
            if alive[row]:
                number[row] = len(number)
                other._lengths.append(length)
        for term, postings in self._lists.items():
            held = array("I", [number[p >> 8] << 8 | p & MOST_OFTEN for p in postings if p >> 8 in number])
            if held:
                other._lists[term] = held
        return other

    def to_bytes(self) -> bytes:
        """All postings, in no particular order of the terms; load_bytes reads them."""
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """The bytes of to_bytes, in pieces."""
        yield HEAD.pack(MAGIC, len(self._lengths), len(self._lists))
        yield self._lengths.tobytes() + bytes(2 * (len(self._lengths) & 1))  # lists begin at a multiple of 4
        for term, postings in self._lists.items():
            yield LIST.pack(term, len(postings)) + postings.tobytes()

    def load_bytes(self, packed: Buffer) -> None:
        """Replace all by what to_bytes gave."""
        view = memoryview(packed)
        if len(view) < HEAD.size or bytes(view[:4]) != MAGIC:
            raise ValueError(f"not postings, or of a later version: {bytes(view[:4])!r}")
        _, rows, terms = HEAD.unpack_from(view)
        end = HEAD.size + 2 * rows
        at = end + 2 * (rows & 1)
        if rows > MAX_ROWS or len(view) < at or (len(view) - at) // LIST.size < terms:
            raise ValueError("postings end early")
        lengths = array("H", bytes(view[HEAD.size : end]))
        lists: dict[int, array[int]] = {}
        for _ in range(terms):
            at = _load_list(view, at, rows, lists)
        if at != len(view):
            raise ValueError(f"{len(view) - at} bytes after the postings, or a term twice")
        self._lengths, self._lists = lengths, lists

    def borrow(self, packed: Buffer) -> None:
        """As ``load_bytes``; the compiled one reads lists where they are."""
        self.load_bytes(packed)


def _idf(rows: float, holders: int) -> float:
    return math.log(1.0 + (rows - holders + 0.5) / (holders + 0.5))


def _load_list(view: memoryview, at: int, rows: int, lists: dict[int, array[int]]) -> int:
    if len(view) - at < LIST.size:
        raise ValueError("postings end early")
    term, n = LIST.unpack_from(view, at)
    at += LIST.size
    if n == 0 or (len(view) - at) // 4 < n:
        raise ValueError("postings end early")
    if term in lists:
        raise ValueError("a term stands twice in the postings")
    lists[term] = postings = array("I", bytes(view[at : at + 4 * n]))
    before = -1
    for posting in postings:
        if posting >> 8 >= rows or posting >> 8 <= before:
            raise ValueError(f"a posting names row {posting >> 8} of {rows}, or out of order")
        before = posting >> 8
    return int(at + 4 * n)


def tally(counts: array[int], items: Buffer, add: bool) -> int:
    """Count every item (packed uint16) in ``counts`` (uint32), or with ``add`` false take it out again."""
    raw = memoryview(items)
    if raw.nbytes % 2:
        raise ValueError(f"items must be an even number of bytes, got {raw.nbytes}")
    held = array("H", bytes(raw))
    for i, item in enumerate(held):
        if item >= len(counts):
            raise ValueError(f"items[{i}] must be below {len(counts)}, got {item}")
        if not add and not counts[item]:
            raise ValueError(f"items[{i}] was not counted: {item}")
        counts[item] += 1 if add else -1
    return len(held)
