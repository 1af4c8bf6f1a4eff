"""Writes the man page from the commands' own help; tools/docs/built.py keeps it for the wheel."""

from __future__ import annotations

from collections.abc import Iterator

from context_graph.cli.typer_words import HELP
from context_graph.cli.words import PROGRAM, Command, Option, every_command


def page() -> str:
    """The page in roff: each command with its purpose, options, exit codes and example."""
    lines = [
        f'.TH {PROGRAM.upper()} 1 "" "context-graph" "User Commands"',
        ".SH NAME",
        f"{_escaped(PROGRAM)} \\- memory, identity continuity and requirement gates for Claude Code",
        ".SH SYNOPSIS",
        f".B {_escaped(PROGRAM)}",
        ".I COMMAND",
        "[\\fIOPTIONS\\fR]",
        ".SH DESCRIPTION",
        *_text(HELP),
        ".SH COMMANDS",
    ]
    for name, command in every_command():
        lines += _command(name, command)
    lines += [".SH SEE ALSO", f"{_escaped(PROGRAM)} COMMAND \\-\\-help", ""]
    return "\n".join(lines)


def _command(name: str, command: Command) -> list[str]:
    lines = [
        f".SS {_escaped(' '.join((name, *(one.shown for one in command.arguments))))}",
        *_text(command.help),
    ]
    for argument in command.arguments:
        lines += [".TP", f"\\fB{_escaped(argument.shown)}\\fR", _line(argument.help)]
    for option in command.options:
        names = " or ".join(filter(None, (option.name, option.short, option.off)))
        takes = f" \\fI{_escaped(option.takes)}\\fR" if option.takes else ""
        lines += [".TP", f"\\fB{_escaped(names)}\\fR{takes}", _line(described(option))]
    return lines


def described(option: Option) -> str:
    """An option's help, and its default."""
    if option.is_flag or option.default in (None, ""):
        return option.help
    return f"{option.help} Default: {option.default}."


def _text(help_: str) -> Iterator[str]:
    """A help text's paragraphs; an example is set as it is typed."""
    for paragraph in help_.strip().split("\n\n"):
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
