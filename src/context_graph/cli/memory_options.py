"""Options and arguments that several `memory` commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

__all__ = [
    "After",
    "Agent",
    "Before",
    "ByAgent",
    "BySession",
    "ByTag",
    "Cursor",
    "Format",
    "Id",
    "Metadata",
    "Output",
    "Tags",
]


class Format(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"


Output = Annotated[Format, typer.Option("--format", help="Lines for people, or one JSON object.")]
Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A memory's id, or its first characters: at least four, and as many as fit no other.",
    ),
]
Agent = Annotated[
    str | None, typer.Option("--agent-id", metavar="ID", help="Agent that the memory belongs to.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="WORD", help="A tag; may be given again.")]
ByTag = Annotated[
    list[str] | None, typer.Option("--tag", metavar="WORD", help="Only with this tag; may be given again.")
]
BySession = Annotated[
    str | None, typer.Option("--session-id", metavar="ID", help="Only memories of this session.")
]
ByAgent = Annotated[str | None, typer.Option("--agent-id", metavar="ID", help="Only memories of this agent.")]
After = Annotated[
    str | None,
    typer.Option("--created-after", metavar="TIME", help="Only those created after this ISO 8601 time."),
]
Before = Annotated[
    str | None,
    typer.Option("--created-before", metavar="TIME", help="Only those created before this ISO 8601 time."),
]
Cursor = Annotated[
    str | None,
    typer.Option("--cursor", metavar="TEXT", help="Where the page begins: the last page's next_cursor."),
]
Metadata = Annotated[
    str | None, typer.Option("--metadata", metavar="JSON", help="A JSON object to keep beside it.")
]
