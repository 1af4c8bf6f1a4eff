"""Words too common to be lexical terms."""

from __future__ import annotations

from typing import Final

__all__ = ["STOP_WORDS"]

STOP_WORDS: Final = tuple(
    (
        b"a an and are as at be been but by did do does for from had has have he her his how i in "
        b"is it its me my of on or our she so that the their them they this to was we were what "
        b"when where which who why will with would you your"
    ).split()
)
"""Lower-case English, UTF-8."""
