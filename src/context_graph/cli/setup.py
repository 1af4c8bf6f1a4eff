"""Installs hooks, memory tools, skills and permissions into a project or the user's settings: `setup`."""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated, Final, Literal

import typer

from context_graph.claude.install.autostart import plan_autostart, plan_no_autostart, write_autostart
from context_graph.claude.install.entries import SERVER
from context_graph.claude.install.link import lasting_program, plan_link, remove_link, write_link
from context_graph.claude.install.plan import (
    Options,
    Scope,
    Setup,
    is_set_up,
    plan_removal,
    plan_setup,
    plugin_folder,
    project_scope,
    remove_folders,
    user_scope,
)
from context_graph.claude.install.record import Record
from context_graph.claude.settings import apply_changes, diff_of
from context_graph.claude.settings.events import EXEC_SINCE
from context_graph.claude.transcripts import folder_of, sessions_in
from context_graph.cli.hosts import Asked, set_up
from context_graph.cli.tables import columns
from context_graph.config import checkout_top, data_root, working_dir
from context_graph.errors import ConfigError, UsageError
from context_graph.wire.client import find_launcher, find_owner_command

_SERVER_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NEXT: Final = """next: `context-graph-cli doctor` tries it out; then start `claude`
when claude asks whether you trust this folder, choose Yes (Enter alone means No)"""


