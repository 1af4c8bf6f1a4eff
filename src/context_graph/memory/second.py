"""Fills in second vectors in the background (memory/minilm.py), never on the way of a write.

Memories get theirs in order of commit, and the store keeps up to which commit they have them, so that
whatever ends the process, the next one goes on from there. The thread waits without ticking and works at
low priority.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from itertools import islice
from typing import Final, Protocol

from context_graph.errors import ContextGraphError, StoreClosedError
from context_graph.memory.index import MemoryIndex
from context_graph.memory.minilm import SecondModel
from context_graph.memory.writing import text_to_embed
from context_graph.model.memory import MemoryNode
from context_graph.store.graph import GraphStore

__all__ = ["SecondVectors"]

_LOG: Final = logging.getLogger(__name__)
BATCH: Final = 8
"""Memories between two notes of how far it is: the most that is done again after a crash."""
PASSED_OVER: Final = 256
"""Commits that brought no memory (edges, deletions) after which it is worth noting that they are passed."""
NICE: Final = 10
_JOIN_S: Final = 10.0


class Memory(Protocol):
    """What it works on: a store's memory under its lock (memory.core.Core)."""

    @property
    def store(self) -> GraphStore: ...

    @property
    def loaded_index(self) -> MemoryIndex | None: ...


class SecondVectors:
    """The second vectors of one store: a thread that makes them, and the query's.

    Args:
        model: Makes the vectors.
        turn: Gives the store's memory for one operation, under its lock.
    """

    def __init__(self, model: SecondModel, turn: Callable[[str], AbstractContextManager[Memory]]) -> None:
        self.model = model
        self._turn = turn
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._guard = threading.Lock()  # of the two together
        self._stopped = self._ready = False
        self._thread: threading.Thread | None = None

    def encode_query(self, text: str) -> bytes | None:
        """The vector of a query; None as long as the model is not loaded, or if it can't be."""
        return self.model.encode(text) if self._ready else None

    def notify(self) -> None:
        """Memories came, or may have come: see to them. Starts the thread when first called."""
        with self._guard:
            self._idle.clear()
            self._wake.set()
        if self._thread is None and not self._stopped:
            self._thread = threading.Thread(target=self._run, name="second-vectors", daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Until every memory has its vector; False when it took longer or the thread gave up."""
        return self._idle.wait(timeout_s) and self._ready

    def stop(self) -> None:
        """End the thread after the memory it is at. Call outside of a turn. Safe to call twice."""
        self._stopped = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        with suppress(OSError, AttributeError):  # of this thread alone, on Linux
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            self.model.load()
            while not self._stopped:
                self._wake.wait()
                self._wake.clear()
                self._work()
        except StoreClosedError:
            pass
        except ContextGraphError as error:
            # Recall works without; what lacks vectors gets them in the next process.
            _LOG.warning("second vectors: %s", error)
        finally:
            self._idle.set()

    def _work(self) -> None:
        while not self._stopped and self._step():
            self._ready = True
        self._ready = True
        with self._guard:
            if not self._wake.is_set():
                self._idle.set()

    def _step(self) -> bool:
        """Give the next memories their vectors; False when there are none without."""
        with self._turn("second") as memory:
            second = memory.store.vectors.begin_second(self.model.digest, self.model.dim)
            if memory.loaded_index is not None:
                memory.loaded_index.begin_extra(self.model.dim, self.model.digest)
            nodes = [
                found.node for found in islice(memory.store.in_order(second.done, skip_damaged=True), BATCH)
            ]
            end = memory.store.counters.seq
            if not nodes:
                if end - second.done >= PASSED_OVER:
                    memory.store.vectors.put_seconds((), second._replace(done=end))
                return False
        vectors: list[tuple[MemoryNode, bytes]] = []
        for node in nodes:
            if self._stopped:
                return False
            vectors.append((node, self.model.encode(text_to_embed(node))))
        with self._turn("second") as memory:
            written = [(node.commit_seq, vector) for node, vector in vectors if _is_there(memory.store, node)]
            done = nodes[-1].commit_seq if len(nodes) == BATCH else end
            memory.store.vectors.put_seconds(written, second._replace(done=done))
            if memory.loaded_index is not None:
                memory.loaded_index.put_extras(written, done)
        return True


def _is_there(store: GraphStore, node: MemoryNode) -> bool:
    """Whether the memory was neither removed nor stored anew since it was read."""
    found = store.read(node.id.bytes)
    return found is not None and found.node.commit_seq == node.commit_seq
