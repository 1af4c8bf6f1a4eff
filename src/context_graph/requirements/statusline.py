"""The client's status line: one short line about the requirements that hold where the session works.

Pure: reads what the gates read, writes nothing, starts no process. Serves the owner and the slow path.
"""

from __future__ import annotations

from context_graph.requirements.evaluate import evaluate
from context_graph.requirements.pause import paused
from context_graph.requirements.project import find_project
from context_graph.requirements.scene import Scene, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from context_graph.requirements.cache import GateCache

__all__ = ["status_line"]

_NAMES_CHARS = 48


def status_line(
    given: Mapping[str, Any],
    *,
    project_dir: str,
    session_id: str,
    claude_dir: str,
    now: float,
    cache_dir: str = "",
    cache: GateCache | None = None,
) -> str:
    """The line for what the client says of its session (its status JSON), without a newline.

    Folder: ``workspace.current_dir``, else ``cwd``; session: ``session_id`` of the JSON, else the argument.
    A linked worktree is judged by its own files and branch. Cost: as one gate, 0.2 ms with ``cache``.
    """
    workspace = given.get("workspace")
    workspace = workspace if isinstance(workspace, dict) else {}
    folder = _text(workspace.get("current_dir")) or _text(given.get("cwd")) or project_dir
    hint = project_dir or _text(workspace.get("project_dir"))
    project = find_project(folder, hint, claude_dir=claude_dir)
    if project is None:
        return "no requirements here"
    rules = rules_of(project, claude_dir, cache_dir, cache)
    if not rules.readable:
        return "⚠ requirements file unreadable: nothing enforced"
    head = project.head()
    if project.repo is None or not head.branch:
        return f"requirements off ({'no git' if project.repo is None else head.state})"
    scene = Scene(
        project,
        project.repo,
        rules,
        branch=head.branch,
        session_id=_text(given.get("session_id")) or session_id,
        now=now,
        claude_dir=claude_dir,
        cache_dir=cache_dir,
        cache=cache,
        may_run=False,
    )
    return _line(scene)


def _line(scene: Scene) -> str:
    if paused(scene.repo.common_dir, scene.session_id) is not None:
        return "⏸ requirements paused"
    active = scene.rules.active
    warning = " ⚠ config" if scene.rules.told("error") else ""
    if not active:
        return f"no requirement enabled{warning}"
    verdicts = [evaluate(entry, scene) for entry in active]
    unmet = [one.requirement.name for one in verdicts if not one.met and not one.deferred]
    if not unmet:
        return f"✓ {len(active)} requirement{'s' * (len(active) > 1)}{warning}"
    names = ", ".join(unmet)
    if len(names) > _NAMES_CHARS:
        names = names[: _NAMES_CHARS - 1] + "…"
    return f"✗ {len(unmet)}/{len(active)} requirements: {names}{warning}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
