"""context-graph: memory, identity continuity and requirement gates for Claude Code."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
