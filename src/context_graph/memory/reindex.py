"""Changes a store's embedding provider, or gives its memories today's spaces, while it is in use (D4.3).

New embeddings are written beside the old ones, some memories at a time; one batch then replaces the old ones.
Until then the old ones serve. If the process dies, progress is kept: the next reindex with the same
provider goes on from there.

A store of an earlier release has other spaces in some places of its embeddings. A thread renews those;
nothing else in it changes: what recall reads is the same in both.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from context_graph.errors import ContextGraphError, StoreClosedError
from context_graph.memory.core import Core
from context_graph.memory.embed import PROVIDER, EmbeddingProvider, record_of
from context_graph.memory.index.derived import INDEX_FILE, METRICS_FILE
from context_graph.memory.index.file import mend
from context_graph.memory.index.second_vectors import is_there
from context_graph.memory.writing import text_to_embed
from context_graph.model.spaces import LAYOUT, renewed

_LOG: Final = logging.getLogger(__name__)
BATCH: Final = 64
"""Memories in one step: some 0.4 MB of embeddings, and how long another call may have to wait."""


PAUSE_S: Final = 0.01
"""Between two steps of the thread: about as long as a step, so that others come in between."""
JOIN_S: Final = 10.0


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

    Raises:
        StoreBusyError, StoreError: A step failed. The old provider is still in use; call again to go on.

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
        recorded = core.store.meta(PROVIDER)
        if recorded == wanted:
            vectors.give_up()
            memories = mend(core.store, provider)  # those that had lost their vectors
            if memories:
                core.forget_derived()
            return Step(memories, total, total, True)
        start = vectors.begin(wanted).done
        nodes = [stored.node for stored in islice(core.store.in_order(start, skip_damaged=True), BATCH)]
        other = not are_kin(recorded, wanted)
        if not nodes:
            _switch(core, provider, other=other)
            return Step(0, total, total, True)
        old = vectors.get_many([node.commit_seq for node in nodes]) if not other else [None] * len(nodes)
    made = [provider.encode(text_to_embed(node)).embedding for node in nodes]
    embeddings = [new if kept is None else renewed(kept, new) for kept, new in zip(old, made, strict=True)]
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


def are_kin(recorded: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    """Return whether a store's embeddings are those of the provider but for the spaces."""
    return recorded is not None and {**recorded, "spaces": LAYOUT} == wanted


def _switch(core: Core, provider: EmbeddingProvider, *, other: bool) -> None:
    if not other:  # index and metrics are made of what stays
        core.store.vectors.switch()
        return
    # Before the switch: a crash right after it must not find figures of the old vectors.
    for name in (INDEX_FILE, METRICS_FILE):
        (core.folder / name).unlink(missing_ok=True)
    core.store.vectors.switch()
    core.adopt_provider(provider)
    core.load_derived()  # here, not in the next caller's time


class Renewal:
    """Gives the memories of a store of an earlier release the spaces of today, in a thread.

    Cost: some 100 us a memory, once; others wait for a step at most.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the thread, where there is something to renew."""
        recorded = self._core.store.meta(PROVIDER)
        if recorded is None or recorded.get("spaces") == LAYOUT or self._core.store.engine.read_only:
            return
        if are_kin(recorded, record_of(self._core.provider)):
            self._thread = threading.Thread(target=self._run, name="spaces", daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait until it has ended; False if that took longer."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def stop(self) -> None:
        """End the thread after its current step. Call outside of an operation. Safe to call twice."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self.wait(JOIN_S)

    def _run(self) -> None:
        try:
            while not self._stopped.is_set() and not reindex_step(self._core, self._core.provider).done:
                self._stopped.wait(PAUSE_S)
        except StoreClosedError:
            pass
        except ContextGraphError as error:  # the next process goes on from here
            _LOG.warning("the spaces of %s: %s", self._core.folder.name, error)
