"""Runs the commands that the launcher does not serve itself.

Exit codes are ours, not Typer's (`errors.exit_code_of`): a usage error exits with 2, but of the seeds'
commands, to whose callers 2 means `block`, with 1, below ``hooks`` with 4, and with 0 where they always
succeed.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from context_graph.cli.console.terminal import complain
from context_graph.cli.native import become_launcher, is_native
from context_graph.cli.words import GROUPS, PROGRAM, find, read_words
from context_graph.errors import CommandLineError, ContextGraphError, exit_code_of

_INTERRUPTED: Final = 130
_ALWAYS_0: Final = (["consciousness", "brief"], ["consciousness", "check-identity"])
_REFUSALS: Final = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT),
        *(errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM),
    }
)
"""Refusals of the system that are no defect of this program."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit. Never a traceback: a defect is one line on standard error."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        _run_whole(words)
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None


def _run_whole(words: list[str]) -> NoReturn:
    if len(words) == 2 and words[0] in GROUPS and words[1] == "help":
        words = [words[0], "--help"]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ids and paths may hold what the terminal can't show
    if is_native(words):
        become_launcher(words)
    try:
        code = _run(words)
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
    raise SystemExit(code)


def _run(words: list[str]) -> int:
    """Run the command that ``words`` name; its exit code.

    Anything but plain words, such as a wrong option or `--help`, is left to Typer, which has the messages.
    Typer takes 0.2 s, so what runs plain words may not load it, nor msgspec and what operations are made of.
    """
    if words in (["--version"], ["-V"]):
        from context_graph import __version__

        print(f"{PROGRAM} {__version__}")
        return 0
    match = find(words)
    if match is not None:
        command, rest = match
        values = read_words(rest, command.takes)
        if values is not None:
            return command.call(values)
    if not words or (len(words) == 1 and words[0] in GROUPS):
        words = [*words, "--help"]
    from context_graph.cli.typer_words import build_app, run_typer

    code = run_typer(build_app(*words[:2]), words, PROGRAM)
    return _code(words, CommandLineError()) if code == 2 else code


def _code(words: Sequence[str], error: ContextGraphError) -> int:
    return 0 if list(words[:2]) in _ALWAYS_0 else exit_code_of(error, ".".join(words[:2]))


def _known(error: Exception) -> str:
    """Return the system's own words for a refusal; "" for a defect of this program."""
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
