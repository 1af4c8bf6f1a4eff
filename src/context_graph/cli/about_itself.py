"""Runs `help` and `completion`."""

from __future__ import annotations

from typing import Annotated

import typer

from context_graph.cli.shells import SHELLS, places, script
from context_graph.errors import UsageError


def help_(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="The command's words; without: all commands."),
    ] = None,
) -> None:
    """Show the help of a command, as its --help does.

    Exit codes: 0; 1 there is no such command.

    Example: context-graph-cli help memory recall
    """
    from context_graph.cli.main import main

    main([*(command or ()), "--help"])


def completion_(
    shell: Annotated[str, typer.Argument(metavar="|".join(SHELLS), help="The shell that reads the script.")],
) -> None:
    """Print a script that completes commands, options and their values at the Tab key.

    All of it is in the script, so nothing is run at the Tab key; print it again after an update.

    bash: context-graph-cli completion bash > ~/.local/share/bash-completion/completions/context-graph-cli
    (zsh: _context-graph-cli in a folder of $fpath; fish: ~/.config/fish/completions/context-graph-cli.fish)

    Exit codes: 0; 1 a shell that is not known.

    Example: context-graph-cli completion bash
    """
    if shell not in SHELLS:
        raise UsageError(f"there is no script for {shell!r:.60}; choose one of {', '.join(SHELLS)}")
    from context_graph.cli.main import build_app

    print(script(shell, list(places(typer.main.get_command(build_app())))), end="")
