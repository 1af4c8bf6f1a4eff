"""From ids to rows, on both implementations."""

from __future__ import annotations

from array import array
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import ranking as _reference_ranking
from tests.oracles import rows as _reference_rows
from tests.support.examples import examples

compiled = import_module("context_graph.kernels.rows")


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    return compiled if request.param == "compiled" else _reference_rows


def ident(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_an_id_leads_to_its_last_row_until_it_is_dropped(module) -> None:
    held, ids = module.Ids(), ident(7) + ident(8) + ident(7)
    assert held.find(ids, ident(7)) is None
    assert held.drop(ids, ident(7)) is None
    held.put(ids, 0)
    held.put(ids, 1)
    held.put(ids, 2)
    assert (held.find(ids, ident(7)), held.find(ids, ident(8)), len(held)) == (2, 1, 2)
    assert held.drop(ids, ident(7)) == 2
    assert (held.find(ids, ident(7)), held.find(ids, ident(8)), len(held)) == (None, 1, 1)
    assert list(held.rows()) == [1]


def test_all_rows_without_a_flag_are_put(module) -> None:
    held, ids = module.Ids(), b"".join(map(ident, [5, 6, 5, 7]))
    held.put_all(ids, array("I", [0, 3, 1, 2]), 2)
    assert sorted(held.rows()) == [2]
    held.put_all(ids, array("I", [0, 1, 2, 2]), 2)
    assert sorted(held.rows()) == [0, 1]


def test_what_does_not_fit_is_refused(module) -> None:
    held, ids = module.Ids(), ident(1)
    held.put(ids, 0)
    for call, message in [
        (lambda: held.find(ids, b"short"), "an id must have 16 bytes, got 5"),
        (lambda: held.drop(ids, bytes(17)), "an id must have 16 bytes, got 17"),
        (lambda: held.put(ids, 1), "ids must have 2 values, got 1"),
        (lambda: held.put_all(ids, array("I", [0, 0]), 1), "ids must have 2 values, got 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    assert len(held) == 1


def test_many_ids_stay_apart_and_places_are_used_again() -> None:
    """The table neither fills up with what was dropped nor loses an id, wherever ids differ."""
    held, ids = compiled.Ids(), bytearray()
    for turn in range(5):
        begin = len(ids) // 16
        for number in range(20_000):
            ids += ident(number << (turn * 24))
            held.put(ids, begin + number)
        assert held.find(ids, ident(19_999 << (turn * 24))) == begin + 19_999
        for number in range(20_000):
            assert held.drop(ids, ident(number << (turn * 24))) == begin + number
        assert len(held) == 0


@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=200))
@settings(max_examples=examples(150), deadline=None)
def test_the_twins_agree(steps) -> None:
    twins, ids = (compiled.Ids(), _reference_rows.Ids()), bytearray()
    for puts, number in steps:
        if puts:
            ids += ident(number << 90)
            for held in twins:
                held.put(ids, len(ids) // 16 - 1)
        else:
            assert len({held.drop(ids, ident(number << 90)) for held in twins}) == 1
        assert len({len(held) for held in twins}) == 1
        assert len({held.find(ids, ident(number << 90)) for held in twins}) == 1
    assert sorted(twins[0].rows()) == sorted(twins[1].rows())


@given(groups=st.lists(st.integers(0, 6), max_size=60))
@settings(max_examples=examples(100), deadline=None)
def test_the_row_before_is_the_last_of_its_group(groups) -> None:
    found, last = compiled.previous(array("I", groups))
    assert (found, last) == _reference_rows.previous(array("I", groups))
    assert len(last) == max(groups, default=0) + 1
    for group, row in enumerate(last):
        rows = [at for at, of in enumerate(groups) if of == group and group]
        assert row == (rows[-1] if rows else _reference_ranking.NONE)
    for row, group in enumerate(groups):
        earlier = [other for other in range(row) if groups[other] == group and group]
        assert found[row] == (earlier[-1] if earlier else _reference_ranking.NONE)
