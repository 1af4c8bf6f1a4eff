"""Installs hooks, memory tools, skills and permissions into a project or the user's settings: `setup`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from context_graph.claude.hosts import install as hosts
from context_graph.claude.install.entries import SERVER
from context_graph.claude.install.link import (
    Link,
    lasting_program,
    plan_autostart,
    plan_link,
    plan_no_autostart,
    remove_link,
    write_autostart,
    write_link,
)
from context_graph.claude.install.plan import (
    Options,
    Record,
    Scope,
    Setup,
    is_set_up,
    plan_removal,
    plan_setup,
    plugin_copy,
    project_scope,
    remove_folders,
    user_scope,
)
from context_graph.claude.settings.edit import Change, apply_changes, diff_of
from context_graph.claude.settings.hook_commands import EXEC_SINCE
from context_graph.claude.transcripts import folder_of, sessions_in
from context_graph.cli.console.tables import columns, counted
from context_graph.cli.console.terminal import agree, print_folded
from context_graph.cli.words import Command, Option
from context_graph.config import checkout_top, data_root, working_dir
from context_graph.errors import CommandLineError, ConfigError
from context_graph.wire.client.spawn import find_launcher, find_owner_command

_SERVER_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WHY: Final = {
    "hooks": "keep what a session did, and tell the next one what fits",
    "memory tools": "let the model store memories and look them up itself",
    "skills": "/remember, /recall, /consolidate and /identity-state",
    "program": "to stay, so that hooks find it from every terminal",
}
_COMMITTED: Final = (
    "`git add -A` will commit these files, and then whoever works in this project is asked for the same. "
    "`--local` keeps the hooks to yourself."
)
_COMPLETED: Final = ("bash", "zsh", "fish")
_NEXT: Final = (
    ("context-graph-cli doctor", "tries all of it out"),
    ("claude", "asks whether you trust this folder: choose Yes (Enter alone means No)"),
)


def setup(
    host: str,
    user: bool,
    local: bool,
    remove: bool,
    yes: bool,
    dry_run: bool,
    diff: bool,
    servers: bool,
    server_name: str,
    skills: bool,
    permissions: bool,
    status_line: bool,
    strict_gates: bool | None,
    autostart: bool,
    link: bool,
    plugin: bool,
) -> None:
    """Set this project up for Claude Code: hooks, memory tools, skills, permissions.

    This adds to .claude/settings.json, .mcp.json and .claude/skills and leaves the rest of them byte for
    byte; a second run changes nothing. It says on one screen what goes where and why (with --diff every
    line), asks once, and writes. If a new terminal would not find the program, that includes a link in
    ~/.local/bin or, started by uvx, that uv installs it to stay. --remove restores every file,
    settings.local.json too; from files that were edited since, it removes our entries only.

    With --host another program gets hooks, where it has them, and the memory tools: in the project or, with
    --user, in your own files. --remove, --diff, --dry-run, --yes and --no-mcp count there too.

    Exit codes: 0 done, or nothing to do; 1 you said no, or a file can't be used (nothing is written).

    Example: context-graph-cli setup --dry-run
    """
    if plugin:
        print(plugin_copy(data_root()))
        return
    asked = Asked(remove, yes, dry_run, diff)
    if autostart:
        _autostart(asked)
        return
    if link:
        _link(asked)
        return
    if host != "claude":
        if local or strict_gates is not None or status_line or server_name != SERVER:
            only_claudes = "--local, --strict-gates, --status-line and --server-name"
            raise CommandLineError(f"{only_claudes} are for Claude Code alone")
        _set_up_host(host, asked, user=user, servers=servers)
        return
    if not _SERVER_NAME.fullmatch(server_name):
        raise CommandLineError("--server-name takes 1 to 64 letters, digits, - and _")
    if user and local:
        raise CommandLineError("give either --user or --local, not both")
    scope = user_scope() if user else project_scope(checkout_top(working_dir()), local=local)
    if remove:
        _remove(scope, asked)
        return
    program = "" if scope.name == "project" else _without_shell()
    options = Options(servers, server_name, skills, permissions, status_line, strict_gates, program)
    _install(scope, options, asked)


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that count for whatever is set up."""

    remove: bool
    yes: bool
    dry_run: bool
    diff: bool

    def carry_out(
        self,
        made: Setup,
        question: str,
        show: Callable[[], None],
        *,
        record: Record | None = None,
        undo: Callable[[], None] | None = None,
        link: Link | None = None,
    ) -> bool:
        """Show what would change, ask, write; whether it was written.

        Args:
            record: Notes what the files were; then ``undo`` removes folders if a file can't be written.
        """
        link = link if link is not None and link.is_needed else None
        wanted = bool(made.needed or link)
        if not wanted:
            print("nothing to change")
        elif self.diff:
            print(diff_of(made.needed))
        elif self.dry_run or not self.yes:
            show()
        if not wanted or self.dry_run:
            return False
        agree(question, yes=self.yes)
        _write(made, record, undo)
        if link is not None:
            write_link(link)
            print(link.done)
        return True


