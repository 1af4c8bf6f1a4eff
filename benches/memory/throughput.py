"""Memories stored and read, beside raw RocksDB puts of equal bytes in the same run. Run it as a script.

    .venv/bin/python benches/memory/throughput.py [--json FILE] [--nodes 100000] [--profile]

| figure | goal |
|---|---|
| sequential: 10,000 `Memex.store` of some 60 tokens, all told (check, redact, embed, index, log) | < 1 s |
| raw: one RocksDB put each of as many bytes, and one batch each of the same keys | ratio only |
| threads: 50 x 200 stores | < 2 s, no error, commits without a gap |
| warm read: `Memex.get` from the cache | p95 <= 20 us |
| cold read at --nodes: `Memex.get` past the cache | p95 <= 1 ms |
| memory: this process with --nodes memories and their index | <= 600 MiB |
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import json
import os
import pstats
import random
import shutil
import struct
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.report import machine, quantile
from benches.scale import scaled
from rocksdict import Options, Rdict, WriteBatch, WriteOptions

THREADS = 50
WRITES = scaled(10_000, 1_000)
A_THREAD = WRITES // THREADS
VECTOR_BYTES = 6153
NODE_BYTES = 520
RATIONALE = "kept because the conversation came back to it"
SPEECH = (
    "the deploy script reads its settings from a file in the repository and fails when the key is missing "
    "we moved the parser into a module of its own because tests needed to call it without the server "
    "alice said the migration of the orders table must run before the release on friday evening "
    "cache invalidation happens on write and the reader retries once when the version does not fit "
    "she prefers short answers with the command first and the reason after it "
    "retry after a timeout doubles the wait up to thirty seconds then reports the host by name"
)


def texts(count: int, seed: int = 7) -> list[str]:
    """Texts of some 60 tokens, no two alike."""
    rng, words = random.Random(seed), SPEECH.split()
    return [
        f"Note {number}: " + " ".join(rng.choices(words, k=44)) + f" (src/module_{number % 97}.py)."
        for number in range(count)
    ]


def spread(samples: list[float]) -> dict[str, float]:
    ordered = sorted(samples)
    shares = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}
    return {name: round(quantile(ordered, share) * 1e6, 1) for name, share in shares.items()}


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rss_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def raw_puts(folder: Path, size: int) -> float:
    """Seconds for WRITES single puts of ``size`` bytes, log on, nothing else."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    db = Rdict(str(folder), options)
    values = [os.urandom(size) for _ in range(64)]
    seconds = timed(lambda: [db.put(uuid.uuid4().bytes, values[i % 64]) for i in range(WRITES)])
    db.close()
    return seconds


def raw_batch(db: Rdict, node_bytes: int = NODE_BYTES) -> Callable[[], None]:
    """Writes what one memory is cut into: node, vector, two secondary keys, log entry, counters."""
    handles = [db.get_column_family_handle(name) for name in ("nodes", "vectors", "index", "log", "meta")]
    nodes, vectors, index, log, meta = handles
    value, vector, numbers, choice = (
        os.urandom(node_bytes),
        os.urandom(VECTOR_BYTES),
        itertools.count(),
        WriteOptions(),
    )

    def write() -> None:
        batch, key, seq = WriteBatch(raw_mode=True), uuid.uuid4().bytes, struct.pack(">Q", next(numbers))
        batch.put(key, value, nodes)
        batch.put(seq, vector, vectors)
        batch.put(b"t:" + seq + seq, key, index)
        batch.put(b"s:session" + seq + seq, key, index)
        batch.put(seq, value[:26], log)
        batch.put(b"counters", value[:49], meta)
        db.write(batch, choice)

    return write


