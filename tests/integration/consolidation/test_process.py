"""The process that computes a consolidation: its lines, its file, its ends; the store stays as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.consolidation import FACTS, planted
from tests.support.memories import fill
from tests.support.store import damage, largest

from context_graph.consolidation import messages
from context_graph.consolidation.commit import Prepared, commit
from context_graph.consolidation.consolidate import consolidate
from context_graph.consolidation.messages import GoalSearch, Request
from context_graph.consolidation.plan import Mode
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode

Process = subprocess.Popen[bytes]


@pytest.fixture
def folder(memex: Memex) -> Path:
    """A run's folder of a store with something to do."""
    planted(memex)
    fill(memex, 40, start=100)
    return taken(memex)


def taken(memex: Memex, name: str = "run") -> Path:
    path = messages.run_folder(memex.core.folder, name)
    with memex.core.operation("checkpoint") as core:
        messages.take_checkpoint(core.store, path)
    return path


def started(folder: Path, task: Request | bytes | None) -> Process:
    process = subprocess.Popen(
        messages.arguments(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
    )
    assert process.stdin is not None
    if task is not None:
        process.stdin.write(task if isinstance(task, bytes) else messages.write_line(task))
        process.stdin.flush()
    return process


def finished(process: Process) -> tuple[list[messages.Line], int]:
    """Its lines and its exit code; its standard input stays open until then."""
    assert process.stdout is not None
    lines = [messages.read_line(line) for line in process.stdout]
    code = process.wait(timeout=60)
    process.communicate()
    return lines, code


@pytest.mark.parametrize("mode", list(Mode))
def test_what_it_prepares_is_what_a_library_would_do(memex: Memex, folder: Path, mode: Mode) -> None:
    lines, code = finished(started(folder, Request(mode=mode)))
    assert code == 0
    assert all(isinstance(line, messages.Update) for line in lines)
    fractions = [line.fraction for line in lines if isinstance(line, messages.Update)]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    prepared = Prepared.from_bytes((folder / messages.PREPARED).read_bytes())
    plan = prepared.plan
    assert sum(plan.changes().values()) + plan.goals_adjusted > 0
    dry = consolidate(memex, mode, dry_run=True)
    for name in ("merges", "prunes", "links", "reweights", "clusters", "patterns", "goals", "notes"):
        assert getattr(plan, name) == getattr(dry.plan, name), name
    done = commit(memex, prepared)
    assert done.plan == plan
    assert done.final_memory_count == prepared.result().final_memory_count == memex.count() == len(FACTS) + 40


def test_a_run_that_nobody_asked_for_forgets_nothing_that_a_person_brought(memex: Memex) -> None:
    """What is stored by command or imported was decided on; what an agent's tool stored was not."""
    old = time.time_ns() // 1_000_000 - 3 * 86_400_000
    said = {"cli": "ok", "import": "thanks a lot", "tool": "great"}
    ids = {
        source: memex.put(
            MemoryNode(
                id=uuid4(),
                content=text,
                rationale="kept because a test needs it",
                created_at_ms=old,
                last_accessed_ms=old,
                source=source,
            )
        ).id
        for source, text in said.items()
    }
    fill(memex, 20)
    gone = []
    for unattended in (True, False):
        folder = taken(memex, f"run{unattended}")
        assert finished(started(folder, Request(unattended=unattended)))[1] == 0
        plan = Prepared.from_bytes((folder / messages.PREPARED).read_bytes()).plan
        pruned = {prune.id for prune in plan.prunes}
        gone.append({source for source, node in ids.items() if node in pruned})
    assert gone == [{"tool"}, {"cli", "import", "tool"}]


def test_goals_only(folder: Path) -> None:
    task = Request(mode=Mode.REM, goals=GoalSearch(min_confidence=0.5, max_goals=3))
    lines, code = finished(started(folder, task))
    assert code == 0
    assert all(isinstance(line, messages.Update) for line in lines)
    prepared = Prepared.from_bytes((folder / messages.PREPARED).read_bytes())
    plan = prepared.plan
    assert prepared.groups == []
    assert plan.changes() == {"merged": 0, "pruned": 0, "links": 0, "reweighted": 0}
    assert len(plan.goals) <= 3


@pytest.mark.parametrize(
    ("line", "code", "named"),
    [
        (b'{"salience_threshold":2}\n', "invalid_params", "salience_threshold"),
        (b'{"mode":"deeper"}\n', "", "mode"),
        (b"no JSON\n", "usage", ""),
    ],
)
def test_a_task_that_is_none_is_refused(folder: Path, line: bytes, code: str, named: str) -> None:
    lines, status = finished(started(folder, line))
    assert status == 1
    (failed,) = lines
    assert isinstance(failed, messages.Failed)
    assert failed.code.startswith(code)
    assert named in failed.message


def test_a_damaged_checkpoint_is_said(folder: Path) -> None:
    database = folder / messages.DATABASE
    manifest = largest(database, "MANIFEST-*")
    damage(manifest, manifest.stat().st_size // 2, cut=True)
    lines, status = finished(started(folder, Request()))
    assert status == 1
    assert isinstance(lines[-1], messages.Failed)
    assert not (folder / messages.PREPARED).exists()


def test_no_folder_at_all(tmp_path: Path) -> None:
    lines, status = finished(started(tmp_path / "nowhere", Request()))
    assert status == 1
    assert isinstance(lines[-1], messages.Failed)
    assert lines[-1].code == "store"
    usage = subprocess.run(messages.arguments(tmp_path)[:-1], capture_output=True, check=False)
    assert usage.returncode == 64


@pytest.mark.parametrize("asked", [True, False])
def test_it_ends_with_its_standard_input(folder: Path, asked: bool) -> None:
    process = started(folder, Request(mode=Mode.REM) if asked else None)
    assert process.stdin is not None
    assert process.stdout is not None
    if asked:
        process.stdout.readline()
    process.stdin.close()
    assert process.wait(timeout=30) == messages.ABANDONED
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


def test_it_may_be_killed(memex: Memex, folder: Path) -> None:
    before = memex.seq
    process = started(folder, Request(mode=Mode.REM))
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    assert process.wait(timeout=30) == -signal.SIGKILL
    process.communicate()
    assert memex.seq == before
    assert not (folder / messages.PREPARED).exists()
    messages.discard(folder)
    assert messages.leftovers(memex.core.folder) == []


@pytest.mark.real
def test_every_thread_of_it_gives_way(folder: Path) -> None:
    process = started(folder, Request(mode=Mode.REM))
    assert process.stdout is not None
    lines = iter(process.stdout)
    while b'"clusters"' not in next(lines):  # NumPy and its threads are there by now
        pass
    threads = [int(name) for name in os.listdir(f"/proc/{process.pid}/task")]
    policies = {os.sched_getscheduler(thread) for thread in threads}
    niceness = {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}
    processors = [len(os.sched_getaffinity(thread)) for thread in threads]
    process.kill()
    process.communicate()
    assert len(threads) > 1
    assert policies == {os.SCHED_IDLE}
    assert set(processors) == {max(1, len(os.sched_getaffinity(0)) - 1)}, "one is left to others"
    assert niceness == {19}


def test_light_starts_without_what_only_the_longer_modes_need(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from context_graph.consolidation import messages, run;"
        "from context_graph.consolidation.messages import Request;"
        "run.compute(Path(sys.argv[1]), Request(), lambda update: None);"
        "heavy = {'graspologic_native', 'scipy', 'numba'};"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    found = subprocess.run(
        [messages.arguments(folder)[0], "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
