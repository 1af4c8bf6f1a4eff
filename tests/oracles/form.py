"""Computes what a text's form, code and dates say beyond its pieces: twin of ext/kernels/_form.pxd.

Structural, 96 values: 32 punctuation marks (log2 of 1 + count), soft buckets of the number of tokens, of
lines, of letters a word and of tokens a sentence, shares (capitals, digits, bytes beyond ASCII, blanks),
kinds of lines (bullet, numbered, heading, fence, quote, indented, table, ``key: value``, empty), how the text
ends and opens, kinds of words (shouted, capitalised, mixed with digits, humps, snakes, paths, addresses,
e-mails, numbers, quotes, brackets), and the shape of the whole.

Code, 192 values, signed hashes: the parts, the whole and the trigrams of identifiers that only code has (an
inner underscore or hump, a parenthesis after, a dot, slash, ``$``, backtick or ``--`` beside), operators,
and, where there is any of those, keywords.

Temporal gains the angle of years (one turn in eight years), the months of ISO dates, the angle of the hour.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

from tests.oracles.spaces import add_signed
from tests.oracles.text import (
    BLANK,
    CAPITAL,
    DIGIT,
    NEWLINE,
    SINGLE,
    TERM,
    WORD,
    Text,
    hash_of,
    mixed,
)

_TOKENS, _LINES, _WORD_LENGTH, _SENTENCE, _RATIOS = 32, 42, 48, 54, 60
_LINE_KINDS, _ENDING, _OPENING, _RUNS, _SHAPE = 64, 73, 78, 81, 92

_PUNCTUATION: Final = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_OPERATORS: Final = frozenset(
    (
        b"==",
        b"!=",
        b"<=",
        b">=",
        b"+=",
        b"-=",
        b"*=",
        b"/=",
        b"->",
        b"=>",
        b"::",
        b"&&",
        b"||",
        b"()",
        b"{}",
        b"[]",
    )
)
_MONTHS: Final = 12
_YEAR, _HOUR = 28, 30  # places in the temporal space


def add_form(target: list[float], text: Text, tokens: int, sentences: int) -> None:
    """Structural: counts become their logarithms, sizes soft buckets; add_code has counted the words."""
    if tokens == 0:
        return
    _add_counts(target, text)
    lines = _add_lines(target, text)
    _bucket(target, _TOKENS, 10, math.log2(1 + tokens) / 1.4, 2.0)
    _bucket(target, _LINES, 6, math.log2(lines) / 1.5, 2.0)
    _bucket(target, _SENTENCE, 6, math.log2(1 + tokens / sentences) / 1.2, 1.0)
    for share, count in enumerate(
        (
            sum(kind & CAPITAL != 0 for kind in text.kinds),
            sum(kind & DIGIT != 0 for kind in text.kinds),
            sum(byte >= 128 for byte in text.data),
            sum(kind & BLANK != 0 for kind in text.kinds),
        )
    ):
        target[_RATIOS + share] = 4.0 * count / len(text)
    target[_SHAPE] = float(lines == 1)
    target[_SHAPE + 1] = float(target[_LINE_KINDS + 8] > 0.0)
    target[_SHAPE + 2] = math.log2(1 + len(text) / lines) / 4.0
    _add_ends(target, text)


def _bucket(target: list[float], start: int, n: int, place: float, weight: float) -> None:
    """A soft one-hot: the two buckets next to ``place`` share ``weight``."""
    place = min(max(place, 0.0), n - 1.0)
    low = int(place)
    target[start + low] += weight * (1.0 - (place - low))
    if low + 1 < n:
        target[start + low + 1] += weight * (place - low)


def _add_counts(target: list[float], text: Text) -> None:
    words = letters = 0
    for i, kind in enumerate(text.kinds):
        if kind & WORD:
            letters += 1
            words += not text.kind(i - 1) & WORD
        elif kind & SINGLE and 32 < text.data[i] < 128:
            target[_PUNCTUATION.index(text.data[i])] += 1.0
    target[_RUNS + 9] += target[_PUNCTUATION.index(b'"')] + target[_PUNCTUATION.index(b"'")]
    target[_RUNS + 10] += sum(target[_PUNCTUATION.index(mark)] for mark in (b"(", b"[", b"{"))
    for places in (range(32), range(_RUNS, _SHAPE)):
        for i in places:
            target[i] = math.log2(1.0 + target[i])
    _bucket(target, _WORD_LENGTH, 6, ((letters / words if words else 0.0) - 2.0) / 1.5, 1.0)


def _add_lines(target: list[float], text: Text) -> int:
    """Count kinds of lines, and lines that end as code does; return the number of lines."""
    breaks = [i for i, kind in enumerate(text.kinds) if kind & NEWLINE]
    for start, end in zip([0, *(i + 1 for i in breaks)], [*breaks, len(text)], strict=True):
        kind = _line_kind(text, start, end)
        if kind is not None:
            target[_LINE_KINDS + kind] += 1.0
        while end > start and text.kinds[end - 1] & BLANK:
            end -= 1
        target[_SHAPE + 3] += end > start and text.data[end - 1] in b";{})"
    for i in range(_LINE_KINDS, _ENDING):
        target[i] = 2.0 * math.log2(1.0 + target[i])
    target[_SHAPE + 3] = math.log2(1.0 + target[_SHAPE + 3])
    return len(breaks) + 1


def _line_kind(text: Text, start: int, end: int) -> int | None:
    i = start
    while i < end and text.kinds[i] & BLANK:
        i += 1
    if i == end:
        return 8
    first, blank_next = chr(text.data[i]), i + 1 < end and bool(text.kinds[i + 1] & BLANK)
    if first in "-*+" and blank_next:
        return 0
    if text.kinds[i] & DIGIT:
        while i < end and text.kinds[i] & DIGIT:
            i += 1
        return 1 if i + 1 < end and text.data[i] in b".)" and text.kinds[i + 1] & BLANK else None
    if bytes(text.data[i : min(i + 3, end)]) == b"```":
        return 3
    kind = {"#": 2, ">": 4, "|": 6}.get(first)
    if kind is not None:
        return kind
    return 5 if i - start >= 2 else _key_value(text, i, end)


def _key_value(text: Text, i: int, end: int) -> int | None:
    while i < end and text.is_part(i):
        i += 1
    return 7 if i + 1 < end and text.byte(i) == ord(":") and text.kinds[i + 1] & BLANK else None


def _add_ends(target: list[float], text: Text) -> None:
    """Add features of how the text opens and ends."""
    start, end = 0, len(text)
    while start < end and text.kinds[start] & BLANK:
        start += 1
    while end > start and text.kinds[end - 1] & BLANK:
        end -= 1
    if start == end:
        return
    last = {ord("?"): 0, ord("."): 1, ord(":"): 2}.get(text.data[end - 1])
    target[_ENDING + (last if last is not None else 3 if text.kinds[end - 1] & SINGLE else 4)] += 1.0
    target[_OPENING + 1] += text.data[start] in b"[{<"
    target[_OPENING + 2] += text.kinds[start] & CAPITAL != 0
    start = text.identifier_end(start)
    target[_OPENING] += start + 1 < end and text.data[start] == ord(":") and text.kind(start + 1) & BLANK != 0


def add_code(code: list[float], structural: list[float], text: Text) -> int:
    """Code, and the structural counts of words; returns how much code there is."""
    i = found = 0
    while i < len(text):
        if not text.is_part(i):
            pair = bytes(text.data[i : i + 2])
            if pair in _OPERATORS:
                add_signed(code, mixed(256 * pair[0] + pair[1]), 0.5)
                found += 1
            i += 1
            continue
        end = text.identifier_end(i)
        looks = _looks(text, i, end)
        _count_word(structural, text, i, end, looks)
        if _stands_in_code(text, i, end, looks):
            _add_identifier(code, text, i, end)
            found += 1
        i = end
    return found


def _looks(text: Text, start: int, end: int) -> set[str]:
    looks = set()
    kinds = text.kinds[start:end]
    digits, capitals = (sum(kind & bit != 0 for kind in kinds) for bit in (DIGIT, CAPITAL))
    if any(b & CAPITAL and a & (TERM | CAPITAL | DIGIT) == TERM for a, b in pairwise(kinds)):
        looks.add("hump")
    if b"_" in text.data[start + 1 : end - 1]:
        looks.add("snake")
    if digits:
        looks.add("number" if digits == end - start else "mixed")
    if capitals > 1 and capitals + digits == end - start:
        looks.add("shouted")
    return looks


def _count_word(target: list[float], text: Text, start: int, end: int, looks: set[str]) -> None:
    target[_RUNS] += "shouted" in looks
    target[_RUNS + 1] += text.kinds[start] & CAPITAL != 0 and "shouted" not in looks
    target[_RUNS + 2] += "mixed" in looks
    target[_RUNS + 3] += "hump" in looks
    target[_RUNS + 4] += "snake" in looks
    target[_RUNS + 8] += "number" in looks
    if text.is_part(end + 1):
        target[_RUNS + 5] += text.byte(end) == ord("/")
        target[_RUNS + 7] += text.byte(end) == ord("@")
    target[_RUNS + 6] += bytes(text.data[end : end + 3]) == b"://"


def _stands_in_code(text: Text, start: int, end: int, looks: set[str]) -> bool:
    """Whether the identifier, or what touches it, is what only code has."""
    before, after = chr(text.byte(start - 1)), chr(text.byte(end))
    if "number" in looks:
        return False
    if looks & {"snake", "hump"} or after in "(`" or before in "`$":
        return True
    if before in "./":
        return text.is_part(start - 2)
    if after in "./":
        return text.is_part(end + 1)
    return before == "-" and chr(text.byte(start - 2)) == "-"


def _add_identifier(target: list[float], text: Text, start: int, end: int) -> None:
    for a, b in text.parts(start, end):
        add_signed(target, hash_of(text.data[a:b]), 1.0)
    add_signed(target, mixed(hash_of(text.data[start:end])), 1.0)
    for i in range(start, end - 2):
        add_signed(target, mixed(hash_of(text.data[i : i + 3]) ^ 1), 0.25)


def add_dates(target: list[float], text: Text) -> None:
    """Temporal: years, months of ISO dates and hours, where numbers say them."""
    i = 0
    while i < len(text):
        if not text.is_part(i):
            i += 1
            continue
        end = _digits_end(text, i)
        is_number = end > i and not text.is_part(end)
        i = _add_date(target, text, i, end) if is_number else text.identifier_end(end)


def _digits_end(text: Text, i: int) -> int:
    while 48 <= text.byte(i) <= 57:
        i += 1
    return i


def _number(text: Text, start: int, end: int) -> int:
    """The number of at most four digits in [start, end), else -1."""
    return int(text.data[start:end]) if 0 < end - start <= 4 else -1


def _add_date(target: list[float], text: Text, start: int, end: int) -> int:
    """A number as a year, a date 2024-05-12 or a time 7:30, 7 pm; returns where to go on."""
    value = _number(text, start, end)
    if 1900 <= value <= 2099 and end - start == 4:
        _add_angle(target, _YEAR, math.pi / 4 * (value % 8))
        return _add_month(target, text, end)
    if not 0 <= value <= 24:
        return end
    minutes = 0
    if text.byte(end) == ord(":"):
        stop = _digits_end(text, end + 1)
        minutes = _number(text, end + 1, stop) if stop - end == 3 else -1
        if not 0 <= minutes <= 59:
            return end
        end = stop
    return _add_hour(
        target, text, end, value, minutes, clock=end - start > 2 and text.byte(end - 3) == ord(":")
    )


def _add_month(target: list[float], text: Text, end: int) -> int:
    """The -05 or -05-12 after a year."""
    if text.byte(end) != ord("-"):
        return end
    stop = _digits_end(text, end + 1)
    month = _number(text, end + 1, stop)
    if stop - end != 3 or not 1 <= month <= _MONTHS:
        return end
    target[month - 1] += 1.0
    return _digits_end(text, stop + 1) if text.byte(stop) == ord("-") else stop


def _add_hour(target: list[float], text: Text, end: int, hour: int, minutes: int, *, clock: bool) -> int:
    at = end + 1 if text.kind(end) & BLANK and end < len(text) else end
    half = bytes(text.data[at : at + 2])
    if half in (b"am", b"pm") and not text.is_part(at + 2) and 1 <= hour <= 12:
        hours = hour % 12 + minutes / 60.0 + (12.0 if half == b"pm" else 0.0)
        _add_angle(target, _HOUR, math.pi / 12 * hours)
        return at + 2
    if clock:
        _add_angle(target, _HOUR, math.pi / 12 * (hour + minutes / 60.0))
    return end


def _add_angle(target: list[float], place: int, angle: float) -> None:
    target[place] += math.cos(angle)
    target[place + 1] += math.sin(angle)
