"""Runs `context-graph-cli` in Python: hooks, brief, status line and MCP itself, all else by ``cli``.

Twin: ext/launcher/src/lib.rs. Whatever goes wrong, a hook never ends with 2, which would block the client,
and never with a traceback.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_HELP = ("--help", "-h")
_HELP_WANTED = -1
"""What ``hook.hooks`` returns where its help was asked for, which Typer has."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit."""
    started = time.monotonic()
    words = list(sys.argv[1:] if argv is None else argv)
    first, second = (*words, "", "")[:2]
    if first == "consciousness" and second == "brief" and not _asks_for_help(words):
        _brief(words[2:])
    if first == "hooks" and second not in ("", "generate-config", *_HELP):
        _hooks(second, words[2:], started)
    if words in (["req", "statusline"], ["status", "--line"]):
        _status_line(first == "status")
    if first == "mcp" and not _asks_for_help(words[1:]):
        _mcp(words[1:])
    _become_cli(["hooks", "--help"] if words == ["hooks"] else words)


def _asks_for_help(words: Sequence[str]) -> bool:
    return any(word in _HELP for word in words)


def _end(code: int) -> NoReturn:
    """End at once: nothing is buffered, and to take the interpreter down costs as much as an event."""
    os._exit(code)


def _brief(args: list[str]) -> NoReturn:
    try:
        from context_graph.front import brief

        brief.run(os.environ, args)
    except BaseException as error:  # a brief never fails
        _debug(error)
        _say(1, "[C:? r=? IC=?]\n")
    _end(0)


def _hooks(word: str, args: list[str], started: float) -> NoReturn:
    claude = _wants_claude(args)
    code = 1
    try:
        from context_graph.front import hook

        code = hook.hooks(word, args, started, claude)
    except BaseException as error:  # a defect of ours must cost the user's session nothing
        _say(
            2,
            f"context-graph: a defect, and this event may be lost: {type(error).__name__}: {error}\n",
        )
    if code == _HELP_WANTED:
        _become_cli(["hooks", word, *args])
    _end(0 if claude else code)


def _status_line(with_state: bool) -> NoReturn:
    try:
        from context_graph.front import statusline

        statusline.run(os.environ, with_state)
    except BaseException as error:
        _debug(error)
        _say(1, "requirements ?\n")
    _end(0)


def _mcp(args: list[str]) -> NoReturn:
    code = 1
    try:
        from context_graph.front import bridge

        code = bridge.run(os.environ, args)
    except BaseException as error:
        _say(2, f"context-graph-cli: mcp: {type(error).__name__}: {error}\n")
    _end(code)


def _wants_claude(args: Sequence[str]) -> bool:
    """Whether the arguments ask for the client's format, found before anything else can fail."""
    claude = False
    rest = iter(args)
    for arg in rest:
        if arg == "--format":
            claude = next(rest, "") == "claude"
        elif arg.startswith("--format="):
            claude = arg == "--format=claude"
    return claude


def _debug(error: BaseException) -> None:
    if os.environ.get("CONTEXT_GRAPH_DEBUG") == "1":
        _say(2, f"context-graph-cli: debug: {type(error).__name__}: {error}\n")


def _say(handle: int, text: str) -> None:
    try:
        os.write(handle, text.encode("utf-8", "replace"))
    except OSError:
        pass  # nobody listens


def _become_cli(words: list[str]) -> NoReturn:
    """Run a command of ``cli``; as the launcher does, by the interpreter that CONTEXT_GRAPH_PYTHON names."""
    if os.environ.get("CONTEXT_GRAPH_PYTHON"):
        from context_graph.front import programs

        _say(2, f"context-graph-cli: {programs.exec_cli(os.environ, words)}\n")
        _end(1)
    from context_graph.cli.main import main as run

    run(words)
