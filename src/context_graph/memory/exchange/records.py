"""Converts memories, edges and tombstones to JSON objects and back, checking each field, and memories to
Markdown files and back.

Times are Unix milliseconds, ids UUIDs as text, an embedding base64 of its 6,144 bytes. The objects have
exactly the fields of `MemoryNode`, `GraphEdge` and `Tombstone`, whose types say what a field may hold, so a
new field needs no change here. A Markdown file has front matter with all fields, then the content:

    ---
    id: 5f3c…
    created: 2026-01-31T09:30:00.123Z
    tags: ["build"]
    ---
    The content, to the end of the file.

Each value is JSON, or bare text if that can't be mistaken for JSON, so that a person may edit it. Links are
in the file of the memory they leave. Embeddings and deleted memories are only in JSONL.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import UnionType
from typing import Any, Final, NoReturn, TypeVar, get_origin, get_type_hints
from uuid import UUID

from context_graph.errors import InvalidInputError, InvalidParamsError
from context_graph.model.edge import GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import MemoryNode, Tombstone, UTLState, check_depth
from context_graph.model.spaces import EMBEDDING_BYTES

MAX_NAME_CHARS: Final = 256
MAX_TAGS: Final = 64
_MAX_MS: Final = (1 << 63) - 1
_MAX_COUNT: Final = (1 << 32) - 1

E = TypeVar("E", bound=StrEnum)
Check = Callable[[str, Any], Any]
"""(name of a field, its JSON value) -> the value as the model has it."""


def node_to_json(node: MemoryNode) -> dict[str, Any]:
    """Return all fields of ``node`` except its commit number; the embedding if it is loaded."""
    document = _to_json(node, _NODE)
    if node.embedding is None:
        del document["embedding"]
    return document


def node_from_json(document: Mapping[str, Any]) -> MemoryNode:
    """Return the memory of such an object; fields that have a default may be missing.

    Raises:
        InvalidInputError: Names the field, what it holds and what it must be.
    """
    values = _checked(document, _NODE, required=("id", "content", "created_at_ms"))
    values.setdefault("rationale", "imported without a rationale")
    values.setdefault("last_accessed_ms", values["created_at_ms"])
    try:
        node = MemoryNode(**values)
        node.validate()
    except InvalidParamsError as error:
        raise InvalidInputError(str(error)) from error
    return node


def edge_to_json(edge: GraphEdge) -> dict[str, Any]:
    """Return all fields of ``edge``."""
    return _to_json(edge, _EDGE)


def edge_from_json(document: Mapping[str, Any]) -> GraphEdge:
    """Return the edge of such an object. Raises as node_from_json."""
    values = _checked(document, _EDGE, required=("id", "source_id", "target_id"))
    if "neurotransmitter_weights" not in values and "domain" in values:
        values["neurotransmitter_weights"] = NeurotransmitterWeights.for_domain(values["domain"])
    try:
        return GraphEdge(**values)
    except InvalidParamsError as error:
        raise InvalidInputError(str(error)) from error


def tombstone_to_json(tombstone: Tombstone) -> dict[str, Any]:
    """Return all fields of ``tombstone``."""
    return _to_json(tombstone, _TOMBSTONE)


def tombstone_from_json(document: Mapping[str, Any]) -> Tombstone:
    """Return the tombstone of such an object. Raises as node_from_json."""
    return Tombstone(**_checked(document, _TOMBSTONE, required=("id", "deleted_at_ms", "reason", "soft")))


def _to_json(value: Any, fields: Iterable[str]) -> dict[str, Any]:
    return {name: _plain(getattr(value, name)) for name in fields}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is UUID:
        return str(value)
    if kind is tuple:
        return list(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind in _PARTS:
        return _to_json(value, _PARTS[kind])
    return value.value if isinstance(value, StrEnum) else dict(value)


def _checked(
    document: Mapping[str, Any], checks: Mapping[str, Callable[[str, Any], Any]], *, required: tuple[str, ...]
) -> dict[str, Any]:
    unknown = sorted(set(document) - set(checks))
    if unknown:
        raise InvalidInputError(f"{unknown[0]} is no known field; the fields are {', '.join(checks)}")
    missing = [name for name in required if name not in document]
    if missing:
        raise InvalidInputError(f"{missing[0]} is missing")
    return {name: checks[name](name, value) for name, value in document.items()}


def _fail(name: str, value: object, rule: str) -> NoReturn:
    shown = repr(value)
    raise InvalidInputError(f"{name} is {shown if len(shown) <= 80 else shown[:77] + '...'}, must be {rule}")


def _uuid(name: str, value: Any) -> UUID:
    try:
        return UUID(value)
    except (ValueError, AttributeError, TypeError):
        _fail(name, value, "a UUID")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        _fail(name, value, "text")
    return value


def _named(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME_CHARS or "\0" in value:
        _fail(name, value, f"text of 1 to {MAX_NAME_CHARS} characters without NUL, or null")
    return value


def _word(name: str, value: Any) -> str:
    word = _named(name, value)
    return word if word is not None else _fail(name, value, "text")


def _tags(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_TAGS:
        _fail(name, value, f"a list of at most {MAX_TAGS} texts")
    return tuple(_word(f"{name}[{at}]", tag) for at, tag in enumerate(value))


def _whole(top: int) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        if type(value) is not int or not 0 <= value <= top:
            _fail(name, value, f"a whole number from 0 to {top}")
        return value

    return check


def _real(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        _fail(name, value, "a finite number")
    return number


def _one_of(kind: type[E]) -> Callable[[str, Any], E]:
    def check(name: str, value: Any) -> E:
        try:
            return kind(value)
        except ValueError:
            _fail(name, value, "one of " + ", ".join(kind))

    return check


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        _fail(name, value, "a JSON object")
    try:
        check_depth(name, value)
    except InvalidParamsError as error:
        raise InvalidInputError(str(error)) from error
    return value


def _parts(kind: type[Any], names: tuple[str, ...]) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        parts = _checked(_object(name, value), dict.fromkeys(names, _real), required=names)
        try:
            return kind(**parts)
        except InvalidParamsError as error:
            raise InvalidInputError(f"{name}: {error}") from error

    return check


def _embedding(name: str, value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        packed = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        _fail(name, value, "base64")
    return (
        packed if len(packed) == EMBEDDING_BYTES else _fail(name, value, f"base64 of {EMBEDDING_BYTES} bytes")
    )


def _checks(kind: type[Any]) -> dict[str, Check]:
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.name != "commit_seq"]
    return {name: _OF_NAMES.get(name) or _check_of(hints[name]) for name in names}


def _check_of(hint: Any) -> Check:
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _one_of(hint)
    return _parts(hint, _PARTS[hint]) if hint in _PARTS else _OF_TYPES[get_origin(hint) or hint]


_AS_THEY_ARE: Final = frozenset({str, int, float, bool, type(None)})
_PARTS: Final[dict[Any, tuple[str, ...]]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in (UTLState, NeurotransmitterWeights)
}
_OF_NAMES: Final[dict[str, Check]] = {
    **dict.fromkeys(("source", "relationship_type"), _word),
    **dict.fromkeys(("access_count", "traversal_count"), _whole(_MAX_COUNT)),
    "semantic_cluster": lambda name, value: None if value is None else _uuid(name, value),
    "embedding": _embedding,
}
_OF_TYPES: Final[dict[Any, Check]] = {
    UUID: _uuid,
    str: _text,
    int: _whole(_MAX_MS),
    float: _real,
    bool: lambda name, value: value if isinstance(value, bool) else _fail(name, value, "true or false"),
    tuple: _tags,
    Mapping: _object,
    UnionType: _named,
}
_NODE: Final = _checks(MemoryNode)
_EDGE: Final = _checks(GraphEdge)
_TOMBSTONE: Final = _checks(Tombstone)


_TIMES: Final = {"created": "created_at_ms", "accessed": "last_accessed_ms"}
_FIRST: Final = (
    *("id", "created", "rationale", "importance", "tags", "pinned", "source", "project", "session_id"),
    *("agent_id", "modality", "johari_quadrant", "utl_state", "semantic_cluster"),
)
_LAST: Final = ("accessed", "access_count", "metadata", "links")
_APART: Final = ("content", "embedding", "commit_seq", *_TIMES.values(), *_FIRST, *_LAST)
_ORDER: Final = (
    *_FIRST,
    *(field.name for field in dataclass_fields(MemoryNode) if field.name not in _APART),
    *_LAST,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BARE: Final = re.compile(r"[A-Za-z][\w .,:/()+\-]*")
_SLUG_WORD: Final = re.compile(r"[a-z0-9]+")
_JSON_BEGINS: Final = re.compile(r"-?\d|(?:true|false|null)\b")
_JSON_WORDS: Final = frozenset({"true", "false", "null", "NaN", "Infinity"})
_BARE_FIELDS: Final = ("id", "created", "accessed")
_MARK: Final = "---"


def markdown_of(node: Mapping[str, Any], links: Sequence[Mapping[str, Any]]) -> str:
    """Return the file of a memory, given as `records` writes it, with the edges that leave it."""
    fields = {name: value for name, value in node.items() if name not in ("content", "embedding")}
    for shown, name in _TIMES.items():
        fields[shown] = _iso(fields.pop(name))
    fields["links"] = [{key: value for key, value in link.items() if key != "source_id"} for link in links]
    lines = [
        f"{name}: {_value(name, fields[name])}"
        for name in _ORDER
        if fields.get(name) not in (None, [], {}, ())
    ]
    return "\n".join((_MARK, *lines, _MARK, node["content"])) + "\n"


def read_markdown(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return (memory, edges that leave it) of such a file, as `records` reads them.

    Raises:
        InvalidInputError: It has no front matter, or a line can't be read; names the line.
    """
    text = text.removeprefix("\ufeff")
    head, mark, content = _split(text)
    if not mark:
        raise InvalidInputError(f"line 1: no front matter between two lines of {_MARK}")
    fields: dict[str, Any] = {}
    for number, line in enumerate(head, 2):
        name, colon, value = line.partition(":")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not colon or name.strip() not in _ORDER:
            raise InvalidInputError(
                f"line {number}: {name.strip()[:40]!r} is no known field; the fields are {', '.join(_ORDER)}"
            )
        fields[name.strip()] = _read_value(value.strip(), number)
    for shown, name in _TIMES.items():
        if shown in fields:
            fields[name] = _ms(shown, fields.pop(shown))
    links = fields.pop("links", [])
    if not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        raise InvalidInputError("links must be a list of JSON objects")
    edges = [{**link, "source_id": fields.get("id")} for link in links]
    return {**fields, "content": content}, edges


