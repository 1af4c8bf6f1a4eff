"""Which ids mean the same session."""

from __future__ import annotations

import pytest
from tests.support.gates.in_process import A, B

from context_graph.gates.state.session_ids import (
    alias_of,
    begun_by,
    candidates,
    problem,
    safe_name,
    same_session,
)


def test_a_full_id_and_its_eight_digits_are_the_same_session() -> None:
    """Seed 004 section 9: the 8-character form is accepted."""
    assert same_session(A, A[:8])
    assert same_session(A[:8].upper(), A)
    assert not same_session(A, B)


@pytest.mark.parametrize("other", ["session-11", "session1", "session"])
def test_ids_that_are_no_hex_have_no_alias(other: str) -> None:
    """The original cut every id to 8 characters, so session-10 and session-11 were one."""
    assert alias_of("session-10") == ""
    assert not same_session("session-10", other)


def test_two_full_ids_with_the_same_eight_digits_are_two_sessions() -> None:
    other = A[:8] + B[8:]
    assert not same_session(A, other)
    assert candidates(A[:8], [A, other, B]) == sorted([A, other])
    assert candidates(A, [A, other]) == [A]


def test_a_short_id_that_nobody_knows_in_full_stands_for_itself() -> None:
    assert candidates(A[:8], [A[:8], B]) == [A[:8]]
    assert candidates("unknown", [A, B]) == []


@pytest.mark.parametrize(
    "hostile", ["../../evil", "/etc/passwd", "a/b", "..", "x" * 300, "né\ud800", "~", "a\0b"]
)
def test_a_hostile_id_makes_a_plain_file_name(hostile: str) -> None:
    """A session id `../../evil`."""
    name = safe_name(hostile)
    assert "/" not in name and "\0" not in name and name not in ("", ".", "..")
    assert len(name) < 60 and name.isascii()


def test_different_ids_make_different_file_names() -> None:
    names = {safe_name(text) for text in ("../../evil", "../../evi1", "..-..-evil", "a b", "a_b", A, B)}
    assert len(names) == 7


def test_what_can_t_be_an_id_is_told() -> None:
    assert problem("") and problem("  ") and problem("a\nb") and problem("x" * 101)
    assert not problem("session-10")


def test_a_person_may_type_any_beginning_of_four_digits_or_more() -> None:
    assert begun_by(A[:4], [A, B]) == [A]
    assert begun_by(A[:13].upper(), [A, B]) == [A]
    assert begun_by(A[:5], [A, A[:5] + "0"]) == sorted([A, A[:5] + "0"])
    for nothing in (A[:3], "", "----", "wxyz", "session-1"):
        assert begun_by(nothing, [A, B, "wxyz", "session-1"]) == [], nothing
