"""Turns one event's two texts into fourteen sparse vectors ("bags"): the twin of ext/kernels/features.pyx.

Standard library only. A bag maps tokens to weights; a token's bucket is the low 12 bits of its CRC-32, and
tokens that meet in a bucket add up. What occurs w > 1 times counts 1 + ln w, what the input says counts
double, and every bag has unit length. Both twins agree within 1e-5.

==========  ==============================================================================================
stem        first five bytes of every part of a word (fooBar, foo_bar), at least three long, lower case
defined     dotted names after a head word: what is defined or imported
dotted      chains of names, ``self.mask``
pair        two words in a row, lower case
word        words, lower case
code        words that only code has: an inner underscore or an inner capital
path        every prefix of a path or file name; weight 1 at the leaf, 1/2 at its folder, 1/3 above, ...
trigram     trigrams of the input's first 1500 bytes, lower case, white space as one blank; counted once
intent      as stem, of the input only; counted once
proper      words with a capital first and a small letter later
expanded    parts of words whole, and, at half weight, ``~`` and their first four bytes
package     folders of paths, and names before a dot of a chain elsewhere, at least two long, lower case
file        stems of the last names of paths, up to their first dot, at least two long, lower case
error       ValueError, DeprecationWarning, SomeException, E501, ENOENT
==========  ==============================================================================================

Stop words (and parts) are left out of all but defined, dotted, path and trigram, and end a pair.
"""

from __future__ import annotations

import math
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

BAGS: Final = (
    "stem",
    "defined",
    "dotted",
    "pair",
    "word",
    "code",
    "path",
    "trigram",
    "intent",
    "proper",
    "expanded",
    "package",
    "file",
    "error",
)
BUCKETS: Final = 4096

MAX_TEXT: Final = 8192
TRIGRAM_BYTES: Final = 1500
INPUT_WEIGHT: Final = 2.0
PREFIX_WEIGHT: Final = 0.5
MAX_WORDS: Final = 2048

# Bytes of letters beyond ASCII count as small letters.
_START: Final = rb"[A-Za-z_\x80-\xff]"
_PART: Final = rb"[A-Za-z0-9_\x80-\xff]"
_RUN: Final = re.compile(rb"[A-Za-z0-9_\x80-\xff./+@~-]+")
_CHAIN: Final = re.compile(_START + _PART + rb"*(?:\." + _START + _PART + rb"*)*")
_WORD_PARTS: Final = re.compile(rb"([A-Z]*)([a-z\x80-\xff]*)")
_EXTENSION: Final = re.compile(rb"[\s\S]\.[A-Za-z]" + _PART + rb"{0,5}\Z")
_ERROR: Final = re.compile(_PART + rb"+(?:Error|Exception|Warning)|E(?:[0-9]{3,11}|[A-Z]{3,11})")
_UPPER: Final = re.compile(rb"[A-Z]")
_SMALL: Final = re.compile(rb"[a-z\x80-\xff]")
_SPACE: Final = re.compile(rb"[ \t-\r]+")
_SYMBOL_OR_IDEOGRAPH: Final = re.compile(
    rb"\xc2[\x80-\xbf]|\xe2[\x80-\xbf]{2}|\xe3\x80[\x80-\xbf]|\xf0[\x80-\xbf]{3}|([\xe3-\xe9][\x80-\xbf]{2})"
)


