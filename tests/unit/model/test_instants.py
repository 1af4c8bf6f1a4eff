"""Times in and out: exact to the millisecond, and never an error where one is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.errors import InvalidParamsError
from context_graph.model.memory import LAST_MS, instant_ms, iso_time, parse_time


@given(st.integers(0, LAST_MS))
def test_what_is_told_reads_back_to_the_same_millisecond(at_ms: int) -> None:
    assert instant_ms(iso_time(at_ms)) == at_ms == parse_time("created_after", iso_time(at_ms))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_any_number_in_a_record_is_told(at_ms: int) -> None:
    assert instant_ms(iso_time(at_ms)) == max(0, min(at_ms, LAST_MS))


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("1970-01-01T05:30:00+05:30", 0),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:00.0019Z", 1),
        ("1969-12-31T23:59:59.999Z", -1),
        ("9999-12-31T23:59:59.999Z", LAST_MS),
    ],
)
def test_offsets_and_fractions(text: str, at_ms: int) -> None:
    assert instant_ms(text) == at_ms


@pytest.mark.parametrize(
    "value", ["", "yesterday", "2026-13-01", LAST_MS + 1, -1, True, 1.5, None, "x" * 5000]
)
def test_what_is_no_time_says_what_would_be(value: object) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        parse_time("filters.created_after", value)
    assert caught.value.parameter == "filters.created_after"
    assert "2026-01-31T12:00:00Z" in str(caught.value) and str(LAST_MS) in str(caught.value)
    assert len(str(caught.value)) < 300
