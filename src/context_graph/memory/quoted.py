"""What a text's author says, and what it only quotes: code, cited lines, speech between quotation marks.

Plain string code, one pass each: the texts come from outside.
"""

from __future__ import annotations

from typing import Final

__all__ = ["Unquoted"]

_FENCES: Final = ("```", "~~~")
_PAIRS: Final = {
    '"': '"',
    "“": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "‘": "’",
    "「": "」",
    "『": "』",
    "`": "`",
    "'": "'",
}
_PARAGRAPH: Final = "\n\n"
_LONGEST: Final = 1000
"""Characters of a quotation: a mark that is never closed must not cost a look at all that follows."""
_FIRST_MARK: Final = 0xF0000
_LAST_MARK: Final = 0xFFFFD
"""Private characters that stand for what was quoted; those that a text brings with it are taken out."""


class Unquoted:
    """A text whose quotations are single characters, to be read for what its author says.

    Fenced code and lines that begin with ``>`` are left out for good.
    """

    def __init__(self, text: str) -> None:
        self._quoted: list[str] = []
        own = "".join(letter for letter in _own_lines(text) if not _FIRST_MARK <= ord(letter) <= _LAST_MARK)
        self.text = self._masked(own)
        """The author's own words; `whole` puts the quotations back."""

    def whole(self, part: str) -> str:
        """``part`` of `text` as it was written."""
        return "".join(
            self._quoted[ord(letter) - _FIRST_MARK] if _FIRST_MARK <= ord(letter) <= _LAST_MARK else letter
            for letter in part
        )

    def _masked(self, text: str) -> str:
        kept: list[str] = []
        start = at = 0
        while at < len(text):
            end = _end_of_quote(text, at) if text[at] in _PAIRS else -1
            if end < 0 or len(self._quoted) > _LAST_MARK - _FIRST_MARK:
                at += 1
                continue
            kept += (text[start:at], chr(_FIRST_MARK + len(self._quoted)))
            self._quoted.append(text[at : end + 1])
            start = at = end + 1
        return "".join((*kept, text[start:]))


def _own_lines(text: str) -> str:
    kept, fence = [], ""
    for line in text.splitlines():
        begins = line.lstrip()
        if fence:
            fence = "" if begins.startswith(fence) else fence
        elif begins.startswith(_FENCES):
            fence = begins[:3]
        elif not begins.startswith(">"):
            kept.append(line)
    return "\n".join(kept)


def _end_of_quote(text: str, at: int) -> int:
    """Where the quotation ends that begins at ``at``; -1 if none does, within its paragraph."""
    mark = text[at]
    if mark in "\"'" and at and text[at - 1].isalnum():
        return -1  # an apostrophe, or inches
    if at + 1 >= len(text) or text[at + 1].isspace():
        return -1
    limit = min(len(text), at + _LONGEST)
    paragraph = text.find(_PARAGRAPH, at, limit + 1)
    limit = limit if paragraph < 0 else paragraph
    ends = (_closing(text, closing, at + 1, limit, letters=mark in "'‘") for closing in _PAIRS[mark])
    return min((end for end in ends if end >= 0), default=-1)


def _closing(text: str, closing: str, at: int, limit: int, *, letters: bool) -> int:
    """Where ``closing`` stands next, -1 if nowhere; one that may be an apostrophe (``letters``) is none."""
    while (end := text.find(closing, at, limit)) >= 0:
        if not letters or not (text[end + 1 : end + 2].isalnum() or text[end - 1].isspace()):
            return end
        at = end + 1
    return -1
