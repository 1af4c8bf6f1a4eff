"""view.terminal.charts: what is drawn says what the numbers say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.view.terminal.charts import along, bar, columns, signed

SHARES = st.floats(0, 1)


def filled_eighths(text: str) -> int:
    return sum(" ▏▎▍▌▋▊▉█".index(one) for one in text)


@given(SHARES, st.integers(1, 60))
def test_a_bar_is_as_long_as_its_share(share: float, width: int) -> None:
    drawn = bar(share, width)
    assert len(drawn) <= width
    assert abs(filled_eighths(drawn) - share * width * 8) <= 1
    assert bool(drawn) == bool(share), "what is there is seen"


@pytest.mark.parametrize(("share", "drawn"), [(-1.0, ""), (0.5, "██"), (2.0, "████")])
def test_a_bar_keeps_to_its_room(share: float, drawn: str) -> None:
    assert bar(share, 4) == drawn


@given(st.floats(-1, 1), st.integers(3, 80))
def test_a_signed_bar_keeps_to_its_side_and_its_room(share: float, width: int) -> None:
    less, more = signed(share, width)
    assert len(less) == len(more) and len(less) + 1 + len(more) <= width
    assert (less.strip() != "", more.strip() != "") == (share < 0, share > 0)


def test_columns_stand_on_the_ground_and_reach_their_value() -> None:
    places = [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)]
    assert columns(along(places, 3), 0, 1, 2) == ["  █", "▁██"]
    assert columns(along(places, 9), 0, 1, 2) == ["        █", "▁▁▁▁█████"], "a value holds until the next"


@given(st.lists(SHARES, min_size=1, max_size=300), st.integers(2, 80), st.integers(1, 8))
def test_no_fall_is_hidden_by_a_narrow_line(values: list[float], width: int, height: int) -> None:
    places = [(at / max(1, len(values) - 1), value) for at, value in enumerate(values)]
    lines = columns(along(places, width), 0.0, 1.0, height)
    assert len(lines) == height and {len(line) for line in lines} == {width}
    heights = [sum(" ▁▂▃▄▅▆▇█".index(line[at]) for line in lines) for at in range(width)]
    assert min(heights) == max(1, round(min(values) * height * 8))
    lowest = places[values.index(min(values))][0]
    assert heights[round(lowest * (width - 1))] == min(heights), "and it is where it was"
