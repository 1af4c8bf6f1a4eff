"""Settings of a store's memory, for the owner from `Settings`, for the library given by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from context_graph.config.settings import Settings

__all__ = ["MemoryConfig"]


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """Limits of one store's memory; the defaults are those of docs/configuration.md."""

    cache_nodes: int = 10_000
    """Memories kept in memory, without embeddings (REQ-CORE-010)."""
    cache_bytes: int = 64 << 20
    """Bytes of content they may have in all."""
    retention_days: float = 30.0
    """Days until a soft-deleted memory is gone for good (REQ-CORE-013)."""
    lock_timeout_s: float = 30.0
    """Seconds a call waits for another thread's (ERR-CORE-009)."""
    wal: bool = True
    """False for tests only: what is not flushed is then lost with the process (REQ-CORE-008)."""
    wal_dir: Path | None = None
    """Folder for write-ahead logs, None: beside the tables (REQ-CORE-008)."""
    bloom_bits: int = 10
    """Bits a key of the tables' bloom filters (REQ-CORE-009)."""

    model: str = "auto"
    """What makes second vectors: auto, off, minilm or a folder (memory.minilm)."""

    @classmethod
    def of(cls, settings: Settings) -> MemoryConfig:
        """What ``settings`` say."""
        return cls(
            cache_nodes=settings.memory_cache_nodes,
            cache_bytes=settings.memory_cache_mb << 20,
            retention_days=settings.memory_retention_days,
            lock_timeout_s=settings.memory_lock_s,
            wal=settings.wal,
            wal_dir=Path(settings.wal_dir) if settings.wal_dir else None,
            bloom_bits=settings.bloom_bits,
            model=settings.memory_model,
        )
