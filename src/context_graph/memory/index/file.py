"""Saves and loads the recall index: a snapshot beside the database, for fast opening.

It is derived data. A snapshot that is damaged, newer than the store, or of another store, provider or version
is ignored: the index is rebuilt from the records, with a line in the log. Later commits are added from the
store's change log. A lost vector is computed again from its memory's text; if a caller supplied it, the
provider's takes its place.

Vectors, postings and pieces stay in the file, which is mapped privately: they take no memory of their own
until they change, and a change is never written to the file. A new snapshot replaces the file by renaming;
the one that is mapped lives on until it is let go.

Layout: MAGIC, u32 version; the sections, each from a multiple of 64 bytes on; a table (JSON) with name,
length and CRC-32 of each section and the small texts; u32 length and u32 CRC-32 of the table; MAGIC. See
docs/dev/formats.md.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import IO, Any, Final
from uuid import UUID

from context_graph.errors import UNREADABLE_RECORD, StoreError
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.index.rows import CLASSES, Names
from context_graph.memory.writing import text_to_embed
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.node_records import StoredNode
from context_graph.store.graph.records import Change, Op

BATCH: Final = 64
"""Vectors written at once; some 0.4 MB."""


def with_vectors(store: GraphStore) -> Iterator[tuple[StoredNode, bytes | None]]:
    """Yield all memories, soft-deleted or not, in order of commit, each with its embedding. Cost: one pass
    over both.

    The embedding is None if it is lost or can't be read. Unreadable memories are skipped. Both are logged.
    """
    records = store.vectors.records(whole=True)
    at, record = next(records, (0, None))
    for stored in store.in_order(skip_damaged=True):
        seq = stored.node.commit_seq
        while record is not None and at < seq:
            at, record = next(records, (at, None))
        yield stored, _decoded(store, seq, record) if record is not None and at == seq else None


def _decoded(store: GraphStore, seq: int, record: bytes) -> bytes | None:
    try:
        return store.vectors.decode(seq, record)
    except UNREADABLE_RECORD as error:
        _LOG.error("%s", error)
        return None


class Mending:
    """Writes rebuilt vectors in batches, the last one on leaving."""

    def __init__(self, store: GraphStore) -> None:
        self.made = 0
        self._store = store
        self._waiting: list[tuple[int, bytes]] = []

    def put(self, seq: int, embedding: bytes) -> None:
        """Put the embedding of the memory with that commit number."""
        self.made += 1
        self._waiting.append((seq, embedding))
        if len(self._waiting) == BATCH:
            self._write()

    def __enter__(self) -> Mending:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._waiting:
            self._write()
        if self.made:
            _LOG.warning(
                "%d memories of %s had lost their vectors; these are made anew from the texts",
                self.made,
                self._store.path,
            )

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        if self._store.engine.read_only:
            return
        try:
            self._store.put_vectors(waiting)
        except StoreError as error:  # they are made again at the next opening
            _LOG.warning("vectors of %s can't be written: %s", self._store.path, error)


def mend(store: GraphStore, provider: EmbeddingProvider) -> int:
    """Rebuild lost vectors; returns how many. Cost: as `with_vectors`, and some 100 us for each lost one."""
    with Mending(store) as mending:
        for stored, embedding in with_vectors(store):
            if embedding is None:
                made = provider.encode(text_to_embed(stored.node)).embedding
                mending.put(stored.node.commit_seq, made)
    return mending.made


_LOG: Final = logging.getLogger(__name__)
MAGIC: Final = b"CGIX"
VERSION: Final = 4
"""2: other terms in scripts without spaces between words. 3: no speakers; a memory asks by its sentences. 4:
aligned, so that it can be used where it is."""
_ALIGNED: Final = 64
_HEAD: Final = Struct("<4sI")
_FOOT: Final = Struct("<II4s")


def open_index(store: GraphStore, provider: EmbeddingProvider, path: Path) -> MemoryIndex:
    """Return the store's index, up to date: from the snapshot at ``path`` and the change log, or rebuilt.

    Cost: 0.05 s for a snapshot of 100,000 memories; rebuilding takes some 50 us a memory.
    """
    try:
        index = load_index(path, store.uid, provider)
        if index.commit_seq > store.counters.seq:
            raise ValueError(f"it knows commit {index.commit_seq}, the store ends at {store.counters.seq}")
        for change in store.changes_after(index.commit_seq):
            _replay(index, store, provider, change)
        _load_extras(index, store)
        return index
    except FileNotFoundError:
        if store.counters.seq:
            _LOG.info("no index snapshot at %s; making the index from %d commits", path, store.counters.seq)
    except (OSError, ValueError) as error:
        _LOG.warning("index snapshot %s is not used (%s); making the index anew", path, error)
    return rebuilt_index(store, provider)


def rebuilt_index(store: GraphStore, provider: EmbeddingProvider) -> MemoryIndex:
    """Return the index made from the records alone; lost vectors are made anew from the texts."""
    index = MemoryIndex(provider.digest, provider.vocabulary_size)
    index.store_uid = store.uid
    with Mending(store) as mending:
        for (node, deleted), embedding in with_vectors(store):
            encoded = provider.encode(text_to_embed(node))
            if embedding is None:
                embedding = encoded.embedding
                mending.put(node.commit_seq, embedding)
            index.add(replace(node, embedding=embedding), encoded, live=not deleted)
    index.seen(store.counters.seq)
    _load_extras(index, store)
    return index


def _load_extras(index: MemoryIndex, store: GraphStore) -> None:
    """Read the second vectors that the index lacks."""
    second = store.vectors.second
    if second is None:
        return
    index.begin_extra(second.dim, second.digest)
    if index.extra_done < second.done:
        index.put_extras(store.vectors.seconds(index.extra_done), second.done)


def _replay(index: MemoryIndex, store: GraphStore, provider: EmbeddingProvider, change: Change) -> None:
    """Apply one commit; the record has the memory's present state, later commits included."""
    node_id = UUID(bytes=change.subject)
    if change.op == Op.ADD:
        stored = store.read(change.subject)
        if stored is not None and stored.node.commit_seq == change.seq:
            node = replace(stored.node, embedding=store.vectors.get(change.seq))
            index.add(node, provider.encode(text_to_embed(node)), live=not stored.deleted)
    elif change.op == Op.UPDATE:
        stored = store.read(change.subject)
        if stored is not None:
            index.update(stored.node)
    elif change.op == Op.FORGET:
        index.remove(node_id)
    elif change.op == Op.RESTORE:
        index.restore(node_id)
    elif change.op == Op.REMOVE:
        index.remove(node_id)
        index.drop([node_id])
    elif change.op == Op.EMBED:
        stored = store.read(change.subject)
        embedding = None if stored is None else store.vectors.get(stored.node.commit_seq)
        if embedding is not None:
            index.revector(node_id, embedding)
    index.seen(change.seq)


