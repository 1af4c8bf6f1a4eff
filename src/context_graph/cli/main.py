"""Runs `context-graph-py`: Typer over all command modules, for what the launcher does not serve itself.

Exit codes are ours, not Typer's (`errors.exit_code_of`): a usage error exits with 2, but of the seeds'
commands, to whose callers 2 means `block`, with 1, below ``hooks`` with 4, and with 0 where they always
succeed.
"""

from __future__ import annotations

import copy
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from context_graph.cli.console.terminal import complain
from context_graph.cli.native import become_launcher, is_native, serve
from context_graph.errors import CommandLineError, ContextGraphError, exit_code_of

if TYPE_CHECKING:
    import typer

    from context_graph.cli.command_table import Command

PROGRAM: Final = "context-graph-cli"
_HELP: Final = (
    "Memory, identity continuity and requirement gates for Claude Code: what one session found out, the next "
    "one knows."
)
_GROUPS: Final = {
    "memory": "What this project remembers",
    "session": "Sessions and what they were about",
    "consciousness": "The numbers of this project's identity",
    "req": "Requirement gates",
    "hub": "A team's memories through a PostgreSQL",
    "hooks": "What the client calls, and its configuration",
    "owner": "The process that holds the stores",
}
"""In the words of a list, where a group's own help would be cut at 80 columns."""
_COMMANDS: Final = {
    "setup": "Set a project up for Claude Code, or take it out again",
    "doctor": "Try hooks and memory tools out, and say what is wrong",
    "report": "Write everything into one HTML file",
    "sync": "Exchange memories with your other machines",
    "backup": "Copy this project's store while it is in use",
    "restore": "Put a backup in the store's place",
    "repair": "Salvage a damaged store",
}
_ABOUT_ITSELF: Final = {
    "help": "Show the help of a command",
    "completion": "Print the completion script of a shell",
}
_ALWAYS_0: Final = (["consciousness", "brief"], ["consciousness", "check-identity"])
_REFUSALS: Final = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT),
        *(errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM),
    }
)
"""What the system refuses for reasons that are not ours."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit. Never a traceback: a defect of ours is one line on standard error."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        signal.pthread_sigmask(
            signal.SIG_UNBLOCK, [signal.SIGINT]
        )  # the launcher held it back while we started
        _run_whole(words)
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _run_whole(words: list[str]) -> NoReturn:
    if words[:1] == ["help"] and not {"-h", "--help"} & set(words):
        words = [*words[1:], "--help"]
    elif len(words) == 2 and words[0] in _GROUPS and words[1] == "help":
        words = [words[0], "--help"]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ids and paths may hold what the terminal can't show
    if is_native(words):
        become_launcher(words)
    try:
        _run(words)
    except ContextGraphError as error:
        complain(error)
        raise SystemExit(_code(words, error)) from None
    except BrokenPipeError:
        # The reader has gone; nothing more can be said, and Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:  # the top of the program: one line instead of a traceback
        complain(_known(error) or f"internal error: {_whereabouts(error)}")
        raise SystemExit(_code(words, ContextGraphError())) from None
    raise SystemExit(0)


def req_alias() -> NoReturn:
    """The script `req`: `context-graph-cli req` by a shorter name."""
    main(["req", *sys.argv[1:]])


def build_app(called: str = "", command: str = "") -> typer.Typer:
    """Build the Typer application; only with what ``called`` names and, in such a group, ``command``.

    A name that is none of ours counts as none given. All commands cost 0.2 s more: Typer reads the signatures
    of 70 functions.
    """
    import typer  # 40 ms: not before it is known that a command is Typer's

    from context_graph.cli.command_table import MCP, STATUS, VIEW, typer_command

    app = typer.Typer(
        name=PROGRAM,
        help=_HELP,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    _add_version(app)
    known = {*_GROUPS, *_COMMANDS, MCP.word, STATUS.word, VIEW.word, *_ABOUT_ITSELF}
    wanted = {called} if called in known else known
    for name, words in _GROUPS.items():
        if name in wanted:
            app.add_typer(_narrowed(_load_group(name), command), name=name, short_help=words)
    for name, words in _COMMANDS.items():
        if name in wanted:
            app.command(name, short_help=words)(_load_command(name))
    for one in (STATUS, VIEW):
        if one.word in wanted:
            typer_command(app, one, _work_of(one))
    if MCP.word in wanted:
        typer_command(app, MCP, serve)
    for name, words in _ABOUT_ITSELF.items():
        if name in wanted:
            app.command(name, short_help=words)(_load_command(name))
    from context_graph.cli.console.usage import plain_help

    _keep_plain(app, plain_help())
    return app


def _keep_plain(app: typer.Typer, plain: Any) -> None:
    """Let help name arguments plainly, say exit codes before the example, and print that unwrapped: an
    example that is wrapped can't be copied.
    """
    import inspect  # Typer has loaded it by now; before, it would cost as much as all else here

    for group in app.registered_groups:
        if group.typer_instance is not None:
            _keep_plain(group.typer_instance, plain)
    for command in app.registered_commands:
        command.cls = plain
        text = inspect.cleandoc(command.help or getattr(command.callback, "__doc__", None) or "")
        if command.epilog:
            before, mark, example = text.partition("\n\nExample:")
            text, command.epilog = f"{before}\n\n{command.epilog}{mark}{example}", None
        # A backspace alone on a line is click's mark for a paragraph that is not to be wrapped.
        command.help = text.replace("\n\nExample:", "\n\n\b\nExample:")


def _load_group(name: str) -> typer.Typer:
    if name == "memory":
        from context_graph.cli.memory.typed import app
    elif name == "session":
        from context_graph.cli.session import app
    elif name == "consciousness":
        from context_graph.cli.consciousness import app
    elif name == "hooks":
        from context_graph.cli.hooks import app
    elif name == "hub":
        from context_graph.cli.exchange import hub_batch  # adds its command to those of `hub`

        app = hub_batch.app
    elif name == "owner":
        from context_graph.cli.owner import app
    else:
        from context_graph.cli.req.commands import build_app as build_req

        return build_req()
    return app


def _narrowed(group: typer.Typer, command: str) -> typer.Typer:
    """The group with that command alone, or as it is where there is none of that name."""
    found = [one for one in group.registered_commands if one.name == command]
    if not found:
        return group
    alone = copy.copy(group)
    alone.registered_commands, alone.registered_groups = found, []
    return alone


def _load_command(name: str) -> Callable[..., None]:
    command: Callable[..., None]
    if name == "setup":
        from context_graph.cli.setup import setup as command
    elif name == "doctor":
        from context_graph.cli.doctor.command import doctor as command
    elif name == "report":
        from context_graph.cli.view.report import report as command
    elif name == "sync":
        from context_graph.cli.exchange.sync import sync as command
    elif name in _ABOUT_ITSELF:
        from context_graph.cli.about_itself import completion_command, help_command

        return help_command(main) if name == "help" else completion_command(build_app)
    elif name == "backup":
        from context_graph.cli.backup.command import backup as command
    elif name == "restore":
        from context_graph.cli.backup.command import restore as command
    else:
        from context_graph.cli.backup.command import repair as command
    return command


def _add_version(app: typer.Typer) -> None:
    import typer

    def print_version(wanted: bool) -> None:
        if wanted:
            _print_version()
            raise typer.Exit

    @app.callback(help=_HELP)
    def root(
        version: bool = typer.Option(
            False, "--version", "-V", help="Print the version.", is_eager=True, callback=print_version
        ),
    ) -> None: ...


def _run(words: list[str]) -> None:
    if words[:1] == ["req"]:
        from context_graph.cli.req import commands as req

        code = req.call_directly(words[1:])
        if code is not None:
            raise SystemExit(code)
    if run_directly(words):
        return
    app = build_app(*words[:2])
    if not words or (len(words) == 1 and words[0] in _GROUPS and words[0] != "req"):
        words = [*words, "--help"]
    from context_graph.cli.console.usage import run_typer

    code = run_typer(app, words, PROGRAM)
    if code == 2:
        raise SystemExit(_code(words, CommandLineError()))
    raise SystemExit(code)


def run_directly(words: Sequence[str]) -> bool:
    """Run the command of the table ``DIRECT``, or of `memory`, that plain ``words`` name; whether they do.

    Anything else, such as a wrong option or `--help`, is left to Typer, which has the messages and exit
    codes. Typer takes 0.2 s, so nothing here may load it, nor msgspec and what operations are made of.
    """
    if list(words) in (["--version"], ["-V"]):
        _print_version()
        return True
    if words[:1] == ["memory"]:
        from context_graph.cli.memory.actions import run_plain

        return run_plain(words[1:])
    from context_graph.cli.command_table import DIRECT
    from context_graph.cli.words import read_words

    rest = words[1:]
    command = DIRECT.get(("", words[0])) if words else None
    if command is None and len(words) > 1:
        command, rest = DIRECT.get((words[0], words[1])), words[2:]
    given = read_words(rest, command.options) if command is not None else None
    if command is None or given is None:
        return False
    for one in command.options:
        one.check(given.get(one.parameter))
    _work_of(command)(**given)
    return True


def _work_of(command: Command) -> Callable[..., None]:
    """The function of a command of the table ``DIRECT``."""
    if command.word == "view":
        from context_graph.cli.view.terminal import view

        return view
    if command.word == "status":
        from context_graph.cli.owner_view import owner_status
        from context_graph.cli.status import status

        return owner_status if command.group else status
    from context_graph.cli import (
        consciousness,
        session,
    )  # they import Typer, 30 ms: only if it is one of these

    module = session if command.group == "session" else consciousness
    found: Callable[..., None] = getattr(module, command.word.replace("-", "_"))
    return found


def _print_version() -> None:
    from context_graph import __version__

    print(f"{PROGRAM} {__version__}")


def _code(words: Sequence[str], error: ContextGraphError) -> int:
    return 0 if list(words[:2]) in _ALWAYS_0 else exit_code_of(error, ".".join(words[:2]))


def _known(error: Exception) -> str:
    """The system's own words for a refusal; "" for a defect of ours."""
    if not isinstance(error, OSError):
        return ""
    try:
        os.getcwd()
    except FileNotFoundError:
        return "the working folder has been removed; change to one that is there, and try again"
    if error.errno not in _REFUSALS:
        return ""
    return f"the system refused this: {error.strerror}" + (f": {error.filename}" if error.filename else "")


def _whereabouts(error: Exception) -> str:
    place = ""
    trace = error.__traceback__
    while trace is not None:
        place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}: {error} ({place})"