class EventFeatures:
    """The bags of one event; reused from event to event. Not thread-safe."""

    def __init__(self, stop_words: Iterable[bytes], heads: Iterable[bytes]) -> None:
        self.counts = array("i", bytes(4 * len(BAGS)))
        self.buckets = array("H", bytes(2 * len(BAGS) * BUCKETS))
        self.values = array("f", bytes(4 * len(BAGS) * BUCKETS))
        self._stop = _checksums(stop_words)
        self._heads = _checksums(heads)
        self._totals: dict[str, dict[int, float]] = {}
        self._weight = 1.0
        self._is_input = False
        self._before = b""

    def scan(self, input_text: bytes, output_text: bytes) -> None:
        """Replace the bags by those of an event."""
        for text in (input_text, output_text):
            if not isinstance(text, bytes):
                raise TypeError(f"texts must be bytes, not {type(text).__name__}")
        self._totals = {bag: {} for bag in BAGS}
        cleaned = _clean(input_text)
        self._scan_text(cleaned, is_input=True)
        folded = _SPACE.sub(b" ", cleaned).lower()[:TRIGRAM_BYTES]
        for i in range(len(folded) - 2):
            self._add("trigram", folded[i : i + 3], 1.0)
        self._scan_text(_clean(output_text), is_input=False)
        for row, bag in enumerate(BAGS):
            self._finish(row, self._totals[bag])

    def fold(self, vector: array[float], bags: bytes, starts: array[int]) -> None:
        """Add bags to slices of a vector: a bucket's low bit is its sign, the others say the place."""
        if len(starts) != len(bags) + 1:
            raise ValueError(f"starts must have {len(bags) + 1} values, got {len(starts)}")
        for bag, start, end in zip(bags, starts, starts[1:], strict=False):
            if bag == 255:
                continue
            if bag >= len(BAGS) or start < 0 or end <= start or end > len(vector):
                raise ValueError("a slice is not in the vector, or its bag is none")
            for at in range(bag * BUCKETS, bag * BUCKETS + self.counts[bag]):
                sign = 1.0 if self.buckets[at] & 1 else -1.0
                vector[start + (self.buckets[at] >> 1) % (end - start)] += sign * self.values[at]

    def _add(self, bag: str, token: bytes, weight: float) -> None:
        totals = self._totals[bag]
        bucket = zlib.crc32(token) % BUCKETS
        totals[bucket] = totals.get(bucket, 0.0) + weight

    def _finish(self, row: int, totals: dict[int, float]) -> None:
        weights = [1.0 + math.log(total) if total > 1.0 else 1.0 for total in totals.values()]
        length = math.sqrt(sum(weight * weight for weight in weights))
        start, end = row * BUCKETS, row * BUCKETS + len(weights)
        self.counts[row] = len(weights)
        self.buckets[start:end] = array("H", totals)
        self.values[start:end] = array("f", [weight / length for weight in weights])

    def _scan_text(self, text: bytes, *, is_input: bool) -> None:
        self._is_input = is_input
        self._weight = INPUT_WEIGHT if is_input else 1.0
        self._before = b""
        defines, end = False, 0
        for run in _RUN.finditer(text):
            only_blanks = not text[end : run.start()].strip(b" \t")
            defines = self._scan_run(run[0], defines=defines and only_blanks)
            end = run.end()

    def _scan_run(self, run: bytes, *, defines: bool) -> bool:
        """Take in a run; True when it is a head word, so that a name at the start of the next is defined."""
        heads = False
        slashed = self._scan_path(run.strip(b"./"))
        for chain in _CHAIN.finditer(run):
            names = chain[0].split(b".")
            for name in names:
                self._scan_word(name)
            if len(names) > 1:
                self._add("dotted", chain[0], self._weight)
                if not slashed:
                    self._add_packages(names)
            if defines and chain.start() == 0 and len(chain[0]) > 1:
                self._add("defined", chain[0], self._weight)
            heads = len(names) == 1 and chain[0] == run and zlib.crc32(run) in self._heads
        return heads

    def _scan_word(self, word: bytes) -> None:
        if len(word) < 2:
            return
        for part in _parts(word):
            self._scan_part(part.lower())
        lower = word.lower()
        if _ERROR.fullmatch(word):
            self._add("error", word, self._weight)
        if zlib.crc32(lower) in self._stop:
            self._before = b""
            return
        self._add("word", lower, self._weight)
        if self._before:
            self._add("pair", self._before + b" " + lower, self._weight)
        self._before = lower
        if b"_" in word.strip(b"_") or (_UPPER.search(word, 1) and _SMALL.search(word)):
            self._add("code", word, self._weight)
        if _UPPER.match(word) and _SMALL.search(word, 1):
            self._add("proper", word, self._weight)

    def _add_packages(self, names: Sequence[bytes]) -> None:
        for name in names[:-1]:
            if len(name) > 1:
                self._add("package", name.lower(), self._weight)

    def _scan_part(self, part: bytes) -> None:
        if len(part) < 3 or zlib.crc32(part) in self._stop:
            return
        self._add("stem", part[:5], self._weight)
        self._add("expanded", part, self._weight)
        self._add("expanded", b"~" + part[:4], PREFIX_WEIGHT * self._weight)
        if self._is_input:
            self._add("intent", part[:5], 1.0)

    def _scan_path(self, path: bytes) -> bool:
        if b"/" not in path and not _EXTENSION.search(path):
            return False
        ends = [i for i, byte in enumerate(path) if byte == ord("/")] + [len(path)]
        for i, end in enumerate(ends):
            self._add("path", path[:end], self._weight / (len(ends) - i))
        names = path.split(b"/")
        self._add_packages(names)
        stem = names[-1][:1] + names[-1][1:].split(b".", 1)[0]
        if len(stem) > 1:
            self._add("file", stem.lower(), self._weight)
        return b"/" in path


def _parts(word: bytes) -> Iterator[bytes]:
    """fooBar -> foo, Bar; HTTPServer -> HTTP, Server."""
    for capitals, small in _WORD_PARTS.findall(word):
        if not small:
            yield capitals
            continue
        yield capitals[:-1]
        yield capitals[-1:] + small


def _clean(text: bytes) -> bytes:
    """Symbols beyond ASCII (dashes, arrows, boxes, emoji) become blanks, ideographs and kana single words."""
    return _SYMBOL_OR_IDEOGRAPH.sub(lambda found: (found[1] or b"") + b" ", text[:MAX_TEXT])


def _checksums(words: Iterable[bytes]) -> frozenset[int]:
    checksums = set()
    for word in words:
        if not isinstance(word, bytes):
            raise TypeError(f"words must be bytes, not {type(word).__name__}")
        checksums.add(zlib.crc32(word))
    checksums.discard(0)  # the empty word's; an empty slot in the compiled table
    if len(checksums) > MAX_WORDS:
        raise ValueError(f"at most {MAX_WORDS} words")
    return frozenset(checksums)
