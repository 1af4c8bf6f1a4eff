"""Says what the words of a command are, and reads them: one form of command, option and argument for all.

Agents and hooks run commands between two tool calls, and Typer's parser costs 0.1 s or more, so plain words
are read here. All else, such as `--help` or a wrong option, goes to Typer (`typer_words`), which has the
messages. Imports no Typer.

The table at the end lists all commands: which groups there are, and which module has whose in its
``COMMANDS``; only what is named is loaded. Help, completion, the man page and the tables of docs/commands.md
come from there.
"""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from context_graph.errors import CommandLineError

_SHOWN_CHARS: Final = 60
UNLIMITED: Final = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Option:
    """One option: a word of ``choices``, a value called ``metavar``, or with neither a flag."""

    name: str
    help: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    """As it is typed; of a flag with ``off`` True or None."""
    short: str = ""
    many: bool = False
    """It may be given again; the values are a list."""
    field: str = ""
    """The name of its value, if not its own without dashes."""
    kind: str = "text"
    """What its text is read as: text, path, int, float, json, time or span (seconds, or `10min`)."""
    limits: tuple[float, float] = UNLIMITED
    """Of a number, both included."""
    off: str = ""
    """Of a flag: the option that says the opposite."""
    required: bool = False
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
    def takes(self) -> str:
        """What follows it in help; "" of a flag."""
        return "|".join(self.choices) or self.metavar

    def read(self, text: Any) -> Any:
        """Return the value that was typed as ``text``; the default's where there is none.

        An empty text counts as none where no value is empty: scripts pass "$LIMIT" whether it is set or not.

        Raises:
            CommandLineError: It is none of the choices, or not of the kind; says what is taken.
        """
        if text is None or (text == "" and (self.choices or self.kind not in ("text", "path"))):
            text = self.default
        if self.is_flag:
            return bool(text) if self.default is None and not self.off else text
        if text is None or self.many:
            return text
        if self.choices and text not in self.choices:
            raise CommandLineError(f"{self.name} is {_cut(text)}; choose one of {', '.join(self.choices)}")
        return _converted(self, text)


@dataclass(frozen=True, slots=True)
class Argument:
    """Words of a command that are no options: one, or all that are left."""

    metavar: str
    field: str
    """The name of its value; a list, if there may be ``many``."""
    help: str = ""
    required: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()
    kind: str = "text"
    """text or path."""

    @property
    def parameter(self) -> str:
        """The name of its value."""
        return self.field

    @property
    def shown(self) -> str:
        """As a usage line has it: in brackets if it may be left out, with … if there may be several."""
        name = ("|".join(self.choices) or self.metavar) + "…" * self.many
        return name if self.required else f"[{name}]"

    def read(self, text: Any) -> Any:
        """As `Option.read`."""
        if self.many:
            return list(text or ())
        if text and self.choices and text not in self.choices:
            raise CommandLineError(f"{_cut(text)} is none of {', '.join(self.choices)}")
        return Path(text) if text and self.kind == "path" else text


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words behind the group's, what it does, and what it takes."""

    word: str
    run: Callable[..., int | None]
    """Takes all values by name; its exit code, None for 0."""
    short: str
    """Its line in a list of commands."""
    takes: tuple[Option | Argument, ...] = ()
    text: str = ""
    """Its help, where that is not the docstring of ``run``."""
    codes: str = ""
    """Its exit codes, where the help does not say them."""

    @classmethod
    def of(
        cls,
        run: Callable[..., int | None],
        short: str,
        *takes: Option | Argument,
        word: str = "",
        text: str = "",
        codes: str = "",
    ) -> Command:
        """Return the command named as its function, which takes --json and --db-path if that one does."""
        all_takes = (
            *takes,
            *((OUTPUT, JSON) if "as_json" in run.__annotations__ else ()),
            *((DB_PATH,) if "db_path" in run.__annotations__ else ()),
        )
        return cls(word or run.__name__.replace("_", "-"), run, short, all_takes, text, codes)

    @property
    def options(self) -> tuple[Option, ...]:
        return tuple(word for word in self.takes if isinstance(word, Option))

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return tuple(word for word in self.takes if isinstance(word, Argument))

    @property
    def help(self) -> str:
        """What it does, its exit codes, an example: paragraphs."""
        import inspect  # only who asks for help needs it

        text = inspect.cleandoc(self.text or self.run.__doc__ or "")
        if self.codes:
            before, mark, example = text.partition("\n\nExample:")
            text = f"{before}\n\n{self.codes.strip()}{mark}{example}"
        return text

    def call(self, values: dict[str, Any]) -> int:
        """Run it with ``values`` as they were typed; its exit code.

        Only from here on is Ctrl-C an exception: raised while modules load it becomes other errors, and
        crashes some that are native.
        """
        read = {word.parameter: word.read(values.get(word.parameter)) for word in self.takes}
        if OUTPUT.parameter in read:
            read[JSON.parameter] |= read.pop(OUTPUT.parameter) == "json"
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return self.run(**read) or 0


