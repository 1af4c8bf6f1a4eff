"""Serves `mcp`: carries MCP from standard input and output to the owner, as lines of JSON-RPC.

The client sees one server for as long as this process lives. Owners may come and go behind it: a request that
was on its way when one went is sent to the next, which knows it again by its bytes and does nothing twice.
Twin of ext/launcher/src/bridge. Start reading at ``carry``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class BridgeError(Exception):
    """Why it can't begin."""


def run(env: Mapping[str, str], args: Sequence[str]) -> int:
    """Run until the client closes its end or sends a signal; the exit code."""
    from context_graph.errors import ContextGraphError
    from context_graph.front.bridge.carry import Bridge, signals_as_input
    from context_graph.front.bridge.link import Link
    from context_graph.front.paths import locate
    from context_graph.system.streams import write_all

    try:
        stop = signals_as_input()
        link = Link(env, locate(env, _db_path(args)))
    except (BridgeError, ContextGraphError, OSError) as error:
        write_all(2, f"context-graph-cli: mcp: {error}\n".encode("utf-8", "replace"))
        return 1
    Bridge(link, stop).run()
    return 0


def _db_path(args: Sequence[str]) -> str | None:
    """The one option: `--db-path PATH`."""
    path = None
    rest = iter(args)
    for arg in rest:
        if arg == "--db-path":
            path = next(rest, None)
            if path is None:
                raise BridgeError("option '--db-path' needs a value")
        elif arg.startswith("--db-path="):
            path = arg.partition("=")[2]
        else:
            raise BridgeError(f"unknown argument '{arg}'; see mcp --help")
    return path
