"""A proof that a pattern of Python's `re` takes one pass over the text, whatever stands in it.

`re` tries a pattern at a place, and where that fails, at the next. Two things make it slow: a try that comes
back to the same characters in many ways, and tries that each read far before they fail. Harmless is

- what reads a bounded number of characters in a bounded number of ways;
- a repeat without bound behind which nothing can fail: a try that got so far succeeds, and what it read is
  behind the search;
- where the pattern is tried at one place alone (`match`, `fullmatch`, `\\A`): repeats that give nothing back
  (`x*+`, `(?>x)`), wherever they stand;
- the same in a search, if no try can begin inside what such a repeat has read.

What follows no rule is refused, though it may be harmless too: such a pattern belongs to RE2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from re import (
    _compiler,  # type: ignore[attr-defined]
    _parser,  # type: ignore[attr-defined]
)
from re import _constants as op  # type: ignore[attr-defined]
from typing import Any, Final

__all__ = ["why_not_one_pass"]

_STEPS: Final = 16_384
"""Most steps of a bounded piece, in all its ways."""
_FAR: Final = 1024
"""A repeat with a higher bound counts as one without."""
_ONE: Final = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY)
_REPEATS: Final = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_GROUPS: Final = (op.SUBPATTERN, op.ATOMIC_GROUP)
_LOOKS: Final = (op.ASSERT, op.ASSERT_NOT)
_LETTERS: Final = "".join(map(chr, (*range(0x3100), *range(0x4E00, 0x4F00), *range(0xFF00, 0x10000))))
_BYTES: Final = bytes(range(256))

_Node = tuple[Any, Any]


def why_not_one_pass(pattern: re.Pattern[Any], runs: frozenset[str]) -> str:
    """Why it can't be proved that ``pattern``, used by these methods, takes one pass; "" if it can."""
    tree = list(_parser.parse(pattern.pattern, pattern.flags))
    if _is_bounded(tree) or ("fullmatch" not in runs and _is_last(tree)):
        return ""
    once = bool(runs) and runs <= {"match", "fullmatch"}
    for one in _alternatives(tree):
        if _is_bounded(one) or ("fullmatch" not in runs and _is_last(one)):
            continue
        if not _keeps(one, inside=False):
            return "a repeat without bound gives characters back, or is tried again inside another"
        if not once and not _begins_once(one, pattern.flags, isinstance(pattern.pattern, bytes)):
            return "a try may read far and fail, and another may begin inside what it read"
    return ""


def _alternatives(tree: list[_Node]) -> list[list[_Node]]:
    """What a pattern chooses between at its very beginning."""
    if tree and tree[0][0] is op.BRANCH:
        return [each for one in tree[0][1][1] for each in _alternatives([*one, *tree[1:]])]
    if tree and tree[0][0] is op.SUBPATTERN:
        return _alternatives([*_inside(*tree[0]), *tree[1:]])
    return [tree]


def _is_bounded(tree: list[_Node]) -> bool:
    return _bound(tree) is not None


def _bound(tree: list[_Node]) -> tuple[int, int] | None:
    """(ways, steps) that one try of the nodes takes at most, in all its ways; None if that may be many."""
    ways = steps = 1
    for kind, value in reversed(tree):
        found = _bound_of(kind, value)
        if found is None:
            return None
        steps = found[1] + found[0] * steps
        ways *= found[0]
        if steps > _STEPS:
            return None
    return ways, steps


def _bound_of(kind: Any, value: Any) -> tuple[int, int] | None:
    """The same of one node."""
    if kind in _ONE or kind is op.AT:
        return 1, 1
    if kind is op.BRANCH:
        each = [_bound(list(one)) for one in value[1]]
        if any(one is None for one in each):
            return None
        return sum(one[0] for one in each if one), sum(one[1] for one in each if one)
    if kind in _GROUPS or kind in _LOOKS:
        found = _bound(_inside(kind, value))
        return None if found is None else (found[0] if kind is op.SUBPATTERN else 1, found[1])
    if kind in _REPEATS:
        return _bound_of_repeat(kind, *value)
    return None


