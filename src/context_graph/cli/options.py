"""Defines options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

DbPath = Annotated[
    str | None,
    typer.Option(
        "--db-path",
        metavar="FOLDER",
        help="Store to use instead of this project's; $CONTEXT_GRAPH_DB_PATH says the same. "
        "It must lie below the data root, the project, the working folder, $HOME or /tmp.",
    ),
]
SessionId = Annotated[
    str | None,
    typer.Option(
        "--session-id",
        metavar="ID",
        help="Session to use; 8 hex digits do where they fit one session only. "
        "Default: $CLAUDE_CODE_SESSION_ID, else the store's latest.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines for people.")]
