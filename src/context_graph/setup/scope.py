"""Where the client looks for a project's, or for the user's, settings, servers and skills."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from context_graph.config import client_dir, store_key

__all__ = ["Scope", "project_scope", "user_scope"]


@dataclass(frozen=True, slots=True)
class Scope:
    """One set of the client's files."""

    name: str
    """project or user."""
    base: Path
    settings: Path
    skills: Path
    servers: Path | None
    """The file that names MCP servers; None for the user's, which the client rewrites while it runs."""

    @property
    def key(self) -> str:
        """Names the scope among all of this user's; fit for a file."""
        return f"{self.name}-{store_key(self.base)}"


def project_scope(top: Path, *, local: bool = False) -> Scope:
    """The files of the project at ``top``; with ``local`` the settings that its users keep to themselves."""
    name = "settings.local.json" if local else "settings.json"
    claude = top / ".claude"
    return Scope("local" if local else "project", top, claude / name, claude / "skills", top / ".mcp.json")


def user_scope() -> Scope:
    """The user's own files, which hold in every project."""
    claude = client_dir()
    return Scope("user", claude, claude / "settings.json", claude / "skills", None)
