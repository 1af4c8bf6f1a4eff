"""The records of memories: exact both ways, versions converted, damage named."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.errors import CorruptedMemoryError, InvalidParamsError, MemoryFormatError
from context_graph.model.edge import Domain, GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import JohariQuadrant, MemoryNode, Modality, Tombstone, UTLState
from context_graph.store import layout
from context_graph.store.graph import records
from context_graph.store.graph.history import Image, change_key, decode_entry, encode_entry
from context_graph.store.graph.node_records import (
    Access,
    decode_access,
    decode_embedding,
    decode_node,
    encode_access,
    encode_embedding,
    encode_node,
)
from context_graph.store.layout import wrap

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
NODE_ID = UUID("550e8400-e29b-41d4-a716-446655440000")
CLUSTER = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
METADATA = {"file": "src/auth.py", "lines": [3, 9], "nested": {"ok": True, "none": None}}

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
given_names = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=50
)
names = st.none() | given_names
units = st.floats(0.0, 1.0)
times = st.integers(0, 2**63 - 1)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
nodes = st.builds(
    MemoryNode,
    id=st.uuids(),
    content=texts,
    rationale=texts,
    created_at_ms=times,
    last_accessed_ms=times,
    importance=units,
    johari_quadrant=st.sampled_from(JohariQuadrant),
    utl_state=st.builds(UTLState, units, units, st.floats(0.5, 1.5), st.floats(0.0, 3.14)),
    agent_id=names,
    session_id=names,
    project=names,
    semantic_cluster=st.none() | st.uuids(),
    modality=st.sampled_from(Modality),
    tags=st.lists(given_names, max_size=4, unique=True).map(tuple),
    pinned=st.booleans(),
    source=given_names,
    commit_seq=st.integers(0, 2**63 - 1),
    metadata=st.dictionaries(texts, json_values, max_size=3),
)
edges = st.builds(
    GraphEdge,
    id=st.uuids(),
    source_id=st.uuids(),
    target_id=st.uuids(),
    relationship_type=st.text(
        st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=64
    ),
    weight=units,
    created_at_ms=times,
    last_traversed_ms=times,
    traversal_count=st.integers(0, 2**32 - 1),
    neurotransmitter_weights=st.builds(NeurotransmitterWeights, units, units, units),
    is_amortized_shortcut=st.booleans(),
    steering_reward=st.floats(-1.0, 1.0),
    domain=st.sampled_from(Domain),
    confidence=units,
    metadata=st.dictionaries(texts, json_values, max_size=3),
)


def golden_node(**changed: object) -> MemoryNode:
    known: dict[str, object] = {
        "id": NODE_ID,
        "content": "Tokens expire after 24 hours, see “auth”",
        "rationale": "security rule of the project",
        "created_at_ms": 1_763_761_000_123,
        "last_accessed_ms": 1_763_761_900_456,
        "importance": 0.8,
        "johari_quadrant": JohariQuadrant.BLIND,
        "utl_state": UTLState(0.25, 0.7, 1.1, 0.5),
        "agent_id": "agent-7",
        "semantic_cluster": CLUSTER,
        "commit_seq": 258,
        "metadata": METADATA,
    }
    return MemoryNode(**(known | changed))  # type: ignore[arg-type]


@given(nodes, st.booleans())
def test_a_node_comes_back_with_every_field(node: MemoryNode, deleted: bool) -> None:
    """REQ-CORE-012, TC-CORE-001, TC-CORE-014: any text, any JSON, every optional field."""
    key = node.id.bytes
    assert decode_node(key, encode_node(key, node, deleted=deleted)) == (node, deleted)


@given(edges)
def test_an_edge_comes_back_with_every_field(edge: GraphEdge) -> None:
    """REQ-CORE-027, TC-CORE-033."""
    key = layout.edge_key(edge.id.bytes)
    assert records.decode_edge(key, records.encode_edge(key, edge)) == edge


@given(
    st.uuids(),
    times,
    texts,
    st.booleans(),
    st.integers(0, 2**32 - 1),
    st.binary(min_size=8, max_size=8).map(lambda part: part * 768),
)
def test_the_small_records_come_back(
    node_id: UUID, at_ms: int, reason: str, soft: bool, count: int, embedding: bytes
) -> None:
    key, seq = node_id.bytes, layout.seq_key(at_ms)
    stone = Tombstone(node_id, at_ms, reason, soft)
    assert records.decode_tombstone(key, records.encode_tombstone(key, stone)) == stone
    access = Access(count, at_ms)
    assert decode_access(key, encode_access(key, access)) == access
    assert decode_embedding(seq, encode_embedding(seq, embedding)) == embedding
    change = records.encode_change(seq, records.Op.LINK, key, at_ms)
    assert records.decode_change(seq, change) == (at_ms, 6, key, at_ms)
    with pytest.raises(MemoryFormatError, match="format version 1"):
        records.decode_change(seq, wrap(seq, 1, bytes((6,)) + key))
    counters = records.Counters(at_ms, count, 1, 2, 3)
    assert records.decode_counters(b"counters", records.encode_counters(b"counters", counters)) == counters


def test_today_s_record_is_byte_for_byte_the_golden_one() -> None:
    """REQ-CORE-012: version 2, written independently by tools/golden/memory.py."""
    golden = (GOLDEN / "memory_v2.bin").read_bytes()
    node = golden_node(session_id="sitzung-ä", source="tool", tags=("auth", "rules"), pinned=True)
    assert decode_node(NODE_ID.bytes, golden) == (node, True)
    assert encode_node(NODE_ID.bytes, node, deleted=True) == golden


def test_an_old_version_is_converted() -> None:
    """EC-CORE-018, REQ-CORE-012: float32 0.8 becomes 0.8; what version 1 did not have takes its default."""
    golden = (GOLDEN / "memory_v1.bin").read_bytes()
    node, deleted = decode_node(NODE_ID.bytes, golden)
    assert (node, deleted) == (golden_node(access_count=7), False)
    assert (node.source, node.tags, node.session_id, node.modality) == ("library", (), None, Modality.TEXT)
    again = encode_node(NODE_ID.bytes, node)
    assert again[0] == 2
    assert decode_node(NODE_ID.bytes, again, Access(7, node.last_accessed_ms)).node == node


def test_an_unknown_version_names_node_and_version() -> None:
    """EC-CORE-018, ERR-CORE-008: no silent reset."""
    key = NODE_ID.bytes
    with pytest.raises(MemoryFormatError, match=f"{NODE_ID} has format version 9") as caught:
        decode_node(key, wrap(key, 9, b"whatever a later version writes"))
    assert (caught.value.node_id, caught.value.format_version) == (str(NODE_ID), 9)
    assert caught.value.rpc_code == -32603


def test_damage_anywhere_is_an_error_that_names_the_node() -> None:
    """REQ-CORE-012, ERR-CORE-008: invalid binary data is a descriptive error."""
    for name in ("memory_v1.bin", "memory_v2.bin"):
        golden = (GOLDEN / name).read_bytes()
        for at in range(len(golden)):
            flipped = bytearray(golden)
            flipped[at] ^= 0x40
            with pytest.raises((CorruptedMemoryError, MemoryFormatError), match=str(NODE_ID)):
                decode_node(NODE_ID.bytes, bytes(flipped))
            with pytest.raises(CorruptedMemoryError, match="repair"):
                decode_node(NODE_ID.bytes, golden[:at])


def test_a_record_under_another_key_is_refused() -> None:
    other = UUID(int=5).bytes
    with pytest.raises(CorruptedMemoryError, match="checksum"):
        decode_node(other, (GOLDEN / "memory_v2.bin").read_bytes())


@given(st.binary(max_size=300), st.sampled_from([1, 2]))
def test_a_sound_envelope_around_nonsense_is_an_error_and_no_crash(payload: bytes, version: int) -> None:
    key = NODE_ID.bytes
    try:
        decode_node(key, wrap(key, version, payload))
    except CorruptedMemoryError as error:
        assert str(NODE_ID) in str(error)


def test_the_envelope_is_that_of_all_records() -> None:
    """D4.7: u8 version, u32 length, payload, CRC-32 over key and all."""
    made = encode_embedding(layout.seq_key(1), bytes(6144))
    head = struct.pack("<BI", 1, 6144) + bytes(6144)
    assert made == head + struct.pack("<I", zlib.crc32(layout.seq_key(1) + head))


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"metadata": {"x": object()}}, "metadata"),
        ({"metadata": {"big": "x" * (1 << 20)}}, "1048576"),
        ({"created_at_ms": 2**64}, "out of range"),
        ({"tags": tuple(f"{n:064}" for n in range(2000))}, "out of range"),
    ],
)
def test_what_no_record_can_hold_is_refused_with_its_name(changed: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidParamsError, match=match):
        encode_node(NODE_ID.bytes, golden_node(**changed))


@pytest.mark.parametrize("length", [0, 6143, 6145])
def test_an_embedding_of_another_length_is_refused(length: int) -> None:
    """REQ-CORE-001: 1536 float32."""
    with pytest.raises(InvalidParamsError, match="6144"):
        encode_embedding(layout.seq_key(1), bytes(length))


def test_the_records_of_the_history_are_byte_for_byte_the_golden_ones() -> None:
    """Written independently by tools/golden/memory.py."""
    at_ms, seq = 1_763_761_900_456, 258
    node, edge = NODE_ID.bytes, UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8").bytes
    change = records.encode_change(layout.seq_key(seq), records.Op.FORGET, node, at_ms)
    assert change == (GOLDEN / "memory_change_v2.bin").read_bytes()
    images = (Image("edges", b"e:" + edge, b"a record as it was"), Image("tombstones", node, None))
    key, ends = change_key(seq), (node, edge)
    entry = encode_entry(key, at_ms, records.Op.RELINK, edge, ends, images)
    assert entry == (GOLDEN / "memory_history_v1.bin").read_bytes()
    assert decode_entry(key, entry) == (seq, at_ms, records.Op.RELINK, edge, ends, images)
    with pytest.raises(CorruptedMemoryError, match="checksum"):
        decode_entry(key, entry[:-1] + b"\0")
    for cut in range(1, 60, 7):
        payload = entry[5 : -4 - cut]
        with pytest.raises(CorruptedMemoryError, match="content"):
            decode_entry(key, wrap(key, 1, payload))
