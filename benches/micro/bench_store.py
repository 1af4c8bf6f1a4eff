"""The store's named workloads, with p95: saving, loading, one event, a page of ten thousand sessions.

Goals: a full snapshot is saved in <= 1 ms and loaded in <= 0.5 ms, p95. Each workload runs on a
real database in a temp folder; the p95 is printed and goes into the JSON as extra_info.

| workload | what |
|---|---|
| save_full, save_full_synced | one snapshot with 50 vectors, rewritten; the second with an fsync |
| load_hot, load_cold | the same one again and again; each time another of 10,000 |
| commit_event | one event with 3 KB of texts and 2 KB of live state, eight sessions in turn |
| commit_checkpoint | the same with a goal checkpoint of 100 KB |
| is_applied_missing | the lookup of an event that has not been applied, among 20,000 that have |
| page, count, latest, alias | listings at 10,000 sessions |
| open | a store of 10,000 sessions, closed cleanly before |
"""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benches.scale import scaled
from pytest_benchmark.fixture import BenchmarkFixture

from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot
from context_graph.store.engine.tuning import Tuning
from context_graph.store.sessions.sessions import SessionStore

ROUNDS = scaled(2000, 100)
SESSIONS = scaled(10_000, 500)
RSS_EVENTS = scaled(20_000, 1_000)
rng = random.Random(13)


def full_snapshot(session_id: str, at: int = 0) -> SessionIdentitySnapshot:
    made = SessionIdentitySnapshot(session_id=session_id, timestamp_ms=1_763_761_000_000 + at)
    for _ in range(50):
        made.append_to_trajectory([rng.random() for _ in range(13)])
    return made


def name(number: int) -> str:
    return f"{number:08x}-aaaa-4bbb-8ccc-dddddddddddd"


