"""Distinguishes credentials from ordinary words.

A person typed a password, a machine drew a token; a sentence about either is neither. These tests look at one
value and the text next to it, never at a name: keyed.py and headers.py ask them after a name was found.
"""

from __future__ import annotations

import re
from typing import Final

_REFERENCE: Final = re.compile(
    r"\$\{|\$\(|%\(|%[A-Za-z_]++%|%[sdrvq]\b|\{\{|\{[A-Za-z_.]*+\}|<[A-Za-z]|\(\(|\[redacted"
    r"|process\.env|os\.environ|os\.getenv|getenv|env\.|secrets\.|vault:|file:"
    # A variable and nothing more: "$uperSecret1!" is a password.
    r"|\$(?:[A-Z_][A-Z0-9_]*+|[a-z_]++)[;,)\]}\"']*+\Z"
)
_EMPTY: Final = re.compile(r"[\W_]*|x{3,}|X{3,}|\.{3}")
_PLACEHOLDER_TEXT: Final = """
    none null nil true false undefined nan str string int integer bytes bool boolean optional any object
    text required missing invalid empty unset expired include omit same-origin bearer basic token secret
    password passwd pwd pass key auth credentials credential changeme example placeholder redacted
    masked hidden self value name mandatory needed yes no on off weak strong wrong incorrect changed
    rotated revoked disabled enabled inherit authentication authorization authenticated header headers
    scheme schemes tokens keys secrets passwords digest apikey jwt unknown default generated encrypted
    hashed plaintext prompt stdin vault keychain mismatch valid todo tbd erforderlich notwendig
    abgelaufen fehlt ungültig leer keine geheim obligatoire obligatoria obligatorio requerido requerida
    caducado
"""
# Values are compared a byte a character, as they are read.
_PLACEHOLDERS: Final = frozenset(
    word.encode().decode("latin-1").lower() for word in _PLACEHOLDER_TEXT.split()
)
_YOUR_TOKEN_TEXT: Final = """
    your my the some a an insert put replace enter paste access api apikey auth bearer client user id
    session refresh personal service admin github gitlab slack stripe openai anthropic base64 encoded
    secret token key jwt password passwd credential credentials value string name here goes me with
    actual real new example placeholder
"""
_YOUR_TOKEN: Final = frozenset(_YOUR_TOKEN_TEXT.split())
_PART: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_LONGEST_PLACEHOLDER: Final = 64
_LONGEST_URL: Final = 512
_LETTERS: Final = r"A-Za-z\x80-\xff"
_ONE_WORD: Final = re.compile(rf"[{_LETTERS}]+(?:'[a-z]{{1,2}})?")
_WORDS: Final = re.compile(rf"[{_LETTERS}]++(?:[/_.-][{_LETTERS}]++)*+")
_NEXT_WORD: Final = re.compile(
    rf"[,;:]?[ \t]++[(]?(?:\d?[{_LETTERS}]++(?:['’-][{_LETTERS}]++)*+[,.;:!?)]*+(?:[ \t]|[\r\n]|\Z)|/\w)"
)
_SENTENCE_TEXT: Final = """
    must required invalid enter please cannot should forgot forgotten missing optional empty characters
    password passwords token tokens bitte eingeben passwort kennwort your
"""
_SENTENCE_WORDS: Final = frozenset(_SENTENCE_TEXT.split())
_COMPOUND: Final = re.compile(
    r"(?i)\w++-(?:bits?|bytes?|char(?:acter)?s?|digits?|encoded|signed|compliant|based|hashed|encrypted|style"
    r"|compatible|formatted|like|only|long|seconds?|minutes?|hours?|days?|weeks?|months?|years?|letters?)"
    r"|\d[\d.,:-]*+(?:ms|s|m|h|d|min|sec|k|kb|mb|gb|b|%|x|th|st|nd|rd|days?)?"
    r"|(?:u?int|float|str|bytes|char|varchar|sha|md|rs|hs|es|ps|base|rfc|utf|aes|argon|oauth|ipv|http|x|p|v|ed|tls)"
    r"-?\d++(?:\.\d++)*+[a-z]{0,3}|md5sum"
)
_PLAIN_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*+://[\w.-]++(?::\d++)?(?:/[\w./~-]*+)?")
_LONG: Final = re.compile(r"[\w-]{16,}")
_DIGIT: Final = re.compile(r"\d")
_DIGIT_AHEAD: Final = re.compile(r"[A-Za-z_-]{0,15}\d")
_HUMP: Final = re.compile("[a-z][A-Z]")
_CAPITAL: Final = re.compile("[A-Z]")
_VOWELS: Final = frozenset("aeiouyAEIOUY")
_MAX_CONSONANTS: Final = 6
_LONGEST_WORD: Final = 20
"""Letters; a longer run in one case must at least read like a word to pass for one."""


