"""Has the commands `help` and `completion`, which are about all others."""

from __future__ import annotations

from typing import Final

from context_graph.cli.words import Argument, Command

SHELLS: Final = ("bash", "zsh", "fish")


def show_help(command: list[str]) -> None:
    """Show the help of a command, as its --help does.

    Exit codes: 0; 2 there is no such command.

    Example: context-graph-cli help memory recall
    """
    from context_graph.cli.main import main

    main([*command, "--help"])


def completion(shell: str) -> None:
    """Print a script that completes commands, options and their values at the Tab key.

    All of it is in the script, so nothing is run at the Tab key; print it again after an update.

    For bash make the folder ~/.local/share/bash-completion/completions (mkdir -p) and write the script to
    context-graph-cli in it; for zsh to _context-graph-cli in a folder of $fpath; for fish to
    context-graph-cli.fish in ~/.config/fish/completions.

    Exit codes: 0; 2 a shell that is not known.

    Example: context-graph-cli completion zsh > "${fpath[1]}/_context-graph-cli"
    """
    from context_graph.cli.shells import places, script

    print(script(shell, list(places())), end="")


COMMANDS: Final = (
    Command(
        "help",
        show_help,
        "Show the help of a command",
        (Argument("COMMAND", "command", "The command's words; without: all commands.", many=True),),
    ),
    Command(
        "completion",
        completion,
        "Print the completion script of a shell",
        (
            Argument(
                "SHELL",
                "shell",
                "The shell that reads the script.",
                required=True,
                choices=SHELLS,
            ),
        ),
    ),
)
