"""Defines options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from context_graph.cli.command_table import DB_PATH, SESSION_ID

DbPath = Annotated[str | None, typer.Option(DB_PATH.name, metavar=DB_PATH.metavar, help=DB_PATH.help)]
SessionId = Annotated[
    str | None, typer.Option(SESSION_ID.name, metavar=SESSION_ID.metavar, help=SESSION_ID.help)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
