"""Says what the words of a command are, and reads them: one form of option and argument for all commands.

Agents and hooks run commands between two tool calls, and Typer's parser costs 0.1 s or more, so plain words
are read here. All else, such as `--help` or a wrong option, goes to Typer (`typer_words`), which has the
messages. Imports no Typer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_graph.errors import CommandLineError


@dataclass(frozen=True, slots=True)
class Option:
    """One option: a word of ``choices``, a text called ``metavar``, or with neither a flag."""

    name: str
    help: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: str | None = None
    short: str = ""
    many: bool = False
    """It may be given again; the values are a list."""
    field: str = ""
    """The name of its value, if not its own without dashes."""
    shown: bool = False
    """It decides how the answer is shown, or is taken for old scripts: what is done does not depend on it."""

    @property
    def parameter(self) -> str:
        """The name of its value."""
        return self.field or self.name[2:].replace("-", "_")

    @property
    def is_flag(self) -> bool:
        return not (self.metavar or self.choices)

    @property
    def kind(self) -> str:
        """flag, text, or the words of a choice, joined by `|`."""
        return "flag" if self.is_flag else "|".join(self.choices) or "text"

    def check(self, value: Any) -> None:
        """Raise CommandLineError for a word that is none of the choices."""
        if self.choices and value not in (None, *self.choices):
            raise CommandLineError(f"{self.name} is {value!r:.60}; choose one of {', '.join(self.choices)}")


@dataclass(frozen=True, slots=True)
class Argument:
    """Words of a command that are no options: one, or all that are left."""

    metavar: str
    field: str
    """The name of its value; a list, if there may be ``many``."""
    help: str = ""
    required: bool = False
    many: bool = False


def read_words(
    words: Sequence[str], options: Sequence[Option], arguments: Sequence[Argument] = ()
) -> dict[str, Any] | None:
    """The values in ``words`` by their names; None where these are not plain, which is left to Typer."""
    named = {word: one for one in options for word in (one.name, one.short) if word}
    values: dict[str, Any] = {}
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            plain.append(word)
            continue
        name, joined, value = word.partition("=")
        option = named.get(name)
        if option is None or (option.is_flag and joined):
            return None
        if option.is_flag:
            values[option.parameter] = True
            continue
        text = value if joined else next(rest, None)
        if text is None or (not joined and text.startswith("-") and not _is_number(text)):
            return None
        if option.many:
            values.setdefault(option.parameter, []).append(text)
        else:
            values[option.parameter] = text
    return values if _place(plain, arguments, values) else None


def _place(plain: list[str], arguments: Sequence[Argument], values: dict[str, Any]) -> bool:
    """Give the arguments their words; whether they fit."""
    for one in arguments:
        if not plain:
            return not one.required
        values[one.field], plain = (plain, []) if one.many else (plain[0], plain[1:])
    return not plain


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit()
