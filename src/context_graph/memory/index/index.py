"""Indexes a store's memories: terms, vectors and columns of each, and the lock around them.

It is derived: it can be rebuilt from the store (`index.file`) and then gives the same answers. A memory has
one row, in order of commit. A soft delete clears one byte of the row, a restore sets it; frequencies, means
and neighbours are always those of the live rows. Rows of memories that are deleted for good are removed once
they are a quarter of all.

Memory: some 550 bytes a row of 60 tokens: 260 vector, 120 pieces, 100 postings, 70 columns, 8 id to row. Of a
snapshot that was loaded, the first three stay in the file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Final
from uuid import UUID

from context_graph.kernels import dense, lexical
from context_graph.kernels import rows as row_kernels
from context_graph.kernels.tokens import Encoded
from context_graph.memory.embed import dense_part
from context_graph.memory.index.rows import GONE, Rows
from context_graph.model.memory import MemoryNode
from context_graph.model.spaces import SLICES

if TYPE_CHECKING:
    from typing_extensions import Buffer

COUNTED_PIECES: Final = 512
"""Pieces of one memory that count for rarity: a book must not outweigh everything else."""
_SEMANTIC: Final = SLICES["Semantic"]
DENSE_DIM: Final = _SEMANTIC.stop - _SEMANTIC.start
_PAIRS: Final = 512
"""Pairs of memories that are looked at to tell whether sessions are about one thing."""
_FIRST_PAIRS: Final = 8
"""So many pairs of alike neighbours are taken for granted before any are seen."""
_UNLIKE: Final = 0.03
_ALIKE: Final = 0.09
"""Cosine of neighbours above that of other memories, from which sessions count not at all and in full: unlike
functions that share one by chance have at most 0.02, LoCoMo's talks 0.10 to 0.26."""
_FEWEST: Final = 3
_SHARE: Final = 20
"""An anchor is a word or tag that at most 3 memories have, or a twentieth of them: what everybody says
connects nothing."""
_SWEEP_AT_LEAST: Final = 1024
_SWEEP_SHARE: Final = 0.25
_COLUMN_BYTES: Final = 80
"""Measured bytes of a row's columns and of its entry from id to row."""