def file_name(node: Mapping[str, Any]) -> str:
    """Return a name that sorts by time and tells what is inside; the id in it makes it unique."""
    words = _SLUG_WORD.findall(node["content"][:200].lower())[:6]
    slug = "-".join(words)[:48].strip("-") or "memory"
    return f"{str(_iso(node['created_at_ms']))[:10]}-{slug}-{node['id']}.md"


def _split(text: str) -> tuple[list[str], str, str]:
    """Return (front matter's lines, its closing mark or "", content without the file's last newline)."""
    lines = text.split("\n")
    if lines[0].rstrip() != _MARK:
        return [], "", ""
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() == _MARK:
            content = "\n".join(lines[at + 1 :])
            return [line.rstrip("\r") for line in lines[1:at]], _MARK, content.removesuffix("\n")
    return [], "", ""


def _value(name: str, value: Any) -> str:
    if isinstance(value, str):
        plain = _BARE.fullmatch(value) and value == value.strip() and value not in _JSON_WORDS
        if plain or name in _BARE_FIELDS:
            return value
    return json.dumps(value, ensure_ascii=False)


def _read_value(text: str, number: int) -> Any:
    if text[:1] not in ('"', "[", "{") and not _JSON_BEGINS.match(text):
        return text
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InvalidInputError(f"line {number}: the JSON is nested too deep") from error
    except ValueError as error:
        if text[:1] in ('"', "[", "{"):
            raise InvalidInputError(f"line {number}: {text[:40]!r} is no JSON: {error}") from error
        return text  # 2026-01-31T…, or an id that begins with a digit


def _iso(at_ms: int) -> str | int:
    """ISO 8601 in UTC to the millisecond; a time beyond the calendar stays a number."""
    try:
        at = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return at_ms
    return f"{at.strftime('%Y-%m-%dT%H:%M:%S')}.{at.microsecond // 1000:03d}Z"


def _ms(name: str, value: Any) -> int:
    if type(value) is int:
        return value
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInputError(f"{name} is {value!r}, must be an ISO 8601 time") from error
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return round((at - _EPOCH) / timedelta(milliseconds=1))
