"""Hands commands over to the launcher; here is only their help, and `mcp`, which is one of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NoReturn

from context_graph.cli.console.terminal import complain
from context_graph.cli.words import DB_PATH, Command
from context_graph.errors import ConfigError

_HELP: Final = ("--help", "-h")
_COLD_BRIEF: Final = "[C:? r=? IC=?]"


def is_native(words: Sequence[str]) -> bool:
    """Return whether the launcher itself serves ``words``; help is served in Python."""
    if any(word in _HELP for word in words):
        return False
    if list(words[:2]) == ["consciousness", "brief"]:
        return True
    if list(words) in (["req", "statusline"], ["status", "--line"]):
        return True
    if list(words[:1]) == ["mcp"]:
        return True
    if list(words[:1]) != ["hooks"] or len(words) == 1:
        return False
    from context_graph.model import EventKind

    return words[1] == "git" or words[1] in set(EventKind)


def become_launcher(words: Sequence[str]) -> NoReturn:
    """Replace this process by the launcher. If it can't, fail as the command may: a hook never blocks."""
    from context_graph.wire.client.spawn import find_launcher

    try:
        launcher = os.fspath(find_launcher())
        os.execv(launcher, [launcher, *words])
    except (ConfigError, OSError) as error:
        complain(error)
    if words[0] == "consciousness":
        print(_COLD_BRIEF)
        raise SystemExit(0)
    from context_graph.claude.hosts.translate import CLIENT_FORMATS

    pairs = {*pairwise(words), *(tuple(word.split("=", 1)) for word in words)}
    raise SystemExit(0 if any(("--format", form) in pairs for form in CLIENT_FORMATS) else 1)


def serve(**options: Any) -> NoReturn:
    """Return what a command of the launcher's does: leave it to the launcher, options as they were."""
    become_launcher(sys.argv[1:])


COMMANDS: Final = (
    Command.of(
        serve,
        "Serve MCP on standard input and output",
        DB_PATH,
        word="mcp",
        text="""Serve MCP on standard input and output, one message per line, until the client closes its end.

        The launcher does this itself: it passes messages to the owner, and starts one if none runs. If the
        owner ends, the launcher starts another and sends unanswered messages again; nothing is done twice.

        Exit codes: 0 the client closed its end, or sent SIGINT or SIGTERM; 1 a wrong option or environment.

        Example: claude mcp add context-graph -- context-graph-cli mcp
        """,
    ),
)
