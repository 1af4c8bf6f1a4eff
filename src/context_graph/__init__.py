"""context-graph: memory, identity continuity and requirement gates for Claude Code."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself would double the start of the hooks' slow path
if TYPE_CHECKING:
    from typing import Any

    from context_graph.identity.manager import SessionIdentityManager
    from context_graph.memory.memex import Memex

__all__ = ["Memex", "SessionIdentityManager", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The library's classes when they are asked for: a hook imports this and must not load a database."""
    if name == "Memex":
        from context_graph.memory.memex import Memex

        return Memex
    if name == "SessionIdentityManager":
        from context_graph.identity.manager import SessionIdentityManager

        return SessionIdentityManager
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
