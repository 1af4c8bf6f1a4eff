"""Shows a session's identity: the brief, the check, the four lines, and the numbers behind them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from context_graph.cli.calling import Finished, ask, ask_json, finish, warn
from context_graph.cli.native import become_launcher
from context_graph.cli.options import DbPath, Json, SessionId
from context_graph.cli.output.tables import status_text
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


class Style(StrEnum):
    """How much inject-context says."""

    COMPACT = "compact"
    STANDARD = "standard"
    VERBOSE = "verbose"


@app.command("brief", short_help="Print the one-line state")
def brief(session_id: SessionId = None, db_path: DbPath = None) -> None:
    """Print the one-line state, `[C:HYP r=0.97 IC=0.95]` (PreToolUse).

    The launcher serves it: one small file is read, no Python, no database, no owner. `[C:? r=? IC=?]`
    says that nothing is known of the session.

    Exit code: 0, always.

    Example: context-graph-cli consciousness brief
    """
    options = [("--session-id", session_id), ("--db-path", db_path)]
    words = [word for name, value in options if value is not None for word in (name, value)]
    become_launcher(["consciousness", "brief", *words])


@app.command("check-identity", short_help="Warn if continuity is low")
def check_identity(
    auto_dream: Annotated[
        bool, typer.Option("--auto-dream", help="Queue a consolidation if IC is below 0.5.")
    ] = False,
    session_id: SessionId = None,
    db_path: DbPath = None,
) -> None:
    """Warn on standard error if identity continuity is low (PostToolUse). No standard output.

    Below 0.7: `IC warning: X.XX`. Below 0.5: `IC crisis: X.XX`, or with --auto-dream a consolidation
    is queued durably in the store and the message says so, at most once in 60 s.

    Exit code: 0, always.

    Example: context-graph-cli consciousness check-identity --auto-dream
    """
    try:
        params = {"auto-dream": auto_dream, "session-id": session_id}
        reply = ask("consciousness.check-identity", params, db_path=db_path, timeout_s=_CHECK_S)
    except ContextGraphError as error:
        warn(f"IC check failed: {error}")
        raise Finished(0) from error
    finish(reply, exit_code=0)


@app.command("inject-context", short_help="Print the state for the model")
def inject_context(
    style: Annotated[
        Style,
        typer.Option(
            "--format",
            help="compact: one line; standard: four lines; verbose: the components as well.",
        ),
    ] = Style.STANDARD,
    session_id: SessionId = None,
    db_path: DbPath = None,
) -> None:
    """Print the state for the model's context (UserPromptSubmit).

    Exit codes: 0 done, also when no owner answers (the four lines of a session without events, and a
    warning); 1 the store can't be used. Never 2.

    Example: context-graph-cli consciousness inject-context --format compact
    """
    try:
        params = {"format": style.value, "session-id": session_id}
        reply = ask("consciousness.inject-context", params, db_path=db_path, timeout_s=_INJECT_S)
    except (OwnerError, WireError) as error:
        warn(error)
        print(COLD_BLOCK)
        raise Finished(0) from error
    finish(reply, exit_code=min(reply.exit_code, 1))


@app.command("status", short_help="Show the numbers behind the brief")
def status(session_id: SessionId = None, json_: Json = False, db_path: DbPath = None) -> None:
    """Show the numbers behind the brief, and what waits to be done in this project's store.

    Exit codes: 0; 1 no such session, or the store can't be used; 2 the database is corrupt.

    Example: context-graph-cli consciousness status --json
    """
    params = {"session-id": session_id}
    if json_:
        finish(ask("consciousness.status", params, db_path=db_path))
    print(status_text(ask_json("consciousness.status", params, db_path=db_path)))
