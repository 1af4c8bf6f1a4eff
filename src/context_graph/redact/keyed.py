"""Finds secret values after telling names: ``password=...``, ``--token ...``.

The pattern finds candidates in linear time; ``is_secret`` then separates values from ordinary code such as
``token = next(lexer)`` or ``password: str``. In doubt a value counts as a secret: a false match loses a word,
a leak can't be undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from context_graph.redact.credential import (
    Span,
    goes_on_in_words,
    is_compound,
    is_placeholder,
    is_plain_url,
    is_sentence,
    is_word,
    looks_drawn,
    text_of,
)

_JOINED: Final = (
    "api key", "access key", "auth key", "private key", "priv key", "client key", "service key",
    "account key", "db key", "database key", "signing key", "encryption key", "master key", "session key",
    "license key", "webhook key", "host key", "db pass", "database pass", "key pass", "store pass",
    "subscription key",
)  # fmt: skip
STRONG: Final = (
    "password", "passwd", "passphrase", "passcode", "passwort", "contraseña", "contrasena", "pwd", "secret",
    "credential", r"_pass\b", r"_pw\b", "pgpass", "sshpass",
    *(name.replace(" ", by) for name in _JOINED for by in ("_", "-", "")),
)  # fmt: skip
"""Names that hold nothing but secrets; a plain word after one is taken for a secret too.

Each spelling stands alone: from ``api[_-]?key`` the prefilter would keep a mere "api" and "key".
"""

_WEAK: Final = (
    "token",
    "jwt",
    "nonce",
    r"_auth\b",
    r"\bpsk\b",
    *(f"{q}{name}{q}" for name in ("auth", "pass") for q in "\"'"),
    *_JOINED,
)
"""Names that also stand for ordinary things; a plain word or a number after one is no secret.

