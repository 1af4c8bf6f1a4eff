"""Stores the vectors of memories: their embeddings, and the optional second vectors.

Embeddings are stored under the memory's commit number in the *generation* in use. Another provider's are
written beside them as the next generation, and one batch makes that the one in use: until then the old ones
serve, and a crash leaves one whole set or the other, never a mixture. Second vectors
(`memory.index.second_vectors`) come later than the memory and in order of commit; a watermark says how far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from context_graph.errors import StoreError
from context_graph.store import layout
from context_graph.store.engine.batches import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.tuning import Write
from context_graph.store.graph import records
from context_graph.store.graph.node_records import decode_embedding, encode_embedding
from context_graph.store.graph.records import OTHER_VERSION, payload_of
from context_graph.store.layout import EMBEDDINGS, META, after, wrap

PROVIDER_KEY: Final = b"provider"
VECTORS_KEY: Final = b"vectors"
SECOND_KEY: Final = b"second"
_GENERATIONS: Final = 2
"""Besides 0, which a new store has: the two change places."""


class Migration(NamedTuple):
    """A change of provider on its way."""

    provider: dict[str, Any]
    """Whose embeddings are written: name, digest, dim."""
    done: int
    """The commit number up to which they are."""


class Second(NamedTuple):
    """The model of the second vectors (digest, dimension), and up to which commit number they are there."""

    digest: str
    dim: int
    done: int


class VectorTable:
    """Reads vectors, and writes them into batches that its caller commits, except where a method says so."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._generation = 0
        self._migration: Migration | None = None
        self.load()

    def load(self) -> None:
        """Read anew which generation is in use."""
        meta = self._meta(VECTORS_KEY) or {}
        self._generation = int(meta.get("generation", 0))
        beside = meta.get("beside")
        self._migration = None if beside is None else Migration(beside["provider"], int(beside["done"]))

    # Embeddings

    def get(self, seq: int) -> bytes | None:
        """Return the embedding of the memory with commit number ``seq``: 1536 float32."""
        key = layout.embedding_key(seq, self._generation)
        record = self._engine.get(EMBEDDINGS, key)
        return None if record is None else decode_embedding(key, record)

    def get_many(self, seqs: Sequence[int]) -> list[bytes | None]:
        """As `get`, of several in one call."""
        keys = [layout.embedding_key(seq, self._generation) for seq in seqs]
        records = self._engine.get_many(EMBEDDINGS, keys)
        return [
            None if record is None else decode_embedding(key, record)
            for key, record in zip(keys, records, strict=True)
        ]

    def after(self, seq: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (commit number, embedding) in order of commit from after ``seq``."""
        for seq_read, record in self.records(seq):
            yield seq_read, self.decode(seq_read, record)

    def records(self, seq: int = 0, *, whole: bool = False) -> Iterator[tuple[int, bytes]]:
        """As `after`, with unchecked records; ``whole`` as Engine.scan's."""
        start = layout.embedding_key(seq + 1, self._generation)
        until = self._range(self._generation)[1]
        for key, record in self._engine.scan(EMBEDDINGS, start, until, whole=whole):
            yield layout.split_embedding_key(key), record

    def key(self, seq: int) -> bytes:
        """Return where the embedding of that commit number is in the generation in use."""
        return layout.embedding_key(seq, self._generation)

    def decode(self, seq: int, record: bytes) -> bytes:
        """Return the embedding in such a record: 1536 float32. Raises as decode_embedding."""
        return decode_embedding(self.key(seq), record)

    def write(self, seq: int, embedding: bytes) -> Write:
        """Return the write that stores the embedding of that commit number."""
        return Write(*self.entry(seq, embedding))

    def entry(self, seq: int, embedding: bytes) -> tuple[str, bytes, bytes]:
        """Return the same as family, key and value."""
        key = layout.embedding_key(seq, self._generation)
        return EMBEDDINGS, key, encode_embedding(key, embedding)

    def removal(self, seq: int) -> list[Write]:
        """Return the writes that remove the vectors of that commit number."""
        keys = [self.key(seq), layout.second_key(seq)]
        if self._migration is not None:
            keys.append(layout.embedding_key(seq, self._next))
        return [Write(EMBEDDINGS, key, None) for key in keys]

    def scrub(self, first: int, last: int) -> None:
        """Have RocksDB drop what removed vectors of the commits from ``first`` to ``last`` left in tables."""
        for generation in range(_GENERATIONS + 1):
            start = layout.embedding_key(first, generation)
            self._engine.compact_range(EMBEDDINGS, start, layout.embedding_key(last, generation) + b"\0")
        self._engine.compact_range(EMBEDDINGS, layout.second_key(first), layout.second_key(last) + b"\0")

    # Another provider

    @property
    def migration(self) -> Migration | None:
        """The change of provider that was begun and is not finished."""
        return self._migration

    def begin(self, provider: Mapping[str, Any]) -> Migration:
        """Begin a change to ``provider``, or go on with it; another that was begun is given up. Commits."""
        if self._migration is not None and self._migration.provider == dict(provider):
            return self._migration
        migration = Migration(dict(provider), 0)
        batch = self._engine.batch()
        batch.delete_range(EMBEDDINGS, *self._range(self._next))
        self._note(batch, self._generation, migration)
        self._engine.write(batch)
        self._migration = migration
        return migration

    def give_up(self) -> None:
        """Drop a change that was begun, if there is one. Commits."""
        if self._migration is None:
            return
        batch = self._engine.batch()
        batch.delete_range(EMBEDDINGS, *self._range(self._next))
        self._note(batch, self._generation, None)
        self._engine.write(batch)
        self._migration = None

    def put_beside(self, embeddings: Iterable[tuple[int, bytes]], done: int) -> None:
        """Write the new provider's embeddings up to commit ``done``. One batch; commits.

        Raises StoreError if no change was begun, or the write failed.
        """
        migration = self._begun()._replace(done=done)
        batch = self._engine.batch()
        for seq, embedding in embeddings:
            key = layout.embedding_key(seq, self._next)
            batch.put(EMBEDDINGS, key, encode_embedding(key, embedding))
        self._note(batch, self._generation, migration)
        self._engine.write(batch)
        self._migration = migration

    def switch(self) -> None:
        """Make the new embeddings those in use, record their provider, drop the old. One batch; commits.

        Raises StoreError if no change was begun, or the write failed: then the old ones are still in use.
        """
        migration = self._begun()
        batch = self._engine.batch()
        batch.put(META, PROVIDER_KEY, records.encode_meta(PROVIDER_KEY, migration.provider))
        batch.delete_range(EMBEDDINGS, *self._range(self._generation))
        self._note(batch, self._next, None)
        self._engine.write(batch)
        self._generation, self._migration = self._next, None

    # Second vectors

    @property
    def second(self) -> Second | None:
        """The model of the second vectors; None if there are none."""
        meta = self._meta(SECOND_KEY)
        return None if meta is None else Second(meta["digest"], meta["dim"], meta["done"])

    def begin_second(self, digest: str, dim: int) -> Second:
        """Go on with the second vectors of that model; those of another are dropped. Commits."""
        second = self.second
        if second is not None and (second.digest, second.dim) == (digest, dim):
            return second
        second = Second(digest, dim, 0)
        batch = self._engine.batch()
        start = layout.second_key(0)
        batch.delete_range(EMBEDDINGS, start, after(start[:1]))
        batch.put(META, SECOND_KEY, records.encode_meta(SECOND_KEY, second._asdict()))
        self._engine.write(batch)
        return second

    def put_seconds(self, vectors: Iterable[tuple[int, bytes]], second: Second) -> None:
        """Write second vectors (float32) by commit number, up to ``second.done``. One batch; commits."""
        batch = self._engine.batch()
        for seq, vector in vectors:
            key = layout.second_key(seq)
            batch.put(EMBEDDINGS, key, wrap(key, OTHER_VERSION, vector))
        batch.put(META, SECOND_KEY, records.encode_meta(SECOND_KEY, second._asdict()))
        self._engine.write(batch)

    def seconds(self, seq: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (commit number, second vector) in order of commit from after ``seq``."""
        start = layout.second_key(seq + 1)
        for key, record in self._engine.scan(EMBEDDINGS, start, after(start[:1])):
            yield layout.split_embedding_key(key), payload_of(key, record)

    # The rest

    @property
    def _next(self) -> int:
        return self._generation % _GENERATIONS + 1

    def _range(self, generation: int) -> tuple[bytes, bytes]:
        """First key and end of a generation. (Commit numbers stay below 2**56.)"""
        start = layout.embedding_key(0, generation)
        return start, after(start[:1] if generation == 0 else start[:2])

    def _begun(self) -> Migration:
        if self._migration is None:
            raise StoreError("no change of embedding provider was begun")
        return self._migration

    def _note(self, batch: Batch, generation: int, migration: Migration | None) -> None:
        content: dict[str, Any] = {"generation": generation}
        if migration is not None:
            content["beside"] = migration._asdict()
        batch.put(META, VECTORS_KEY, records.encode_meta(VECTORS_KEY, content))

    def _meta(self, key: bytes) -> dict[str, Any] | None:
        record = self._engine.get(META, key)
        return None if record is None else records.decode_meta(key, record)
