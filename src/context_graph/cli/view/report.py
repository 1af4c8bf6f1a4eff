"""Writes the report: `report`, one HTML file with all that a project's store shows."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from context_graph.cli.console.moments import TAKEN
from context_graph.cli.console.tables import size
from context_graph.cli.console.terminal import shown
from context_graph.cli.words import DB_PATH, Command, Option
from context_graph.errors import CommandLineError, ConfigError, InvalidInputError
from context_graph.system.small_files import replacing

_NAME: Final = "context-graph-report.html"
_DAY_MS: Final = 86_400_000
_EXTRA: Final = (
    "`report` needs Jinja2, which is not installed; `uv tool install 'context-graph-cli[view]'` or "
    "`pip install 'context-graph-core[view]'` brings it; `context-graph-cli status` works without"
)


def report(since: int | None, output: str, open_: bool, db_path: str | None) -> None:
    """Write health, memories, effect, ledger, sessions, consolidations, gates and map into one HTML file.

    The file loads nothing from a network, and the same store gives the same bytes. Only you can read it; it
    holds what the store holds, so look at it before you pass it on. Needs the extra `view`.

    Exit codes: 0 it is written; 1 it is not: no extra, FILE is something else, or no owner answers.

    Example: context-graph-cli report --since 30d --open
    """
    if find_spec("jinja2") is None:
        raise ConfigError(_EXTRA)
    from context_graph.cli.view.source import OwnerSource
    from context_graph.view.report.gather import gather
    from context_graph.view.report.page import MARK, render

    path = None if output == "-" else Path(output)
    if path is None and open_:
        raise CommandLineError("--open needs a file; leave out `--output -`")
    if path is not None:
        _check(path, MARK)
    begin = None if since is None else since // _DAY_MS * _DAY_MS
    page = render(gather(OwnerSource(db_path), begin))
    if path is None:
        sys.stdout.buffer.write(page)
        sys.stdout.buffer.flush()
        return
    try:
        with replacing(path) as out:
            out.write(page)
    except OSError as error:
        raise InvalidInputError(f"{path} can't be written: {error.strerror}") from error
    print(shown(f"{path.absolute()}: {size(len(page))}"))
    if open_:
        _open(path)


def _check(path: Path, mark: bytes) -> None:
    """Refuse to replace a file that is no report."""
    try:
        if not path.exists():
            if not path.absolute().parent.is_dir():
                raise InvalidInputError(f"{path.absolute().parent} is no folder; make it first")
            return
        if path.is_file():
            with open(path, "rb") as there:
                if there.read(len(mark)) in (mark, b""):
                    return
    except OSError as error:
        raise InvalidInputError(f"{path} can't be read: {error.strerror}") from error
    raise InvalidInputError(f"{path} is there and is no report; name another file with -o")


def _open(path: Path) -> None:
    import webbrowser

    if not webbrowser.open(path.absolute().as_uri()):
        print("no browser could be started; open the file yourself", file=sys.stderr)


COMMANDS: Final = (
    Command(
        "report",
        report,
        "Write everything into one HTML file",
        (
            Option(
                "--since",
                f"Only what happened since then, in whole days (UTC): {TAKEN}. Default: all that is kept.",
                "TIME",
                kind="time",
            ),
            Option(
                "--output",
                "Where to write it; `-` is standard output. An earlier report there is replaced, any other "
                "file is left alone.",
                "FILE",
                default=_NAME,
                short="-o",
            ),
            Option("--open", "Open it in the browser afterwards.", field="open_"),
            DB_PATH,
        ),
    ),
)