def is_reference(value: str) -> bool:
    """Whether ``value`` only points at a secret (a variable, a template) or was redacted before."""
    return bool(_REFERENCE.match(value))


def is_placeholder(value: str) -> bool:
    """Whether ``value`` stands for a secret or says something of one: ``YOUR_TOKEN``, ``required``."""
    if is_reference(value) or _EMPTY.fullmatch(value):
        return True
    bare = value.rstrip(")]}>.:?!,;").lower()
    return bare in _PLACEHOLDERS or _is_your_token(value)


def _is_your_token(value: str) -> bool:
    """YOUR_API_KEY, <access-token>, yourTokenHere."""
    if len(value) > _LONGEST_PLACEHOLDER:
        return False
    parts = [part.lower() for part in _PART.findall(value)]
    return bool(parts) and _YOUR_TOKEN.issuperset(parts)


def is_word(value: str) -> bool:
    """Whether ``value`` is a word of a language, or several joined by hyphens: no digit, no odd capitals."""
    if not _WORDS.fullmatch(value):
        return False
    return all(_reads_as_word(part) for part in re.split(r"[/_.-]", value))


def _reads_as_word(letters: str) -> bool:
    humps = len(_HUMP.findall(letters))
    if humps > 2 or (humps and len(_CAPITAL.findall(letters)) > 0.34 * len(letters)):
        return False
    if len(letters) < _LONGEST_WORD or not letters.isascii():
        return True
    consonants = max(map(len, re.split(r"[aeiouyAEIOUY]", letters)))
    return consonants <= _MAX_CONSONANTS and sum(c in _VOWELS for c in letters) >= 0.25 * len(letters)


def is_compound(value: str) -> bool:
    """Whether ``value`` is a number, date, unit or trade name with a number: 256-bit, HS256-signed, 15m."""
    return _COMPOUND.fullmatch(value) is not None


def is_plain_url(value: str) -> bool:
    """Whether ``value`` is an address that holds neither a password nor a key."""
    return (
        len(value) <= _LONGEST_URL and _PLAIN_URL.fullmatch(value) is not None and not _has_long_mixed(value)
    )


def _has_long_mixed(value: str) -> bool:
    """Whether 16 characters or more that could be a key stand in a row, with a digit behind letters alone."""
    runs = _LONG.findall(value)
    return any(_DIGIT.search(run[:-15]) or _DIGIT_AHEAD.match(run[-16:]) for run in runs)


def is_sentence(quoted: str) -> bool:
    """Whether quoted text of several words speaks of secrets ("Enter your password") and is none."""
    said = re.findall(r"[a-z]+", quoted.lower())
    return len(said) > 1 and " " in quoted and not _SENTENCE_WORDS.isdisjoint(said)


def looks_drawn(value: str) -> bool:
    """Whether nobody would write ``value`` in a sentence: digits among letters, odd capitals, padding."""
    bare = value.rstrip(".,:;?!)")
    if is_placeholder(bare) or is_compound(bare) or is_word(bare):
        return False
    return any(char.isdigit() for char in bare) or "=" in bare or len(bare) >= 12


def goes_on_in_words(after: str) -> bool:
    """Whether the text right behind a value goes on as a sentence does: white space, then a word."""
    return _NEXT_WORD.match(after) is not None
