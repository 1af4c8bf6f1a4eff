"""Changes a store's embedding provider while the store is in use (D4.3).

The new embeddings are written beside the old ones, some memories at a time, in order of commit; one batch
then replaces the old ones. Meanwhile the old provider serves, and memories that are stored get a new
embedding, too, before the end. If the process dies on the way, the old provider stays in use and the progress
is kept; the next reindex with the same provider continues from there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

from context_graph.memory.core import Core
from context_graph.memory.embed import EmbeddingProvider
from context_graph.memory.index.derived import INDEX_FILE, METRICS_FILE
from context_graph.memory.index.file import mend
from context_graph.memory.writing import text_to_embed
from context_graph.model.memory import MemoryNode

BATCH: Final = 64
"""Memories of one step: some 0.4 MB of embeddings, and how long another call may have to wait."""


class Step(NamedTuple):
    """What one step did, and how far the reindex is."""

    memories: int
    """Memories that got new embeddings in this step."""
    at: int
    """The commit number up to which all have them; ``total`` when the new provider is in use."""
    total: int
    done: bool
    """The new provider is in use."""


def reindex(core: Core, provider: EmbeddingProvider, progress: Callable[[Step], None] | None = None) -> int:
    """Give every memory of a store, soft-deleted ones too, the embedding of another provider.

    Embeddings that callers supplied are replaced as well. In a store that has the provider already, those
    memories get one that have lost theirs.

    Args:
        core: The store's memory; not in an operation. Each step is one, so that others get theirs in between.
        progress: Called after each step, outside of any operation.

    Returns:
        How many memories got new embeddings, without those of an interrupted call before.

    Raises:
        StoreBusyError, StoreError: A step failed. The old provider is still in use; call again to go on.

    Cost: some 100 us a memory with the static provider; the last step rebuilds the index, and others wait.
    """
    memories = 0
    while True:
        step = reindex_step(core, provider)
        memories += step.memories
        if progress is not None:
            progress(step)
        if step.done:
            return memories


def reindex_step(core: Core, provider: EmbeddingProvider) -> Step:
    """One step of `reindex`, the first, a middle or the last one; the store knows which."""
    wanted = {"name": provider.name, "digest": provider.digest, "dim": provider.dim}
    with core.operation("reindex", writes=True):
        vectors, total = core.store.vectors, core.store.counters.seq
        if core.store.meta("provider") == wanted:
            vectors.give_up()
            return Step(_mended(core, provider), total, total, True)
        start = vectors.begin(wanted).done
        nodes = [found.node for found in islice(core.store.in_order(start, skip_damaged=True), BATCH)]
        if not nodes:
            _switch(core, provider)
            return Step(0, total, total, True)
    embeddings = [provider.encode(text_to_embed(node)).embedding for node in nodes]
    with core.operation("reindex", writes=True):
        migration = vectors.migration
        if migration is None or migration.provider != wanted or migration.done != start:
            # Another reindex ran meanwhile; the next step sees where it is.
            return Step(0, start, total, False)
        written = [
            (node.commit_seq, embedding)
            for node, embedding in zip(nodes, embeddings, strict=True)
            if _is_there(core, node)
        ]
        vectors.put_beside(written, nodes[-1].commit_seq)
        return Step(len(written), nodes[-1].commit_seq, max(total, nodes[-1].commit_seq), False)


def _mended(core: Core, provider: EmbeddingProvider) -> int:
    """How many memories had lost their vectors, which they have again."""
    memories = mend(core.store, provider)
    if memories:
        core.forget_derived()
    return memories


def _is_there(core: Core, node: MemoryNode) -> bool:
    """Whether the memory was neither removed nor stored anew since it was read."""
    found = core.store.read(node.id.bytes)
    return found is not None and found.node.commit_seq == node.commit_seq


def _switch(core: Core, provider: EmbeddingProvider) -> None:
    # Before the switch: a crash right after it must not find figures of the old vectors.
    for name in (INDEX_FILE, METRICS_FILE):
        (core.folder / name).unlink(missing_ok=True)
    core.store.vectors.switch()
    core.adopt_provider(provider)
    core.load_derived()  # here, not in the next caller's time
