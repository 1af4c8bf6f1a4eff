"""Recognises scripts that write words without spaces, or join particles to them: twin of _scripts.pxd.

If such a run were one term, a search for the dictionary form of a Korean noun, or for one word of a Japanese
sentence, would find nothing. Its pairs of neighbouring letters can be found without a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

_JOINED: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul, as Jamo: that is what cleaning leaves of syllables
    (0x1780, 0x17FF),  # Khmer
    (0x3041, 0x318E),  # kana
    (0x31F0, 0x31FF),
    (0xFF66, 0xFF9F),
)


def runs(part: str) -> Iterator[tuple[str, bool]]:
    """``part`` cut where letters of such a script begin or stop, with whether a run is of these."""
    start = 0
    for i in range(1, len(part) + 1):
        if i == len(part) or _is_joined(part[i]) != _is_joined(part[start]):
            yield part[start:i], _is_joined(part[start])
            start = i


def pairs(run: str) -> Iterator[str]:
    """Each two neighbours of a run of such letters (Hangul: syllables); the one, if it is one."""
    letters: list[str] = []
    for letter in run:
        if letters and "\u1160" <= letter <= "\u11ff" and "\u1100" <= letters[-1][0] <= "\u11ff":
            letters[-1] += letter
        else:
            letters.append(letter)
    if len(letters) == 1:
        yield letters[0]
    for one, other in pairwise(letters):
        yield one + other


def _is_joined(letter: str) -> bool:
    return any(low <= ord(letter) <= high for low, high in _JOINED)
