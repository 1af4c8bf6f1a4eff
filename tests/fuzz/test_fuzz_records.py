"""Whatever bytes a record has: it is read, or refused with an error of ours; nothing else happens.

Two kinds of input: bytes as they come, which checksums refuse, and well-sealed records of any content, which
a program with a fault of its own could have written. CONTEXT_GRAPH_FUZZ_EXAMPLES sets how many.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracles.lexical import TERM

from context_graph.consolidation.commit import Prepared
from context_graph.errors import ContextGraphError
from context_graph.identity.ego import Goals
from context_graph.identity.runtime import decode_runtime as unpack_runtime
from context_graph.kernels import dense, goals, lexical, topics
from context_graph.model.spaces import EMBEDDING_BYTES
from context_graph.store.graph import history, node_records
from context_graph.store.graph import records as graph_records
from context_graph.store.layout import wrap
from context_graph.store.sessions import event_log, records

EXAMPLES = int(os.environ.get("CONTEXT_GRAPH_FUZZ_EXAMPLES", "60"))
KEY = bytes(range(16))
DECODERS: dict[str, Callable[[bytes, bytes], object]] = {
    "snapshot": records.decode_snapshot,
    "head": records.decode_row,
    "event": records.decode_event,
    "runtime": records.decode_opaque,
    "goals": records.decode_goals,
    "evidence": records.decode_evidence,
    "dream": records.decode_dream,
    "node": node_records.decode_node,
    "embedding": node_records.decode_embedding,
    "access": node_records.decode_access,
    "edge": graph_records.decode_edge,
    "tombstone": graph_records.decode_tombstone,
    "change": graph_records.decode_change,
    "counters": graph_records.decode_counters,
    "meta": graph_records.decode_meta,
    "run": history.decode_run,
    "history": history.decode_entry,
    "requirement log": event_log.decode_entry,
}
PACKED: dict[str, Callable[[bytes], object]] = {
    "runtime state": unpack_runtime,
    "running goals": Goals.from_bytes,
    "prepared run": Prepared.from_bytes,
}


def _goals() -> Any:
    return goals.GoalVectors(bytes(13), bytes([1] * 13), array("d", [0.5] * 13))


def _vectors() -> Any:
    made = dense.Vectors(8)
    for row in range(5):
        made.append(array("f", [row + 1.0, *range(7)]))
    return made


def _postings() -> Any:
    made = lexical.Postings()
    for row in range(6):
        bag = {row % 3 + 1: 1, 77: row + 1, 2**40 + row: 3}
        made.add(b"".join(TERM.pack(term, often, 0) for term, often in bag.items()))
    return made


def _topics() -> Any:
    made = topics.Topics(4, 0.5)
    for row in range(6):
        embedding = array("f", [float((row * n) % 5) for n in range(EMBEDDING_BYTES // 4)])
        packed = topics.pack(embedding.tobytes(), b"")
        made.add(bytes([row] * 16), row % 4, packed)
    return made


def _scan(vectors: Any) -> None:
    vectors.scan(array("f", [1.0] * 8), bytes([1] * len(vectors)), array("f", [0.0] * len(vectors)))
    vectors.kept(bytes([1] * len(vectors)))


def _search(postings: Any) -> None:
    live = bytes([1] * len(postings))
    postings.totals(live)
    postings.mark(array("Q", [1, 77]), 1.0, array("f", [0.0] * len(postings)))
    postings.kept(live)


def _count(found: Any) -> None:
    found.lone()
    found.to_bytes()


KERNELS: dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[Any], object]]] = {
    "goals": (_goals, _goals, lambda made: made.to_bytes()),
    "postings": (lexical.Postings, _postings, _search),
    "topics": (lambda: topics.Topics(4, 0.5), _topics, _count),
    "vectors": (lambda: dense.Vectors(8), _vectors, _scan),
}
keys = st.just(KEY) | st.binary(max_size=30)
many = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
counts = st.sampled_from([0, 1, 255, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1])
numbers = st.builds(
    lambda n, size: (n % 256**size).to_bytes(size, "little"), counts, st.sampled_from([1, 2, 4, 8])
)
texts = st.sampled_from([b"{}", b"[]", b"null", b'{"a":1e999}', b"\xff\xfe", b"{" * 2000, b'"', b"\0" * 40])
payloads = st.lists(st.binary(max_size=40) | numbers | texts, max_size=8).map(b"".join)


@pytest.mark.parametrize("name", DECODERS)
@many
@given(
    key=st.just(KEY) | st.binary(max_size=30),
    record=payloads,
    version=st.integers(0, 3),
    sealed=st.booleans(),
)
def test_a_record_is_read_or_refused(
    name: str, key: bytes, record: bytes, version: int, sealed: bool
) -> None:
    """No exception but ours."""
    try:
        DECODERS[name](key, wrap(key, version, record) if sealed else record)
    except ContextGraphError as error:
        assert str(error)


@pytest.mark.parametrize("name", PACKED)
@many
@given(packed=payloads)
def test_packed_state_is_read_or_refused(name: str, packed: bytes) -> None:
    """What their callers catch: ours, or ValueError, which they take for damage."""
    try:
        PACKED[name](packed)
    except (ContextGraphError, ValueError) as error:
        assert str(error)


@pytest.mark.parametrize("kind", ["goals", "postings", "topics", "vectors"])
@many
@given(packed=payloads, data=st.data())
def test_a_kernel_s_saved_state_is_read_or_refused(kind: str, packed: bytes, data: Any) -> None:
    """Compiled readers of a file: damaged lengths must not be believed, nor trip what is asked afterwards.

    `make sanitize` runs this one too.
    """
    empty, made, use = KERNELS[kind]
    saved = bytearray(made().to_bytes())
    for _ in range(data.draw(st.integers(0, 6))):
        saved[data.draw(st.integers(0, len(saved) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(saved)))
    for damaged in (bytes(saved), bytes(saved[:cut]), bytes(saved) + packed, packed):
        fresh = empty()
        try:
            fresh.load_bytes(damaged)
        except (ContextGraphError, ValueError) as error:
            assert str(error)
        else:
            use(fresh)