def _bound_of_repeat(kind: Any, low: Any, high: Any, body: Any) -> tuple[int, int] | None:
    inner = _bound(list(body))
    if inner is None or high is op.MAXREPEAT or high > _FAR:
        return None
    low, high = int(low), int(high)
    if kind is op.POSSESSIVE_REPEAT:
        return 1, high * inner[1]
    ways = high - low + 1 if inner[0] == 1 else inner[0] ** min(high, 16) + (low == 0)
    return ways, ways * inner[1] if inner[0] > 1 else high * inner[1]


def _inside(kind: Any, value: Any) -> list[_Node]:
    if kind is op.SUBPATTERN:
        return list(value[3])
    return list(value if kind is op.ATOMIC_GROUP else value[1])


def _is_last(tree: list[_Node]) -> bool:
    """Whether nothing behind the first repeat without bound can fail, and what it repeats begins anew."""
    for at, (kind, value) in enumerate(tree):
        if _is_bounded([(kind, value)]):
            continue
        if not _is_bounded(tree[:at]):
            return False
        if any(not _may_be_left_out(*one) or not _is_last([one]) for one in tree[at + 1 :]):
            return False
        if kind is op.BRANCH:
            return all(_is_bounded(list(one)) or _is_last(list(one)) for one in value[1])
        if kind in _GROUPS:
            return _is_last(_inside(kind, value))
        if kind not in _REPEATS or kind is op.MIN_REPEAT:
            return False
        low, _, body = value
        return _is_one(list(body)) or (low <= 1 and _is_last(list(body)))
    return _is_bounded(tree)


def _may_be_left_out(kind: Any, value: Any) -> bool:
    if kind in _REPEATS:
        return bool(value[0] == 0)
    return kind in _GROUPS and all(_may_be_left_out(*one) for one in _inside(kind, value))


def _is_one(tree: list[_Node]) -> bool:
    """Whether it takes exactly one character."""
    if len(tree) == 1 and tree[0][0] is op.SUBPATTERN:
        return _is_one(_inside(*tree[0]))
    return len(tree) == 1 and tree[0][0] in _ONE


def _keeps(tree: list[_Node], *, inside: bool) -> bool:
    """Whether each repeat without bound keeps what it took, and none can fail far along inside another."""
    bounded = [one for one in tree if _is_bounded([one])]
    return _is_bounded(bounded) and all(
        one in bounded or _keeps_one(*one, last=at == len(tree) - 1 and not inside)
        for at, one in enumerate(tree)
    )


def _keeps_one(kind: Any, value: Any, *, last: bool) -> bool:
    if kind is op.BRANCH:
        return all(_keeps(list(one), inside=not last) for one in value[1])
    if kind in _GROUPS:
        return _keeps(_inside(kind, value), inside=not last)
    if kind is op.POSSESSIVE_REPEAT:
        body = list(value[2])
        return _is_one(body) or _is_last(body) or _ends_where_it_fails(body)
    if kind is op.MAX_REPEAT:
        _, high, body = value
        return (last and _is_one(list(body))) or (high == 1 and _keeps(list(body), inside=True))
    return False


def _ends_where_it_fails(body: list[_Node]) -> bool:
    """Whether the ways of a repeated body begin differently and each fails as a whole: it fails once."""
    ways = _alternatives(body)
    flat = all(
        _is_bounded([one]) or (one[0] is op.POSSESSIVE_REPEAT and _is_one(list(one[1][2])))
        for way in ways
        for one in way
    )
    first = [_first(way, 0, False) for way in ways]
    apart = sum(len(letters) for letters, _ in first) == len(frozenset().union(*(one for one, _ in first)))
    return flat and apart and not any(empty for _, empty in first)


def _begins_once(tree: list[_Node], flags: int, of_bytes: bool) -> bool:
    """Whether no try can begin inside what a repeat without bound has read."""
    if tree and tree[0][0] is op.AT:
        at = tree[0][1]
        if at is op.AT_BEGINNING_STRING or (at is op.AT_BEGINNING and not flags & re.MULTILINE):
            return True
    ends_in_run = tree[-1][0] in _REPEATS and _is_one(list(tree[-1][1][2]))
    repeated = _repeated(tree[:-1] if ends_in_run else tree)  # what the last one took is behind the search
    read = frozenset().union(*(_letters(one, flags, of_bytes) for one in repeated))
    return not (_first(tree, flags, of_bytes)[0] & read) or read <= _kept_out(tree, flags, of_bytes)


