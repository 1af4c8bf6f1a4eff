"""Prints `consciousness brief`: one line and exit code 0, always. Twin of ext/launcher/src/briefcmd.rs."""

from __future__ import annotations

from context_graph.errors import ContextGraphError
from context_graph.front import brief, paths
from context_graph.front.env import is_debug, session_id
from context_graph.system.streams import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def read_options(args: Sequence[str]) -> tuple[str | None, str | None, str | None]:
    """The db path, the session, and the first argument that is not understood and changes nothing."""
    db_path = session = unknown = None
    rest = iter(args)
    for arg in rest:
        if arg == "--db-path":
            db_path = next(rest, None)
        elif arg == "--session-id":
            session = next(rest, None)
        elif arg.startswith("--db-path="):
            db_path = arg.partition("=")[2]
        elif arg.startswith("--session-id="):
            session = arg.partition("=")[2]
        else:
            unknown = unknown or arg
    return db_path, session, unknown


def run(env: Mapping[str, str], args: Sequence[str]) -> None:
    """Print the line.

    The session is --session-id, for a question names what it asks about; else the client's; else the newest
    of the store.
    """
    db_path, session, unknown = read_options(args)
    slot = None
    try:
        store = paths.locate(env, db_path).store
        slot = brief.lookup(f"{store}/brief.bin", session or session_id(env) or None)
    except ContextGraphError as error:
        if is_debug(env):
            write_all(2, f"context-graph-cli: debug: {error}\n".encode("utf-8", "replace"))
    # One write, so that a reader never sees half of the line.
    write_all(1, f"{brief.line(slot)}\n".encode())
    if unknown is not None:
        write_all(
            2, f"context-graph-cli: consciousness brief ignores '{unknown}'\n".encode("utf-8", "replace")
        )
