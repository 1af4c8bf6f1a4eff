"""The map of a store: where memories lie, that it says the same each time, and what its record refuses."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.support.topics import snapshot_of, texts_on

from context_graph.consolidation.finders import clusters
from context_graph.consolidation.finders.layout import lay_out
from context_graph.consolidation.map import (
    MAX_DRIFT,
    Measured,
    Spot,
    StoreMap,
    decode_map,
    encode_map,
    is_redrawn,
    with_drift,
)
from context_graph.errors import DatabaseCorruptionError

DRIFT = Measured(at_ms=5, similarity=0.7, level="low")


def test_memories_of_one_cluster_lie_nearer_to_each_other_than_to_others() -> None:
    texts = [text for topic in ("billing", "sailing", "weather") for text in texts_on(topic, 12)]
    snap = snapshot_of(texts)
    rows = np.arange(len(snap))
    found = clusters.find(snap, rows)
    spots, groups = lay_out(snap, rows, found)
    assert len(spots) == len(texts) and len(groups) == len(found) >= 3
    places = np.array([(one.x, one.y) for one in spots])
    assert places.min() >= 0.0 and places.max() <= 1.0
    of = np.array([one.cluster for one in spots])
    centres = np.array([(one.x, one.y) for one in groups])
    clustered = of >= 0
    distances = np.linalg.norm(places[clustered][:, None] - centres[None], axis=2)
    assert (distances.argmin(axis=1) == of[clustered]).mean() > 0.8
    for number, centre in enumerate(centres):
        own = places[of == number]
        assert (own.min(axis=0) <= centre).all() and (centre <= own.max(axis=0)).all(), "a name lies within"
    assert places.max(axis=0) == pytest.approx([0.96, 0.96], abs=0.01), "the whole sheet is used"
    assert lay_out(snap, rows, found) == (spots, groups)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_small_store_without_clusters_has_a_map_too(count: int) -> None:
    snap = snapshot_of(texts_on("billing", count))
    spots, groups = lay_out(snap, np.arange(count), [])
    assert len(spots) == count and groups == ()
    assert all(0.0 <= value <= 1.0 for one in spots for value in (one.x, one.y))


def test_the_same_text_many_times_has_one_place() -> None:
    snap = snapshot_of(["the same words"] * 4)
    spots, _ = lay_out(snap, np.arange(4), [])
    assert {(one.x, one.y) for one in spots} == {(0.5, 0.5)}


def test_a_map_is_read_back_as_it_was_and_other_records_are_refused() -> None:
    drawn = StoreMap(at_ms=1, seq=2, spots=(Spot("a", 0.5, 0.25, -1),), drift=(DRIFT,))
    fact = encode_map(drawn)
    back = decode_map(fact)
    assert back == drawn
    assert decode_map(None) is None
    with pytest.raises(DatabaseCorruptionError, match="version 2"):
        decode_map({**fact, "version": 2})
    with pytest.raises(DatabaseCorruptionError, match=r"can't be read.*spots"):
        decode_map({**fact, "spots": [["a", "left", 0.0, 1]]})


def test_a_run_that_finds_the_same_writes_no_new_map() -> None:
    drawn = StoreMap(at_ms=1, seq=2, spots=(Spot("a", 0.5, 0.5, -1),), drift=(DRIFT,))
    kept = decode_map(encode_map(drawn))
    assert not is_redrawn(kept, msgspec.structs.replace(drawn, at_ms=9, seq=10))
    assert is_redrawn(kept, msgspec.structs.replace(drawn, drift=()))
    assert not is_redrawn(None, StoreMap(at_ms=1, seq=2, spots=(Spot("a", 0.5, 0.5, -1),)))
    assert is_redrawn(None, drawn)


def test_drift_is_kept_where_it_differs_and_the_oldest_goes() -> None:
    assert with_drift((DRIFT,), msgspec.structs.replace(DRIFT, at_ms=99)) == (DRIFT,)
    other = msgspec.structs.replace(DRIFT, at_ms=99, similarity=0.4)
    assert with_drift((DRIFT,), other) == (DRIFT, other)
    many = tuple(msgspec.structs.replace(DRIFT, similarity=number / 1000) for number in range(MAX_DRIFT))
    assert with_drift(many, other)[0] == many[1] and len(with_drift(many, other)) == MAX_DRIFT
    assert with_drift((), None) == ()
