"""Does what `setup --host` says: another host's hooks and memory tools, added or removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from context_graph.claude.hosts.install import plan, plan_removal, project_scope, remove_folders, user_scope
from context_graph.claude.install.link import plan_link, write_link
from context_graph.claude.install.plan import Record, Setup
from context_graph.claude.settings.changes import apply_changes, diff_of
from context_graph.cli.console.tables import columns
from context_graph.cli.console.terminal import agree
from context_graph.config import checkout_top, data_root, working_dir
from context_graph.errors import CommandLineError, ConfigError
from context_graph.wire.client.spawn import find_launcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of `setup` that count for every host."""

    user: bool
    remove: bool
    yes: bool
    dry_run: bool
    diff: bool
    servers: bool


def set_up(host: str, asked: Asked, *, refused: bool = False) -> None:
    """Show what would change, ask, write; or the way back. Errors as of `setup`.

    Args:
        refused: Options were given that only Claude Code has.
    """
    if refused:
        raise CommandLineError(
            "--local, --strict-gates, --status-line and --server-name are for Claude Code alone"
        )
    scope = user_scope(host, os.environ) if asked.user else project_scope(host, checkout_top(working_dir()))
    record = Record(data_root(), scope.key)
    made = plan_removal(scope, record) if asked.remove else plan(scope, os.environ, servers=asked.servers)
    link = None if asked.remove else plan_link(find_launcher(), os.environ)
    _show(made, diff=asked.diff, listed=asked.dry_run or not asked.yes)
    if made.needed and not asked.dry_run:
        agree("Take it out?" if asked.remove else "Set this up?", yes=asked.yes)
        write(made) if asked.remove else write(made, record, lambda: remove_folders(record))
        if link is not None and link.is_needed:  # hosts look for the memory tools on PATH
            write_link(link)
            print(link.done)
    if asked.remove and not asked.dry_run:
        remove_folders(record)
        record.forget()
    for note in made.notes:
        print(f"note: {note}")
    if made.needed and not (asked.remove or asked.dry_run):
        print(scope.next)
        if not scope.is_user:
            print("whoever works in this project with it gets the same once these files are committed")


def _show(made: Setup, *, diff: bool, listed: bool) -> None:
    if not made.needed:
        print("nothing to change")
    elif diff:
        print(diff_of(made.needed))
    elif listed:
        show_files(made)


def show_files(made: Setup) -> None:
    """Show each file that changes in a line: all of them fit a screen."""
    rows = []
    for change in made.needed:
        come, go = change.lines
        word = "new" if change.before is None else "gone" if change.after is None else "changed"
        rows.append((word, " ".join([str(change.path), *[f"+{come}"] * bool(come), *[f"-{go}"] * bool(go)])))
    print(columns(rows) + "\n`--diff` shows every line")


def write(made: Setup, record: Record | None = None, undo: Callable[[], None] | None = None) -> None:
    """Write the files; before that note in ``record`` what they were, and ``undo`` folders if it fails.

    Raises:
        ConfigError: A file can't be written, or what it was can't be kept.
    """
    if record is not None:
        try:
            record.note(made.needed)
        except OSError as error:
            raise ConfigError(f"can't save the files' earlier content for --remove: {error}") from error
    try:
        for path in apply_changes(made.needed):
            print(f"wrote {path}" if path.exists() else f"removed {path}")
    except ConfigError:
        if undo is not None:
            undo()
        raise
