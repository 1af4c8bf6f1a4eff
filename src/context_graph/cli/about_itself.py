"""Makes the commands `help` and `completion`, which are about all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NoReturn

import typer

from context_graph.cli.shells import SHELLS, places, script
from context_graph.errors import CommandLineError

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="COMMAND", help="The command's words; without: all commands."),
]
Shell = Annotated[str, typer.Argument(metavar="|".join(SHELLS), help="The shell that reads the script.")]


def help_command(run: Callable[[Sequence[str]], NoReturn]) -> Callable[..., None]:
    """`help`; ``run`` runs a command line."""

    def show_help(command: Words = None) -> None:
        """Show the help of a command, as its --help does.

        Exit codes: 0; 2 there is no such command.

        Example: context-graph-cli help memory recall
        """
        run([*(command or ()), "--help"])

    return show_help


def completion_command(all_commands: Callable[[], typer.Typer]) -> Callable[..., None]:
    """`completion`, for ``all_commands``."""

    def completion(shell: Shell) -> None:
        """Print a script that completes commands, options and their values at the Tab key.

        All of it is in the script, so nothing is run at the Tab key; print it again after an update.

        For bash make the folder ~/.local/share/bash-completion/completions (mkdir -p) and write the script to
        context-graph-cli in it; for zsh to _context-graph-cli in a folder of $fpath; for fish to
        context-graph-cli.fish in ~/.config/fish/completions.

        Exit codes: 0; 2 a shell that is not known.

        Example: context-graph-cli completion zsh > "${fpath[1]}/_context-graph-cli"
        """
        if shell not in SHELLS:
            raise CommandLineError(f"there is no script for {shell!r:.60}; choose one of {', '.join(SHELLS)}")
        print(script(shell, list(places(typer.main.get_command(all_commands())))), end="")

    return completion
