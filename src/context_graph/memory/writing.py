"""Checks what is to be stored against seed 003's limits, and removes secrets, before anything is written."""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.memory.evidence import KEY, SUPERSEDES
from context_graph.model import cut_session_id
from context_graph.model.memory import (
    CAPTURED,
    LAST_MS,
    REWORDED,
    SEARCHED,
    MemoryNode,
    Modality,
    check_content,
    check_depth,
    check_rationale,
    check_unit,
    iso_time,
    plain_tag,
)
from context_graph.model.spaces import EMBEDDING_BYTES
from context_graph.redact import TextRedactor

MAX_ID_CHARS: Final = 100
MAX_PROJECT_CHARS: Final = 4096
MAX_TAGS: Final = 32
MAX_TAG_CHARS: Final = 64
MAX_SOURCE_CHARS: Final = 32
MAX_LINKS: Final = 256
_BETWEEN: Final = "\n\n"
_MIN_BINARY: Final = 64


@dataclass(slots=True, kw_only=True)
class Draft:
    """A memory to be stored. `Memex.store` calls `check` and `redact`."""

    content: str
    """1 to 65,536 characters; base64 if it is not text. Secrets in it are masked."""
    rationale: str
    """Why it is kept, 10 to 500 characters."""
    importance: float = 0.5
    """[0, 1]."""
    modality: str = "text"
    """text, image, audio or video; the last three are recalled by rationale, tags and metadata."""
    metadata: Mapping[str, Any] | None = None
    """A JSON object of at most 1 MiB."""
    link_to: Iterable[UUID | str] = ()
    """At most 256 ids; each gets an edge ``related_to``."""
    supersedes: Iterable[UUID | str] = ()
    """As ``link_to``, with an edge ``supersedes``: ids of memories that hold no longer."""
    evidence: Mapping[str, Any] | None = None
    """What it rests on, as `Evidence.record` gives it."""
    session_id: str | None = None
    """At most 100 characters; memories of one session are neighbours."""
    agent_id: str | None = None
    project: str | None = None
    tags: Iterable[str] = ()
    """At most 32, each of at most 64 characters."""
    occurred_at_ms: int | None = None
    """Unix ms of the event it describes; None for now."""
    source: str = "library"
    """tool, capture, import, cli or library."""
    pinned: bool = False
    embedding: bytes | None = None
    """6144 bytes (1536 float32); None to compute it."""
    node_id: UUID | None = None
    """The id to use. If it exists already, that memory is returned and nothing is written."""
    links: tuple[UUID, ...] = field(default=(), init=False)
    """``link_to``, checked."""
    outdated: tuple[UUID, ...] = field(default=(), init=False)
    """``supersedes``, checked."""

    def check(self) -> None:
        """Check every field; texts become valid Unicode, ``tags`` a tuple without repeats.

        Raises InvalidParamsError: Names the field, its limit and the cure; EC-CORE-001 to 003 word for word.
        """
        check_content(self.content)
        check_rationale(self.rationale)
        check_unit("importance", self.importance)
        if self.modality != "text" and self.modality not in set(Modality):
            raise InvalidParamsError.of(
                "modality", f"is {self.modality!r}, must be one of {', '.join(Modality)}"
            )
        if self.metadata is not None and not isinstance(self.metadata, Mapping):
            raise InvalidParamsError.of("metadata", f"must be an object, is {type(self.metadata).__name__}")
        if self.metadata:
            check_depth("metadata", self.metadata)
        if self.occurred_at_ms is not None:
            _check_instant("occurred_at", self.occurred_at_ms)
        if self.embedding is not None and len(self.embedding) != EMBEDDING_BYTES:
            raise InvalidParamsError.of(
                "embedding", f"has {len(self.embedding)} bytes, must have {EMBEDDING_BYTES} (1536 float32)"
            )
        if isinstance(self.session_id, str):
            self.session_id = cut_session_id(self.session_id)
        for name, limit, value in zip(_TEXTS, _LIMITS, _texts(self), strict=True):
            if value is not None or name == "source":
                _check_text(name, value, limit)
        self.tags = _checked_tags(self.tags) if self.tags else ()
        self.links = _checked_links("link_to", self.link_to) if self.link_to else ()
        self.outdated = _checked_links("supersedes", self.supersedes) if self.supersedes else ()
        self.content, self.rationale = _unicode(self.content), _unicode(self.rationale)

    def ends(self) -> list[tuple[str, float, UUID]]:
        """Return (relationship type, weight, other end) of each edge that it comes with."""
        if not self.links and not self.outdated:
            return []
        related = [("related_to", 0.5, target) for target in self.links]
        return related + [(SUPERSEDES, 1.0, target) for target in self.outdated]

    def fields(self) -> dict[str, Any]:
        """Return its fields that a `MemoryNode` has too, converted."""
        values = dict(zip(_SHARED, _shared_values(self), strict=True))
        values["tags"], values["metadata"] = tuple(self.tags), self.metadata or {}
        values["importance"], values["modality"] = float(self.importance), Modality(self.modality)
        return values

    def redact(self, redactor: TextRedactor) -> None:
        """Mask secrets in content, rationale, tags, metadata and ids (invariant 10)."""
        self._mask(redactor)
        if self.evidence is not None:  # a file whose name is a secret can't be named
            files = {path: kept for path, kept in self.evidence["files"].items() if not redactor.finds(path)}
            self.metadata = {**(self.metadata or {}), KEY: {**self.evidence, "files": files}}

    def _mask(self, redactor: TextRedactor) -> None:
        ids, binary = _texts(self), self.modality != "text" and _is_binary(self)
        texts = [self.rationale, *self.tags, *filter(None, ids)]
        if self.metadata:
            texts += _strings(self.metadata)
        if not binary:
            texts.append(self.content)
        # Hardly any text holds a secret: one pass over all of them tells, and is all that most stores cost.
        if not redactor.finds(_BETWEEN.join(texts)):
            # A password in a field of that name is told by the name alone.
            self.metadata = redacted(self.metadata, redactor) if self.metadata else self.metadata
            return
        for name, value in zip(_TEXTS, ids, strict=True):
            if value:
                setattr(self, name, redactor.redact_id(value))
        if not binary:
            self.content = redactor.redact(self.content)
        self.rationale = redactor.redact(self.rationale)
        self.tags = tuple(redactor.redact(tag) for tag in self.tags)
        if self.metadata:
            self.metadata = redacted(self.metadata, redactor)


