"""Stores beside raw RocksDB: the same number of bytes under as many keys, in the same rounds."""

from __future__ import annotations

import itertools
import os
import random
import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from benches.interleave import measure
from benches.memory.throughput import NODE_BYTES, RATIONALE, VECTOR_BYTES, raw_batch, texts
from benches.micro.bench_store import event, full_snapshot
from benches.report import Figure, figures
from rocksdict import Options, Rdict, WriteBatch, WriteOptions

from context_graph import Memex
from context_graph.store.sessions.sessions import SessionStore

SNAPSHOT_BYTES = 5500
EVENT_BYTES = 3100
RUNTIME = random.Random(3).randbytes(2000)


def run(folder: Path, rounds: int, filled: int) -> list[Figure]:
    """Memories stored and read among ``filled``; one hook's event committed."""
    with ExitStack() as stack:
        memex = stack.enter_context(Memex.open(folder / "memex"))
        raw = stack.enter_context(raw_db(folder / "raw"))
        ids = fill(memex, filled)
        keys = raw_fill(raw, filled)
        return [
            *stores(memex, raw, rounds),
            *reads(memex, raw, ids, keys, rounds),
            *events(folder, raw, rounds),
        ]


@contextmanager
def raw_db(folder: Path) -> Iterator[Rdict]:
    """RocksDB as it comes, log on, five column families."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    names = ("nodes", "vectors", "index", "log", "meta")
    with closing(Rdict(str(folder), options, {name: Options(raw_mode=True) for name in names})) as db:
        yield db


def fill(memex: Memex, count: int) -> list[uuid.UUID]:
    """Memories of some 60 tokens."""
    drafts = [
        {"content": text, "rationale": RATIONALE, "session_id": f"s{number // 50}"}
        for number, text in enumerate(texts(count, seed=9))
    ]
    return [node.id for at in range(0, count, 500) for node in memex.store_many(drafts[at : at + 500])]


def raw_fill(db: Rdict, count: int) -> list[bytes]:
    """As many keys with values as long."""
    keys = [uuid.uuid4().bytes for _ in range(count)]
    nodes = db.get_column_family("nodes")
    for key in keys:
        nodes.put(key, os.urandom(NODE_BYTES))
    return keys


def stores(memex: Memex, raw: Rdict, rounds: int) -> list[Figure]:
    """One memory, durable on return: checked, redacted, embedded in 13 spaces, indexed, logged."""
    coming = iter(texts(rounds + 1, seed=8))
    samples = measure(
        {
            "raw batch, same keys and bytes": raw_batch(raw),
            "raw put, same bytes": raw_put(raw),
            "Memex.store": lambda: memex.store(next(coming), rationale=RATIONALE, session_id="bench"),
        },
        rounds,
        once=True,
    )
    return figures(
        "store a memory of 60 tokens",
        {"raw batch, same keys and bytes": "limit", "raw put, same bytes": "rival", "Memex.store": "ours"},
        samples,
        goals={"Memex.store": 3.5},
    )


def raw_put(db: Rdict) -> Callable[[], None]:
    value = os.urandom(NODE_BYTES + VECTOR_BYTES)
    return lambda: db.put(uuid.uuid4().bytes, value)


def reads(memex: Memex, raw: Rdict, ids: list[uuid.UUID], keys: list[bytes], rounds: int) -> list[Figure]:
    """Any memory, in no order."""
    chance, nodes = random.Random(5), raw.get_column_family("nodes")
    samples = measure(
        {
            "raw get, same bytes": lambda: nodes[chance.choice(keys)],
            "Memex.get": lambda: memex.get(chance.choice(ids)),
        },
        rounds,
    )
    return figures(
        f"read one of {len(ids):,} memories", {"raw get, same bytes": "limit", "Memex.get": "ours"}, samples
    )


def events(folder: Path, raw: Rdict, rounds: int) -> list[Figure]:
    """What the owner writes for one hook: event, snapshot, time index, pointer, live state."""
    names = ("nodes", "vectors", "index", "log", "meta")
    handles = [raw.get_column_family_handle(name) for name in names]
    values = [os.urandom(size) for size in (EVENT_BYTES, SNAPSHOT_BYTES, 16, 64, len(RUNTIME))]
    numbers, choice = itertools.count(1), WriteOptions()

    def plain() -> None:
        batch, key = WriteBatch(raw_mode=True), struct.pack(">QQ", 1, next(numbers))
        for value, handle in zip(values, handles, strict=True):
            batch.put(key, value, handle)
        raw.write(batch, choice)

    with SessionStore.open(folder / "sessions") as store:
        snapshot, made = full_snapshot("one"), [event("one", number) for number in range(rounds + 1)]
        coming = iter(made)
        seqs = itertools.count(1)

        def commit() -> None:
            one = next(coming)
            snapshot.timestamp_ms += 1
            store.commit_event(
                snapshot, event=one, seq=next(seqs), dedupe_key=one.dedupe_key(), runtime=RUNTIME
            )

        samples = measure(
            {"raw batch, same bytes": plain, "SessionStore.commit_event": commit}, rounds, once=True
        )
    return figures(
        "commit one event with its effects",
        {"raw batch, same bytes": "limit", "SessionStore.commit_event": "ours"},
        samples,
    )