class MemoryIndex:
    """Rows of a store's memories. Thread-safe: each call takes ``lock``.

    Args:
        digest: The provider of vectors and terms; a snapshot of another one is not loaded.
        vocabulary: Number of the provider's pieces.
    """

    def __init__(self, digest: str, vocabulary: int) -> None:
        self.lock = RLock()
        self.digest = digest
        self.rows = Rows()
        self.postings = lexical.Postings()
        self.vectors = dense.Vectors(DENSE_DIM)
        self.extra: dense.Vectors | None = None
        """Second vectors (memory.second_vectors), of the rows that have one yet."""
        self.extra_digest = ""
        """Which model made them."""
        self.extra_done = 0
        """The commit up to which they are here."""
        self.piece_counts = array("I", bytes(4 * vocabulary))
        self.pieces = 0
        """Sum of the counts: pieces of the live rows."""
        self.piece_base: memoryview | bytes = b""
        """Pieces of the first rows, in a snapshot that is mapped."""
        self.piece_data, self.piece_ends = bytearray(), array("Q")
        """Pieces of the other rows, and where those of each row end, counted through both."""
        self.commit_seq = 0
        """The last commit that the index knows of."""
        self.saved = -1
        """The last commit in the snapshot that it was loaded from; -1 where it was made anew."""
        self.store_uid = b""
        """Whose memories these are; a snapshot of another store is not loaded."""
        self._ids = row_kernels.Ids()
        self._live = 0
        """Live rows, counted along: counting them all for each write would cost more the more there are."""
        self._gone = 0
        self.sweeps = 0
        """How often rows were renumbered."""
        self._together: float | None = None
        """What `together` found; None after a change."""

    def __len__(self) -> int:
        """Live rows."""
        with self.lock:
            return self._live

    def __contains__(self, node_id: UUID) -> bool:
        """Return whether the memory has a live row."""
        with self.lock:
            row = self.row_of(node_id)
            return row is not None and bool(self.rows.live[row])

    def add(self, node: MemoryNode, encoded: Encoded, *, live: bool = True) -> None:
        """Append a memory; it replaces one of the same id. Call in order of commit. Cost: below 10 us for 60
        tokens.

        ``node.embedding``, if there, counts instead of that of ``encoded``; ``live`` is False for a
        soft-deleted one.
        """
        with self.lock:
            if self.row_of(node.id) is not None:
                self.remove(node.id)
                self.drop([node.id])
            self._append(node, encoded, live)

    def _append(self, node: MemoryNode, encoded: Encoded, live: bool) -> None:
        # The embedding that is stored counts, also where the caller gave it: a rebuild sees no other.
        embedding = node.embedding if node.embedding is not None else encoded.embedding
        row = self.postings.add(encoded.terms)
        self.vectors.append(dense_part(embedding))
        self.rows.append(node, live)
        self._ids.put(self.rows.ids, row)
        self._together = None
        self.piece_data += encoded.pieces[: 2 * COUNTED_PIECES]
        self.piece_ends.append(len(self.piece_base) + len(self.piece_data))
        if live:
            self._live += 1
            self._count(row, True)
        self.commit_seq = max(self.commit_seq, node.commit_seq)

    def _count(self, row: int, live: bool) -> None:
        count = lexical.tally(self.piece_counts, self._pieces_of(row), live)
        self.pieces += count if live else -count

    def _pieces_of(self, row: int) -> Buffer:
        start, end = self.piece_ends[row - 1] if row else 0, self.piece_ends[row]
        base = len(self.piece_base)
        return (
            self.piece_base[start:end] if end <= base else bytes(self.piece_data[start - base : end - base])
        )

    def counted_before(self, row: int) -> tuple[array[int], int]:
        """Counts of pieces, and their sum, without this row and all after it."""
        counts, total = self.piece_counts[:], self.pieces
        for later in range(row, len(self.rows)):
            if self.rows.live[later]:
                total -= lexical.tally(counts, self._pieces_of(later), False)
        return counts, total

    def remove(self, node_id: UUID) -> bool:
        """Exclude a memory; returns whether it counted."""
        return self._set_live(node_id, False)

    def restore(self, node_id: UUID) -> bool:
        """Include a removed memory again; returns whether it was excluded."""
        return self._set_live(node_id, True)

    def _set_live(self, node_id: UUID, live: bool) -> bool:
        with self.lock:
            row = self.row_of(node_id)
            if row is None or self.rows.live[row] == live:
                return False
            self.rows.live[row] = live
            self._live += 1 if live else -1
            self._together = None
            self._count(row, live)
            return True

    def drop(self, ids: Iterable[UUID]) -> None:
        """Forget removed memories for good; ValueError for a live one."""
        with self.lock:
            for node_id in ids:
                row = self.row_of(node_id)
                if row is None:
                    continue
                if self.rows.live[row]:
                    raise ValueError(f"memory {node_id} is live; remove it first")
                self._ids.drop(self.rows.ids, node_id.bytes)
                self.rows.flags[row] |= GONE
                self._gone += 1
            if self._gone >= max(_SWEEP_AT_LEAST, _SWEEP_SHARE * len(self.rows)):
                self.sweep()

    def sweep(self) -> None:
        """Free the rows of memories that are gone for good. Cost: one pass over everything."""
        with self.lock:
            keep = bytearray(len(self.rows))
            for row in self._ids.rows():
                keep[row] = 1
            self.postings = self.postings.kept(keep)
            self.vectors = self.vectors.kept(keep)
            if self.extra is not None:
                if len(self.extra) < len(keep):
                    self.extra.put(len(keep) - 1, None)
                self.extra = self.extra.kept(keep)
            self._keep_pieces(keep)
            self.rows = self.rows.kept(keep)
            self._ids = self.rows.numbers()
            self._gone = 0
            self._together = None
            self.sweeps += 1

    def _keep_pieces(self, keep: bytearray) -> None:
        data, ends = bytearray(), array("Q")
        for row, kept in enumerate(keep):
            if kept:
                data += self._pieces_of(row)
                ends.append(len(data))
        self.piece_base, self.piece_data, self.piece_ends = b"", data, ends

    def update(self, node: MemoryNode) -> None:
        """Copy the fields of a memory whose content has not changed."""
        self.update_all((node,))

    def update_all(self, nodes: Iterable[MemoryNode]) -> None:
        """As `update`, for many; what depends on the order of rows is rebuilt once."""
        with self.lock:
            moved = False
            for node in nodes:
                row = self.row_of(node.id)
                if row is not None:
                    moved |= self.rows.take_over(row, node)
            if moved:
                self.rows.link()
                self._together = None

    def revector(self, node_id: UUID, embedding: bytes) -> None:
        """Give a memory another embedding for the same content."""
        with self.lock:
            row = self.row_of(node_id)
            if row is not None:
                self.vectors.put(row, dense_part(embedding))
                self._together = None

    def together(self) -> float:
        """Return how far the memories of a session are about one thing in this store, [0, 1].

        1 where neighbours in a session are clearly more alike than other memories, 0 where they are no more
        alike than these; 1 where there is too little to tell. Cost: 0.1 ms after a change, else nothing.
        """
        if self._together is None:
            near, far = self.rows.pairs(_PAIRS)
            count, alike = self.vectors.likeness(*near)
            _, usual = self.vectors.likeness(*far)
            above = (alike - usual) / (1.0 - usual) if usual < 1.0 else 0.0
            above = (count * above + _FIRST_PAIRS * _ALIKE) / (count + _FIRST_PAIRS)
            self._together = min(1.0, max(0.0, (above - _UNLIKE) / (_ALIKE - _UNLIKE)))
        return self._together

    def seen(self, commit_seq: int) -> None:
        """Note a commit that changes nothing here, so that it is not replayed."""
        with self.lock:
            self.commit_seq = max(self.commit_seq, commit_seq)

    def begin_extra(self, dim: int, digest: str) -> None:
        """Make room for second vectors of that model, and drop those of another."""
        with self.lock:
            if self.extra is None or (self.extra.dim, self.extra_digest) != (dim, digest):
                self.extra, self.extra_digest, self.extra_done = dense.Vectors(dim), digest, 0

    def put_extras(self, vectors: Iterable[tuple[int, bytes]], done: int) -> None:
        """Add second vectors, each (commit number, float32): all there are up to commit ``done``."""
        with self.lock:
            if self.extra is None:
                raise ValueError("no second vectors were begun")
            for seq, vector in vectors:
                row = bisect_left(self.rows.commit, seq)
                if row < len(self.rows) and self.rows.commit[row] == seq:
                    self.extra.put(row, memoryview(vector).cast("f"))
            self.extra_done = max(self.extra_done, done)

    def anchors(self, terms: Buffer, tags: Iterable[str]) -> int:
        """Return how many of a new memory's words and tags few live memories have: what it would connect them
        by.

        Args:
            terms: Packed, as the provider encodes a text.

        Cost: some 3 us for 60 tokens.
        """
        with self.lock:
            live = self.rows.live
            most = max(_FEWEST, (self._live + 1) // _SHARE) - 1
            count = self.postings.few(terms, live, most, len(live) - self._live)
            for tag in set(tags):
                holders = (row for row in self.rows.tags.get(tag, ()) if live[row])
                count += 1 <= len(list(islice(holders, most + 1))) <= most
            return count

    def row_of(self, node_id: UUID) -> int | None:
        """Return the memory's row, live or not."""
        return self._ids.find(self.rows.ids, node_id.bytes)

    def adopt(self) -> None:
        """Rebuild the map from ids to rows after the columns were replaced."""
        with self.lock:
            self.rows.link()
            self._together = None
            self._ids = self.rows.numbers()
            self._live = self.rows.live.count(1)
            self._gone = len(self.rows) - len(self._ids)

    def stats(self) -> dict[str, int]:
        """Sizes, for status and metrics; counts and bytes."""
        with self.lock:
            rows = len(self.rows)
            terms, postings = self.postings.terms, self.postings.postings
            row_bytes = DENSE_DIM + 4 + _COLUMN_BYTES + (0 if self.extra is None else self.extra.dim + 4)
            return {
                "rows": rows,
                "live": self._live,
                "gone": self._gone,
                "terms": terms,
                "postings": postings,
                "pieces": self.pieces,
                "with_extra": 0 if self.extra is None else self.extra.filled,
                "bytes": rows * row_bytes
                + 4 * postings
                + 32 * terms
                + len(self.piece_base)
                + len(self.piece_data),
                "commit_seq": self.commit_seq,
            }
