"""view.terminal.charts: what is drawn says what the numbers say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.view.terminal.charts import bar, cell_of, columns, plane, signed, spread

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
    assert columns(spread([0, 0.5, 1], 3), 0, 1, 2) == ["  █", "▁██"]
    assert columns(spread([0, 0.5, 1], 9), 0, 1, 2) == ["      ███", "▁▁▁██████"], "the whole width"


@given(st.lists(SHARES, min_size=1, max_size=300), st.integers(1, 80), st.integers(1, 8))
def test_no_fall_is_hidden_by_a_narrow_line(values: list[float], width: int, height: int) -> None:
    lines = columns(spread(values, width), 0.0, 1.0, height)
    assert len(lines) == height and {len(line) for line in lines} == {width}
    heights = [sum(" ▁▂▃▄▅▆▇█".index(line[at]) for line in lines) for at in range(len(lines[0]))]
    assert min(heights) == max(1, round(min(values) * height * 8))
    lowest = values.index(min(values))
    assert heights[cell_of(lowest, len(values), width)] == min(heights), "and it is where it was"


@given(st.lists(st.tuples(SHARES, SHARES, st.integers(-1, 5)), max_size=200))
def test_every_point_of_the_plane_is_a_dot(points: list[tuple[float, float, int]]) -> None:
    lines = plane(points, 20, 6)
    assert len(lines) == 6 and {len(line) for line in lines} == {20}
    dots = sum(bin(ord(sign) - 0x2800).count("1") for line in lines for sign, _ in line if sign != " ")
    spots = {(min(39, int(x * 40)), min(23, int((1 - y) * 24))) for x, y, _ in points}
    assert dots == len(spots)


def test_the_plane_has_up_above() -> None:
    lines = plane([(0.0, 1.0, 3)], 4, 2)
    assert lines[0][0] == ("\u2801", 3) and lines[1][0] == (" ", -1)
