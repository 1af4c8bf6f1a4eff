"""A PostgreSQL that carries a team's changes: its tables, its members, the transport over it (ADR 0028)."""

from __future__ import annotations

from typing import Final

FILE: Final = "hub.json"
"""The file in a store's folder that names the hub which it has joined (`membership`)."""


def place_name(project: str) -> str:
    """By which a store notes what it told and heard there."""
    return f"hub {project}"