DB_PATH: Final = Option(
    "--db-path", "Use this store instead of the project's, as $CONTEXT_GRAPH_DB_PATH does.", "FOLDER"
)
JSON: Final = Option("--json", "Print JSON instead of text.", field="as_json")
OUTPUT: Final = Option(
    "--format", "text, or json as with --json.", choices=("text", "json"), default="text", field="output_form"
)
SESSION_ID: Final = Option(
    "--session-id",
    "Session to use: its id, or at least four of its first digits. "
    "Default: $CLAUDE_CODE_SESSION_ID, else the latest session.",
    "ID",
)


def read_words(words: Sequence[str], takes: Sequence[Option | Argument]) -> dict[str, Any] | None:
    """Return the texts in ``words`` by the names of their values; None where these are not plain, which is
    left to Typer.
    """
    known = [word for word in takes if isinstance(word, Option)]
    options = {name: word for word in known for name in (word.name, word.short, word.off) if name}
    values: dict[str, Any] = {}
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            plain.append(word)
            continue
        name, joined, value = word.partition("=")
        option = options.get(name)
        if option is None or (option.is_flag and joined):
            return None
        if option.is_flag:
            values[option.parameter] = name != option.off
            continue
        text = value if joined else next(rest, None)
        if text is None or (not joined and text.startswith("-") and not _is_number(text)):
            return None
        if option.many:
            values.setdefault(option.parameter, []).append(text)
        else:
            values[option.parameter] = text
    if any(option.required and option.parameter not in values for option in options.values()):
        return None
    arguments = [word for word in takes if isinstance(word, Argument)]
    return values if _place(plain, arguments, values) else None


def _place(plain: list[str], arguments: Sequence[Argument], values: dict[str, Any]) -> bool:
    """Give the arguments their words; whether they fit."""
    for argument in arguments:
        if not plain:
            return not argument.required
        values[argument.field], plain = (plain, []) if argument.many else (plain[0], plain[1:])
    return not plain


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit()


def _converted(option: Option, text: str) -> Any:
    if option.kind == "path":
        return Path(text)
    if option.kind == "json":
        return _object(option.name, text)
    if option.kind == "time":
        from context_graph.cli.console.moments import moment  # few commands are given a time

        return moment(option.name, text)
    if option.kind == "span":
        return _span(option.name, text)
    return _number(option, text) if option.kind in ("int", "float") else text


def _span(name: str, text: str) -> float:
    from context_graph.cli.console.moments import span_s  # only who gives a length of time needs it

    try:
        span = span_s(text)
        seconds = float(text) if span is None else span
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise CommandLineError(f"{name} is {text!r:.60}; give seconds, or a time such as 10min, 12h, 7d")
    return seconds


