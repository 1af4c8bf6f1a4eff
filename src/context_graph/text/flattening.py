"""Flattens tool inputs and responses to bounded text, from which an event's features are computed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

_SKIPPED: Final = frozenset(
    {"type", "mode", "isImage", "interrupted", "originalFile", "oldString", "newString", "oldTodos"}
)
"""Keys whose values say nothing about the work (``type``: "text") or say it a second time: an Edit's response
repeats its input and has the whole old file; ``structuredPatch`` has the change with its surroundings."""

_TELLING_KEY: Final = re.compile(r"(?i)pass|pwd|secret|token|key|auth|cred|cookie|bearer")
"""A key that redaction needs to see beside its value, to know that the value is a secret."""

_MAX_PIECES: Final = 512
_MAX_VISITS: Final = 4096
"""Values looked at: a response of a million numbers must not stall the owner."""

_TOKEN_BYTES: Final = (
    bytes(range(0x30, 0x3A)) + bytes(range(0x41, 0x5B)) + bytes(range(0x61, 0x7B)) + b"_+/=.~@%:&?#$!*-"
)
"""What keys and passwords are written in."""

_MIN_SHARE_BYTES: Final = 32
"""A piece may always have as much as this or an eighth of the limit, while there is room."""

_Visit = tuple[bytes, str, object]
"""(separator before it, key to show with it or "", value)"""

_MAX_ROOT_CHARS: Final = 512
_BEFORE_PATH: Final = " \n\t\"'`(=:[,"


def flatten_text(value: object, limit_bytes: int) -> str:
    """Return the strings and numbers inside ``value``, in order, as at most ``limit_bytes`` of UTF-8.

    Where they are too long together, the shorter ones stay whole and the longer ones share what is left
    evenly, so that an edit's old text does not push out the new one. A piece that is cut ends after a whole
    token: half a secret would be one that redaction, which comes later, no longer knows.

    Args:
        value: A string, or JSON as Python values: mappings, lists, numbers; None, booleans and anything else
            count for nothing.
        limit_bytes: At least 1.

    Returns:
        The values of a mapping joined by a blank, those of a list by a newline. Lone surrogates become "?".

    Raises ValueError: A limit below 1.

    Cost: O(limit), whatever the size of ``value``; no recursion, so nothing is nested too deep.
    """
    if limit_bytes < 1:
        raise ValueError(f"limit_bytes must be at least 1, got {limit_bytes}")
    pieces: list[bytes] = []
    for separator, text in islice(_leaves(value), _MAX_PIECES):
        # A character is a byte or more: nothing that is left out here could have fitted.
        raw = text[: limit_bytes + 1].encode("utf-8", "replace")
        pieces.append(separator + raw)
    whole = b"".join(pieces)
    if len(whole) > limit_bytes + 1:
        whole = b"".join(_fitting(pieces, limit_bytes + 1))
    return whole[1:].decode("utf-8")  # without the first separator


def _leaves(value: object) -> Iterator[tuple[bytes, str]]:
    """Yield (separator before it, text) of every string and number, depth first, in order."""
    stack: list[_Visit] = [(b" ", "", value)]
    for _ in range(_MAX_VISITS):
        if not stack:
            return
        separator, label, node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend(_reversed(separator, list(_children(node, label))))
        elif isinstance(node, list | tuple):
            stack.extend(_reversed(separator, [(b"\n", label, child) for child in node[:_MAX_VISITS]]))
        elif isinstance(node, str | int | float) and not isinstance(node, bool) and node != "":
            yield separator, f'{label}: "{node}"' if label else str(node)


def _reversed(separator: bytes, children: list[_Visit]) -> list[_Visit]:
    """Return the items in stack order; the parent's separator goes to its first child."""
    if children:
        children[0] = (separator, *children[0][1:])
    return children[::-1]


def _children(node: Mapping[object, object], label: str) -> Iterator[_Visit]:
    for key, child in islice(node.items(), _MAX_VISITS):
        if key not in _SKIPPED:
            name = str(key)
            yield b" ", name if _TELLING_KEY.search(name) else label, child


def _fitting(pieces: list[bytes], budget: int) -> Iterator[bytes]:
    """Cut each piece to a fair share of the budget; if there are too many, keep the first ones."""
    share = max(_fair_share([len(piece) for piece in pieces], budget), budget // 8, _MIN_SHARE_BYTES)
    for piece in pieces:
        cut = _cut(piece, min(share, budget))
        budget -= len(cut)
        yield cut


def _fair_share(lengths: list[int], budget: int) -> int:
    """Return the largest share such that pieces of at most that length fit ``budget`` together."""
    for rank, length in enumerate(sorted(lengths)):
        share = budget // (len(lengths) - rank)
        if length > share:
            return share
        budget -= length
    return max(lengths)


def _cut(piece: bytes, share: int) -> bytes:
    """Cut the piece to what fits, at the end of a character or token; empty when nothing is left."""
    if len(piece) <= share:
        return piece
    while share and piece[share] & 0xC0 == 0x80:
        share -= 1
    kept = piece[:share]
    if piece[share] in _TOKEN_BYTES:
        kept = kept.rstrip(_TOKEN_BYTES)
    return kept if len(kept) > 1 else b""  # the first byte is a separator


def root_of(folder: str) -> str:
    """Return ``folder`` with one final slash, for relative_paths; "" if empty, "/" or over 512 characters."""
    root = folder.rstrip("/")
    return f"{root}/" if root and len(root) <= _MAX_ROOT_CHARS else ""


def relative_paths(text: str, root: str) -> str:
    """Return ``text`` without ``root`` where a path begins with it: "/app/" stays inside "src/app/main"."""
    if not root or root not in text:
        return text
    text = text.removeprefix(root)
    for before in _BEFORE_PATH:
        text = text.replace(before + root, before)
    return text


def relative_path(path: str, root: str) -> str:
    """Return ``path`` without the ``root`` that it begins with, or without a leading "./"."""
    return path.removeprefix(root).removeprefix("./") if root else path.removeprefix("./")
