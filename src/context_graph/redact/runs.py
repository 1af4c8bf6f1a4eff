"""Finds bare tokens without prefix or name, and separates them from names, paths and hashes by their mixture.

A run of random base62 changes character class (upper, lower, digit) at six of ten steps; names do at
two or three of ten. Kept on purpose: hexadecimal runs (git and lock-file hashes, digests, UUIDs),
subresource hashes (``sha512-...``, ``h1:...``, ``SHA256:...``), public keys, tool-use ids, Nix paths.
"""

from __future__ import annotations

import re
from typing import Final

CORE_PATTERN: Final = "[A-Za-z0-9]{16,}"
"""What every such token holds somewhere: base64 and base64url put another character at one in 32."""

_RUN_CHARS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+_-"
_HEX: Final = re.compile(rb"[0-9a-fA-F-]+")
_KEPT_PREFIX: Final = re.compile(rb"(?:sha\d{1,3}-|md5-|toolu_|msg_|req_)")
_KEPT_BEFORE: Final = (
    b"h1:",
    b"SHA256:",
    b"sha256:",
    b"sha512:",
    b"/nix/store/",
    b"ssh-rsa ",
    b"ssh-ed25519 ",
)
_KEPT_KEY: Final = re.compile(rb"AAAA[BCE][0-9A-Za-z]")
"""How every public SSH key begins."""
_TWILIO: Final = re.compile(rb"(?:AC|SK)[0-9a-z]{32}")
_DISCORD_REST: Final = re.compile(rb"\.[\w-]{6}\.[\w-]{27,}")
_DISCORD_HEAD: Final = re.compile(rb"[A-Za-z0-9]{23,28}")
_DISCORD_FIRST: Final = (b"M", b"N", b"O")
_REACH: Final = 256
"""Bytes that a run may extend beyond its core on either side."""

_SHORTEST: Final = 20
_AWS_CHARS: Final = 40
_BASE64_CHARS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

_UPPERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NUMBER: Final = re.compile(rb"[0-9]+")
_SAME_CLASS: Final = re.compile(rb"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_KINDS: Final = tuple(re.compile(kind) for kind in (rb"[A-Z]", rb"[a-z]", rb"[0-9]"))


def secret_run(data: bytes, start: int, end: int, floor: int = 0) -> tuple[int, int, str] | None:
    """The secret around the core ``data[start:end]`` as (start, end, rule name), or None.

    Nothing before ``floor`` is looked at: it belongs to a secret found before.

    Cost: a few microseconds.
    """
    core = data[start:end]
    if core[:1] in _DISCORD_FIRST and data[end : end + 1] == b".":
        rest = _DISCORD_REST.match(data, end)
        if rest and _DISCORD_HEAD.fullmatch(core):
            return start, rest.end(), "discord-token"
    if _TWILIO.fullmatch(core):
        return start, end, "twilio-key"
    if _is_name(core):
        return None
    left, right = _left_edge(data, start, floor), _right_edge(data, end)
    run = data[left:right]
    if _HEX.fullmatch(run) or _is_kept(data, left, run):
        return None
    if _is_random(core) or _is_random(run.rstrip(b"=")):
        return (*_over_slashes(data, left, right, floor), "high-entropy")
    return _aws_secret(data, start, end)


def _left_edge(data: bytes, at: int, floor: int) -> int:
    near = data[max(floor, at - _REACH) : at]
    return at - len(near) + len(near.rstrip(_RUN_CHARS))


def _right_edge(data: bytes, at: int) -> int:
    near = data[at : at + _REACH]
    rest = near.lstrip(_RUN_CHARS)
    padding = 2 if rest[:2] == b"==" else 1 if rest[:1] == b"=" else 0
    return at + len(near) - len(rest) + padding


def _is_kept(data: bytes, left: int, run: bytes) -> bool:
    if _KEPT_PREFIX.match(run) or _KEPT_KEY.match(run):
        return True
    return data[max(0, left - 12) : left].endswith(_KEPT_BEFORE)


def _steps(run: bytes) -> int:
    """Changes of character class along ``run``."""
    return len(_SAME_CLASS.findall(run)) - 1


def _is_name(run: bytes) -> bool:
    """Digits in one place at most and one capital in four letters: nearly all runs, so this comes first."""
    if len(_NUMBER.findall(run)) >= 2:
        return False
    count = len(run)
    return count - len(run.translate(None, _UPPERS)) < 0.35 * count


def _is_random(run: bytes) -> bool:
    count = len(run)
    if count < _SHORTEST or _is_name(run):
        return False
    if run.upper() != run != run.lower():
        return _steps(run) >= 0.42 * (count - 1)
    # One case and digits; hexadecimal runs were kept before, and constants have underscores.
    if run != run.lower():
        return len(_NUMBER.findall(run)) >= 3  # base32, licence keys
    return len(_NUMBER.findall(run)) >= 2 and _steps(run) >= 0.25 * (count - 1)


def _aws_secret(data: bytes, start: int, end: int) -> tuple[int, int, str] | None:
    """Forty characters of base64: a common length, so they must be well mixed."""
    near = data[max(0, start - _AWS_CHARS) : start]
    left = start - len(near) + len(near.rstrip(_BASE64_CHARS))
    rest = data[end : end + _AWS_CHARS]
    right = end + len(rest) - len(rest.lstrip(_BASE64_CHARS))
    run = data[left:right]
    if len(run) == _AWS_CHARS and all(kind.search(run) for kind in _KINDS) and _steps(run) >= 14:
        return left, right, "aws-secret-key"
    return None


def _over_slashes(data: bytes, left: int, right: int, floor: int) -> tuple[int, int]:
    """Take in base64's own slashes: neighbours that are no words of a path."""
    while left > floor and data[left - 1 : left] == b"/":
        begin = _left_edge(data, left - 1, floor)
        if begin == left - 1 or _is_path_word(data[begin : left - 1]):
            break
        left = begin
    while data[right : right + 1] == b"/":
        finish = _right_edge(data, right + 1)
        if finish == right + 1 or _is_path_word(data[right + 1 : finish]):
            break
        right = finish
    return left, right


def _is_path_word(part: bytes) -> bool:
    upper, lower, digit = (kind.search(part) is not None for kind in _KINDS)
    if len(part) <= 3:
        return not upper
    if len(part) <= 8:
        return not lower or not (upper or digit)
    return not digit and not upper
