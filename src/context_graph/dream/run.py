"""One consolidation from a checkpoint to the file that says what is to be written."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from context_graph.dream.messages import DATABASE, PLAN, PREPARED, Ready, Task, write_plan
from context_graph.dream.prepare import prepare
from context_graph.dream.prepared import Prepared
from context_graph.dream.request import Request
from context_graph.dream.stages import Report, Work
from context_graph.store.graph import GraphStore

__all__ = ["compute", "prepared_run"]

_KIB: Final = 1024


def compute(folder: Path, task: Task, report: Report) -> Ready:
    """Do ``task`` on the checkpoint in ``folder`` and leave there what it found (see `messages`).

    Raises:
        StoreError: The checkpoint can't be read.
        Cancelled: ``report`` raised it.
    """
    began = time.monotonic()
    changes = 0
    store = GraphStore.read_only(folder / DATABASE)
    try:
        if task.goals is not None:
            work = Work(store, task.request, report, for_goals=True)
            plan = work.goals(task.goals.min_confidence, task.goals.max_goals)
            (folder / PLAN).write_bytes(write_plan(plan))
        else:
            prepared = prepared_run(store, task.request, report)
            changes = sum(prepared.plan.changes().values()) + prepared.plan.goals_adjusted
            (folder / PREPARED).write_bytes(prepared.to_bytes())
    finally:
        store.close()
    return Ready(changes, round(1000 * (time.monotonic() - began)), _peak_rss_bytes())


def prepared_run(store: GraphStore, request: Request, report: Report) -> Prepared:
    """What ``request`` finds in ``store``, as the changes of records that it means. Raises as `compute`."""
    work = Work(store, request, report)
    plan = work.plan()
    done = work.stages.begin("preparing")
    prepared = prepare(store, plan, facts=work.facts)
    done(1, 1)
    return prepared


def _peak_rss_bytes() -> int:
    """The most memory this process ever had. (getrusage would count what its parent had before it.)"""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * _KIB
    return 0
