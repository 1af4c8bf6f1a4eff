"""Reads the static embedder's data file (tools/table_file.py writes it; docs/formats.md)."""

from __future__ import annotations

import json
import mmap
import struct
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from context_graph.errors import EmbeddingDataError

__all__ = ["LEXICONS", "TokenTable", "packaged_table"]

MAGIC: Final = b"CGTABLE1"
LEXICONS: Final = ("Temporal", "Moral", "Aesthetic", "Behavioral", "Emotional")
_HEAD: Final = struct.Struct("<8sI")


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The data file, mapped into memory: pages are read when they are first used."""

    name: str
    pieces: int
    width: int
    digest: str
    """sha256 of the file, hexadecimal."""
    sections: dict[str, memoryview]

    @classmethod
    def load(cls, path: Path) -> TokenTable:
        """Map a data file.

        Raises:
            EmbeddingDataError: The file is missing, cut off, or not of this format.

        Cost: the digest reads the file once, about 6 ms for 8 MB.
        """
        try:
            with path.open("rb") as file:
                data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            magic, length = _HEAD.unpack_from(data)
            if magic != MAGIC:
                raise ValueError("it does not begin as a token table")
            head = json.loads(bytes(data[_HEAD.size : _HEAD.size + length]))
            sections = {key: _section(data, *place) for key, place in head["sections"].items()}
            return cls(head["name"], head["pieces"], head["width"], sha256(data).hexdigest(), sections)
        except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
            raise EmbeddingDataError(
                f"the embedder's data {path} can't be used: {error}; install the package anew"
            ) from error


def _section(data: memoryview, offset: int, length: int) -> memoryview:
    part = data[offset : offset + length]
    if len(part) != length:
        raise ValueError("it is cut off")
    return part


def packaged_table() -> TokenTable:
    """The table that ships with the package."""
    with as_file(files("context_graph") / "data" / "static.bin") as path:
        return TokenTable.load(path)
