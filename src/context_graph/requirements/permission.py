"""PermissionRequest: a few commands that destroy work are refused at the dialog, in a governed project.

The list is short and about whole commands that can't be taken back; more can be added with
``hooks.permission_request.deny``, and ``auto_deny_dangerous: false`` leaves everything to the user.
"""

from __future__ import annotations

import re

from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.gate import governed, keep, scene_of
from context_graph.requirements.patterns import matches
from context_graph.requirements.rules import SHELLS
from context_graph.requirements.shell_runs import git_words, runs
from context_graph.requirements.shell_words import STAR, UNKNOWN
from context_graph.requirements.triggers import command_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.shell_command import Command

__all__ = ["danger", "on_permission_request"]

_SYSTEM = frozenset(
    f"/{name}"
    for name in ["home", "usr", "etc", "var", "bin", "lib", "opt", "root", "boot", "srv", "Users", "System"]
)
_WHOLE = frozenset(("", "/", "~", ".", ".."))
_SQL = re.compile(r"\b(drop\s++(table|database|schema)|truncate\s++table)\b", re.IGNORECASE)
_SQL_PROGRAMS = frozenset(
    (
        *("psql", "pgcli", "mysql", "mycli", "mariadb", "sqlite3", "litecli", "sqlcmd", "sqlplus", "duckdb"),
        *("clickhouse-client", "cockroach", "snowsql", "usql", "bq", "wrangler", "heroku", "prisma", "cqlsh"),
    )
)


def on_permission_request(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Deny a command that is on the list; say nothing about any other."""
    result = GateResult()
    if event.tool_name not in SHELLS and not event.tool_name.startswith("mcp__"):
        return result
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    command = command_of(event.tool_input)
    if not command or not rules.readable or not rules.enabled:
        return result
    own = {event.home, project.root, project.repo.top if project.repo else ""} - {""}
    why = danger(command, own, cwd=event.cwd, home=event.home) if rules.hooks.auto_deny_dangerous else ""
    for pattern in rules.hooks.deny_patterns:
        why = why or (f"it matches {pattern}" if matches(pattern, command) else "")
    if why:
        result.decision = "deny"
        result.reason = f"Refused by this project's requirements: {why}. A person can run it themselves."
        scene = scene_of(event, project, rules, cache, may_run=False)
        if scene is not None:
            result.branch = scene.branch
            keep(event, scene, result, "permission_denied", [], detail=why)
    return result


def danger(command: str, own: Collection[str] = (), *, cwd: str = "", home: str = "") -> str:
    """What about the command can't be taken back; empty if nothing is known. ``own``: home and project.

    What would run is judged, inner shells and substitutions too; text in a message or a search is not.
    """
    moved = False
    for one in runs(command, {"HOME": home or "~", **({"PWD": cwd} if cwd else {})}).commands:
        if one.wraps or not one.words:
            continue
        why = _of_program(one, own, moved=moved) or _of_sql(one)
        if why:
            return why
        moved |= one.program in ("cd", "pushd")
    return ""


def _of_program(one: Command, own: Collection[str], *, moved: bool) -> str:
    if one.program == "rm":
        return _of_rm(one.words[1:], own, moved=moved)
    return _of_git(one.words[1:]) if one.program in ("git", "git.exe") else ""


def _of_sql(one: Command) -> str:
    """A database's own program that is given such a statement, as a word or on its input."""
    given: list[str] = []
    if _SQL_PROGRAMS.intersection(word.rpartition("/")[2] for word in one.words):
        given = [*one.words[1:], one.stdin or "", *([] if one.source is None else _said(one.source))]
    elif one.program.lower() in ("drop", "truncate"):
        given = [" ".join(one.words)]
    return "it drops database tables" if any(_SQL.search(text) for text in given) else ""


def _said(source: Command) -> list[str]:
    return [source.stdin or "", *(source.words[1:] if source.program in ("echo", "printf") else [])]


def _of_rm(words: list[str], own: Collection[str], *, moved: bool) -> str:
    flags = "".join(word for word in words if word.startswith("-") and not word.startswith("--"))
    if "r" not in flags.lower() and "--recursive" not in words:
        return ""
    targets = [word for word in words if not word.startswith("-")]
    if any(_is_whole(target, own, moved=moved) for target in targets):
        return "it removes a whole tree of the system, the home or the project"
    return ""


def _is_whole(target: str, own: Collection[str], *, moved: bool) -> bool:
    """Whether a path is the system, the home, the project or its history, or all that is in one of them."""
    path = _plain(target)
    whole = {_plain(folder) for folder in own}
    if path == ".git" or path.removesuffix("/.git") in whole:
        return path != ".git" or not moved
    folder, _, last = path.rpartition("/")
    if last in (STAR, f".{STAR}", UNKNOWN) and (folder or path != UNKNOWN):
        path = folder or ("/" if target.startswith("/") else ".")
    return path in _WHOLE or path in _SYSTEM or path in whole or set(path.split("/")) == {".."}


def _plain(path: str) -> str:
    """``path`` without its empty and `.` parts; `..` takes a known part with it."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] not in ("..", "~"):
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts) or "."


def _of_git(words: list[str]) -> str:
    verb, rest, _ = git_words(words)
    short = "".join(word[1:] for word in rest if word.startswith("-") and not word.startswith("--"))
    if verb == "push" and ("--force" in rest or "f" in short or any(word.startswith("+") for word in rest)):
        return "a forced push replaces commits of others"
    if verb == "reset" and "--hard" in rest:
        return "a hard reset discards uncommitted work"
    if (
        verb == "clean"
        and ("f" in short or "--force" in rest)
        and "n" not in short
        and "--dry-run" not in rest
    ):
        return "it deletes untracked files"
    return ""
