"""Writes the tables of docs/dev/mcp.md and docs/commands.md from the definitions of tools and commands.

    python tools/docs/reference.py          # rewrites the files where they differ
    python tools/docs/reference.py --check  # says which differ, and ends with 1

docs/dev/mcp.md has a table for each tool, docs/commands.md one for each command. Sentences around them are
written by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from context_graph.cli.command_table import every_command
from context_graph.cli.hooks import FORMAT, STDIN
from context_graph.cli.words import DB_PATH, SESSION_ID, Command
from context_graph.operations import OPERATIONS
from context_graph.operations.filters import Filters
from context_graph.operations.operation import Parameter, choices, parameters

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SHARED = {
    DB_PATH.help: "[store](#shared-options)",
    SESSION_ID.help: "[session](#shared-options)",
    STDIN.help: "Read [hook input](#hook-input) from standard input.",
    FORMAT.help: "[What it prints](#hook-output).",
}
"""What the page says of an option in one place, by its help."""
BY_HAND = ("setup", "status", "doctor")
"""Their tables say more than --help has room for."""


def tool_table(arguments: Any) -> list[str]:
    """The parameters of a tool."""
    rows = [
        f"| `{one.name}` | {'required: ' if one.required else ''}{_meaning(one)} |"
        for one in parameters(arguments)
        if one.extra("only") != "command"
    ]
    return ["| parameter | meaning |", "|---|---|", *rows]


def _meaning(one: Parameter) -> str:
    words = one.words
    if one.name == "filters":
        words += " " + ", ".join(f"`{each.name}`" for each in parameters(Filters)) + "."
    if one.kind is int and one.meta.ge is not None:
        words += f" {one.meta.ge} to {one.meta.le:,}."
    if known := choices(one.kind):
        words += f" One of {', '.join(known)}."
    if one.default not in (None, "", ()):
        words += f" Default: {_json(one.default)}."
    return words


def _json(value: Any) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def command_table(command: Command) -> list[str]:
    """The arguments and options of a command."""
    rows = ["| option | meaning |", "|---|---|"]
    rows += [f"| `{_cell(argument.shown)}` | {argument.help} |" for argument in command.arguments]
    for option in command.options:
        takes = f" {_cell(option.takes)}" if option.takes else ""
        has_default = not option.is_flag and option.default not in (None, "")
        default = f" Default: `{option.default}`." if has_default else ""
        rows.append(f"| `{option.name}{takes}` | {SHARED.get(option.help, option.help)}{default} |")
    return rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rewritten(page: str, tables: dict[str, list[str]]) -> str:
    """``page`` with the first table of each section, or none, replaced by that section's of ``tables``."""
    parts = re.split(r"^(### `[^`]+`\n)", page, flags=re.MULTILINE)
    for at in range(1, len(parts), 2):
        rows = tables.get(parts[at][5:-2])
        if rows:
            table = "".join(f"{row}\n" for row in rows)
            before, mark, rest = parts[at + 1].partition("\n|")
            after = re.sub(r"\A(?:.*\n)(?:\|.*\n)*", "", rest)
            parts[at + 1] = f"{before}\n{table}{after}" if mark else before
    return "".join(parts)


def pages() -> dict[Path, str]:
    """Both pages as they should be."""
    tools = {one.tool: tool_table(one.arguments) for one in OPERATIONS if one.tool}
    tools |= {one.alias: tools[one.tool] for one in OPERATIONS if one.alias}
    tables = {name: command_table(command) for name, command in every_command() if name not in BY_HAND}
    made = {DOCS / "dev" / "mcp.md": tools, DOCS / "commands.md": tables}
    return {path: rewritten(path.read_text(encoding="utf-8"), found) for path, found in made.items()}


def main() -> int:
    """Write the files, or with --check say what differs."""
    stale = {
        path: text
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        print(f"{path.name}: {'differs' if '--check' in sys.argv else 'written'}")
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
