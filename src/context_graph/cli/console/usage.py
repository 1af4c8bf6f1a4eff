"""Runs Typer's commands and words its errors as ours: `context-graph-cli: what is wrong; the cure`, once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import typer

_USAGE: Final = 2
"""Typer's code for a wrong word, which `main` turns into the command's own."""
_PYDANTIC: Final = (("Value error, ", ""), ("Input should be ", "must be "))


def run_typer(app: typer.Typer, words: list[str], program: str) -> int:
    """Run the command that ``words`` name; its exit code, 2 for words that it does not take.

    A command's own errors come through as they are. Typer's classes are known by their names: its newer
    versions bring a click of their own.
    """
    try:
        return int(app(args=words, prog_name=program, standalone_mode=False) or 0)
    except RuntimeError as error:
        if type(error).__name__ != "Abort":
            raise
        return 1
    except Exception as error:
        told = getattr(error, "format_message", None)
        if told is None:
            raise
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            print(told())
            return 0
        path = context.command_path if context is not None else program
        said = _worded(error)
        said += " " if said.endswith("?") else "; "
        print(f"{program}: {said}`{path} --help` tells what it takes", file=sys.stderr)
        return _USAGE


def _worded(error: Any) -> str:
    """What is wrong, without Typer's "Error:" and pydantic's terms."""
    kind, name = type(error).__name__, _name(error)
    if kind == "MissingParameter":
        return f"{name} is missing"
    if kind == "BadParameter" and name:
        said = str(error.message)
        for theirs, ours in _PYDANTIC:
            said = said.replace(theirs, ours)
        said = said.partition(", unable to parse")[0].rstrip(".")
        return f"{name} {said}" if said.startswith("must be ") else f"{name}: {said}"
    said = str(error.format_message()).strip().rstrip(".")
    if "unexpected extra argument" in said:
        return f"too many words: {said.partition('(')[2].partition('(')[2].rstrip(')') or said}"
    said, _, like = said.partition(" (Possible options: ")
    said = said[:1].lower() + said[1:].replace(". Did you mean", "; did you mean")
    return f"{said}; did you mean {like.rstrip(')')}?" if like else said


def _name(error: Any) -> str:
    """The option or argument that is wrong, as it is typed."""
    parameter = getattr(error, "param", None)
    if parameter is None:
        return ""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name)
    return str(max(parameter.opts, key=len))