def raw_batches(folder: Path, size: int) -> float:
    """The same bytes as our batch cuts them: node, vector, two secondary keys, log entry, counters."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    names = ("nodes", "vectors", "index", "log", "meta")
    db = Rdict(str(folder), options, {name: Options(raw_mode=True) for name in names})
    write = raw_batch(db, size - VECTOR_BYTES)
    seconds = timed(lambda: [write() for _ in range(WRITES)])
    db.close()
    return seconds


def sequential(folder: Path, profile: bool) -> dict[str, object]:
    from context_graph import Memex

    memex = Memex.open(folder)
    given = texts(WRITES + 200)
    for text in given[WRITES:]:
        memex.store(text, rationale=RATIONALE, session_id="warm-up")
    samples: list[float] = []
    clock = time.perf_counter
    profiler = cProfile.Profile() if profile else None
    if profiler:
        profiler.enable()
    began = clock()
    for number, text in enumerate(given[:WRITES]):
        at = clock()
        memex.store(text, rationale=RATIONALE, session_id=f"session-{number // 50}")
        samples.append(clock() - at)
    seconds = clock() - began
    if profiler:
        profiler.disable()
        pstats.Stats(profiler).sort_stats("tottime").print_stats(28)
    assert memex.count() == WRITES + 200
    memex.close()
    return {"seconds": round(seconds, 3), **spread(samples)}


def threaded(folder: Path) -> dict[str, object]:
    from context_graph import Memex

    memex = Memex.open(folder)
    memex.store("warm-up of the table and the index", rationale=RATIONALE)
    given = texts(WRITES, seed=8)
    errors: list[BaseException] = []
    order: list[list[int]] = [[] for _ in range(THREADS)]
    gate = threading.Barrier(THREADS + 1)

    def work(number: int) -> None:
        gate.wait()
        try:
            for text in given[number * A_THREAD : (number + 1) * A_THREAD]:
                order[number].append(memex.store(text, rationale=RATIONALE, agent_id=f"a{number}").commit_seq)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for worker in workers:
        worker.start()
    gate.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - began
    kept = all(own == sorted(own) for own in order)
    gapless = sorted(seq for own in order for seq in own) == list(range(2, WRITES + 2))
    on_disk = [stored.node.commit_seq for stored in memex.stored_after()] == list(range(1, WRITES + 2))
    memex.close()
    return {"seconds": round(seconds, 3), "errors": len(errors), "order_kept": kept and gapless and on_disk}


def reads(folder: Path, count: int) -> dict[str, object]:
    from context_graph import Memex

    memex = Memex.open(folder)
    ids: list[uuid.UUID] = []
    given = texts(count, seed=9)
    began = time.perf_counter()
    for at in range(0, count, 500):
        ids += [
            node.id
            for node in memex.store_many(
                [
                    {"content": text, "rationale": RATIONALE, "session_id": f"s{at // 500}"}
                    for text in given[at : at + 500]
                ]
            )
        ]
    filled = time.perf_counter() - began
    rng, clock = random.Random(5), time.perf_counter
    cold: list[float] = []
    read = 0
    for node_id in rng.sample(ids, min(5000, count)):
        at_s = clock()
        found = memex.get(node_id)
        cold.append(clock() - at_s)
        read += found is not None
    warm: list[float] = []
    for node_id in ids[:1000] * 11:
        at_s = clock()
        memex.get(node_id)
        warm.append(clock() - at_s)
    rss = rss_mib()
    figures = memex.metrics()
    closing = timed(memex.close)
    again: list[Memex] = []
    opening = timed(lambda: again.append(Memex.open(folder)))
    recalling = timed(lambda: again[0].recall("where does the deploy script read its settings?"))
    again[0].close()
    return {
        "nodes": count,
        "read": read,
        "filled_s": round(filled, 2),
        "cold": spread(cold),
        "warm": spread(warm[1000:]),
        "rss_mib": rss,
        "index_bytes": figures["index_bytes"],
        "memtable_bytes": figures["memtable_bytes"],
        "close_s": round(closing, 2),
        "open_s": round(opening, 2),
        "open_and_first_recall_s": round(opening + recalling, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="memex-bench-"))
    os.environ["CONTEXT_GRAPH_HOME"] = str(work / "home")
    try:
        size = 6153 + 520
        found: dict[str, object] = {
            "machine": machine(),
            "sequential": sequential(work / "seq", given.profile),
        }
        found["raw_puts_s"] = round(raw_puts(work / "raw", size), 3)
        found["raw_batches_s"] = round(raw_batches(work / "batches", size), 3)
        found["threads"] = threaded(work / "threads")
        if given.nodes:
            found["reads"] = reads(work / "reads", given.nodes)
        text = json.dumps(found, indent=1)
        print(text)
        if given.json:
            given.json.write_text(text + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
