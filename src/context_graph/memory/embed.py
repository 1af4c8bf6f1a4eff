"""Turns texts into embeddings, terms and token counts (docs/dev/embedding.md), and reads the table it needs.

A store records the provider of its vectors by name and digest; vectors of different providers never mix.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final, Protocol

from typing_extensions import Buffer

from context_graph import kernels as _kernels
from context_graph.errors import EmbeddingDataError, ProviderMismatchError, UsageError
from context_graph.kernels.tokens import Encoded, Encoder
from context_graph.model.spaces import BEGINS, DIM, LAYOUT, SLICES, WEIGHTS
from context_graph.spaces import reading
from context_graph.text.english import STOP_WORDS

MAGIC: Final = b"CGTABLE1"
LEXICONS: Final = ("Temporal", "Steps")
_HEAD: Final = struct.Struct("<8sI")


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The data file, mapped into memory: pages are read when they are first used."""

    name: str
    pieces: int
    width: int
    digest: str
    """Tells tables of other rows or words apart: equal digests, equal pieces, terms and Semantic vectors."""
    sections: dict[str, memoryview]

    @classmethod
    def load(cls, path: Path) -> TokenTable:
        """Map a data file. Cost: some 0.1 ms; pages are read when they are first used.

        Raises EmbeddingDataError if it is missing, cut off, or not of this format.
        """
        try:
            with path.open("rb") as file:
                data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            magic, length = _HEAD.unpack_from(data)
            if magic != MAGIC:
                raise ValueError("it does not begin as a token table")
            head = json.loads(bytes(data[_HEAD.size : _HEAD.size + length]))
            sections = {key: _section(data, *place) for key, place in head["sections"].items()}
            return cls(head["name"], head["pieces"], head["width"], head["vectors"], sections)
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
    """Return the table that ships with the package."""
    return TokenTable.load(Path(__file__).parents[1] / "data" / "static.bin")


DEFAULT_PROVIDER: Final = "static"
PROVIDER: Final = "provider"
"""Name of the fact (`GraphStore.meta`) that records a store's provider."""
RARITY: Final = 1e-3
"""``a`` in a query piece's weight a / (a + p), where p is the piece's share in the store."""


class EmbeddingProvider(Protocol):
    """Gives every text its 13 spaces, its lexical terms and its pieces. Any thread may call it."""

    @property
    def name(self) -> str:
        """Registered name, recorded in stores."""

    @property
    def digest(self) -> str:
        """Identifies the data behind the vectors: equal digests, equal vectors."""

    @property
    def dim(self) -> int:
        """Values of an embedding; 1536."""

    @property
    def vocabulary_size(self) -> int:
        """Number of pieces: the length of a store's counts."""

    def encode(self, text: str) -> Encoded:
        """Encode a text to be stored."""

    def query(self, text: str, counts: Buffer, total: int) -> Encoded:
        """Encode a text to search with; its Semantic space is weighted by how rare its pieces are in the
        store.

        Args:
            counts: How often each piece occurs in the store, ``vocabulary_size`` uint32.
            total: Their sum.
        """

    def count_tokens(self, text: str) -> int:
        """Exact number of WordPieces."""

    def cut_tokens(self, text: str, tokens: int) -> str:
        """Return the longest beginning in whole words, or in whole pieces if the first word is too long."""


class StaticProvider:
    """The default: a table of token vectors that ships with the package, loaded on first use.

    Cost: loading about 30 ms and up to 13 MB as pages are touched; then some 20 µs for a text of 60 tokens.
    """

    name: Final = DEFAULT_PROVIDER
    dim: Final = DIM

    def __init__(self, table: Callable[[], TokenTable] = packaged_table) -> None:
        self._source = table
        self._lock = Lock()  # the encoder reuses its scratch memory
        self._loaded: tuple[TokenTable, Encoder] | None = None

    @property
    def digest(self) -> str:
        return self._load()[0].digest

    @property
    def vocabulary_size(self) -> int:
        return self._load()[0].pieces

    def encode(self, text: str) -> Encoded:
        encoder = self._load()[1]
        with self._lock:
            return encoder.encode(text)

    def query(self, text: str, counts: Buffer, total: int) -> Encoded:
        encoder = self._load()[1]
        with self._lock:
            return encoder.query(text, counts, total, RARITY)

    def terms_of(self, text: str) -> bytes:
        """Return the terms of `encode`, at a third of its cost."""
        encoder = self._load()[1]
        with self._lock:
            return encoder.terms_of(text)

    def meaning_of(self, text: str) -> bytes:
        """Return the Semantic space of `encode`, at a fifth of its cost."""
        encoder = self._load()[1]
        with self._lock:
            return encoder.meaning_of(text)

    def count_tokens(self, text: str) -> int:
        encoder = self._load()[1]
        with self._lock:
            return encoder.count(text)

    def cut_tokens(self, text: str, tokens: int) -> str:
        encoder = self._load()[1]
        with self._lock:
            return encoder.cut(text, tokens)

    def _load(self) -> tuple[TokenTable, Encoder]:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    table = self._source()
                    self._loaded = table, _encoder(table)
        return self._loaded


