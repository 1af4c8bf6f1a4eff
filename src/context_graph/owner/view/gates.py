"""Makes the rows of the gates: their log, and which requirements are met on each branch."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from context_graph.errors import ContextGraphError
from context_graph.gates.commands.command_context import CommandContext
from context_graph.gates.commands.upkeep import branches
from context_graph.gates.decide.evaluation import evaluate
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.view.rows import GateRow, Gates, GateState

_REFUSALS: Final = frozenset({"denied", "blocked"})
_ENV: Final = ("HOME", "CLAUDE_CONFIG_DIR")
"""They say where the configurations above the project's are."""
_BRANCHES: Final = 50
_ALL: Final = 10_000
"""Entries that the log keeps."""


def gates_of(context: StoreContext, *, limit: int = 500) -> Gates:
    """Return the log, newest first, and the requirements of the project that the store belongs to."""
    everything = gate_rows(context, limit=_ALL)
    refused = Counter(
        (name, entry.branch) for entry in everything if entry.kind in _REFUSALS for name in entry.requirements
    )
    try:
        states = list(_states(context, refused))
    except (ContextGraphError, OSError):  # no repository, or none that can be read: the log is still there
        states = []
    return Gates(rows=everything[:limit], states=states)


def gate_rows(context: StoreContext, *, limit: int, session_id: str = "") -> list[GateRow]:
    """Return the newest entries of the gates' log first."""
    entries = context.store.requirement_log.entries(limit=limit, session_id=session_id)
    return [_row(entry) for entry in entries]


def _row(entry: Mapping[str, Any]) -> GateRow:
    return GateRow(
        at_ms=entry["at_ms"],
        kind=entry["kind"],
        requirements=entry.get("requirements", ()),
        session_id=entry.get("session_id", ""),
        branch=entry.get("branch", ""),
        tool=entry.get("tool", ""),
        by=entry.get("by", ""),
        detail=entry.get("detail", ""),
    )


def _states(context: StoreContext, refused: Mapping[tuple[str, str], int]) -> Iterator[GateState]:
    if context.project is None or not os.path.isdir(context.project):
        return
    env = {name: os.environ[name] for name in _ENV if name in os.environ}
    command = CommandContext(str(context.project), env)
    latest = context.sessions.latest()
    session_id = "" if latest is None else latest.snapshot.session_id
    known = [row["branch"] for row in branches(command) if row["exists"] is not False]
    current = [command.head.branch] if command.head.branch else []
    for branch in list(dict.fromkeys([*current, *known]))[:_BRANCHES]:
        evaluation = command.evaluation(branch, session_id, may_run=False)
        for requirement in command.rules.requirements:
            if not requirement.enabled:
                continue
            verdict = evaluate(requirement, evaluation)
            by = str(verdict.record.get("satisfied_by") or "")
            yield GateState(
                requirement=requirement.name,
                branch=branch,
                is_satisfied=verdict.met,
                text=", ".join(filter(None, (verdict.why, by and f"by {by}"))),
                refused=refused.get((requirement.name, branch), 0),
            )
