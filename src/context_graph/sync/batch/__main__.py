"""Consolidates projects of a hub: `python -m context_graph.sync.batch`, started by `hub consolidate`.

Standard input has a `Work` as a line of JSON. When it closes, whoever was to hear of the work is gone: this
ends, and its workers with it. Standard output gets an `Outcome` a line as projects are done. The hub's
address is in the environment (`project.URL`); workers on other machines have it in theirs.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from distributed import Client, LocalCluster, as_completed

from context_graph.sync.batch.project import Outcome, Task, consolidate_project


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done, and where."""

    tasks: list[Task]
    workers: int = 1
    """Processes on this machine."""
    scheduler: str = ""
    """Address of a Dask scheduler, instead."""


def main() -> int:
    """0; 1 if the scheduler can't be reached, with why on standard error."""
    work = msgspec.json.decode(sys.stdin.buffer.readline(), type=Work)
    threading.Thread(target=_end_with_starter, daemon=True).start()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        with _client(work) as client:
            for outcome in outcomes(client, work.tasks):
                sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
                sys.stdout.buffer.flush()
    except OSError as error:
        print(f"the scheduler can't be reached: {error}", file=sys.stderr)
        return 1
    return 0


def _end_with_starter() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def outcomes(client: Client, tasks: list[Task]) -> Iterator[Outcome]:
    """Of each task, in the order in which they are done."""
    running = {client.submit(consolidate_project, task, pure=False): task for task in tasks}
    for future in as_completed(list(running)):
        task = running.pop(future)
        if future.status == "finished":
            yield future.result()
        else:
            error = future.exception()
            why = f"its worker failed: {type(error).__name__}: {error}"
            yield Outcome(project=task.project, name=task.name, failed=why[:500])
        future.release()


@contextmanager
def _client(work: Work) -> Iterator[Client]:
    if work.scheduler:
        with Client(work.scheduler, timeout=10) as client:
            yield client
        return
    with (
        tempfile.TemporaryDirectory(prefix="context-graph-batch-") as folder,
        LocalCluster(
            n_workers=work.workers,
            threads_per_worker=1,
            # Without an address its server listens at port 8787 of every interface.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            local_directory=folder,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


if __name__ == "__main__":
    sys.exit(main())
