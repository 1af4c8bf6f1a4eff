"""The map of a store: that it says the same each time, and what its record refuses."""

from __future__ import annotations

import msgspec
import pytest

from context_graph.consolidation.plan import (
    MAX_DRIFT,
    Group,
    Measured,
    StoreMap,
    decode_map,
    encode_map,
    is_redrawn,
    with_drift,
)
from context_graph.errors import DatabaseCorruptionError

DRIFT = Measured(at_ms=5, similarity=0.7, level="low")


def test_a_map_is_read_back_as_it_was_and_other_records_are_refused() -> None:
    drawn = StoreMap(at_ms=1, clusters=(Group("bread", 4, 0.5),), drift=(DRIFT,))
    fact = encode_map(drawn)
    back = decode_map(fact)
    assert back == drawn
    assert decode_map(None) is None
    with pytest.raises(DatabaseCorruptionError, match="version 3"):
        decode_map({**fact, "version": 3})
    with pytest.raises(DatabaseCorruptionError, match=r"can't be read.*clusters"):
        decode_map({**fact, "clusters": [{"label": "bread", "memories": "many", "coherence": 0.5}]})


def test_a_run_that_finds_the_same_writes_no_new_map() -> None:
    drawn = StoreMap(at_ms=1, drift=(DRIFT,))
    kept = decode_map(encode_map(drawn))
    assert not is_redrawn(kept, msgspec.structs.replace(drawn, at_ms=9))
    assert is_redrawn(kept, msgspec.structs.replace(drawn, drift=()))
    assert not is_redrawn(None, StoreMap(at_ms=1))
    assert is_redrawn(None, drawn)


def test_drift_is_kept_where_it_differs_and_the_oldest_goes() -> None:
    assert with_drift((DRIFT,), msgspec.structs.replace(DRIFT, at_ms=99)) == (DRIFT,)
    other = msgspec.structs.replace(DRIFT, at_ms=99, similarity=0.4)
    assert with_drift((DRIFT,), other) == (DRIFT, other)
    many = tuple(msgspec.structs.replace(DRIFT, similarity=number / 1000) for number in range(MAX_DRIFT))
    assert with_drift(many, other)[0] == many[1] and len(with_drift(many, other)) == MAX_DRIFT
    assert with_drift((), None) == ()
