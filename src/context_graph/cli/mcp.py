"""Shows the help of `mcp`; the launcher itself is the bridge."""

from __future__ import annotations

from typing import NoReturn

from context_graph.cli.native import become_launcher
from context_graph.cli.options import DbPath


def mcp(db_path: DbPath = None) -> NoReturn:
    """Serve MCP on standard input and output, one message a line, until the client closes its end.

    The launcher does this itself: it carries the messages to the owner, which it starts if none runs. When
    that owner goes, the next one is started and what was on its way is sent again; nothing is done twice.

    Exit codes: 0 the client closed its end or sent SIGINT or SIGTERM; 1 a wrong option or environment.

    Example: claude mcp add context-graph -- context-graph-cli mcp
    """
    become_launcher(["mcp", *([] if db_path is None else ["--db-path", db_path])])
