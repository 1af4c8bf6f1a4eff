"""Shows a session's identity: the brief, the check, the four lines, and the numbers behind them."""

from __future__ import annotations

from typing import Final

import typer

from context_graph.cli.command_table import BRIEF, CHECK_IDENTITY, INJECT_CONTEXT, typer_command
from context_graph.cli.console.calling import Finished, ask, ask_json, finish, warn
from context_graph.cli.console.options import DbPath, Json, SessionId, both_forms
from context_graph.cli.console.tables import status_text
from context_graph.cli.console.terminal import print_folded
from context_graph.cli.native import serve
from context_graph.errors import ContextGraphError, OwnerError, WireError

app = typer.Typer(
    help="The state of this project's identity: brief, check, context, numbers.",
    rich_markup_mode=None,
)

COLD_BLOCK: Final = (
    "[System Consciousness]\n"
    "State: DORMANT (C=?)\n"
    "Kuramoto r=?, Identity IC=? (no events yet)\n"
    "Guidance: Initialize consciousness context"
)
"""The owner's words for a session without events (identity.brief); said here when no owner answers."""

_CHECK_S: Final = 3.0
_INJECT_S: Final = 2.0


def check_identity(
    auto_dream: bool = False, session_id: str | None = None, db_path: str | None = None
) -> None:
    """Warn on standard error if identity continuity is low; see `CHECK_IDENTITY`."""
    try:
        params = {"auto-dream": auto_dream, "session-id": session_id}
        reply = ask("consciousness.check-identity", params, db_path=db_path, timeout_s=_CHECK_S)
    except ContextGraphError as error:
        warn(f"IC check failed: {error}")
        raise Finished(0) from error
    finish(reply, exit_code=0)


def inject_context(
    format: str = "standard", session_id: str | None = None, db_path: str | None = None
) -> None:
    """Print the state for the model's context; see `INJECT_CONTEXT`."""
    try:
        params = {"format": format, "session-id": session_id}
        reply = ask("consciousness.inject-context", params, db_path=db_path, timeout_s=_INJECT_S)
    except (OwnerError, WireError) as error:
        warn(error)
        print(COLD_BLOCK)
        raise Finished(0) from error
    finish(reply, exit_code=min(reply.exit_code, 1))


typer_command(app, BRIEF, serve)
typer_command(app, CHECK_IDENTITY, check_identity)
typer_command(app, INJECT_CONTEXT, inject_context)


@app.command("status", short_help="Show the numbers behind the brief")
@both_forms
def status(session_id: SessionId = None, json_: Json = False, db_path: DbPath = None) -> None:
    """Show the numbers behind the brief, and what waits to be done in this project's store.

    Exit codes: 0; 1 no such session, or the store can't be used; 3 the database is corrupt.

    Example: context-graph-cli consciousness status --json
    """
    params = {"session-id": session_id}
    if json_:
        finish(ask("consciousness.status", params, db_path=db_path))
    print_folded(status_text(ask_json("consciousness.status", params, db_path=db_path)))
