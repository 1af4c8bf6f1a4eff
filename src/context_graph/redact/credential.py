"""Distinguishes credentials from ordinary words, and finds random tokens that have no name or prefix.

A person typed a password, a machine drew a token; a sentence about either is neither. These tests look at one
value and the text next to it, never at a name: keyed.py asks them after a name was found.

`secret_run` judges bare tokens. A run of random base62 changes character class (upper, lower, digit) at six
of ten steps; names do at two or three. Kept on purpose: hexadecimal (git and lock-file hashes, digests,
UUIDs), subresource hashes (``sha512-...``, ``h1:...``, ``SHA256:...``), public keys and certificates,
tool-use ids, Nix paths. Hexadecimal goes too where a name says that it is a key: ``OPENAI_KEY=``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from context_graph.text.patterns import linear_bytes

Span = tuple[int, int]
"""Where something begins and ends, in bytes."""

_REFERENCE: Final = re.compile(
    r"\$\{|\$\(|%\(|%[A-Za-z_]++%|%[sdrvq]\b|\{\{|\{[A-Za-z_.]*+\}|<[A-Za-z/|]|\(\(|\[redacted"
    r"|process\.env|os\.environ|os\.getenv|getenv|env\.|secrets\.|vault:|file:"
    # YAML's tags before a name or an encrypted block; true and false as minified
    r"|!(?:vault|Ref|Sub|GetAtt|ImportValue|secret|env_var|reference|[01])\Z"
    # A variable and nothing more: "$uperSecret1!" is a password.
    r"|\$(?:[A-Z_][A-Z0-9_]*+|[a-z_]++)[;,)\]}\"']*+\Z"
)
_EMPTY: Final = re.compile(r"[\W_]*|x{3,}|X{3,}|\.{3}")
_PLACEHOLDER_TEXT: Final = """
    none null nil true false undefined nan str string int integer bytes bool boolean optional any object
    text void required missing invalid empty unset expired include omit same-origin bearer basic token secret
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


def text_of(data: bytes, start: int = 0, end: int | None = None) -> str:
    """Decode one byte per character: only ASCII matters, and lengths stay byte lengths."""
    return data[start:end].decode("latin-1")


def is_reference(value: str) -> bool:
    """Whether ``value`` only points at a secret (a variable, a template) or was redacted before."""
    return bool(_REFERENCE.match(value))


def is_placeholder(value: str) -> bool:
    """Whether ``value`` is a placeholder for a secret or a word about one: ``YOUR_TOKEN``, ``required``."""
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


CORE_PATTERN: Final = "[A-Za-z0-9]{16,}"
"""What every such token holds somewhere: base64 and base64url put another character at one in 32."""

_RUN_CHARS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+_-"
_HEX: Final = re.compile(rb"[0-9a-fA-F-]+")
_KEPT_PREFIX: Final = re.compile(rb"toolu_|msg_|req_")
_STORE: Final = b"/nix/store/"
_HASH_BEFORE: Final = (
    *(name + sign for name in (b"sha1", b"sha256", b"sha384", b"sha512", b"md5") for sign in (b"-", b":")),
    b"SHA256:",
    b"h1:",
)
_HASH_REACH: Final = 128
"""Bytes behind a hash's prefix that may belong to it; SHA-512 has 88 in base64."""
_SSH_KEY: Final = re.compile(rb"AAAA[A-K][0-9A-Za-z](?:NzaC|VjZH|NrL[WX])")
"""How every public SSH key begins: the length of its kind's name, then that name (ssh, ecdsa, sk)."""
_SSH_REACH: Final = 4096
_MEDIA: Final = re.compile(rb"data:(?:image|font|audio|video)/[\w.+-]{1,32};base64,\Z")
_PEM_DASHES: Final = b"-----BEGIN "
_PEM_HEAD: Final = re.compile(
    rb"-----BEGIN (?:CERTIFICATE|(?:NEW )?CERTIFICATE REQUEST|TRUSTED CERTIFICATE|X509 CRL"
    rb"|(?:RSA |DSA |EC |SSH2 )?PUBLIC KEY|PGP PUBLIC KEY BLOCK|(?:PGP|SSH) SIGNATURE)-----"
)
_PEM_REACH: Final = 8192
_PEM_GAP: Final = r"""(?:[\s"',|>]|\\+[nrt])*"""


@cache
def _pem_body() -> Any:
    """Lines of base64, the last one short, up to the block's end or the text's; prose is no body."""
    return linear_bytes(
        rf"{_PEM_GAP}(?:[A-Za-z0-9+/]{{40,}}{_PEM_GAP})*[A-Za-z0-9+/]*={{0,2}}{_PEM_GAP}"
        rf"(?:=[A-Za-z0-9+/]{{4}}{_PEM_GAP})?(?:-----END |\z)"
    )


_TWILIO: Final = re.compile(rb"(?:AC|SK)[0-9a-z]{32}")
_DISCORD_REST: Final = re.compile(rb"\.[\w-]{6}\.[\w-]{27,}")
_DISCORD_HEAD: Final = re.compile(rb"[A-Za-z0-9]{23,28}")
_DISCORD_FIRST: Final = (b"M", b"N", b"O")
_INFISICAL_REST: Final = re.compile(rb"\.[0-9a-f]{32}\.[0-9a-f]{32}")
_MAILGUN: Final = re.compile(rb"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}")
_HEX_SECRETS: Final = frozenset({24, 50})
"""Lengths of what the two patterns above begin with."""
_REACH: Final = 256
"""Bytes that a run may extend beyond its core on either side."""