def _encoder(table: TokenTable) -> Encoder:
    import Stemmer  # type: ignore[import-not-found]  # here: the owner starts without it

    stemmer = Stemmer.Stemmer("english", 0)  # no cache of its own: the encoder remembers words
    parts = table.sections
    return _kernels.tokens.Encoder(
        bytes(parts["vocabulary"]),
        parts["rows"],
        parts["scales"],
        parts["marks"],
        [(parts[f"{name}.pieces"], parts[f"{name}.scales"], parts[f"{name}.values"]) for name in LEXICONS],
        STOP_WORDS,
        stemmer.stemWord,
        reading.reader(),
        reading.BAGS,
        BEGINS,
        WEIGHTS,
    )


def terms_of(provider: EmbeddingProvider, text: str) -> bytes:
    """Return the terms of ``text``, packed, as ``provider.encode`` gives them."""
    # Only ours can make them alone: providers of others, which are registered, know the protocol's methods.
    return provider.terms_of(text) if isinstance(provider, StaticProvider) else provider.encode(text).terms


def meaning_of(provider: EmbeddingProvider, text: str) -> memoryview[float]:
    """Return the Semantic space of ``text``: `dense_part` of what ``provider.encode`` gives."""
    if isinstance(provider, StaticProvider):
        return memoryview(provider.meaning_of(text)).cast("f")
    return dense_part(provider.encode(text).embedding)


def dense_part(embedding: bytes) -> memoryview[float]:
    """Return the Semantic space of an embedding: 256 float32 of length sqrt(0.15), or all 0."""
    part = SLICES["Semantic"]
    return memoryview(embedding)[4 * part.start : 4 * part.stop].cast("f")


_PROVIDERS: dict[str, Callable[[], EmbeddingProvider]] = {}


def register_provider(name: str, make: Callable[[], EmbeddingProvider]) -> None:
    """Register a provider; ``make`` is called once, on first use. UsageError if the name is taken."""
    if name in _PROVIDERS:
        raise UsageError(f"embedding provider {name!r} is already registered")
    _PROVIDERS[name] = cache(make)


def providers() -> list[str]:
    """Names of the known providers, in order of registration."""
    return list(_PROVIDERS)


def provider(name: str) -> EmbeddingProvider:
    """Return the provider of that name; UsageError if there is none."""
    if name not in _PROVIDERS:
        raise UsageError(f"no embedding provider {name!r}; there are: {', '.join(_PROVIDERS)}")
    return _PROVIDERS[name]()


def default_provider() -> EmbeddingProvider:
    """Return the provider of new stores, one for the whole process."""
    return provider(DEFAULT_PROVIDER)


def recorded_provider(name: str) -> EmbeddingProvider:
    """Return the provider that a store records; ProviderMismatchError if it is unknown here."""
    if name not in _PROVIDERS:
        raise ProviderMismatchError(
            f"this store's vectors are from the embedding provider {name!r}, which is not known here (known: "
            f"{', '.join(_PROVIDERS)}). Register it, or migrate the store: "
            f"context-graph-cli memory reindex --provider {DEFAULT_PROVIDER}"
        )
    return provider(name)


def record_of(provider: EmbeddingProvider) -> dict[str, object]:
    """Return what a store records of the vectors it has: whose they are, and which thirteen spaces."""
    return {"name": provider.name, "digest": provider.digest, "dim": provider.dim, "spaces": LAYOUT}


def require_provider(recorded: tuple[str, str] | None, wanted: EmbeddingProvider) -> None:
    """Refuse to mix vectors of two providers.

    Args:
        recorded: Name and digest in the store; None for an empty store.
        wanted: The provider that is about to write or search.

    Raises ProviderMismatchError: The store's vectors are another provider's.
    """
    if recorded is not None and recorded != (wanted.name, wanted.digest):
        raise ProviderMismatchError(
            f"this store's vectors are from the embedding provider {recorded[0]!r} ({recorded[1][:12]}), "
            f"not from {wanted.name!r} ({wanted.digest[:12]}); vectors are never mixed. Open it with "
            f"{recorded[0]!r} or migrate it: context-graph-cli memory reindex --provider {wanted.name}"
        )


register_provider(DEFAULT_PROVIDER, StaticProvider)