``auth`` and ``pass`` only in quotes: half of all code has those letters, and each would start the search.
"""

_NAME_END: Final = r"""[\w.-]*\\*["'`]?\)?\]?"""
_SIGN: Final = r"""\\*["'`]?[ \t]*(?:=>|[:=])[ \t]*"""
_ANY_VALUE: Final = (
    r"""(?:\\+"[^"\r\n]*"|"(?:[^"\\\r\n]|\\.)*"|\\*'[^'\r\n]*'|[^\s"'`,;}\]>\\]+(?:\([^()\r\n]*\))?)"""
)
_FIELDS: Final = rf"""(?:[\s,]+\\*["'`]?[\w-]+{_SIGN}{_ANY_VALUE}){{0,4}}"""
_PAIR_SEPARATOR: Final = (
    rf"""[\s,]+\\*["'`]?(?:parameter)?value{_SIGN}"""
    rf"""|[\s,]+\\*["'`][\w-]+{_SIGN}{_ANY_VALUE}{_FIELDS}[\s,]+\\*["'`](?:parameter)?value{_SIGN}"""
    rf"|[ \t]*\{{\s+(?:[\w-]+{_SIGN}{_ANY_VALUE}\s+){{0,4}}default{_SIGN}"
)
"""The value is in a field behind: name: DB_PASSWORD, value: ..., as in Kubernetes, ECS and web.config.

Between the two may be other fields in quotes (AWS, Azure). In Terraform the value is a variable's default.
"""
_NAMING: Final = "(?:parameter)?(?:name|key)|id|label|field|variable"
"""Fields whose value names what another field holds."""
_BLOCK: Final = r"""[|>][+-]?[ \t]*\r?\n[ \t]+"""
"""The value is a block of YAML."""
_SEPARATOR: Final = (
    rf"(?:[ \t]*(?::=|=>|={{1,3}}|!={{1,2}}|::|:(?:[ \t]*[A-Za-z_][\w.\[\], |]*[ \t]=)?)[ \t]*(?:{_BLOCK})?"
    rf"|{_PAIR_SEPARATOR})"
)


def head_patterns(more_names: Iterable[str] = ()) -> tuple[str, str, str]:
    """RE2 patterns, without groups, over our names and ``more_names`` (a detector's own, ``_?`` allowed).

    Returns:
        (assignment, phrase, record): ``name = ``; any of ``--name `` (or a new line: an argument list),
        ``<name>``, ``name is ``; and a field ``value`` up to the one that names it. They are read by
        assigned_value, phrase_value and earlier_value: groups would cost RE2 its fast engine.
    """
    spelled = [name.replace("_?", by) for name in more_names for by in ("_", "")]
    strong = "|".join(dict.fromkeys((*STRONG, *spelled)))
    spoken = "|".join(_JOINED)
    return (
        f"(?i)(?:{strong}|{'|'.join(_WEAK)}){_NAME_END}{_SEPARATOR}",
        rf"(?i)-(?:[a-z]+[_-])*(?:{strong}|token)(?:[_-]\w+)*(?:[ \t]+|\n)"
        rf"|<[\w.:-]*(?:{strong}|token)[\w.:-]*[^<>\r\n]*>"
        rf"|(?:{strong}|{spoken}|token)\s+(?:is|was|to|=)\s*:?\s+",
        rf"(?i)\b(?:parameter)?value{_SIGN}{_ANY_VALUE}{_FIELDS}"
        rf"""[\s,]+\\*["'`]?(?:{_NAMING}){_SIGN}\\*["'`]?[\w./-]*(?:{strong}|{spoken}|token|jwt|nonce)[\w./-]*\\*["'`]?""",
    )


ARGUMENTS: Final = (
    r"(?i)\b(?:define|putenv|setenv|setdefault|setproperty)\(\s*"
    r"""(?:"[\w.-]+"|'[\w.-]+'|\\"[\w.-]+\\"|\\'[\w.-]+\\')\s*,\s*\\*["']"""
)
"""A name and a value are arguments. Names are judged afterwards: the prefilter drops words of many rules."""

_NAME: Final = re.compile(rb"""["']?[\w.-]+""")
_QUOTED: Final = re.compile(
    rb'\\++"(?P<a>(?:[^"\\\r\n]++|\\++(?!"))*+)(?:\\++"|[\r\n]|\Z)'
    rb"|\\++'(?P<b>(?:[^'\\\r\n]++|\\++(?!'))*+)(?:\\++'|[\r\n]|\Z)"
    rb'|[rbfuRBFU@$]{0,2}"""(?P<c>(?:[^"]++|"(?!""))*+)'
    rb'|[rbfuRBFU@$]{0,2}"(?P<d>(?:[^"\\\r\n]|\\.)*+)'
    rb"|[rbfuRBFU@$]{0,2}'(?P<e>(?:[^'\\\r\n]|\\.)*+)"
    rb"|`(?P<f>[^`\r\n]*+)",
    re.DOTALL,
)
_BARE: Final = re.compile(rb"""(?:[^\s"'`;&,\\]|\\[^\snrtu"'\\])*+""")
_BEHIND_AMPERSAND: Final = re.compile(rb"[\w.-]*+=|[\s&]|\Z")
"""The next field of a query, or nothing: the ampersand is no part of the value."""
_OPTION: Final = re.compile(
    rb""""(?P<d>[^"\r\n]++)|'(?P<s>[^'\r\n]++)|(?P<w>[^\s"'`;&|<>\\-][^\s"'`;&|<>\\]++)"""
)
_FIELD: Final = re.compile(
    rb"""[\s,]*+\\*+["'`]?(?P<key>[\w-]++)\\*+["'`]?[ \t]*+(?:=>|[:=])[ \t]*+"""
    rb"""(?P<value>\\++"[^"\r\n]*+"|"(?:[^"\\\r\n]|\\.)*+"|\\*+'[^'\r\n]*+'"""
    rb"""|[^\s"'`,;}\]>\\]++(?:\([^()\r\n]*+\))?)""",
    re.DOTALL,
)
_NAMING_KEY: Final = re.compile(_NAMING.encode(), re.IGNORECASE)
_VALUE_KEY: Final = re.compile(rb"(?:parameter)?value", re.IGNORECASE)
_LONGEST_BLOCK: Final = 8192
_ELEMENT: Final = re.compile(rb"(?P<v>[^<>]++)</")
_SAID: Final = re.compile(rb"""\\*+["'`]?(?P<v>[^\s"'`\\]{4,}+)""")


def assigned_value(data: bytes, start: int, end: int) -> Span | None:
    """The secret assigned after the assignment head ``data[start:end]``, or None."""
    found = _NAME.match(data, start, end)
    name_end = found.end() if found else start
    separator = data[name_end:end].strip(b"\\\"'`)]")
    if _is_field(separator):
        return _field_value(data, start, name_end, end)
    if b"\n" in separator:
        return _block_value(data, start, name_end, end)
    value, quoted = _value_at(data, end)
    if value is None:
        return None
    secret = is_secret(
        text_of(data, start, name_end),
        text_of(separator),
        text_of(data, *value),
        quoted=quoted,
        before=text_of(data, max(0, start - _BEFORE), start),
        after=text_of(data, value[1], value[1] + _AFTER),
    )
    return value if secret else None


def _is_field(separator: bytes) -> bool:
    """Whether ``separator`` ends with the name of the field that holds the value."""
    key = separator.rstrip(b" \t=>:\\\"'`").lower()
    return key.endswith(b"value") or (b"{" in key and key.endswith(b"default"))


def _value_at(data: bytes, at: int) -> tuple[Span | None, bool]:
    """The value that begins at ``at``, None if it is empty, and whether it stands in quotes."""
    found = _QUOTED.match(data, at)
    value = found.span(found.lastgroup or 0) if found else _bare(data, at)
    return (value if value and value[0] < value[1] else None), found is not None


def _field_value(data: bytes, start: int, name_end: int, end: int) -> Span | None:
    """The secret in the field behind a name's own, as in ``name: DB_PASSWORD``, ``value: ...``; or None."""
    value, quoted = _value_at(data, end)
    if value is None:
        return None
    name = text_of(data, start, name_end)
    return value if _is_in_field(name, text_of(data, *value), data[name_end:end], quoted=quoted) else None


def _is_in_field(name: str, said: str, between: bytes, *, quoted: bool) -> bool:
    """Whether ``said``, parted by ``between`` from the field that names it, is a secret."""
    # Only YAML has bare words; anywhere else they are variables and calls.
    is_yaml = b"\n" in between and b"," not in between and b"=" not in between
    is_code = _IDENTIFIER.fullmatch(said.rstrip(_STOPS)) or _CODE.fullmatch(said) or said[0] in "([{"
    if is_code and not quoted and not is_yaml:
        return False
    return is_secret(name, "=", said, quoted=quoted, before="")


def earlier_value(data: bytes, start: int, end: int) -> Span | None:
    """The secret in ``data[start:end]``: a field ``value`` to the one that names it."""
    at, value, first = start, None, start
    while found := _FIELD.match(data, at, end):
        if value is not None and _NAMING_KEY.fullmatch(found["key"]):
            name = text_of(found["value"]).strip("\\\"'`")
            held, quoted = _value_at(data, value)
            if held is None or not _is_in_field(
                name, text_of(data, *held), data[first : found.start("key")], quoted=quoted
            ):
                return None
            return held
        if _VALUE_KEY.fullmatch(found["key"]):
            value, first = found.start("value"), found.start()
        at = found.end()
    return None


def _block_value(data: bytes, start: int, name_end: int, end: int) -> Span | None:
    """The secret in a YAML block, all its lines; or None. Key files have a rule of their own."""
    line_end = _line_end(data, end)
    first = text_of(data, end, line_end).strip()
    if data[name_end:end].lstrip(b" \t\"'`")[:1] != b":" or first.startswith(("-----", "{", "#")):
        return None
    if " " in first:
        secret = is_typed_value(data, start, end, line_end)
    else:
        secret = bool(first) and is_secret(
            text_of(data, start, name_end), "=", first, quoted=False, before=""
        )
    if not secret:
        return None
    margin = data[data.rindex(b"\n", name_end, end) : end]
    while data.startswith(margin, line_end) and line_end - end < _LONGEST_BLOCK:
        line_end = _line_end(data, line_end + len(margin))
    return end, line_end


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end


def is_typed_value(data: bytes, head: int, start: int, end: int) -> bool:
    """Whether ``data[start:end]`` was typed in as a secret; its head, from ``head`` on, prose has too."""
    value = text_of(data, start, end)
    if " " in value:
        return any(any(map(str.isdigit, word)) and looks_drawn(word) for word in value.split())
    trimmed = value.rstrip(_STOPS)
    if trimmed.lower() in _STOPWORDS or is_placeholder(trimmed) or is_compound(trimmed):
        return False
    if not is_word(trimmed):
        return looks_drawn(trimmed) or not goes_on_in_words(text_of(data, end, end + _AFTER))
    spoken = goes_on_in_words(value[len(trimmed) :] + text_of(data, end, end + _AFTER))
    return not spoken and not _PROSE_BEFORE.search(text_of(data, max(0, head - _BEFORE), head))


def argument_value(data: bytes, start: int, end: int) -> Span | None:
    """The secret that a call such as ``define('DB_PASSWORD', '...')`` gives a name to, or None."""
    name = text_of(data, start, end).partition("(")[2].strip("\\\"'`, \t\r\n")
    value, _ = _value_at(data, end - 1)
    if value is None or not _TELLING.search(name) or len(text_of(data, *value)) < _SHORTEST_ARGUMENT:
        return None
    return value if is_secret(name, "=", text_of(data, *value), quoted=True, before="") else None


def phrase_value(data: bytes, start: int, end: int) -> Span | None:
    """The secret after the phrase head ``data[start:end]``, or None."""
    first = data[start : start + 1]
    name = text_of(data, start, end).strip("-<> \t")
    if first == b"-":
        found = _OPTION.match(data, end)
        value = found.span(found.lastgroup or 0) if found else None
        if value is None or text_of(data, *value).lower() in _STOPWORDS:
            return None
        said = text_of(data, *value)
        if is_word(said.rstrip(_STOPS)) and _option_in_prose(data, start, value[1]):
            return None
        # An option's value is typed in, whatever it looks like.
        return value if is_secret(name, "=", said, quoted=False, before="--") else None
    if first == b"<":
        found = _ELEMENT.match(data, end)
        inner = text_of(data, *found.span("v")).strip() if found else ""
        secret = bool(inner) and is_secret(name, ">", inner, quoted=True, before="<")
    else:
        found = _SAID.match(data, end)
        return _said_value(data, *found.span("v")) if found else None
    return found.span("v") if found and secret else None


def _option_in_prose(data: bytes, start: int, end: int) -> bool:
    """As in: the --password prompts; pass --token interactively; help, where a line begins with it."""
    before = text_of(data, max(0, start - _BEFORE), start)
    alone = not before.rpartition("\n")[2].strip(" \t-|`*")
    return _PROSE_BEFORE.search(before) is not None or (
        alone and goes_on_in_words(text_of(data, end, end + _AFTER))
    )


def _said_value(data: bytes, start: int, end: int) -> Span | None:
    """Return the value in a sentence ("the password is ...") if it looks random, not like a word or code."""
    said = text_of(data, start, end).rstrip(_SAID_STOPS)
    drawn = any(char.isdigit() for char in said) and looks_drawn(said) and not _CODE.fullmatch(said)
    return (start, start + len(said)) if drawn else None


def _bare(data: bytes, start: int) -> Span | None:
    """Return the value without quotes, up to the first character that can't belong to it; None if none."""
    end = start
    while found := _BARE.match(data, end):
        end = found.end()
        if data[end : end + 1] != b"&" or _BEHIND_AMPERSAND.match(data, end + 1):
            break
        end += 1
    return (start, end) if end > start else None


_BEFORE: Final = 40
"""Bytes before a name that may tell an option or a variable from an argument."""
_AFTER: Final = 64
"""Bytes behind a value that tell a sentence from a line of settings."""
_STOPS: Final = ")]}>.:?!,"
_SAID_STOPS: Final = ".,:;)?"
"""An exclamation mark stays: it is a part of too many passwords."""
_PROSE_BEFORE: Final = re.compile(
    r"(?i)(?:^|[^\w-])(?:the|a|an|this|that|use|uses|using|pass|passes|passing|with|without|via|by|and|or|set|sets"
    r"|give|given|take|takes|add|adds|option|flag|called|named|multi|no|der|die|das|mit|ohne|und"
    r"|oder)[ \t]{1,64}+[`'\"]?-?\Z"
)
_ABOUT: Final = re.compile(
    r"(?i)[_-]?(?:names?|types?|urls?|uris?|endpoint|files?|path|dir|folder|length|len|size|count|limit|ids?|expiry|expires"
    r"|ttl|policy|field|label|hint|format|model|budget|usage|scheme|strength|description|column|header|ref|_at|_on|date|time)\Z"
)
"""Ends of names that say something about a secret and hold none: token_url, secretName, password_policy."""
_WORD: Final = re.compile(r"[A-Za-z]++(?:[ _.-][A-Za-z]++)*+")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*+(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*+)*+")
_CODE: Final = re.compile(
    r"(?:await |new |not )?[A-Za-z_]\w*+(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*+)*+[(\[{<].*+", re.DOTALL
)
_STOPWORD_TEXT: Final = """
    a an and are as at be by can file flag for from has if in is it must not of on option or set should that
    the this to use was when will with value you your
"""
_STOPWORDS: Final = frozenset(_STOPWORD_TEXT.split())
_PATH: Final = re.compile(r"(?:~|\.{1,2})?/[\w./@-]+")
_IN_BRACES: Final = re.compile(r"\$\{\w*+\Z")
_COLOUR: Final = re.compile(r"#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})[;,]?")
_CLOSING: Final = re.compile(r"[)\]}]")
_NUMBER: Final = re.compile(r"[+-]?[\d_.,]+")
_LONG_TOKEN: Final = re.compile(r"[\w+=-]{16,}")
_NOT_WORD: Final = re.compile(r"\W")
_NO_LETTER: Final = re.compile(r"[^a-z]")
_TYPED_IN: Final = re.compile(rf"(?:^|[\n?&;]|--|export |env |-e )[\w.=-]{{0,{_BEFORE}}}$")
_SHORTEST_ARGUMENT: Final = 4
_TELLING: Final = re.compile(
    "|".join((*STRONG, "token", "nonce_key", "logged_in_key", "_salt")), re.IGNORECASE
)
_STRONG: Final = re.compile("|".join(STRONG), re.IGNORECASE)


def is_secret(name: str, separator: str, value: str, *, quoted: bool, before: str, after: str = "") -> bool:
    """Whether ``value`` after ``name`` is to be taken for a secret.

    Args:
        name: The name's end as matched, from its telling word on.
        separator: What stands between, white space included.
        value: Without quotes; not empty.
        quoted: Whether it stood in quotes.
        before: The few characters before the name: they tell an option or a variable from an argument.
        after: What stands right behind the value: it tells a sentence from a setting.

    Cost: a few regular expressions over one value; about 2 us.
    """
    if is_placeholder(value) or is_plain_url(value):
        return False
    if _PATH.fullmatch(value) and sum(map(str.islower, value)) >= 0.6 * sum(map(str.isalnum, value)):
        return False  # PWD=/home/me/work, secret_file: ./db.env
    strong = bool(_STRONG.search(name)) or name.lower().startswith("_pass")
    if (value[0] == "?" and _IN_BRACES.search(before)) or (not strong and _COLOUR.fullmatch(value)):
        return False  # ${PASSWORD:?missing}; a theme's colours
    if name.lower().startswith("tokeni"):
        return False  # tokenizer, tokenised
    if _NUMBER.fullmatch(value):
        return strong and len(value) >= 4 and not name.lower().startswith("credential")
    if _ABOUT.search(name.strip("\"'")) and not _LONG_TOKEN.fullmatch(value):
        return False
    if quoted:
        return not is_sentence(value) and (strong or not (_WORD.fullmatch(value) or "${" in value))
    return _bare_is_secret(name, separator, value, strong=strong, before=before, after=after)


def _bare_is_secret(name: str, separator: str, value: str, *, strong: bool, before: str, after: str) -> bool:
    trimmed = value.rstrip(_STOPS)
    if not trimmed or trimmed.lower() in _STOPWORDS or is_placeholder(trimmed) or is_compound(trimmed):
        return False
    said = is_word(trimmed) and separator.strip() in (":", "=") and separator != "="
    if said and _is_prose(trimmed, value[len(trimmed) :] + after, strong=strong):
        return False
    given = _CLOSING.split(trimmed, maxsplit=1)[0]
    compared = separator.strip()[1:] in ("=", "==") and given[-1:].isdigit()
    if _mentions_name(name, given[:-1] if compared else given):
        return False  # get(session_key=session_key).delete(), password1 != password2
    if (value[0] in "([{" or _CODE.fullmatch(value)) and not _looks_typed_in(separator, before):
        return False
    if not _IDENTIFIER.fullmatch(trimmed):
        return True
    if "." in trimmed or "::" in trimmed or "->" in trimmed:
        return any(part.isdigit() for part in _NOT_WORD.split(trimmed))  # self.password, settings.token
    if any(char.isdigit() for char in trimmed):
        return True
    if separator.strip() == ":" and trimmed[0].isupper() and _is_camel_case(trimmed):
        return False  # a type
    # A plain word: an argument such as login(password=given) is code, PASSWORD=given is a setting.
    return (strong and not before.rstrip().endswith(("(", ","))) or _looks_typed_in(separator, before)


def _is_prose(word: str, after: str, *, strong: bool) -> bool:
    """Whether a word after a colon begins a sentence or says something of the secret."""
    if goes_on_in_words(after):
        return True  # "password: minimum length is twelve"
    if not any("a" <= char <= "z" for char in word.lower()):
        return True  # another script's word
    return not strong and word.isascii() and not word.isalpha()  # "token: read-only"


def _is_camel_case(word: str) -> bool:
    return sum(map(str.isupper, word)) < 0.35 * len(word) or len(word) < 4


def _looks_typed_in(separator: str, before: str) -> bool:
    """Whether this is a shell assignment, a query or an option rather than a line of code."""
    if separator != "=":
        return False
    return bool(_TYPED_IN.search(before))


def _mentions_name(name: str, value: str) -> bool:
    said = _NO_LETTER.sub("", value.lower())
    telling = _NO_LETTER.sub("", name.lower())
    return bool(said) and (said in telling or telling in said) and not any(char.isdigit() for char in value)