# Writing


def save_index(index: MemoryIndex, path: Path) -> None:
    """Write the snapshot atomically: the file is the old or the new one, whole.

    Raises OSError if it can't be written; the old file stays. Cost: 0.1 s for 100,000 memories, index locked.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with index.lock, open(draft, "wb") as file:
            _write(index, file)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _write(index: MemoryIndex, file: IO[bytes]) -> None:
    file.write(_HEAD.pack(MAGIC, VERSION))
    table = []
    for name, parts in _sections(index):
        file.write(bytes(-file.tell() % _ALIGNED))
        length = crc = 0
        for part in parts:
            crc = zlib.crc32(part, crc)
            length += memoryview(part).nbytes
            file.write(part)
        table.append([name, length, crc])
    rows = index.rows
    head = {
        "store": index.store_uid.hex(),
        "provider": index.digest,
        "extra": None if index.extra is None else [index.extra.dim, index.extra_digest, index.extra_done],
        "commit_seq": index.commit_seq,
        "pieces": index.pieces,
        "names": {name: list(rows.names[name]) for name in CLASSES},
        "tags": [[tag, len(tagged)] for tag, tagged in rows.tags.items()],
        "sections": table,
    }
    packed = json.dumps(head).encode()
    file.write(packed)
    file.write(_FOOT.pack(len(packed), zlib.crc32(packed), MAGIC))


def _sections(index: MemoryIndex) -> Iterator[tuple[str, Any]]:
    for name, column in index.rows.columns().items():
        yield name, (column,)
    yield "tags", index.rows.tags.values()
    yield "piece_counts", (index.piece_counts,)
    yield "piece_ends", (index.piece_ends,)
    yield "piece_data", (index.piece_base, index.piece_data)
    yield "postings", index.postings.parts()
    yield "vectors", index.vectors.parts()
    if index.extra is not None:
        yield "extra", index.extra.parts()


# Reading


def snapshot_commit(path: Path, uid: bytes, provider: EmbeddingProvider) -> int:
    """Return the last commit in the snapshot at ``path``, if `load_index` would accept it; raises as
    `load_index`.

    Cost: one pass over the file for its checksums; nothing is loaded.
    """
    head, _ = _checked(_mapped(path), uid, provider)
    return int(head["commit_seq"])


def load_index(path: Path, uid: bytes, provider: EmbeddingProvider) -> MemoryIndex:
    """Return the index as it was saved.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: It can't be read.
        ValueError: It is damaged, of another version, store or provider; says which.
    """
    head, parts = _checked(_mapped(path), uid, provider)
    index = MemoryIndex(provider.digest, provider.vocabulary_size)
    index.store_uid = uid
    rows = index.rows
    for name, column in rows.columns().items():
        _fill(column, parts[name])
    for name in CLASSES:
        rows.names[name] = Names(head["names"][name])
    tagged, at = memoryview(parts["tags"]).cast("I"), 0
    for tag, count in head["tags"]:
        rows.tags[tag] = array("I", tagged[at : at + count].tobytes())
        at += count
    tagged.release()
    counts = array("I", parts["piece_counts"].tobytes())
    if len(counts) != provider.vocabulary_size:
        raise ValueError(f"it counts {len(counts)} pieces, not {provider.vocabulary_size}")
    index.piece_counts, index.pieces = counts, head["pieces"]
    _fill(index.piece_ends, parts["piece_ends"])
    index.piece_base = parts["piece_data"]
    index.postings.borrow(parts["postings"])
    index.vectors.borrow(parts["vectors"])
    if head["extra"] is not None:
        dim, digest, done = head["extra"]
        index.begin_extra(dim, digest)
        assert index.extra is not None
        index.extra.borrow(parts["extra"])
        index.extra_done = done
    index.commit_seq = index.saved = head["commit_seq"]
    _check_sizes(index)
    index.adopt()
    _give_back(parts)
    return index


def _give_back(parts: dict[str, memoryview]) -> None:
    """Take the pages that were only read to check them out of this process: the system still has them."""
    mapping = parts["vectors"].obj
    if isinstance(mapping, mmap.mmap) and hasattr(mapping, "madvise"):
        # Nothing was written yet, which a private mapping would lose here.
        mapping.madvise(mmap.MADV_DONTNEED)


def _mapped(path: Path) -> memoryview:
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < _HEAD.size + _FOOT.size:
            raise ValueError("it is cut short")
        # Not closed by name: the index, or an error on its way, still holds views of it.
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


def _checked(
    view: memoryview, uid: bytes, provider: EmbeddingProvider
) -> tuple[dict[str, Any], dict[str, memoryview]]:
    head, parts = _table(view)
    if head["store"] != uid.hex():
        raise ValueError("it is another store's")
    if head["provider"] != provider.digest:
        raise ValueError("its vectors are another provider's")
    return head, parts


def _table(view: memoryview) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """Return the table, and each section's bytes, with all checksums checked."""
    magic, version = _HEAD.unpack_from(view)
    length, crc, end = _FOOT.unpack_from(view, len(view) - _FOOT.size)
    if magic != MAGIC or end != MAGIC:
        raise ValueError("it is cut short, or no index snapshot")
    if version != VERSION:
        raise ValueError(f"it has format {version}, this program reads {VERSION}")
    start = len(view) - _FOOT.size - length
    packed = bytes(view[max(start, 0) : len(view) - _FOOT.size])
    if start < _HEAD.size or zlib.crc32(packed) != crc:
        raise ValueError("its table is damaged")
    head = json.loads(packed)
    parts, at = {}, _HEAD.size
    for name, size, expected in head["sections"]:
        space = -at % _ALIGNED
        if any(view[at : at + space]):
            raise ValueError(f"what is before its section {name} is damaged")
        at += space
        parts[name] = part = view[at : at + size]
        if at + size > start or zlib.crc32(part) != expected:
            raise ValueError(f"its section {name} is damaged")
        at += size
    return head, parts


def _fill(column: bytearray | array[int] | array[float], part: memoryview) -> None:
    if isinstance(column, bytearray):
        column += part
    else:
        column.frombytes(part)


def _check_sizes(index: MemoryIndex) -> None:
    rows = len(index.rows)
    sizes = {len(column) for name, column in index.rows.columns().items() if name != "ids"}
    sizes |= {len(index.postings), len(index.vectors), len(index.piece_ends)}
    if sizes != {rows} or len(index.rows.ids) != 16 * rows:
        raise ValueError("its sections have different numbers of rows")
    if (index.piece_ends[-1] if rows else 0) != len(index.piece_base):
        raise ValueError("its pieces don't fit its rows")
