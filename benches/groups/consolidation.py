"""Consolidations in the process beside the owner, beside a process that only reads the same checkpoint."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benches.consolidation import stores
from benches.consolidation.runs import GOALS_S, computed
from benches.interleave import measure
from benches.report import Figure, Kind, figures

from context_graph.consolidation import messages
from context_graph.consolidation.plan import Mode
from context_graph.memory.memex import Memex
from context_graph.redact import Redactor

READER = """
import os, sys
os.nice(19)  # gives way as the process beside the owner does
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
import numpy
from rocksdict import AccessType, Options, Rdict
path = sys.argv[1]
families = {name: Options(raw_mode=True) for name in Rdict.list_cf(path)}
db = Rdict(path, Options(raw_mode=True), families, access_type=AccessType.read_only())
print(sum(len(value) for name in families for value in db.get_column_family(name).values()))
"""
LIMIT = "Python, NumPy, each record read once"


def run(folder: Path, rounds: int, memories: int, modes: tuple[str, ...]) -> list[Figure]:
    """From the start of the process to its last line, by mode; nothing is committed: each does the same."""
    store = folder / "store"
    stores.make(store, memories)
    with Memex.open(store, redactor=Redactor()) as memex:
        taken = itertools.count()

        def take() -> Path:
            place = messages.run_folder(store, f"bench-{os.getpid()}-{next(taken)}")
            with memex.core.operation("checkpoint") as core:
                messages.take_checkpoint(core.store, place)
            return place

        def once(mode: Mode) -> Callable[[], None]:
            def work() -> None:
                place = take()
                computed(place, mode)
                messages.discard(place)

            return work

        place = take()

        def read() -> None:
            command = [sys.executable, "-c", READER, str(place / messages.DATABASE)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

        cases: dict[str, Callable[[], object]] = {LIMIT: read, **{mode: once(Mode(mode)) for mode in modes}}
        samples = measure(cases, rounds, once=True)
        messages.discard(place)
    kinds: dict[str, Kind] = {LIMIT: "limit", **dict.fromkeys(modes, "ours")}
    goals = {mode: GOALS_S[memories, mode] for mode in modes if (memories, mode) in GOALS_S}
    return figures(f"consolidation of {memories:,} memories", kinds, samples, goals_s=goals)
