"""The Johari window's four quadrants; `identity.johari` tells which one holds."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["JohariQuadrant"]


class JohariQuadrant(StrEnum):
    """The quadrants by their JSON names; UNKNOWN where nothing is known yet (REQ-HOOKS-16, REQ-CORE-002)."""

    OPEN = "open"
    BLIND = "blind"
    HIDDEN = "hidden"
    UNKNOWN = "unknown"
