"""The command `hub consolidate`: a team's projects, over processes or machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any, Final
from uuid import uuid4

from context_graph.cli.console.tables import counted
from context_graph.cli.console.terminal import shown
from context_graph.cli.exchange import hub
from context_graph.cli.exchange.hub import ADMIN_URL, admin_connection
from context_graph.cli.exchange.sync import need_psycopg
from context_graph.cli.words import Command, Option
from context_graph.config import locate
from context_graph.errors import ConfigError, ContextGraphError, InvalidInputError

_EXTRA: Final = (
    "`hub consolidate` needs Dask, which is not installed; `uv tool install 'context-graph-cli[batch]'` or "
    "`pip install 'context-graph-core[batch]'` brings it"
)
_MAX_WORKERS: Final = 256

Projects = list[tuple[str, str]]
"""(id, name)."""


def consolidate(
    team: str | None,
    project: str | None,
    mode: str,
    workers: int,
    scheduler: str,
    dry_run: bool,
    undo: int | None,
    as_json: bool,
    db_path: str | None,
) -> int:
    """Consolidate memories in the hub, as `consolidate` does on one machine. Members receive the result.

    Without --team it works on the joined project, for its owners. With it, on all projects of a team, with
    the address in $CONTEXT_GRAPH_HUB_ADMIN_URL. Workers of a scheduler need context-graph and that variable.

    Each project is a run of its own: committed whole or not at all, one at a time, to be undone for 30 days
    where nobody has changed the same since.

    Example: context-graph-cli hub consolidate --team backend --workers 4 --dry-run
    """
    need_psycopg()
    if project is not None and team is None:
        raise InvalidInputError("--project needs --team; without both it is the joined project")
    url, chosen = _projects(team, project, db_path)
    if undo:
        _undo(url, chosen, undo, as_json)
        return 0
    if find_spec("distributed") is None:
        raise ConfigError(_EXTRA)
    command = str(uuid4())
    tasks = [
        {"project": project, "name": name, "mode": mode, "command": command, "dry_run": dry_run}
        for project, name in chosen
    ]
    outcomes = []
    for outcome in _worked({"tasks": tasks, "workers": workers, "scheduler": scheduler}, url):
        outcomes.append(outcome)
        if not as_json:
            print(shown(_line(outcome, dry_run)), flush=True)
    failed = sum(bool(outcome["failed"]) for outcome in outcomes)
    if as_json:
        print(json.dumps({"dry_run": dry_run, "failed": failed, "projects": outcomes}))
    if failed:
        return 1
    return 0


def _projects(team: str | None, project: str | None, db_path: str | None) -> tuple[str, Projects]:
    """Return the hub's address and what is to be worked on there."""
    from context_graph.sync.hub.membership import joined
    from context_graph.sync.hub.teams import projects_of_team

    if team is None:
        membership = joined(locate(db_path).store)
        if membership is None:
            raise ConfigError("this project has joined no hub; join it, or name a --team as an administrator")
        return membership.url, [(membership.project, membership.name)]
    with admin_connection() as (url, admin):
        rows = projects_of_team(admin, team)
    chosen = [(project_id, name) for project_id, name in rows if project in (None, name)]
    if not chosen:
        what = f"no project {project!r}" if project else "no projects"
        raise InvalidInputError(f"team {team!r} has {what} in the hub; `hub init` makes them")
    return url, chosen


def _undo(url: str, chosen: Projects, number: int, as_json: bool) -> None:
    from context_graph.sync.hub.runs import COMMIT_S, undo
    from context_graph.sync.hub.transport import Hub

    if len(chosen) != 1:
        raise InvalidInputError("--undo takes back one project's run; name the --project")
    hub = Hub(url, chosen[0][0], answer_s=COMMIT_S)
    try:
        run, count = undo(hub, number, uuid4())
    finally:
        hub.close()
    answer = {"undone": number, "run": run.number, "changes": count}
    words = f"run {number} is undone, by run {run.number}: {counted(count, 'change')}"
    print(json.dumps(answer) if as_json else shown(words))


def _worked(work: dict[str, Any], url: str) -> Iterator[dict[str, Any]]:
    """Yield the outcomes as they come, from a process that has the arithmetic."""
    words: Sequence[str] = (sys.executable, "-P", "-m", "context_graph.sync.batch")
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, ADMIN_URL: url}
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(work).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            yield json.loads(line)
    finally:
        process.stdin.close()
        process.stdout.close()
        if process.wait() != 0:
            raise ContextGraphError("the work on the hub ended early; what is above went well")


def _line(outcome: dict[str, Any], dry_run: bool) -> str:
    name = outcome["name"]
    if outcome["failed"]:
        return f"{name}: failed, nothing changed: {outcome['failed']}"
    did = f"{outcome['merged']} merged, {outcome['pruned']} forgotten, {outcome['linked']} linked"
    words = f"{name}: {counted(outcome['memories'], 'memory', 'memories')}, {did}"
    words += f", in {outcome['seconds']:.1f} s"
    if outcome["unread"]:
        words += f"; {counted(outcome['unread'], 'line')} of its logs could not be read"
    if dry_run:
        return f"{words}; nothing changed (dry run)"
    return f"{words}; run {outcome['run']}" if outcome["run"] else f"{words}; nothing to change"


COMMANDS: Final = (
    *hub.COMMANDS,
    Command.of(
        consolidate,
        "Merge, forget and connect a team's memories",
        Option("--team", "All projects of this team; for an administrator.", "NAME"),
        Option("--project", "With --team: only this project.", "NAME"),
        Option(
            "--mode", "light: merge and forget; deep: connect too.", choices=("light", "deep"), default="deep"
        ),
        Option(
            "--workers",
            f"Processes on this machine, 1 to {_MAX_WORKERS}.",
            "N",
            default="1",
            kind="int",
            limits=(1, _MAX_WORKERS),
        ),
        Option("--scheduler", "A Dask scheduler instead, as tcp://host:8786.", "URL", default=""),
        Option("--dry-run", "Change nothing; show what would be done."),
        Option("--undo", "Take back what this run did instead.", "RUN", kind="int"),
        codes="Exit codes: 0; 1 a project failed, or it can't be done.",
    ),
)