def _write(made: Setup, record: Record | None, undo: Callable[[], None] | None) -> None:
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


def _show_files(made: Setup) -> None:
    """Show each file that changes in a line: all of them fit a screen."""
    rows = []
    for change in made.needed:
        come, go = change.lines
        word = "new" if change.before is None else "gone" if change.after is None else "changed"
        rows.append((word, " ".join([str(change.path), *[f"+{come}"] * bool(come), *[f"-{go}"] * bool(go)])))
    print(columns(rows) + "\n`--diff` shows every line")


def _install(scope: Scope, options: Options, asked: Asked) -> None:
    record = Record(data_root(), scope.key)
    made, link = plan_setup(scope, record, options), plan_link(find_launcher(), os.environ)
    done = asked.carry_out(
        made,
        "Set this up?",
        lambda: _show_plan(scope, made, link),
        record=record,
        undo=lambda: remove_folders(scope, record),
        link=link,
    )
    _tell([*made.notes, *([link.note] if link.note else [])])
    if done:
        _tell_next(is_project=scope.servers is not None)


def _set_up_host(host: str, asked: Asked, *, user: bool, servers: bool) -> None:
    """Add or remove another host's hooks and memory tools. Errors as of `setup`."""
    scope = (
        hosts.user_scope(host, os.environ) if user else hosts.project_scope(host, checkout_top(working_dir()))
    )
    record = Record(data_root(), scope.key)
    if asked.remove:
        made = hosts.plan_removal(scope, record)
        asked.carry_out(made, "Take it out?", lambda: _show_files(made))
        if not asked.dry_run:
            hosts.remove_folders(record)
            record.forget()
        _tell(made.notes)
        return
    made = hosts.plan(scope, os.environ, servers=servers)
    done = asked.carry_out(
        made,
        "Set this up?",
        lambda: _show_files(made),
        record=record,
        undo=lambda: hosts.remove_folders(record),
        link=plan_link(find_launcher(), os.environ) if made.needed else None,  # for the memory tools
    )
    _tell(made.notes)
    if done:
        print(scope.next)
        if not scope.is_user:
            print("whoever works in this project with it gets the same once these files are committed")


def _show_plan(scope: Scope, made: Setup, link: Link) -> None:
    """Show in one screen what goes where, and why."""
    places = {scope.settings: "hooks", **({scope.servers: "memory tools"} if scope.servers else {})}
    rows = [(places[change.path], _place(change)) for change in made.needed if change.path in places]
    skills = sum(change.path not in places for change in made.needed)
    if skills:
        rows.append(("skills", f"{scope.skills} ({counted(skills, 'file')})"))
    if link.is_needed:
        rows.append(("program", str(link.path)))
    where = "all your projects" if scope.name == "user" else str(scope.base)
    print(f"context-graph sets up {where}:\n")
    for what, place in sorted(rows, key=lambda row: list(_WHY).index(row[0])):
        print(f"  {what:<13} {place}")
        print_folded(_WHY[what], indent=16)
    print()
    print_folded(
        "What it remembers stays on this machine. `--diff` shows every line; `--remove` undoes all of it."
    )
    if scope.name == "project" and (scope.base / ".git").exists():
        print_folded(_COMMITTED)


def _place(change: Change) -> str:
    come, go = change.lines
    if change.before is None:
        return f"{change.path} (new, {counted(come, 'line')})"
    return f"{change.path} (" + " ".join([f"+{come}"] * bool(come) + [f"-{go}"] * bool(go)) + ")"