def event(session_id: str, number: int) -> HookEvent:
    return HookEvent(
        kind=EventKind.POST_TOOL,
        session_id=session_id,
        event_id=f"{number:032x}",
        at_ms=1_763_761_000_000 + number,
        tool_name="Bash",
        tool_use_id=f"toolu_{number}",
        input_text="".join(rng.choices("abcdefgh \n", k=1000)),
        output_text="".join(rng.choices("abcdefgh \n", k=2000)),
        success=True,
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(tmp_path / "db") as opened:
        yield opened


@pytest.fixture(scope="module")
def many_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "db"
    vectors = full_snapshot("x").trajectory
    with SessionStore.open(path) as store:
        for number in range(SESSIONS):
            one = SessionIdentitySnapshot(session_id=name(number), timestamp_ms=number, trajectory=vectors)
            store.save_snapshot(one)
    return path


@pytest.fixture
def many(many_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(many_path) as opened:
        yield opened


@pytest.fixture
def measure(benchmark: BenchmarkFixture, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Run a workload round by round and tell its p95."""

    def run(use: Callable[[int], object], rounds: int = ROUNDS) -> None:
        numbers = iter(range(rounds + 1))
        benchmark.pedantic(lambda: use(next(numbers)), rounds=rounds, warmup_rounds=1)
        if benchmark.stats is None:  # --benchmark-disable
            return
        times = sorted(benchmark.stats.stats.data)
        p50, p95 = (times[int(len(times) * share)] * 1e6 for share in (0.5, 0.95))
        benchmark.extra_info.update(p50_us=p50, p95_us=p95)
        with capsys.disabled():
            print(f"\n  {benchmark.name}: p50 {p50:.0f} us, p95 {p95:.0f} us, max {times[-1] * 1e6:.0f} us")

    return run


def test_save_full(store: SessionStore, measure: Callable[..., None]) -> None:
    snapshot = full_snapshot("one")

    def save(number: int) -> None:
        snapshot.timestamp_ms += 1
        store.save_snapshot(snapshot)

    measure(save)


def test_save_full_synced(tmp_path: Path, measure: Callable[..., None]) -> None:
    snapshot = full_snapshot("one")
    with SessionStore.open(tmp_path / "power", tuning=Tuning("power")) as store:
        measure(lambda number: store.save_snapshot(snapshot), rounds=min(200, ROUNDS))


def test_load_hot(store: SessionStore, measure: Callable[..., None]) -> None:
    store.save_snapshot(full_snapshot("one"))
    measure(lambda number: store.load_snapshot("one"))


def test_load_cold(many: SessionStore, measure: Callable[..., None]) -> None:
    order = [name(number) for number in rng.sample(range(SESSIONS), ROUNDS + 1)]
    measure(lambda number: many.load_snapshot(order[number]))


@pytest.mark.parametrize("goals", [None, rng.randbytes(100_000)], ids=["event", "checkpoint"])
def test_commit(store: SessionStore, measure: Callable[..., None], goals: bytes | None) -> None:
    snapshots = [full_snapshot(name(number)) for number in range(8)]
    events = [event(name(number % 8), number) for number in range(ROUNDS + 1)]
    runtime = rng.randbytes(2000)

    def commit(number: int) -> None:
        snapshot, made = snapshots[number % 8], events[number]
        snapshot.timestamp_ms += 1
        seq = number // 8 + 1
        key = made.dedupe_key()
        store.commit_event(
            snapshot,
            event=made,
            seq=seq,
            dedupe_key=key,
            runtime=runtime,
            goals=None if goals is None else (seq, goals),
        )

    measure(commit, rounds=ROUNDS if goals is None else min(200, ROUNDS))


def test_is_applied_missing(store: SessionStore, measure: Callable[..., None]) -> None:
    snapshot = SessionIdentitySnapshot(session_id="one", timestamp_ms=0)
    made = event("one", 0)
    for number in range(RSS_EVENTS):
        store.commit_event(snapshot, event=made, seq=number + 1, dedupe_key=str(number))
    measure(lambda number: store.event_log.is_applied("one", f"missing {number}"))


def test_page(many: SessionStore, measure: Callable[..., None]) -> None:
    measure(lambda number: many.list_sessions(50), rounds=300)


def test_count(many: SessionStore, measure: Callable[..., None]) -> None:
    measure(lambda number: many.count(), rounds=50)


def test_latest(many: SessionStore, measure: Callable[..., None]) -> None:
    measure(lambda number: many.load_latest())


def test_alias(many: SessionStore, measure: Callable[..., None]) -> None:
    measure(lambda number: many.resolve_id(f"{number:08x}"))


def test_open(many_path: Path, measure: Callable[..., None]) -> None:
    measure(lambda number: SessionStore.open(many_path).close(), rounds=scaled(20, 3))


def test_memory_of_twenty_thousand_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Resident memory of a process that opens one store and writes events; the owner has 60 MiB for all."""
    code = """
        import random, sys
        from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot
        from context_graph.store.sessions.sessions import SessionStore
        def status(name):
            for line in open("/proc/self/status"):
                if line.startswith(name):
                    return int(line.split()[1]) / 1024
        rng = random.Random(1)
        store = SessionStore.open(sys.argv[1])
        opened = status("VmRSS")
        vectors = [[rng.random() for _ in range(13)] for _ in range(50)]
        for number in range(int(sys.argv[2])):
            sid, seq = f"session-{number % 10}", number // 10 + 1
            event = HookEvent(EventKind.POST_TOOL, sid, str(number), number, tool_use_id=str(number),
                              input_text=rng.randbytes(700).hex(), output_text=rng.randbytes(700).hex())
            due = seq % 32 == 0
            store.commit_event(
                SessionIdentitySnapshot(session_id=sid, timestamp_ms=number, trajectory=vectors),
                event=event, seq=seq, dedupe_key=event.dedupe_key(), runtime=rng.randbytes(3000),
                goals=(seq, rng.randbytes(100_000)) if due else None)
        print(opened, status("VmRSS"), status("VmHWM"))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "db"), str(RSS_EVENTS)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    opened, after, peak = map(float, done.stdout.split())
    with capsys.disabled():
        print(
            f"\n  RSS: {opened:.1f} MiB after opening, {after:.1f} after {RSS_EVENTS} events, peak {peak:.1f}"
        )
    assert after < 50
