"""Provides memory, identity continuity and requirement gates for Claude Code.

This is the public API, which docs/dev/library.md describes. Names are loaded when first used, because every
command imports this package and must not load a database.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_graph.config.settings import MemoryConfig
    from context_graph.consolidation.consolidate import consolidate
    from context_graph.errors import (
        ContextGraphError,
        InvalidParamsError,
        StoreError,
        StoreLockedError,
    )
    from context_graph.identity.manager import SessionIdentityManager
    from context_graph.memory.filters import RecallFilters
    from context_graph.memory.memex import Memex
    from context_graph.memory.writing import Draft
    from context_graph.model.edge import GraphEdge
    from context_graph.model.memory import MemoryNode

__all__ = [
    "ContextGraphError",
    "Draft",
    "GraphEdge",
    "InvalidParamsError",
    "Memex",
    "MemoryConfig",
    "MemoryNode",
    "RecallFilters",
    "SessionIdentityManager",
    "StoreError",
    "StoreLockedError",
    "__version__",
    "consolidate",
]

__version__ = "0.1.0"

_HOMES = {
    "context_graph.config.settings": ("MemoryConfig",),
    "context_graph.consolidation.consolidate": ("consolidate",),
    "context_graph.errors": ("ContextGraphError", "InvalidParamsError", "StoreError", "StoreLockedError"),
    "context_graph.identity.manager": ("SessionIdentityManager",),
    "context_graph.memory.filters": ("RecallFilters",),
    "context_graph.memory.memex": ("Memex",),
    "context_graph.memory.writing": ("Draft",),
    "context_graph.model.edge": ("GraphEdge",),
    "context_graph.model.memory": ("MemoryNode",),
}
"""Module -> the public names that it defines."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
