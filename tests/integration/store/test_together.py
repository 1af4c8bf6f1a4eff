"""Writes of several calls as one batch: seen by who reads, durable together, gone together."""

from __future__ import annotations

import pytest

from context_graph.store.engine.engine import Engine
from context_graph.store.layout import EVENTS, RUNTIME


def test_reads_see_what_is_not_written_yet(engine: Engine) -> None:
    engine.put(RUNTIME, b"old", b"1")
    with engine.together():
        before = engine.sequence()
        engine.put(RUNTIME, b"a", b"1")
        batch = engine.batch()
        batch.put(RUNTIME, b"a", b"2")
        batch.delete(RUNTIME, b"old")
        engine.write(batch)
        engine.put(EVENTS, b"e1", b"1")
        engine.put(EVENTS, b"e2", b"1")
        cut = engine.batch()
        cut.delete_range(EVENTS, b"e1", b"e2")
        engine.write(cut)
        found = [engine.get(RUNTIME, b"a"), engine.get(RUNTIME, b"old"), engine.get(EVENTS, b"e1")]
        assert found == [b"2", None, None]
        assert engine.get(EVENTS, b"e2") == b"1"
        assert engine.sequence() == before
    assert [engine.get(RUNTIME, b"a"), engine.get(RUNTIME, b"old"), engine.get(EVENTS, b"e1")] == found
    assert engine.get_many(EVENTS, [b"e1", b"e2"]) == [None, b"1"]


def test_a_batch_that_is_not_written_leaves_nothing(engine: Engine) -> None:
    with engine.together():
        engine.batch().put(RUNTIME, b"a", b"1")
        assert engine.get(RUNTIME, b"a") is None
    assert engine.get(RUNTIME, b"a") is None


def test_a_scan_meets_what_was_written_before_it(engine: Engine) -> None:
    with engine.together():
        engine.put(RUNTIME, b"x:1", b"1")
        assert list(engine.scan(RUNTIME, b"x:", b"x;")) == [(b"x:1", b"1")]
        assert engine.get_many(RUNTIME, [b"x:1"]) == [b"1"]
        engine.delete(RUNTIME, b"x:1")
    assert engine.get(RUNTIME, b"x:1") is None


def test_after_an_error_nothing_of_it_is_there_and_the_next_write_is_its_own(engine: Engine) -> None:
    with pytest.raises(ZeroDivisionError), engine.together():
        engine.put(RUNTIME, b"a", b"1")
        raise ZeroDivisionError
    assert engine.get(RUNTIME, b"a") is None
    engine.put(RUNTIME, b"b", b"1")
    assert engine.get(RUNTIME, b"b") == b"1"


def test_a_key_of_the_wrong_type_is_refused_at_once(engine: Engine) -> None:
    with engine.together():
        with pytest.raises(TypeError):
            engine.put(RUNTIME, "text", b"1")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            engine.batch().put(RUNTIME, b"a", "text")  # type: ignore[arg-type]
