"""PermissionRequest: a few commands that destroy work are refused at the dialog, in a governed project.

The list is short and about whole commands that can't be taken back; more can be added with
``hooks.permission_request.deny``, and ``auto_deny_dangerous: false`` leaves everything to the user.
"""

from __future__ import annotations

import re

from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.gate import governed, keep, scene_of
from context_graph.requirements.patterns import matches
from context_graph.requirements.triggers import SHELL, command_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from context_graph.requirements.cache import GateCache

__all__ = ["danger", "on_permission_request"]

_PARTS = re.compile(r"[;&|\n(){}]+")
_ROOTS = re.compile(
    r"^(/|/\*|~|~/|~/\*|\$HOME/?|/(home|usr|etc|var|bin|lib|opt|root|boot|srv)/?\*?|\.|\.\.|\*)$"
)
_SQL = re.compile(r"\b(drop (table|database|schema)|truncate table)\b", re.IGNORECASE)


def on_permission_request(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """Deny a Bash command that is on the list; say nothing about any other."""
    result = GateResult()
    if event.tool_name != SHELL:
        return result
    found = governed(event, cache, result)
    if found is None:
        return result
    project, rules = found
    if not rules.readable or not rules.enabled:
        return result
    command = command_of(event.tool_input)
    own = {event.home, project.root, project.repo.top if project.repo else ""} - {""}
    why = danger(command, own) if rules.hooks.auto_deny_dangerous else ""
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


def danger(command: str, own: Collection[str] = ()) -> str:
    """What about the command can't be taken back; empty if nothing is known. ``own``: home and project."""
    if _SQL.search(" ".join(command.split())):
        return "it drops database tables"
    for part in _PARTS.split(command):
        words = [word.strip("'\"") for word in part.split()]
        while words and (words[0] in ("sudo", "command", "env", "nohup") or "=" in words[0]):
            words.pop(0)
        if words:
            why = _of_words(words, own)
            if why:
                return why
    return ""


def _of_words(words: list[str], own: Collection[str]) -> str:
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program == "rm":
        return _of_rm(rest, own)
    if program == "git":
        return _of_git(rest)
    return ""


def _of_rm(words: list[str], own: Collection[str]) -> str:
    flags = "".join(word for word in words if word.startswith("-") and not word.startswith("--"))
    recursive = "r" in flags.lower() or "--recursive" in words
    targets = [word for word in words if not word.startswith("-")]
    whole = {folder.rstrip("/") for folder in own}
    if recursive and any(_ROOTS.match(target) or target.rstrip("/") in whole for target in targets):
        return "it removes a whole tree of the system, the home or the project"
    return ""


def _of_git(words: list[str]) -> str:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-C", "-c") else words[1:]
    if not words:
        return ""
    verb, rest = words[0], words[1:]
    short = "".join(word[1:] for word in rest if word.startswith("-") and not word.startswith("--"))
    if verb == "push" and ("--force" in rest or "f" in short or any(word.startswith("+") for word in rest)):
        return "a forced push replaces commits of others"
    if verb == "reset" and "--hard" in rest:
        return "a hard reset discards uncommitted work"
    if verb == "clean" and ("f" in short or "--force" in rest):
        return "it deletes untracked files"
    return ""
