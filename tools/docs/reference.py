"""Writes what pages and settings say of tools, commands and the client's events from their definitions.

    python tools/docs/reference.py          # rewrites the files where they differ
    python tools/docs/reference.py --check  # says which differ, and ends with 1

In docs/dev/mcp.md each tool's table; in docs/commands.md each command's, and the hooks' whole sections; in
docs/hooks.md the events; the sentences around them are written by hand. The hooks of the plugin and of this
repository's settings too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from context_graph.claude.events import EVENTS, REGISTERED
from context_graph.claude.settings.settings import merge_settings, our_group
from context_graph.cli.hooks import FORMAT, HOOKS, STDIN
from context_graph.cli.words import DB_PATH, SESSION_ID, Command, every_command
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


def with_hooks(page: str) -> str:
    """``page`` of commands with a section for each of the client's events, in the table's order."""
    start, end = page.index("### `hooks "), page.index("### `hooks git`")
    made = []
    for command in HOOKS:
        words, _, example = command.text.partition("\n\nExample: ")
        made += [f"### `hooks {command.word}`", "", words, ""]
        made += [*command_table(command), "", f"    {example}", ""]
    return page[:start] + "\n".join(made) + "\n" + page[end:]


def with_events(page: str) -> str:
    """docs/hooks.md with the tables of the events that settings have, and of those that they don't."""
    rows = [
        f"| {one.name}, `{one.verb}` | {one.reads} | {one.tells} | {one.refuses} "
        f"| {one.waits_ms:,} ms{one.waits_more} | {one.settings_s} s |"
        for one in REGISTERED
    ]
    others = [f"| {one.name}, `{one.verb}` | {one.unregistered} |" for one in EVENTS if one not in REGISTERED]
    for head, lines in (("| event, verb |", rows), ("| served, not registered |", others)):
        table = "\n".join(lines)
        page = re.sub(
            rf"(^{re.escape(head)}.*\n\|[-|]+\n)(?:\|.*\n)*",
            lambda match, table=table: f"{match[1]}{table}\n",
            page,
            flags=re.MULTILINE,
        )
    return page


def plugin_hooks(text: str) -> str:
    """The plugin's hooks, with the rest of their file as it is."""
    hooks = {event.name: [our_group(event)] for event in REGISTERED}
    return json.dumps({**json.loads(text), "hooks": hooks}, indent=2) + "\n"


def pages() -> dict[Path, str]:
    """Every file as it should be."""
    tools = {one.tool: tool_table(one.arguments) for one in OPERATIONS if one.tool}
    tools |= {one.alias: tools[one.tool] for one in OPERATIONS if one.alias}
    tables = {name: command_table(command) for name, command in every_command() if name not in BY_HAND}
    made: dict[Path, Callable[[str], str]] = {
        DOCS / "dev" / "mcp.md": lambda page: rewritten(page, tools),
        DOCS / "commands.md": lambda page: with_hooks(rewritten(page, tables)),
        DOCS / "hooks.md": with_events,
        ROOT / ".claude/settings.json": lambda text: merge_settings(text, REGISTERED),
        ROOT / "src/context_graph/data/plugin/hooks/hooks.json": plugin_hooks,
    }
    return {path: write(path.read_text(encoding="utf-8")) for path, write in made.items()}


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
