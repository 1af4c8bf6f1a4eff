"""Refuses a few destructive commands at the permission dialog of a governed project.

The list is short and covers whole commands that can't be undone. ``hooks.permission_request.deny`` adds more;
``auto_deny_dangerous: false`` leaves everything to the user.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from posixpath import normpath

from context_graph.gates.decide.call_outcomes import asked_for
from context_graph.gates.decide.decision import Decision
from context_graph.gates.decide.tool_call import acted_on, command_of, git_call, matches
from context_graph.gates.rules import SHELLS, names
from context_graph.text.shell_lines import UNKNOWN, ShellCommand, read_line

_SYSTEM = names("/home /usr /etc /var /bin /lib /opt /root /boot /srv /Users /System")
_WHOLE = frozenset(("", "/", "~", ".", ".."))
_SQL = re.compile(r"\b(drop\s++(table|database|schema)|truncate\s++table)\b", re.IGNORECASE)
_SQL_PROGRAMS = names(
    "psql pgcli mysql mycli mariadb sqlite3 litecli sqlcmd sqlplus duckdb clickhouse-client cockroach "
    "snowsql usql bq wrangler heroku prisma cqlsh"
)


def at_the_dialog(decision: Decision) -> None:
    """Deny a command that is on the list; give no answer for any other.

    The call is noted, because one that never ends after its dialog was refused by the user.
    """
    event = decision.event
    if event.session_id:
        for part in acted_on(event):
            asked_for(event, decision.files(part.project))
    if event.hook.tool_name not in SHELLS and not event.hook.tool_name.startswith("mcp__"):
        return
    project = decision.governed()
    command = command_of(event.hook.tool_input)
    if project is None or not command:
        return
    rules = decision.rules(project)
    if not rules.readable or not rules.enabled:
        return
    own = {event.home, project.root, project.repo.top if project.repo else ""} - {""}
    why = danger(command, own, cwd=event.cwd, home=event.home) if rules.hooks.auto_deny_dangerous else ""
    for pattern in rules.hooks.deny_patterns:
        why = why or (f"it matches {pattern}" if matches(pattern, command) else "")
    if why:
        reason = f"Refused by this project's requirements: {why}. A person can run it themselves."
        context = decision.context(project)
        decision.result.refuse("deny", reason, [], context.branch if context is not None else "")
        if context is not None:
            decision.keep(context, "permission_denied", [], detail=why)


def danger(command: str, own: Collection[str] = (), *, cwd: str = "", home: str = "") -> str:
    """Return what about the command can't be undone; empty if nothing is known. ``own``: home and project.

    What plainly runs is judged, also in ``sh -c``; text in a message or a search is not.
    """
    moved = False
    for call in read_line(command, cwd, {"HOME": home or "~", **({"PWD": cwd} if cwd else {})}).commands:
        why = _of_rm(call, own, moved=moved) or _of_git(call) or _of_sql(call)
        if why:
            return why
        moved |= call.program in ("cd", "pushd")
    return ""


def _of_sql(command: ShellCommand) -> str:
    """Return what a database's own program would destroy by such a statement, as a word or on its input."""
    if not _SQL_PROGRAMS.isdisjoint(word.rpartition("/")[2] for word in command.words):
        texts = [*command.words, command.text]
    elif command.program.lower() in ("drop", "truncate"):
        texts = [" ".join(command.words)]
    else:
        return ""
    return "it drops database tables" if any(map(_SQL.search, texts)) else ""


def _letters(words: list[str]) -> str:
    """Return the letters of all options with one dash."""
    return "".join(word[1:] for word in words if word.startswith("-") and not word.startswith("--"))


def _of_rm(command: ShellCommand, own: Collection[str], *, moved: bool) -> str:
    words = command.words[1:]
    if command.program != "rm" or ("r" not in _letters(words).lower() and "--recursive" not in words):
        return ""
    targets = [word for word in words if not word.startswith("-")]
    if any(_is_whole(target, own, moved=moved) for target in targets):
        return "it removes a whole tree of the system, the home or the project"
    return ""


def _is_whole(target: str, own: Collection[str], *, moved: bool) -> bool:
    """Return whether a path is the system, the home, the project or its history, or all that is in one."""
    path = normpath(target)
    whole = set(map(normpath, own))
    if path == ".git":
        return not moved
    folder, _, last = path.rpartition("/")
    if last in ("*", ".*", UNKNOWN) and (folder or path != UNKNOWN):
        path = folder or ("/" if target.startswith("/") else ".")
    is_known = path in _WHOLE or path in _SYSTEM
    return is_known or path.removesuffix("/.git") in whole or set(path.split("/")) == {".."}


def _of_git(command: ShellCommand) -> str:
    call = git_call(command)
    if call is None:
        return ""
    verb, rest, short = call.verb, call.rest, _letters(call.rest)
    if verb == "push" and ("--force" in rest or "f" in short or any(word.startswith("+") for word in rest)):
        return "a forced push replaces commits of others"
    if verb == "reset" and "--hard" in rest:
        return "a hard reset discards uncommitted work"
    cleans = ("f" in short or "--force" in rest) and "n" not in short and "--dry-run" not in rest
    return "it deletes untracked files" if verb == "clean" and cleans else ""