_SHARED: Final = tuple(
    field.name
    for field in fields(Draft)
    if field.name in {each.name for each in fields(MemoryNode)} and field.name != "embedding"
)
"""Fields that a draft and the memory made of it have in common."""
_shared_values: Final = attrgetter(*_SHARED)
_TEXTS: Final = ("session_id", "agent_id", "project", "source")
_LIMITS: Final = (MAX_ID_CHARS, MAX_ID_CHARS, MAX_PROJECT_CHARS, MAX_SOURCE_CHARS)
_texts: Final = attrgetter(*_TEXTS)


def _check_instant(name: str, value: object) -> None:
    if type(value) is not int:
        raise InvalidParamsError.of(name, f"must be Unix milliseconds, is {type(value).__name__}")
    if not 0 <= value <= LAST_MS:
        raise InvalidParamsError.of(
            name, f"is {value} ms, must be between 0 ({iso_time(0)}) and {LAST_MS} ({iso_time(LAST_MS)})"
        )


def as_uuid(name: str, value: object) -> UUID:
    """Return a UUID, its text or its 16 bytes as a UUID; InvalidParamsError names ``name``."""
    if isinstance(value, UUID):
        return value
    try:
        if isinstance(value, str):
            return UUID(value)
        if isinstance(value, bytes):
            return UUID(bytes=value)
    except ValueError:
        pass
    raise InvalidParamsError.of(name, f"is {value!r:.80}, must be a UUID")


