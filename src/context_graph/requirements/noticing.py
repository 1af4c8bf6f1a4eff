"""A configuration that is gone or broken in the middle of a session: said to user and model once a change."""

from __future__ import annotations

from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.project import CONFIG, Project, find_project
from context_graph.requirements.registry import Registry
from context_graph.requirements.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.requirements.cache import GateCache

__all__ = ["configuration_changed", "configuration_gone", "what_is_wrong"]

_CHARS = 300
_SHOWN = 3
_ONE_SIDED = "user: "
"""Before what only the user was told, at an event that tells the model nothing."""


def what_is_wrong(rules: Rules) -> str:
    """Why the configuration, or a part of it, is not enforced as written; empty if it is."""
    errors = rules.told("error")
    if not rules.readable:
        return f"no requirement is enforced in this project: {(errors or ['its file is gone'])[0]}"[:_CHARS]
    if not errors:
        return ""
    more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
    return f"the requirements are not enforced as written: {'; '.join(errors[:_SHOWN])}{more}"[:_CHARS]


def configuration_changed(
    event: GateEvent, project: Project, rules: Rules, cache: GateCache | None, result: GateResult
) -> None:
    """Say what is wrong with the configuration, or that it holds again, if that is not what was said last."""
    if not event.session_id:
        return
    registry, wrong = Registry(event.claude_dir, cache), what_is_wrong(rules)
    said = registry.told(event.session_id, project.work)
    if said == wrong:
        return
    _say(event, registry, project.work, project.head().branch, wrong, cache, result)


def configuration_gone(event: GateEvent, cache: GateCache | None, result: GateResult) -> None:
    """Say that the file of a project that governed this session is gone, if it is and was not said."""
    registry = Registry(event.claude_dir, cache)
    for folder in registry.folders(event.session_id) if event.session_id else ():
        if find_project(folder, "", claude_dir=event.claude_dir) is not None:
            continue
        wrong = f"no requirement is enforced any more: {folder}{CONFIG} is gone"[:_CHARS]
        if registry.told(event.session_id, folder) != wrong:
            _say(event, registry, folder, None, wrong, cache, result)
        return


def _say(
    event: GateEvent,
    registry: Registry,
    folder: str,
    branch: str | None,
    wrong: str,
    cache: GateCache | None,
    result: GateResult,
) -> None:
    said = registry.told(event.session_id, folder)
    told = f"{_ONE_SIDED}{wrong}" if wrong and event.name == "Stop" else wrong
    if told == said:
        return
    text = wrong or "the requirements of this project are enforced again"
    known = registry.sessions().get(event.session_id, {})
    at_branch = str(known.get("branch", "")) if branch is None else branch
    try:
        registry.enter(
            event.session_id, project=folder, branch=at_branch, pid=event.pid, now=event.at, told=told
        )
    except OSError:
        # What can't be noted would be said with every call; a process that lives longer remembers it.
        if cache is not None and not cache.first_time(f"{event.session_id} {text}", event.at):
            return
    if said.removeprefix(_ONE_SIDED) != wrong:
        more = f"context-graph: {text}"
        result.system_message = f"{result.system_message}\n{more}" if result.system_message else more
    line = f"{text[:1].upper()}{text[1:]}."
    result.context = f"{result.context}\n{line}" if result.context else line
