"""Restores and saves identities (seed 000), shows sessions, and moves them as JSON: `session …`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from context_graph.cli.console.calling import Finished, ask, ask_json, finish, lenient_input, read_stdin, warn
from context_graph.cli.console.tables import chain_text, session_table, session_text
from context_graph.cli.console.terminal import print_folded, shown
from context_graph.cli.words import SESSION_ID, Argument, Command, Option
from context_graph.errors import ContextGraphError, InvalidInputError, OwnerError, WireError

_RESTORE_S: Final = 5.0
_PERSIST_S: Final = 30.0
_TRANSFER_S: Final = 120.0
_IMPORT_BYTES: Final = 15 * 1024 * 1024
"""A request frame carries 16 MiB."""
_RECOVERY: Final = "Recovery: Run 'context-graph-cli repair --cf session_identity'"


def restore_identity(session_id: str | None, source: str | None, db_path: str | None) -> None:
    """Begin a session that continues the latest one (SessionStart).

    Reads {"session_id": …, "source": …} from standard input; options fill in what is missing there.
    Prints `Identity restored from ID. IC: X.XX (word)`, `New session initialized`, or with source
    clear `Fresh session initialized`. The IC is that session's own at its end, `?` if nothing was measured.

    Exit codes: 0 done, or no owner answers (a new session, with a warning); 1 the store can't be used;
    2 the stored identity or the database is corrupt (2 means nothing else).

    Example: echo '{"source":"startup"}' | context-graph-cli session restore-identity
    """
    try:
        reply = ask(
            "session.restore-identity",
            {},
            lenient_input(session_id, source),
            db_path=db_path,
            timeout_s=_RESTORE_S,
        )
    except (OwnerError, WireError) as error:
        warn(error)
        print("New session initialized")
        raise Finished(0) from error
    if reply.exit_code == 2 and _RECOVERY.encode() not in reply.stderr:
        reply = type(reply)(2, reply.flags, reply.stdout, reply.stderr.rstrip() + f"\n{_RECOVERY}\n".encode())
    elif reply.exit_code and not reply.stdout:
        reply = type(reply)(1, reply.flags, b"New session initialized\n", reply.stderr)
    finish(reply)


def persist_identity(session_id: str | None, db_path: str | None) -> None:
    """Save a session's identity in full (SessionEnd). Prints nothing.

    Reads {"session_id": …} from standard input. Every event is durable as soon as it is recorded, so
    nothing is lost without this command.

    Exit codes: 0 done or nothing to do; 1 it could not be saved: try again. Never 2.

    Example: echo '{"session_id":"abc"}' | context-graph-cli session persist-identity
    """
    try:
        reply = ask(
            "session.persist-identity", {}, lenient_input(session_id), db_path=db_path, timeout_s=_PERSIST_S
        )
    except ContextGraphError as error:
        warn(error)
        raise Finished(1) from error
    finish(reply, exit_code=min(reply.exit_code, 1))


def list_sessions(limit: int, cursor: str | None, as_json: bool, db_path: str | None) -> None:
    """List the sessions of this project, newest first: when, how long, on which branch, with what
    outcome, and what was asked for.

    Exit codes: 0; 1 the store can't be used; 3 the database is corrupt.

    Example: context-graph-cli session list --limit 10
    """
    params = {"limit": str(limit), "cursor": cursor}
    if as_json:
        finish(ask("session.list", params, db_path=db_path, timeout_s=_PERSIST_S))
    answer = ask_json("session.list", params, db_path=db_path, timeout_s=_PERSIST_S)
    print(shown(session_table(answer["sessions"])))
    count, total = len(answer["sessions"]), answer.get("total", 0)
    if answer.get("next_cursor"):
        print(f"{count} of {total}; the next: --cursor {answer['next_cursor']}")


def show_session(
    session: str | None, session_id: str | None, verbose: bool, as_json: bool, db_path: str | None
) -> None:
    """Show one session: its goal, when and where it worked, its outcome, and the sessions before it.

    --verbose adds what was measured of its identity.

    JSON has the rows of the view (row, facts, points, marks, chain, events), work (goal, branch, outcome,
    began_ms, ended_ms), and beside them the 14 snapshot fields by name, events_applied, events_duplicate,
    events_by_kind, events_waiting, ic_history, compactions, dreams_pending.

    Exit codes: 0; 1 no such session; 3 its record is corrupt.

    Example: context-graph-cli session show 0ae1c9d2 --json
    """
    params = {"session-id": session or session_id}
    if as_json:
        finish(ask("session.show", params, db_path=db_path))
    answer = ask_json("session.show", params, db_path=db_path)
    print_folded(shown(session_text(answer, verbose=verbose)))
    print_folded(shown(chain_text(answer.get("chain", []), answer.get("chain_end", ""), verbose=verbose)))


def export_session(
    session: str | None,
    session_id: str | None,
    every: bool,
    cursor: str | None,
    output: Path | None,
    db_path: str | None,
) -> None:
    """Write one session, or all, as JSON that `session import` reads.

    Exit codes: 0; 1 no such session, or the file can't be written; 3 a record is corrupt.

    Example: context-graph-cli session export --all --output sessions.json
    """
    params = {"session-id": session or session_id, "all": every, "cursor": cursor}
    reply = ask("session.export", params, db_path=db_path, timeout_s=_TRANSFER_S)
    if reply.exit_code or output is None:
        finish(reply)
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(reply.stdout)
    except OSError as error:
        raise InvalidInputError(f"--output {output}: {error.strerror}") from error


def import_sessions(file: Path | None, overwrite: bool, db_path: str | None) -> None:
    """Read sessions from JSON into this project's store.

    Exit codes: 0; 1 the file can't be read, is no export, or names a session that is there already.

    Example: context-graph-cli session import sessions.json
    """
    try:
        body = read_stdin(_IMPORT_BYTES) if file is None else file.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{file}: {error.strerror}") from error
    if not body.strip():
        raise InvalidInputError("nothing to import: name a FILE, or send the JSON to standard input")
    if len(body) > _IMPORT_BYTES:
        raise InvalidInputError(
            f"{file}: {len(body)} bytes; the limit is {_IMPORT_BYTES}: export fewer at once"
        )
    reply = ask("session.import", {"overwrite": overwrite}, body, db_path=db_path, timeout_s=_TRANSFER_S)
    finish(reply)


_SESSION: Final = Argument("ID", "session", "The session, or its first digits; as --session-id.")
COMMANDS: Final = (
    Command.of(
        restore_identity,
        "Begin a session that continues the latest",
        Option(
            "--session-id",
            "Session to begin, or with source resume the one to continue. $CLAUDE_CODE_SESSION_ID and "
            "standard input override it. Default: a new id.",
            "ID",
        ),
        Option("--source", "startup (default), resume, clear or compact.", "WORD"),
    ),
    Command.of(
        persist_identity,
        "Save a session in full",
        Option(
            "--session-id",
            "Session to save. $CLAUDE_CODE_SESSION_ID and standard input override it. Default: the latest.",
            "ID",
        ),
    ),
    Command.of(
        list_sessions,
        "List sessions, newest first",
        Option("--limit", "Sessions a page, 1 to 1000.", "N", default="50", kind="int", limits=(1, 1000)),
        Option("--cursor", "Where the page begins: the last page's next_cursor.", "TEXT"),
        word="list",
    ),
    Command.of(
        show_session,
        "Show one session",
        _SESSION,
        SESSION_ID,
        Option("--verbose", "Show what was measured of its identity, too."),
        word="show",
    ),
    Command.of(
        export_session,
        "Write sessions as JSON",
        _SESSION,
        SESSION_ID,
        Option("--all", "Every session of the store.", field="every"),
        Option(
            "--cursor",
            "With --all: continue at a document's next_cursor (each holds up to 1,000 sessions).",
            "C",
        ),
        Option("--output", "Write there instead of to standard output.", "FILE", kind="path"),
        word="export",
    ),
    Command.of(
        import_sessions,
        "Read sessions from JSON",
        Argument("FILE", "file", "What `session export` wrote; default: standard input.", kind="path"),
        Option("--overwrite", "Replace sessions that are in the store already."),
        word="import",
    ),
)