def _number(option: Option, text: str) -> float:
    whole = option.kind == "int"
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        number = math.nan
    least, most = option.limits
    if not (math.isfinite(number) and least <= number <= most):
        span = f" from {least:.10g} to {most:.10g}" if math.isfinite(most) else ""
        raise CommandLineError(f"{option.name} is {_cut(text)}; give a {'whole ' * whole}number{span}")
    return number


def _object(name: str, text: str) -> dict[str, Any]:
    cure = 'give one such as {"area": "api"}'
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise CommandLineError(f"{name}: {_cut(text)} is no JSON ({error}); {cure}") from error
    if not isinstance(value, dict):
        raise CommandLineError(f"{name}: {_cut(text)} is no JSON object; {cure}")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")


PROGRAM: Final = "context-graph-cli"


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that begin with the same word."""

    short: str
    """In the words of a list, where ``help`` would be cut at 80 columns."""
    help: str
    module: str
    """Below this package."""
    quick: str = ""
    """A module with ``plain``, for a group whose help is dear, or whose words are no mere names."""


GROUPS: Final = {
    "memory": Group(
        "What this project remembers",
        "Store, find, show, link and forget what this project remembers; consolidate it; move it as files.",
        "memory.typed",
        "memory.actions",
    ),
    "session": Group(
        "Sessions and what they were about",
        "List, show, export and import sessions; begin and save one by hand.",
        "session",
    ),
    "consciousness": Group(
        "How well a session keeps to its goal",
        "How well a session keeps to what it is about: on one line, as a warning, as context, in numbers.",
        "consciousness",
    ),
    "req": Group(
        "What must be met before a tool runs",
        "Requirements: what must be met before a tool runs or a session stops.",
        "req.commands",
        "req.commands",
    ),
    "hub": Group(
        "A team's memories through a PostgreSQL",
        "A team's memories through a PostgreSQL of its own.",
        "exchange.hub_batch",
    ),
    "hooks": Group(
        "What the client calls, and its configuration",
        "Serve the client's hook events, and write the configuration that calls them.",
        "hooks",
    ),
    "owner": Group(
        "The process that holds the stores",
        "Start, stop and inspect the owner, the process that holds the stores. Any command starts it.",
        "owner",
    ),
}
WITHIN: Final = {
    "req config": "What all files say together",
    "req git-hooks": "Have git ask, for programs other than Claude Code",
}
"""Groups within groups."""
ALONE: Final = {
    "setup": "setup",
    "status": "status",
    "doctor": "doctor.command",
    "view": "view",
    "report": "view",
    "sync": "exchange.sync",
    "backup": "backup.command",
    "restore": "backup.command",
    "repair": "backup.command",
    "mcp": "native",
    "help": "about_itself",
    "completion": "about_itself",
}
"""Commands of one word, by the module that has them."""


def find(words: Sequence[str]) -> tuple[Command, Sequence[str]] | None:
    """Return the command that ``words`` begin with, and what is left of them; None for no such command."""
    if not words:
        return None
    name, rest = words[0], words[1:]
    if name in ALONE:
        return alone(name), rest
    group = GROUPS.get(name)
    if group is None:
        return None
    if group.quick:
        match: tuple[Command, Sequence[str]] | None = _module(group.quick).plain(rest)
        return match
    return next(((command, rest[1:]) for command in below(name) if rest[:1] == [command.word]), None)


def alone(word: str) -> Command:
    """Return the command of that one word."""
    commands: tuple[Command, ...] = _module(ALONE[word]).COMMANDS
    return next(command for command in commands if command.word == word)


def below(group: str) -> tuple[Command, ...]:
    """Return the commands of a group, in the order of its help."""
    commands: tuple[Command, ...] = _module(GROUPS[group].module).COMMANDS
    return commands


def every_command() -> Iterator[tuple[str, Command]]:
    """Yield each command by all its words. Loads all modules, which takes 0.1 s."""
    for group in GROUPS:
        for command in below(group):
            yield f"{group} {command.word}", command
    for word in ALONE:
        yield word, alone(word)


def _module(name: str) -> ModuleType:
    return import_module(f"context_graph.cli.{name}")