def setup(
    host: Annotated[
        Literal["claude", "codex", "gemini", "cursor", "opencode"],
        typer.Option("--host", help="The program to set up, if it is not Claude Code."),
    ] = "claude",
    user: Annotated[
        bool, typer.Option("--user", help="Set up all projects, in your own settings and skills.")
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Use settings.local.json, which is not committed.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove everything again; the files become what they were.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes; write nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show every line that changes.")] = False,
    servers: Annotated[
        bool, typer.Option("--mcp/--no-mcp", help="Add the memory tools to .mcp.json.")
    ] = True,
    server_name: Annotated[
        str, typer.Option(help="Server name for the memory tools, if another program uses the default.")
    ] = SERVER,
    skills: Annotated[bool, typer.Option("--skills/--no-skills", help="Add the skills.")] = True,
    permissions: Annotated[
        bool,
        typer.Option(
            "--permissions/--no-permissions",
            help="Allow tools that read or add without asking; Claude Code still asks before it forgets or "
            "consolidates.",
        ),
    ] = True,
    status_line: Annotated[
        bool, typer.Option("--status-line", help="Add a status line, unless there is one.")
    ] = False,
    strict_gates: Annotated[
        bool | None,
        typer.Option(
            "--strict-gates/--no-strict-gates",
            help="Where a project has requirements, block tool calls if our hook fails or is missing.",
        ),
    ] = None,
    autostart: Annotated[
        bool,
        typer.Option(
            "--autostart",
            help="Only start the owner at login (a systemd unit); --remove undoes it.",
        ),
    ] = False,
    link: Annotated[
        bool,
        typer.Option("--link", help="Only link the program into ~/.local/bin; --remove undoes it."),
    ] = False,
    plugin: Annotated[
        bool, typer.Option("--plugin", help="Print the folder of the plugin, for `claude --plugin-dir`.")
    ] = False,
) -> None:
    """Set this project up for Claude Code: hooks, memory tools, skills, permissions.

    This adds to .claude/settings.json, .mcp.json and .claude/skills and leaves the rest of them byte for
    byte; a second run changes nothing. It lists the files (with --diff every line) and writes them after you
    say yes. If a new terminal would not find the program, it offers a link in ~/.local/bin. --remove restores
    every file, settings.local.json too; from files that were edited since, it removes our entries only. With
    --local --remove, what the project's settings need stays.

    With --host another program gets hooks, where it has them, and the memory tools: in the project or, with
    --user, in your own files. --remove, --diff, --dry-run, --yes and --no-mcp count there too.

    Exit codes: 0 done, or nothing to do; 1 you said no, or a file can't be used (nothing is written).

    Example: context-graph-cli setup --dry-run
    """
    if plugin:
        print(plugin_folder())
        return
    if autostart:
        _autostart(remove=remove, yes=yes, dry_run=dry_run)
        return
    if link:
        _link(remove=remove, dry_run=dry_run)
        return
    if host != "claude":
        only_claudes = local or strict_gates is not None or status_line or server_name != SERVER
        asked = Asked(user=user, remove=remove, yes=yes, dry_run=dry_run, diff=diff, servers=servers)
        set_up(host, asked, refused=only_claudes)
        return
    if not _SERVER_NAME.fullmatch(server_name):
        raise UsageError("--server-name takes 1 to 64 letters, digits, - and _")
    if user and local:
        raise UsageError("give either --user or --local, not both")
    scope = user_scope() if user else project_scope(checkout_top(working_dir()), local=local)
    if remove:
        _remove(scope, yes=yes, dry_run=dry_run, diff=diff)
        return
    record = Record(data_root(), scope.key)
    program = "" if scope.name == "project" else _without_shell()
    options = Options(servers, server_name, skills, permissions, status_line, strict_gates, program)
    made = plan_setup(scope, record, options)
    wanted = _is_wanted(made, yes=yes, dry_run=dry_run, diff=diff)
    if wanted:
        _write(scope, record, made)
    _tell(made)
    _offer_link(yes=yes, dry_run=dry_run)
    if wanted:
        print(_NEXT if scope.servers is not None else _NEXT.partition("\n")[0])
        _offer_import()


def _offer_import() -> None:
    """Say how many sessions of this project the client has transcripts of."""
    found = len(sessions_in(folder_of(checkout_top(working_dir()), os.environ)))
    if found:
        sessions = "1 earlier session" if found == 1 else f"{found} earlier sessions"
        command = "context-graph-cli memory import --from claude-code"
        print(f"{sessions} of this project can be remembered: `{command}`")


def _without_shell() -> str:
    """The program's path, if the client is known to run a hook without a shell; "" if not."""
    from context_graph.doctor.surroundings import client_version

    version, _ = client_version(os.environ)
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    program = lasting_program(os.environ)
    return str(program) if program is not None and numbers >= EXEC_SINCE else ""


def _remove(scope: Scope, *, yes: bool, dry_run: bool, diff: bool) -> None:
    """Take it out of ``scope``; of a project out of the settings that its users keep to themselves, too."""
    scopes, shared = [scope], True
    if scope.name == "project":
        scopes.append(project_scope(scope.base, local=True))
    elif scope.name == "local":
        shared = not is_set_up(project_scope(scope.base))
    places = [(one, Record(data_root(), one.key)) for one in scopes]
    made = plan_removal(places, shared=shared)
    if _is_wanted(made, yes=yes, dry_run=dry_run, diff=diff):
        _apply(made)
    if not dry_run:
        for one, record in places:
            remove_folders(one, record)
            record.forget()
    _tell(made)


def _is_wanted(made: Setup, *, yes: bool, dry_run: bool, diff: bool) -> bool:
    """Show the changes; whether there are any, and they are to be made."""
    if not made.needed:
        print("nothing to change")
        return False
    if diff:
        print(diff_of(made.needed))
    if not yes or dry_run:
        _show_files(made)
        if not diff:
            print("`--diff` shows every line")
    if not yes and not dry_run:
        _ask(len(made.needed))
    return not dry_run


def _show_files(made: Setup) -> None:
    """Each file in a line: all of them fit a screen."""
    rows = []
    for change in made.needed:
        come, go = change.lines
        word = "new" if change.before is None else "gone" if change.after is None else "changed"
        rows.append((word, f"{change.path}  " + " ".join([f"+{come}"] * bool(come) + [f"-{go}"] * bool(go))))
    print(columns(rows))


def _tell(made: Setup) -> None:
    for note in made.notes:
        print(f"note: {note}")


def _autostart(*, remove: bool, yes: bool, dry_run: bool) -> None:
    env = os.environ
    made = plan_no_autostart(env) if remove else plan_autostart(find_owner_command(), data_root(), env)
    print(diff_of([made.unit]) if made.unit.is_needed else "nothing to change\n" * (not made.needed), end="")
    if made.needed and not dry_run:
        if not yes:
            _ask(1)
        write_autostart(made, os.environ)
        print(f"{'enabled' if made.wanted else 'removed'} {made.unit.path}")
    for note in made.notes:
        print(f"note: {note}")


def _ask(count: int) -> None:
    files = "1 file" if count == 1 else f"{count} files"
    if not sys.stdin.isatty():
        raise UsageError(f"{files} would change; nothing was written. Say --yes to write")
    typer.confirm(f"Write {files}?", abort=True)


def _write(scope: Scope, record: Record, made: Setup) -> None:
    try:
        record.note(made.needed)
    except OSError as error:
        raise ConfigError(f"can't save the files' earlier content for --remove: {error}") from error
    try:
        _apply(made)
    except ConfigError:
        remove_folders(scope, record)
        raise


def _apply(made: Setup) -> None:
    for path in apply_changes(made.needed):
        print(f"wrote {path}" if path.exists() else f"removed {path}")


def _offer_link(*, yes: bool, dry_run: bool) -> None:
    """Where the next terminal would not find the program: a link to it, if that is wanted."""
    if dry_run:
        return
    made = plan_link(find_launcher(), os.environ)
    if made.is_needed:
        question = f"Link the program into {made.path.parent}, so that hooks find it from every terminal?"
        if not yes and not (sys.stdin.isatty() and typer.confirm(question, default=True)):
            print("note: context-graph-cli is not on PATH; run `context-graph-cli setup --link`")
            return
        write_link(made)
        print(f"linked {made.path} to {made.target}")
    if made.note:
        print(f"note: {made.note}")


def _link(*, remove: bool, dry_run: bool) -> None:
    """Only the link: made, or taken away."""
    if remove:
        gone = None if dry_run else remove_link(os.environ)
        print(f"removed {gone}" if gone else "nothing to change")
        return
    made = plan_link(find_launcher(), os.environ)
    if made.is_needed and not dry_run:
        write_link(made)
    done = f"linked {made.path} to {made.target}" if made.is_needed else "nothing to change"
    print(done + " (dry run)" * dry_run)
    if made.note:
        print(f"note: {made.note}")