def _repeated(tree: list[_Node]) -> Iterator[_Node]:
    """The single characters that are repeated without bound."""
    for kind, value in tree:
        if _is_bounded([(kind, value)]):
            continue
        if kind in _REPEATS:
            high = value[1]
            body = list(value[2])
            yield from _singles(body) if high is op.MAXREPEAT or high > _FAR else _repeated(body)
        elif kind is op.BRANCH:
            for one in value[1]:
                yield from _repeated(list(one))
        else:
            yield from _repeated(_inside(kind, value))


def _singles(tree: list[_Node]) -> Iterator[_Node]:
    for kind, value in tree:
        if kind in _ONE:
            yield kind, value
        elif kind in _REPEATS:
            yield from _singles(list(value[2]))
        elif kind is op.BRANCH:
            for one in value[1]:
                yield from _singles(list(one))
        elif kind in _GROUPS:
            yield from _singles(_inside(kind, value))


def _first(tree: list[_Node], flags: int, of_bytes: bool) -> tuple[frozenset[Any], bool]:
    """(characters with which a match may begin, whether it may be empty)."""
    found: frozenset[Any] = frozenset()
    for kind, value in tree:
        letters, empty = _first_of(kind, value, flags, of_bytes)
        found |= letters
        if not empty:
            return found, False
    return found, True


def _first_of(kind: Any, value: Any, flags: int, of_bytes: bool) -> tuple[frozenset[Any], bool]:
    if kind in _ONE:
        return _letters((kind, value), flags, of_bytes), False
    if kind in _REPEATS:
        letters, empty = _first(list(value[2]), flags, of_bytes)
        return letters, empty or value[0] == 0
    if kind in _GROUPS:
        return _first(_inside(kind, value), flags, of_bytes)
    if kind is op.BRANCH:
        each = [_first(list(one), flags, of_bytes) for one in value[1]]
        return frozenset().union(*(letters for letters, _ in each)), any(empty for _, empty in each)
    return frozenset(), True


def _kept_out(tree: list[_Node], flags: int, of_bytes: bool) -> frozenset[Any]:
    """The characters behind which no try goes on, by the pattern's own first word."""
    if tree and tree[0] == (op.AT, op.AT_BEGINNING):  # of each line
        newline: Any = 10 if of_bytes else "\n"
        return frozenset(_BYTES if of_bytes else _LETTERS) - {newline}
    if tree and tree[0][0] is op.ASSERT_NOT and tree[0][1][0] < 0 and _is_one(_inside(*tree[0])):
        return _letters(_inside(*tree[0])[0], flags, of_bytes)
    if len(tree) > 1 and tree[0] == (op.AT, op.AT_BOUNDARY):
        word = _letters((op.IN, [(op.CATEGORY, op.CATEGORY_WORD)]), flags, of_bytes)
        return word if _first(tree[1:], flags, of_bytes)[0] <= word else frozenset()
    return frozenset()


def _letters(one: _Node, flags: int, of_bytes: bool) -> frozenset[Any]:
    """The characters that a node for one character takes, of those that are tried."""
    return _taken(repr(one), flags, of_bytes, _Held(one))


class _Held:
    """A node, not looked at by the cache: what it says is in the text beside it."""

    def __init__(self, one: _Node) -> None:
        self.one = one

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)


@cache
def _taken(_said: str, flags: int, of_bytes: bool, held: _Held) -> frozenset[Any]:
    state = _parser.State()
    state.str = b"" if of_bytes else ""
    state.flags = flags
    tree = _parser.SubPattern(state, [held.one])
    tried: Any = _BYTES if of_bytes else _LETTERS
    return frozenset(
        "".join(_compiler.compile(tree, flags).findall(tried))
        if not of_bytes
        else b"".join(_compiler.compile(tree, flags).findall(tried))
    )