def redacted(value: Any, redactor: TextRedactor, name: str = "") -> Any:
    """Return a JSON value with the secrets in its texts and keys masked.

    Args:
        name: The field it belongs to: in ``password`` even a plain word is a secret.
    """
    if isinstance(value, str):
        text = _unicode(value)
        clean = redactor.redact(text)
        return _redacted_field(name, text, redactor) if name and clean is text else clean
    if isinstance(value, Mapping):
        return {redactor.redact(str(key)): redacted(item, redactor, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(item, redactor, name) for item in value]
    return value


def _redacted_field(name: str, text: str, redactor: TextRedactor) -> str:
    """Return ``text``, or a mark if its field's ``name`` makes it a secret."""
    head = f'{name.translate(_NO_QUOTES)}: "'
    field = f'{head}{text.translate(_NO_QUOTES)}"'
    clean = redactor.redact(field)  # the same object where nothing was masked
    return clean[len(head) : -1] if clean is not field and clean.startswith(head) else text


def drafted(node: MemoryNode) -> Draft:
    """Return a memory from elsewhere, checked as one stored here. Raises as `Draft.check`."""
    node.validate()
    draft = Draft(**{name: getattr(node, name) for name in _SHARED})
    draft.check()
    return draft


def redacted_node(node: MemoryNode, redactor: TextRedactor) -> MemoryNode:
    """Return an imported memory, checked and without secrets. Raises as `Draft.check`."""
    draft = drafted(node)
    draft.redact(redactor)
    return replace(node, **draft.fields())


def reworded(node: MemoryNode, content: str, at_ms: int) -> MemoryNode:
    """Return ``node`` with the text that somebody gave it; InvalidParamsError for a session's summary."""
    check_content(content)
    if node.source == CAPTURED:
        why = f"is {node.id}, a session's summary, which hooks write; reword one of its notes"
        raise InvalidParamsError.of("node_id", why)
    return replace(node, content=content, metadata={**node.metadata, REWORDED: at_ms}, embedding=None)


def text_to_embed(node: MemoryNode | Draft) -> str:
    """Return the text that is embedded and indexed: the content, or what describes it if it is not text."""
    if node.modality == Modality.TEXT:
        searched = node.metadata.get(SEARCHED) if node.metadata else None
        return f"{node.content}\n{searched}" if searched and isinstance(searched, str) else node.content
    return "\n".join((node.rationale, *node.tags, *_strings(node.metadata)))


_NO_QUOTES: Final = str.maketrans({char: "_" for char in "\"'`\\\r\n"})
"""Whatever stands in a field, it is one value there."""


def _is_binary(draft: Draft) -> bool:
    """Return whether the content is base64 of something other than text."""
    if draft.modality == "text" or len(draft.content) < _MIN_BINARY:
        return False
    try:
        binascii.a2b_base64(draft.content, strict_mode=True)
    except ValueError:
        return False
    return True


def _check_text(name: str, value: object, limit: int) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= limit or "\0" in value:
        raise InvalidParamsError.of(name, f"must be text of 1 to {limit} characters without NUL")


def _checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    if isinstance(tags, str):
        raise InvalidParamsError.of("tags", "must be a list of texts, is one text")
    texts = list(tags)
    for tag in texts:
        _check_text("tags", tag, MAX_TAG_CHARS)
    clean = tuple(dict.fromkeys(map(plain_tag, texts)))
    if "" in clean:
        raise InvalidParamsError.of("tags", "must be text with at least one character that is no space")
    if len(clean) > MAX_TAGS:
        raise InvalidParamsError.of("tags", f"has {len(clean)} entries, at most {MAX_TAGS}")
    return clean


def _checked_links(name: str, links: Iterable[UUID | str]) -> tuple[UUID, ...]:
    if isinstance(links, str | UUID):
        raise InvalidParamsError.of(name, "must be a list of UUIDs, is one value")
    ids = tuple(dict.fromkeys(as_uuid(name, link) for link in links))
    if len(ids) > MAX_LINKS:
        raise InvalidParamsError.of(name, f"has {len(ids)} entries, at most {MAX_LINKS}")
    return ids


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield _unicode(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _unicode(text: str) -> str:
    """Return ``text`` without lone surrogates, which UTF-8 and JSON can't carry; pairs become characters."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
