"""Filters of a recall: from JSON, and as a mask of rows."""

from __future__ import annotations

from uuid import UUID

import pytest

from context_graph.errors import InvalidParamsError
from context_graph.memory.filters import RecallFilters
from context_graph.memory.index.rows import Rows
from context_graph.model.memory import JohariQuadrant, MemoryNode, parse_time
from context_graph.operations.naming import filters_of


def node(number: int, **fields) -> MemoryNode:
    made = {
        "id": UUID(int=number + 1),
        "content": f"memory {number}",
        "rationale": "for the filters' test",
        "created_at_ms": 1000 * number,
        "last_accessed_ms": 0,
        "commit_seq": number + 1,
    }
    return MemoryNode(**{**made, **fields})


@pytest.fixture
def rows() -> Rows:
    made = Rows()
    for number, fields in enumerate(
        [
            {"importance": 0.2, "agent_id": "ada", "tags": ("a",)},
            {"importance": 0.5, "session_id": "s1", "tags": ("a", "b")},
            {"importance": 0.8, "johari_quadrant": JohariQuadrant.OPEN, "project": "/p", "source": "tool"},
            {"importance": 1.0, "session_id": "s1", "johari_quadrant": JohariQuadrant.BLIND, "tags": ("b",)},
        ]
    ):
        made.append(node(number, **fields), number != 1)
    return made


def passing(rows: Rows, given: dict) -> list[int]:
    mask = filters_of(given).mask(rows, rows.live)
    return [row for row in range(len(rows)) if mask[row]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [0, 2, 3]),
        ({"min_importance": 0.8}, [2, 3]),
        ({"min_importance": 0}, [0, 2, 3]),
        ({"min_importance": 1}, [3]),
        ({"johari_quadrants": ["open", "BLIND"]}, [2, 3]),
        ({"johari_quadrants": ["hidden"]}, []),
        ({"created_after": 2000}, [3]),
        ({"created_after": "1970-01-01T00:00:01.999Z"}, [2, 3]),
        ({"created_before": "1970-01-01T01:00:02+01:00"}, [0]),
        ({"agent_id": "ada"}, [0]),
        ({"agent": "ada"}, [0]),
        ({"agent_id": "bob"}, []),
        ({"session_id": "s1"}, [3]),
        ({"project": "/p"}, [2]),
        ({"source": "tool"}, [2]),
        ({"source": "library"}, [0, 3]),
        ({"tags": ["b"]}, [3]),
        ({"tags": ["a", "b"]}, []),
        ({"tags": ["c"]}, []),
        ({"min_importance": 0.9, "session_id": "s1", "tags": ["b"]}, [3]),
        ({"min_importance": None}, [0, 2, 3]),
    ],
)
def test_only_live_rows_that_pass_every_filter_are_kept(rows, given, expected) -> None:
    """REQ-CORE-015: filters.min_importance, filters.johari_quadrants, filters.created_after; and D4's."""
    assert passing(rows, given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_importance": 1.5}, "filters.min_importance - is 1.5, must be between 0 and 1"),
        ({"min_importance": "x"}, "filters.min_importance - must be a number, not string"),
        ({"min_importance": float("nan")}, "filters.min_importance - is nan, must be between 0 and 1"),
        ({"johari_quadrants": ["wide"]}, "filters.johari_quadrants - holds 'wide'; known are open, blind"),
        ({"johari_quadrants": 3}, "filters.johari_quadrants - must be an array, not integer"),
        ({"created_after": "soon"}, "filters.created_after - must be a date and time such as"),
        ({"created_after": -1}, "filters.created_after - must be a date and time"),
        ({"created_after": True}, "filters.created_after - must be a date and time"),
        ({"agent_id": ""}, "filters.agent_id - must have 1 to 4096 characters, has 0"),
        ({"tags": "a"}, "filters.tags - must be an array, not string"),
        ({"tags": ["a", 1]}, "filters.tags - has an entry that is not a string"),
        ({"importance": 1}, "filters.importance - is not a parameter of filters; it has agent_id"),
        ([1], "filters - must be an object, is list"),
    ],
)
def test_what_can_be_no_filter_is_refused_by_name(given, message) -> None:
    """ERR-CORE-004: the parameter, its limit and what was given."""
    with pytest.raises(InvalidParamsError, match=f"Invalid params: {message}") as raised:
        filters_of(given)
    assert raised.value.rpc_code == -32602


def test_a_time_without_an_offset_is_utc() -> None:
    assert parse_time("t", "2026-01-31T12:00:00") == parse_time("t", "2026-01-31T13:00:00+01:00")
    assert parse_time("t", "2026-01-31") == 1769817600000


def test_no_filters_are_everything_and_equal_ones_have_one_key() -> None:
    assert filters_of(None) == RecallFilters()
    one, other = filters_of({"tags": ["a"]}), filters_of({"tags": ["b"]})
    assert one.key() == RecallFilters(tags=("a",)).key() != other.key()


def test_a_changed_memory_is_found_by_what_it_is_now(rows) -> None:
    assert rows.take_over(0, node(0, importance=0.9, agent_id="eve", tags=("c", "b"), session_id="s2"))
    rows.link()
    assert passing(rows, {"agent_id": "ada"}) == []
    assert passing(rows, {"tags": ["a"]}) == []
    assert passing(rows, {"tags": ["b"]}) == [0, 3]
    assert passing(rows, {"session_id": "s2", "min_importance": 0.9}) == [0]