def _tell_next(*, is_project: bool) -> None:
    """Print the next commands, and what the client will ask."""
    rows = list(_NEXT if is_project else _NEXT[:1])
    shell = os.path.basename(os.environ.get("SHELL", ""))
    if shell in _COMPLETED:
        rows.append((f"context-graph-cli completion {shell} --help", "says how Tab completes commands"))
    count = len(sessions_in(folder_of(checkout_top(working_dir()), os.environ)))
    if count:
        earlier = counted(count, "earlier session")
        rows.append(
            ("context-graph-cli memory import --from claude-code", f"remembers {earlier} of this project")
        )
    print("\nnext:")
    for command, what in rows:
        fits = len(command) <= 26
        print(f"  {command:<26} " if fits else f"  {command}\n{'':<29}", end="")
        print_folded(what, indent=29, begun=True)


def _without_shell() -> str:
    """Return the program's path, if the client is known to run a hook without a shell; "" if not."""
    from context_graph.cli.doctor.surroundings import client_version

    version, _ = client_version(os.environ)
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    program = lasting_program(os.environ)
    return str(program) if program is not None and numbers >= EXEC_SINCE else ""


def _remove(scope: Scope, asked: Asked) -> None:
    """Take it out of ``scope``; of a project out of the settings that its users keep to themselves, too."""
    scopes, shared = [scope], True
    if scope.name == "project":
        scopes.append(project_scope(scope.base, local=True))
    elif scope.name == "local":
        shared = not is_set_up(project_scope(scope.base))
    places = [(scope, Record(data_root(), scope.key)) for scope in scopes]
    made = plan_removal(places, shared=shared)
    asked.carry_out(made, f"Change {counted(len(made.needed), 'file')}?", lambda: _show_files(made))
    if not asked.dry_run:
        for place, record in places:
            remove_folders(place, record)
            record.forget()
    _tell(made.notes)


def _tell(notes: Sequence[str]) -> None:
    for note in notes:
        print_folded(f"note: {note}")


def _autostart(asked: Asked) -> None:
    env = os.environ
    made = plan_no_autostart(env) if asked.remove else plan_autostart(find_owner_command(), data_root(), env)
    print(diff_of([made.unit]) if made.unit.is_needed else "nothing to change\n" * (not made.needed), end="")
    if made.needed and not asked.dry_run:
        agree("Write 1 file?", yes=asked.yes)
        write_autostart(made, os.environ)
        print(f"{'enabled' if made.wanted else 'removed'} {made.unit.path}")
    _tell(made.notes)


def _link(asked: Asked) -> None:
    """Only the link: made, or taken away."""
    if asked.remove:
        gone = None if asked.dry_run else remove_link(os.environ)
        print(f"removed {gone}" if gone else "nothing to change")
        return
    made = plan_link(find_launcher(), os.environ)
    if made.is_needed and not asked.dry_run:
        write_link(made)
    done = made.done if made.is_needed else "nothing to change"
    print(done + " (dry run)" * asked.dry_run)
    _tell([made.note] if made.note else [])


COMMANDS: Final = (
    Command.of(
        setup,
        "Set a project up for Claude Code, or take it out again",
        Option(
            "--host",
            "The program to set up, if it is not Claude Code.",
            choices=("claude", "codex", "gemini", "cursor", "opencode"),
            default="claude",
        ),
        Option("--user", "Set up all projects, in your own settings and skills."),
        Option("--local", "Use settings.local.json, which is not committed."),
        Option("--remove", "Remove everything again; the files become what they were."),
        Option("--yes", "Write without asking.", short="-y"),
        Option("--dry-run", "Show the changes; write nothing."),
        Option("--diff", "Show every line that changes."),
        Option("--mcp", "Add the memory tools to .mcp.json.", default=True, field="servers", off="--no-mcp"),
        Option(
            "--server-name",
            "Server name for the memory tools, if another program uses the default.",
            "TEXT",
            default=SERVER,
        ),
        Option("--skills", "Add the skills.", default=True, off="--no-skills"),
        Option(
            "--permissions",
            "Allow tools that read or add without asking; Claude Code still asks before it forgets or "
            "consolidates.",
            default=True,
            off="--no-permissions",
        ),
        Option("--status-line", "Add a status line, unless there is one."),
        Option(
            "--strict-gates",
            "Where a project has requirements, block tool calls if our hook fails or is missing.",
            off="--no-strict-gates",
        ),
        Option(
            "--autostart", "Only start the owner at login (systemd, or launchd on macOS); --remove undoes it."
        ),
        Option("--link", "Only link the program into ~/.local/bin; --remove undoes it."),
        Option(
            "--plugin", "Copy the plugin into the data root and print its folder, for `claude --plugin-dir`."
        ),
    ),
)