_SHORTEST: Final = 20
_AWS_CHARS: Final = 40
_BASE64_CHARS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

_VALUE_CHARS: Final = _BASE64_CHARS + b"_-"
_NAME_CHARS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_ASSIGNING: Final = b" \t:=>\"'`\\)]"
_KEY_REACH: Final = 224
"""Bytes before a run that hold its value's begin and its name."""
_KEYS_OF_RECORDS: Final = frozenset(
    b"""PRIMARY SORT CACHE PARTITION FOREIGN PUBLIC PUB SITE PUBLISHABLE ROW RECORD IDEMPOTENCY OBJECT S3 FILE
    LOOKUP INDEX GROUP GROUPING MAP ROUTING HASH UNIQUE RANGE ITEM BUCKET COMMIT BUILD IMAGE REDIS QUEUE LOCK
    DEDUPLICATION DEDUP DICT SHARD COMPOSITE NATURAL SURROGATE BLOB MESSAGE EVENT REGISTRY""".split()
)
"""Words before _KEY that make it a name of something stored, not a secret."""

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
    # A word and a blank stand before nearly all hashes, and no sign that assigns: the search is worth saving.
    spoken = data[left - 1 : left] == b" " and data[left - 2 : left - 1].isalnum()
    if not spoken and b"_KEY" in data[max(0, left - _KEY_REACH) : left]:
        named = _named_key(data, left, right, floor)
        if named is not None:
            return named
    if _HEX.fullmatch(run):
        return _hex_secret(data, start, end, run) if len(run) in _HEX_SECRETS else None
    if _is_kept(data, left, run):
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
    return _KEPT_PREFIX.match(run) is not None or data[max(0, left - len(_STORE)) : left] == _STORE


def _hex_secret(data: bytes, start: int, end: int, run: bytes) -> tuple[int, int, str] | None:
    """The few tokens that are hexadecimal and have a shape of their own; all other such runs are kept."""
    if _MAILGUN.fullmatch(run):
        return start, start + len(run), "mailgun-key"
    if data[max(0, start - 3) : start] == b"st.":
        rest = _INFISICAL_REST.match(data, end)
        if rest and not data[max(0, start - 4) : start - 3].isalnum():
            return start - 3, rest.end(), "infisical-token"
    return None


def public_end(data: bytes, at: int, floor: int) -> int:
    """Where the public hash, SSH key or PEM block ends that holds the run at ``at``; 0 if there is none.

    Base64 has slashes, and lines: what tells that it is public may stand far to the left of the run.

    Cost: a few microseconds; only what would be masked is asked about.
    """
    near = data[max(floor, at - _SSH_REACH) : at]
    begin = at - len(near) + len(near.rstrip(_BASE64_CHARS))
    if at - begin < _HASH_REACH and data[max(0, begin - 8) : begin].endswith(_HASH_BEFORE):
        return _base64_end(data, at, begin + _HASH_REACH)
    if _MEDIA.search(data, max(0, begin - 64), begin):
        return _base64_end(data, at, len(data))
    if _SSH_KEY.match(data, begin):
        return _base64_end(data, at, begin + _SSH_REACH)
    return _public_block_end(data, at, floor)


def _base64_end(data: bytes, at: int, limit: int) -> int:
    near = data[at:limit]
    return at + len(near) - len(near.lstrip(_BASE64_CHARS))


def _public_block_end(data: bytes, at: int, floor: int) -> int:
    head = data.rfind(_PEM_DASHES, max(floor, at - _PEM_REACH), at)
    found = _PEM_HEAD.match(data, head) if head >= 0 else None
    body = _pem_body().match(data, found.end()) if found else None
    return body.end() if body and body.end() > at else 0


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


def _named_key(data: bytes, left: int, right: int, floor: int) -> tuple[int, int, str] | None:
    """The value of a setting such as OPENAI_KEY around ``data[left:right]``, be it hexadecimal, or None."""
    near = data[max(floor, left - _HASH_REACH) : left]
    begin = left - len(near) + len(near.rstrip(_VALUE_CHARS))
    if not _is_key_name(_name_before(data[max(0, begin - _KEY_REACH) : begin])):
        return None
    near = data[right : right + _REACH]
    end = right + len(near) - len(near.lstrip(_VALUE_CHARS + b"="))
    behind = data[end : end + 2]
    is_file = data[begin : begin + 1] in b"/~" or (behind[:1] == b"." and behind[1:].isalnum())
    if is_file or any(map(_is_path_word, data[begin:end].split(b"/")[:-1])):
        return None
    return begin, end, "keyed-value"


def _name_before(text: bytes) -> bytes:
    """The upper-case name that ``text`` assigns to at its end: X_KEY=, X_KEY: ", name: X_KEY and value:."""
    rest = text.rstrip(_ASSIGNING)
    if not {*b":="}.intersection(text[len(rest) :]):
        return b""
    if rest[-5:].lower() == b"value":
        rest = rest[:-5].rstrip(_ASSIGNING + b",\r\n")
    return rest[len(rest.rstrip(_NAME_CHARS)) :]


def _is_key_name(name: bytes) -> bool:
    return name.endswith(b"_KEY") and name[:-4].rpartition(b"_")[2] not in _KEYS_OF_RECORDS


def _over_slashes(data: bytes, left: int, right: int, floor: int) -> tuple[int, int]:
    """Extend the span over slashes that belong to base64, not to a path."""
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
