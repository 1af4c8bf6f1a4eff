"""Shows a session's identity: the brief, the check, the four lines, and the numbers behind them."""

from __future__ import annotations

from typing import Final

from context_graph.cli.console.calling import Finished, ask, ask_json, finish, warn
from context_graph.cli.console.tables import status_text
from context_graph.cli.console.terminal import print_folded
from context_graph.cli.native import serve
from context_graph.cli.words import DB_PATH, SESSION_ID, Command, Option
from context_graph.errors import ContextGraphError, OwnerError, WireError

COLD_BLOCK: Final = (
    "[System Consciousness]\n"
    "State: DORMANT (C=?)\n"
    "Kuramoto r=?, Identity IC=? (no events yet)\n"
    "Guidance: Initialize consciousness context"
)
"""The owner's words for a session without events (identity.brief); said here when no owner answers."""

_CHECK_S: Final = 3.0
_INJECT_S: Final = 2.0


def check_identity(auto_dream: bool, session_id: str | None, db_path: str | None) -> None:
    """Warn on standard error if identity continuity (IC) is low (PostToolUse).

    Below 0.7 it prints `IC warning: X.XX`, below 0.5 `IC crisis: X.XX`. With --auto-dream a crisis also
    queues a consolidation, at most once in 60 s, and the message says so.

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


def inject_context(format: str, session_id: str | None, db_path: str | None) -> None:
    """Print the state for the model's context (UserPromptSubmit).

    Exit codes: 0 done; also if no owner answers (it prints the state of a session without events, and
    a warning); 1 the store can't be used. Never 2.

    Example: context-graph-cli consciousness inject-context --format compact
    """
    try:
        params = {"format": format, "session-id": session_id}
        reply = ask("consciousness.inject-context", params, db_path=db_path, timeout_s=_INJECT_S)
    except (OwnerError, WireError) as error:
        warn(error)
        print(COLD_BLOCK)
        raise Finished(0) from error
    finish(reply, exit_code=min(reply.exit_code, 1))


def status(session_id: str | None, as_json: bool, db_path: str | None) -> None:
    """Show the numbers behind the brief, and what waits to be done in this project's store.

    Exit codes: 0; 1 no such session, or the store can't be used; 3 the database is corrupt.

    Example: context-graph-cli consciousness status --json
    """
    params = {"session-id": session_id}
    if as_json:
        finish(ask("consciousness.status", params, db_path=db_path))
    print_folded(status_text(ask_json("consciousness.status", params, db_path=db_path)))


COMMANDS: Final = (
    Command.of(
        serve,
        "Print the one-line state",
        SESSION_ID,
        DB_PATH,
        word="brief",
        text="""Print the one-line state, `[C:CON r=0.97 IC=0.95]` (PreToolUse).

        The launcher does this itself: it reads one small file and needs no Python, database or owner.
        `[C:? r=? IC=?]` means that nothing is known about the session.

        Exit code: 0, always.

        Example: context-graph-cli consciousness brief
        """,
    ),
    Command.of(
        check_identity,
        "Warn if identity continuity is low",
        Option("--auto-dream", "Queue a consolidation if IC is below 0.5."),
        SESSION_ID,
    ),
    Command.of(
        inject_context,
        "Print the state for the model",
        Option(
            "--format",
            "compact: one line; standard: four lines; verbose: the components too.",
            choices=("compact", "standard", "verbose"),
            default="standard",
        ),
        SESSION_ID,
    ),
    Command.of(status, "Show the numbers behind the brief", SESSION_ID),
)
