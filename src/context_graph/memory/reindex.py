"""Changes a store's embedding provider while it is in use (D4.3).

New embeddings are written beside the old ones, some memories at a time; one batch then replaces the old ones.
Until then the old ones serve. If the process dies, progress is kept: the next reindex with the same
provider goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

from context_graph.memory.core import Core
from context_graph.memory.embed import PROVIDER, EmbeddingProvider, record_of
from context_graph.memory.index.derived import INDEX_FILE, METRICS_FILE
from context_graph.memory.index.file import mend
from context_graph.memory.index.second_vectors import is_there
from context_graph.memory.writing import text_to_embed

BATCH: Final = 64
"""Memories in one step: some 0.4 MB of embeddings, and how long another call may have to wait."""


class Step(NamedTuple):
    """What one step did, and how far the reindex is."""

    memories: int
    """Memories that got new embeddings in this step."""
    at: int
    """The commit up to which all have them; ``total`` when the new provider is in use."""
    total: int
    done: bool
    """The new provider is in use."""


def reindex(core: Core, provider: EmbeddingProvider, progress: Callable[[Step], None] | None = None) -> int:
    """Give every memory, soft-deleted ones too, the embedding of another provider.

    Embeddings from callers are replaced too. If the store has the provider already, only lost embeddings are
    computed again.

    Args:
        core: Not in an operation: each step is one, so that other calls run in between.
        progress: Called after each step, outside of any operation.

    Returns:
        How many memories got new embeddings, without those of an interrupted call.

    Raises StoreBusyError, StoreError: A step failed. The old provider is still in use; call again to go on.

    Cost: some 100 us a memory with the static provider; the last step rebuilds the index while others wait.
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
    """Return one step of `reindex`; the store knows which."""
    wanted = record_of(provider)
    with core.operation("reindex", writes=True):
        vectors, total = core.store.vectors, core.store.counters.seq
        if core.store.meta(PROVIDER) == wanted:
            vectors.give_up()
            memories = mend(core.store, provider)  # those that had lost their vectors
            if memories:
                core.forget_derived()
            return Step(memories, total, total, True)
        start = vectors.begin(wanted).done
        nodes = [stored.node for stored in islice(core.store.in_order(start, skip_damaged=True), BATCH)]
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
            if is_there(core.store, node)
        ]
        vectors.put_beside(written, nodes[-1].commit_seq)
        return Step(len(written), nodes[-1].commit_seq, max(total, nodes[-1].commit_seq), False)


def _switch(core: Core, provider: EmbeddingProvider) -> None:
    # Before the switch: a crash right after it must not find figures of the old vectors.
    for name in (INDEX_FILE, METRICS_FILE):
        (core.folder / name).unlink(missing_ok=True)
    core.store.vectors.switch()
    core.adopt_provider(provider)
    core.load_derived()  # here, not in the next caller's time
