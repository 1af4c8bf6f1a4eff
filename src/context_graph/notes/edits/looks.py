"""Tells which file a command only prints, whole or in part."""

from __future__ import annotations

from typing import Final

from context_graph.text.shell_lines import UNKNOWN, ShellCommand, read_line

_PRINTERS: Final = frozenset({"cat", "nl", "sed", "gsed", "head", "tail", "bat", "batcat"})


def shown_file(command: str) -> str:
    """Return the one file of which a command prints lines as they are, and nothing else; "" for others."""
    if not command.startswith(tuple(_PRINTERS)):
        return ""
    line = read_line(command)
    paths = {path for call in line.commands for path in _operands(call)}
    plain = line.whole and all(call.program in _PRINTERS and not call.writes for call in line.commands)
    return paths.pop() if plain and len(paths) == 1 else ""


def _operands(call: ShellCommand) -> list[str]:
    """Return what a command is about: its words that look like files, or an odd one if it changes any."""
    if any(word.startswith(("-i", "--in-place")) for word in call.words):
        return [UNKNOWN, ""]
    words = [word.removeprefix("./") for word in call.words[1:] if not word.startswith("-")]
    words = words[1:] if call.program in ("sed", "gsed") else words
    return [word for word in words if not word.isdigit()]
