"""What all records of memories share: the envelope's errors by node id, texts, JSON.

The envelope is that of `layout` (version, length, payload, checksum over key and all); here its errors name
the memory or edge, and an older version is the caller's to convert.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from context_graph.errors import CorruptedMemoryError, InvalidParamsError, MemoryFormatError
from context_graph.store.graph_layout import key_name

__all__ = [
    "NO_TEXT",
    "OTHER_VERSION",
    "Cutter",
    "bytes_text",
    "damaged_memory",
    "encode_json",
    "json_object",
    "open_record",
    "optional_bytes",
    "payload_of",
    "text_bytes",
    "unknown_version",
    "unpack_fixed",
]

OTHER_VERSION: Final = 1
"""Of every record but a node's."""
NO_TEXT: Final = 0xFFFF
"""A length that says None."""
REPAIR: Final = "context-graph-cli repair --cf memory_nodes"
MAX_METADATA_BYTES: Final = 1 << 20

_HEAD: Final = struct.Struct("<BI")
_CRC: Final = struct.Struct("<I")


def encode_json(name: str, content: Mapping[str, Any]) -> bytes:
    """``content`` as JSON.

    Raises:
        InvalidParamsError: It is no JSON object, or has more than 1 MiB; names ``name``.
    """
    try:
        text = orjson.dumps(content)
    except TypeError as error:
        raise InvalidParamsError.of(name, f"is no JSON object: {error}") from error
    if not text.startswith(b"{"):
        raise InvalidParamsError.of(name, f"must be a JSON object, is {type(content).__name__}")
    if len(text) > MAX_METADATA_BYTES:
        raise InvalidParamsError.of(name, f"has {len(text)} bytes as JSON, at most {MAX_METADATA_BYTES}")
    return text


class Cutter:
    """Takes texts off a payload, one after another."""

    __slots__ = ("_at", "_payload")

    def __init__(self, payload: bytes, at: int) -> None:
        self._payload = payload
        self._at = at

    def raw(self, length: int) -> bytes:
        start, self._at = self._at, self._at + length
        if self._at > len(self._payload):
            raise ValueError(f"{len(self._payload)} bytes, its texts need {self._at}")
        return self._payload[start : self._at]

    def take(self, length: int) -> str:
        return bytes_text(self.raw(length))

    def optional(self, length: int) -> str | None:
        return None if length == NO_TEXT else bytes_text(self.raw(length))

    def rest(self) -> bytes:
        return self._payload[self._at :]

    def end(self) -> None:
        if self._at != len(self._payload):
            raise ValueError(f"{len(self._payload)} bytes, its texts need {self._at}")


def open_record(key: bytes, record: bytes) -> tuple[int, bytes]:
    """(version, payload) of ``record``, which was read from ``key``. Cost: one CRC pass.

    Raises:
        CorruptedMemoryError: Length or checksum don't fit; names the memory, the fault and the cure.
    """
    end = len(record) - _CRC.size
    if end < _HEAD.size:
        raise damaged_memory(key, f"{len(record)} bytes, shorter than any record")
    version, length = _HEAD.unpack_from(record)
    if _HEAD.size + length != end:
        raise damaged_memory(key, f"{len(record)} bytes, its header says {_HEAD.size + length + _CRC.size}")
    if zlib.crc32(memoryview(record)[:end], zlib.crc32(key)) != _CRC.unpack_from(record, end)[0]:
        raise damaged_memory(key, "checksum mismatch")
    return version, record[_HEAD.size : end]


def payload_of(key: bytes, record: bytes) -> bytes:
    """The payload of a record that has but one version. Raises as open_record, and MemoryFormatError."""
    version, payload = open_record(key, record)
    if version != OTHER_VERSION:
        raise unknown_version(key, version, OTHER_VERSION)
    return payload


def unpack_fixed(key: bytes, record: bytes, shape: struct.Struct) -> tuple[Any, ...]:
    """The fields of a record that is ``shape`` and nothing more. Raises as payload_of."""
    payload = payload_of(key, record)
    if len(payload) != shape.size:
        raise damaged_memory(key, f"content: {len(payload)} bytes, must be {shape.size}")
    return shape.unpack(payload)


def unknown_version(key: bytes, found: int, known: int) -> MemoryFormatError:
    """The error for a version that can't be converted; names node id and version (EC-CORE-018)."""
    return MemoryFormatError(
        f"memory {key_name(key)} has format version {found}, this build reads up to {known}; "
        "it was written by a newer version of context-graph: use that one",
        node_id=key_name(key),
        format_version=found,
    )


def damaged_memory(key: bytes, what: str) -> CorruptedMemoryError:
    """The error for a record under ``key`` that can't be read; ``what`` is wrong with it."""
    return CorruptedMemoryError(
        f"memory {key_name(key)} can't be read: {what}; run `{REPAIR}`", node_id=key_name(key)
    )


def text_bytes(text: str) -> bytes:
    """``text`` as it stands in records."""
    # surrogatepass: a project's path may hold bytes that are no UTF-8, which Python carries as surrogates.
    return text.encode("utf-8", "surrogatepass")


def bytes_text(raw: bytes) -> str:
    """The text of such bytes. Raises ValueError."""
    return raw.decode("utf-8", "surrogatepass")


def optional_bytes(text: str | None) -> bytes | None:
    """As text_bytes; None stays None."""
    return None if text is None else text_bytes(text)


def json_object(raw: bytes) -> dict[str, Any]:
    """The JSON object in ``raw``, {} for none. Raises ValueError."""
    if not raw:
        return {}
    found = orjson.loads(raw)
    if not isinstance(found, dict):
        raise ValueError("metadata that is no object")
    return found
