"""Cleans a text as BERT's uncased normaliser does, byte by byte: twin of ext/kernels/_text.pxd.

Control characters are dropped, white space becomes blanks, accents are stripped, letters become small; every
byte keeps its kind and the index of the character that it comes from.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from unicodedata import category, normalize

BLANK: Final = 1
SINGLE: Final = 2
"""A word of its own: punctuation, an ideograph, a special token."""
WORD: Final = 4
TERM: Final = 8
"""May be part of a lexical term: letters and digits, not symbols."""
CAPITAL: Final = 16
DIGIT: Final = 32
NEWLINE: Final = 64
SPECIAL: Final = 128
"""The byte is the number of a special token."""

SPECIALS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_UNDERSCORE: Final = 95
_MASK: Final = (1 << 64) - 1
_IDEOGRAPHS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


@dataclass(slots=True)
class Text:
    """Parallel: bytes, their kinds, and the index of each one's character."""

    data: bytearray = field(default_factory=bytearray)
    kinds: bytearray = field(default_factory=bytearray)
    origin: array[int] = field(default_factory=lambda: array("I"))

    def put(self, byte: int, kind: int, origin: int) -> None:
        self.data.append(byte)
        self.kinds.append(kind)
        self.origin.append(origin)

    def __len__(self) -> int:
        return len(self.data)

    def byte(self, i: int) -> int:
        """The byte at ``i``; a blank outside of the text."""
        return self.data[i] if 0 <= i < len(self.data) else 32

    def kind(self, i: int) -> int:
        """The kind at ``i``; blank outside of the text."""
        return self.kinds[i] if 0 <= i < len(self.kinds) else BLANK

    def is_part(self, i: int) -> bool:
        """A letter, digit or underscore; no ideograph."""
        return self.kind(i) & (WORD | TERM) == WORD | TERM or self.byte(i) == _UNDERSCORE

    def identifier_end(self, i: int) -> int:
        """End of the run of letters, digits and underscores from ``i`` on."""
        while self.is_part(i):
            i += 1
        return i

    def part_end(self, start: int, end: int) -> int:
        """End of the part at ``start``: before an underscore or a hump (HTTPServer: HTTP Server)."""
        all_capitals = bool(self.kinds[start] & CAPITAL)
        for i in range(start + 1, end):
            if self.data[i] == _UNDERSCORE:
                return i
            if not self.kinds[i] & CAPITAL:
                all_capitals = False
            elif self.data[i] & 0xC0 == 0x80:
                continue  # within a character
            elif all_capitals:
                small_next = i + 1 < end and self.kinds[i + 1] & (TERM | CAPITAL | DIGIT) == TERM
                if small_next and self.kinds[i - 1] & CAPITAL:
                    return i
            elif not self.kinds[i - 1] & DIGIT:
                return i
        return end

    def parts(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of the identifier [start, end)."""
        found = []
        while start < end:
            if self.data[start] == _UNDERSCORE:
                start += 1
                continue
            stop = self.part_end(start, end)
            found.append((start, stop))
            start = stop
        return found


def cleaned(text: str) -> Text:
    """The text as bytes of small letters without accents."""
    clean = Text()
    i = 0
    while i < len(text):
        special = _special_at(text, i)
        if special is not None:
            clean.put(special, SINGLE | SPECIAL, i)
            i += len(SPECIALS[special])
            continue
        for kind, byte in _folded(text[i]):
            clean.put(byte, kind, i)
        i += 1
    return clean


def _special_at(text: str, i: int) -> int | None:
    if text[i] != "[":
        return None
    return next((number for number, name in enumerate(SPECIALS) if text.startswith(name, i)), None)


@lru_cache(maxsize=16_384)
def _folded(character: str) -> tuple[tuple[int, int], ...]:
    """A character, cleaned: (kind, byte) each."""
    if character in " \t\r\n":
        return ((BLANK | NEWLINE if character == "\n" else BLANK, 32),)
    group = category(character)
    if character == "�" or group in ("Cc", "Cf", "Cs", "Co"):
        return ()
    if group in ("Zs", "Zl", "Zp"):
        return ((BLANK, 32),)
    ideograph = any(low <= ord(character) <= high for low, high in _IDEOGRAPHS)
    capital = CAPITAL if group in ("Lu", "Lt") else 0
    found: list[tuple[int, int]] = []
    for part in normalize("NFD", character):
        if category(part) == "Mn":
            continue
        for small in part.lower():
            kind = SINGLE | TERM if ideograph else _kind(small, category(part))
            if kind & WORD:
                kind |= capital
            found.extend((kind, byte) for byte in small.encode())
    return tuple(found)


def _kind(small: str, group: str) -> int:
    if small.isascii():
        if small.isalnum():
            return WORD | TERM | DIGIT if small.isdigit() else WORD | TERM
        return SINGLE
    if group[0] == "P":
        return SINGLE
    return WORD | TERM if group[0] in "LNM" else WORD


def hash_of(data: bytes | bytearray) -> int:
    """FNV-1a, 64 bits, mixed."""
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & _MASK
    return mixed(state)


def mixed(state: int) -> int:
    """MurmurHash3's last step: every bit depends on every bit of ``state``."""
    state ^= state >> 33
    state = state * 0xFF51AFD7ED558CCD & _MASK
    state ^= state >> 33
    state = state * 0xC4CEB9FE1A85EC53 & _MASK
    return state ^ state >> 33
