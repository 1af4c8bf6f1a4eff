"""Writes the man page from the commands' own help; tools/docs/built.py keeps it for the wheel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from context_graph.cli.main import build_app
from context_graph.cli.shells import PROGRAM


def page() -> str:
    """The page in roff: each command with its purpose, options, exit codes and example."""
    root = typer.main.get_command(build_app())
    lines = [
        f'.TH {PROGRAM.upper()} 1 "" "context-graph" "User Commands"',
        ".SH NAME",
        f"{_escaped(PROGRAM)} \\- memory, identity continuity and requirement gates for Claude Code",
        ".SH SYNOPSIS",
        f".B {_escaped(PROGRAM)}",
        ".I COMMAND",
        "[\\fIOPTIONS\\fR]",
        ".SH DESCRIPTION",
        *_text(root.help or ""),
        ".SH COMMANDS",
    ]
    for name, command in leaves(root):
        lines += _command(name, command)
    lines += [".SH SEE ALSO", f"{_escaped(PROGRAM)} COMMAND \\-\\-help", ""]
    return "\n".join(lines)


def leaves(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by its words, without the groups."""
    below = getattr(command, "commands", None)
    if not below:
        yield name, command
    for word, inner in (below or {}).items():
        yield from leaves(inner, f"{name} {word}".strip())


def _command(name: str, command: Any) -> list[str]:
    arguments = [one.metavar for one in command.params if one.param_type_name == "argument"]
    lines = [f".SS {_escaped(' '.join((name, *arguments)))}", *_text(command.help)]
    for one in command.params:
        if one.name == "help":
            continue
        default = "" if one.default in (None, False, "") else f" Default: {one.default}."
        names = one.metavar if one.param_type_name == "argument" else ", ".join(one.opts)
        takes = f" \\fI{_escaped(one.metavar)}\\fR" if one.opts[0].startswith("-") and one.metavar else ""
        lines += [".TP", f"\\fB{_escaped(names)}\\fR{takes}", _line(f"{one.help}{default}")]
    return [*lines, *(_text(command.epilog) if command.epilog else [])]


def _text(help_: str) -> Iterator[str]:
    """A help text's paragraphs; an example is set as it is typed."""
    for paragraph in help_.replace("\b\n", "").strip().split("\n\n"):
        if paragraph.startswith("Example: "):
            yield from (".PP", ".EX", _line(paragraph.removeprefix("Example: ")), ".EE")
        else:
            yield from (".PP", _line(" ".join(paragraph.split())))


def _line(text: str) -> str:
    """A line of text: no first character that roff takes for a request."""
    found = _escaped(text)
    return f"\\&{found}" if found[:1] in (".", "'") else found


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")
