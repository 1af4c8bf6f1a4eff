"""Restores and saves identities (seed 000), shows sessions, and moves them as JSON: `session …`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from context_graph.cli.command_table import PERSIST_IDENTITY, RESTORE_IDENTITY, typer_command
from context_graph.cli.console.calling import Finished, ask, ask_json, finish, lenient_input, read_stdin, warn
from context_graph.cli.console.options import DbPath, Json, SessionId, both_forms
from context_graph.cli.console.tables import chain_text, session_table, session_text
from context_graph.cli.console.terminal import print_folded, shown
from context_graph.errors import ContextGraphError, InvalidInputError, OwnerError, WireError

app = typer.Typer(
    help="Restore, save, list, show, export and import session identities.",
    rich_markup_mode=None,
)

_RESTORE_S: Final = 5.0
_PERSIST_S: Final = 30.0
_TRANSFER_S: Final = 120.0
_IMPORT_BYTES: Final = 15 * 1024 * 1024
"""A request frame carries 16 MiB."""
_RECOVERY: Final = "Recovery: Run 'context-graph-cli repair --cf session_identity'"


Session = Annotated[
    str | None,
    typer.Argument(metavar="[ID]", help="The session, or its first digits; as --session-id."),
]


def restore_identity(
    session_id: str | None = None, source: str | None = None, db_path: str | None = None
) -> None:
    """Begin a session that continues the latest one; see `RESTORE_IDENTITY`."""
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


def persist_identity(session_id: str | None = None, db_path: str | None = None) -> None:
    """Save a session's identity in full; see `PERSIST_IDENTITY`."""
    try:
        reply = ask(
            "session.persist-identity", {}, lenient_input(session_id), db_path=db_path, timeout_s=_PERSIST_S
        )
    except ContextGraphError as error:
        warn(error)
        raise Finished(1) from error
    finish(reply, exit_code=min(reply.exit_code, 1))


typer_command(app, RESTORE_IDENTITY, restore_identity)
typer_command(app, PERSIST_IDENTITY, persist_identity)


@app.command("list", short_help="List sessions, newest first")
@both_forms
def list_sessions(
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, metavar="N", help="Sessions on one page.")
    ] = 50,
    cursor: Annotated[
        str | None,
        typer.Option("--cursor", metavar="TEXT", help="Where the page begins: the last page's next_cursor."),
    ] = None,
    json_: Json = False,
    db_path: DbPath = None,
) -> None:
    """List the sessions of this project, newest first: when, how long, on which branch, with what
    outcome, and what was asked for.

    Exit codes: 0; 1 the store can't be used; 3 the database is corrupt.

    Example: context-graph-cli session list --limit 10
    """
    params = {"limit": str(limit), "cursor": cursor}
    if json_:
        finish(ask("session.list", params, db_path=db_path, timeout_s=_PERSIST_S))
    found = ask_json("session.list", params, db_path=db_path, timeout_s=_PERSIST_S)
    print(shown(session_table(found["sessions"])))
    count, total = len(found["sessions"]), found.get("total", 0)
    if found.get("next_cursor"):
        print(f"{count} of {total}; the next: --cursor {found['next_cursor']}")


@app.command("show", short_help="Show one session")
@both_forms
def show_session(
    session: Session = None, session_id: SessionId = None, json_: Json = False, db_path: DbPath = None
) -> None:
    """Show one session: its goal, what was measured of it, and the sessions before it.

    JSON has the rows of the view (row, facts, points, marks, chain, events), and beside them the 14 snapshot
    fields by name, events_applied, events_duplicate, events_by_kind, events_waiting, ic_history,
    compactions, dreams_pending.

    Exit codes: 0; 1 no such session; 3 its record is corrupt.

    Example: context-graph-cli session show 0ae1c9d2 --json
    """
    params = {"session-id": session or session_id}
    if json_:
        finish(ask("session.show", params, db_path=db_path))
    found = ask_json("session.show", params, db_path=db_path)
    print_folded(shown(session_text(found)))
    print_folded(shown(chain_text(found.get("chain", []), found.get("chain_end", ""))))


@app.command("export", short_help="Write sessions as JSON")
def export_session(
    session: Session = None,
    session_id: SessionId = None,
    all_: Annotated[bool, typer.Option("--all", help="Every session of the store.")] = False,
    cursor: Annotated[
        str | None,
        typer.Option(
            "--cursor",
            metavar="C",
            help="With --all: continue at a document's next_cursor (each holds up to 1,000 sessions).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write there instead of to standard output."),
    ] = None,
    db_path: DbPath = None,
) -> None:
    """Write one session, or all, as JSON that `session import` reads.

    Exit codes: 0; 1 no such session, or the file can't be written; 3 a record is corrupt.

    Example: context-graph-cli session export --all --output sessions.json
    """
    params = {"session-id": session or session_id, "all": all_, "cursor": cursor}
    reply = ask("session.export", params, db_path=db_path, timeout_s=_TRANSFER_S)
    if reply.exit_code or output is None:
        finish(reply)
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(reply.stdout)
    except OSError as error:
        raise InvalidInputError(f"--output {output}: {error.strerror}") from error


@app.command("import", short_help="Read sessions from JSON")
def import_sessions(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="What `session export` wrote; default: standard input."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace sessions that are in the store already.")
    ] = False,
    db_path: DbPath = None,
) -> None:
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
