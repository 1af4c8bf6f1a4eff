"""Counts what a store holds, and checks the derived data against the records."""

from __future__ import annotations

from dataclasses import dataclass

from context_graph.memory.core import Core
from context_graph.memory.index.derived import INDEX_FILE
from context_graph.memory.index.file import snapshot_commit
from context_graph.memory.metrics.timings import bloom_figures
from context_graph.store.layout import FORMAT_KEY, NODES


def numbers_of(core: Core) -> dict[str, int | float]:
    """Return the numbers of one store now. Cost: some 0.1 ms, mostly RocksDB's own counting."""
    counters, cache = core.store.counters, core.cache.stats()
    storage, second, index = core.store.storage(), core.store.vectors.second, core.loaded_index
    return {
        "nodes": counters.nodes,
        "deleted": counters.deleted,
        "edges": counters.edges,
        "content_bytes": counters.content_bytes,
        "commits": counters.seq,
        "cache_nodes": cache.nodes,
        "cache_bytes": cache.bytes,
        "cache_hits": cache.hits,
        "cache_misses": cache.misses,
        "cache_evictions": cache.evictions,
        "cache_hit_rate": round(cache.hit_rate, 6),
        **bloom_figures(storage),
        "memtable_bytes": storage["memtable_bytes"],
        "table_bytes": storage["table_bytes"],
        **({} if core.second is None else {"second_commits": 0 if second is None else second.done}),
        **{f"index_{name}": count for name, count in (index.stats() if index else {}).items()},
    }


@dataclass(frozen=True, slots=True)
class Health:
    """Counts of one store. They agree if ``records`` = ``live`` + ``forgotten`` and ``rows`` = ``live``."""

    records: int
    """Memories on disk, counted one by one."""
    live: int
    """Memories by the counters, without soft-deleted ones."""
    forgotten: int
    rows: int
    """Memories in the index that a recall can find."""
    commit_seq: int
    index_seq: int
    """The last commit of the store, and the last that the index knows."""
    snapshot: str
    """ok; none, if none was written yet; else why it would not be used."""

    @property
    def agrees(self) -> bool:
        """Whether records, counters and index say the same."""
        return (
            self.records == self.live + self.forgotten
            and self.rows == self.live
            and self.index_seq == self.commit_seq
        )


def health_of(core: Core) -> Health:
    """Check the store of ``core``, inside one of its operations; loads the index if needed.

    Cost: some 0.3 s at 100,000 memories with the index loaded: it reads records and snapshot once.
    """
    store, index = core.store, core.derived.index
    counters = store.counters
    records = sum(key != FORMAT_KEY for key, _ in store.engine.scan(NODES, whole=True))
    try:
        seq = snapshot_commit(core.folder / INDEX_FILE, store.uid, core.provider)
        ahead = seq > counters.seq
        snapshot = f"it knows commit {seq}, the store ends at {counters.seq}" if ahead else "ok"
    except FileNotFoundError:
        snapshot = "none"
    except (OSError, ValueError) as error:
        snapshot = str(error) or type(error).__name__
    return Health(
        records=records,
        live=counters.nodes,
        forgotten=counters.deleted,
        rows=index.stats()["live"],
        commit_seq=counters.seq,
        index_seq=index.commit_seq,
        snapshot=snapshot,
    )
