"""Consolidations that can be asked for: those that wait or run, and for a while those that are over."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from context_graph.errors import GraphQueryError
from context_graph.owner.dream_jobs import Job

if TYPE_CHECKING:
    from context_graph.owner.dream_run import Run

__all__ = ["KnownJobs", "running_view"]

_KEPT: Final = 64
"""Jobs that are over and can still be asked for."""
_KEPT_MS: Final = 600_000


class KnownJobs:
    """The jobs of one owner, by id. Bounded: the oldest that are over are forgotten."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()

    def get(self, job_id: str) -> Job:
        """The job of that id.

        Raises:
            GraphQueryError: It is unknown, or long over.
        """
        job = self._jobs.get(job_id)
        if job is None:
            raise GraphQueryError(f"no consolidation {job_id!r}: it is unknown, or long over")
        return job

    def add(self, job: Job) -> None:
        """Know ``job`` from now on."""
        self._jobs[job.id] = job
        least = job.began_ms - _KEPT_MS
        over = [known for known in self._jobs.values() if known.state.over]
        for known in over[: max(0, len(over) - _KEPT)] + [one for one in over if one.ended_ms < least]:
            self._jobs.pop(known.id, None)


def running_view(run: Run | None) -> dict[str, Any] | None:
    """What runs, as `owner status` and `memory stats` tell it; None if nothing does."""
    if run is None or run.job.state.over:  # its process may take a moment to go
        return None
    view = run.job.view()
    return {
        **{name: view[name] for name in ("job", "kind", "trigger", "done", "total", "stage")},
        "store": run.job.order.place.store.name,
        "mode": run.mode.value,
        "dry_run": run.job.order.dry_run,
        "pid": run.pid,
        "since_ms": run.began_ms,
    }
