"""Sessions out as JSON and in again: all or nothing, each field checked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.store import break_record, snapshot

from context_graph.errors import (
    CorruptedIdentityError,
    FormatVersionError,
    InvalidInputError,
    SessionNotFoundError,
)
from context_graph.store.engine.engine import Engine
from context_graph.store.sessions import transfer
from context_graph.store.sessions.sessions import SessionStore


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(tmp_path / "other") as opened:
        yield opened


def exported(*names: str) -> dict[str, Any]:
    """As a file would hold it."""
    document = transfer.document([snapshot(name, at) for at, name in enumerate(names)])
    return json.loads(json.dumps(document))  # type: ignore[no-any-return]  # json knows no types


def test_an_export_has_the_seed_s_field_names_a_version_and_a_checksum(store: SessionStore) -> None:
    """REQ-SESSION-01."""
    store.save_snapshot(snapshot("one"))
    document = store.export("one")
    assert {key: document[key] for key in document if key != "sessions"} == {
        "format": "context-graph/sessions",
        "format_version": 2,
        "checksum": "d5a7cb5c",
    }
    (session,) = exported("one")["sessions"]
    assert session["session_id"] == "one"
    assert session["purpose_vector"] == [0.25] * 12 + [0.5]
    assert len(session) == 14


def test_what_went_out_comes_in_as_it_was(store: SessionStore, other: SessionStore) -> None:
    for at in range(3):
        store.save_snapshot(snapshot(f"s{at}", at, f"s{at - 1}" if at else None))
    document = json.loads(json.dumps(store.export_all()))
    assert other.import_(document) == ["s2", "s1", "s0"]
    for at in range(3):
        assert other.load_snapshot(f"s{at}") == store.load_snapshot(f"s{at}")
    assert other.load_snapshot().session_id == "s2"
    assert [row.session_id for row in other.chain("s2").sessions] == ["s2", "s1", "s0"]
    assert other.export_all() == store.export_all()


def test_an_export_of_all_goes_page_by_page(store: SessionStore) -> None:
    for at in range(5):
        store.save_snapshot(snapshot(f"s{at}", at))
    first = store.export_all(limit=3)
    second = store.export_all(limit=3, cursor=str(first["next_cursor"]))
    names = [session["session_id"] for page in (first, second) for session in page["sessions"]]  # type: ignore[attr-defined]
    assert names == ["s4", "s3", "s2", "s1", "s0"]
    assert "next_cursor" not in second


def test_an_export_of_what_is_not_there_or_damaged_is_an_error(store: SessionStore, engine: Engine) -> None:
    with pytest.raises(SessionNotFoundError):
        store.export("one")
    store.save_snapshot(snapshot("one"))
    break_record(engine, "one")
    with pytest.raises(CorruptedIdentityError):
        store.export_all()


def test_the_latest_session_stays_the_latest(store: SessionStore) -> None:
    store.save_snapshot(snapshot("mine"))
    store.import_(exported("older", "newer"))
    assert store.load_snapshot().session_id == "mine"


def test_reformatted_json_keeps_its_checksum() -> None:
    document = exported("one")
    document["sessions"][0]["crisis_threshold"] = 0.5
    document["sessions"][0]["cross_session_ic"] = 1  # some writers drop the .0
    again = json.loads(json.dumps(document, sort_keys=True, indent=7))
    assert transfer.read_document(again) == [snapshot("one")]


def test_a_changed_document_is_refused_until_its_checksum_is_removed() -> None:
    document = exported("one")
    document["sessions"][0]["last_ic"] = 0.25
    with pytest.raises(InvalidInputError, match="remove the checksum"):
        transfer.read_document(document)
    del document["checksum"]
    assert transfer.read_document(document)[0].last_ic == 0.25


def test_sessions_that_are_there_already_are_named_and_nothing_is_stored(store: SessionStore) -> None:
    store.save_snapshot(snapshot("two"))
    with pytest.raises(InvalidInputError, match=r"already \(two\); overwrite"):
        store.import_(exported("one", "two", "three"))
    assert store.count() == 1
    assert store.import_(exported("one", "two", "three"), overwrite=True) == ["one", "two", "three"]
    assert store.load_snapshot("two") == snapshot("two", 1)
    assert store.count() == 3


def test_one_bad_session_among_good_ones_stores_none(store: SessionStore) -> None:
    document = exported("one", "two")
    document["sessions"][1]["coupling"] = -1
    with pytest.raises(InvalidInputError, match=r"^sessions\[1\]\.coupling is -1"):
        store.import_(document)
    assert store.count() == 0
    assert store.load_latest() is None


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("session_id", "", "1 to 100 characters"),
        ("session_id", "x" * 101, "1 to 100 characters"),
        ("session_id", "a\0b", "without NUL"),
        ("session_id", 5, "text"),
        ("previous_session_id", "", "1 to 100 characters"),
        ("timestamp_ms", -1, "milliseconds"),
        ("timestamp_ms", 1.5, "whole"),
        ("timestamp_ms", True, "whole"),
        ("timestamp_ms", 2**63, "2**63"),
        ("cross_session_ic", 1.1, "[0, 1]"),
        ("last_ic", -0.1, "[0, 1]"),
        ("last_ic", math.nan, "[0, 1]"),
        ("last_ic", "0.5", "a number"),
        ("last_ic", True, "a number"),
        ("consciousness", math.inf, "[0, 1]"),
        ("integration", None, "[0, 1]"),
        ("reflection", [], "[0, 1]"),
        ("differentiation", 2, "[0, 1]"),
        ("crisis_threshold", -1, "[0, 1]"),
        ("coupling", 11, "[0, 10]"),
        ("kuramoto_phases", [0.0] * 12, "13 numbers"),
        ("kuramoto_phases", "x", "13 numbers"),
        ("purpose_vector", None, "13 numbers"),
        ("trajectory", {}, "at most 50"),
        ("trajectory", [[0.0] * 13] * 51, "at most 50"),
    ],
)
def test_a_field_out_of_its_limit_is_named_with_the_limit(field: str, value: object, rule: str) -> None:
    document = exported("one")
    document["sessions"][0][field] = value
    with pytest.raises(InvalidInputError) as caught:
        transfer.read_document(document)
    assert str(caught.value).startswith(f"sessions[0].{field} is ")
    assert rule in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("kuramoto_phases", 3), 6.3, "kuramoto_phases[3]"),
        (("purpose_vector", 12), 1e39, "purpose_vector[12]"),
        (("trajectory", 0), [0.0] * 5, "trajectory[0]"),
        (("trajectory", 0, 7), math.nan, "trajectory[0][7]"),
    ],
)
def test_a_value_in_a_vector_is_named_by_its_place(
    path: tuple[str | int, ...], value: object, place: str
) -> None:
    document = exported("one")
    parent = document["sessions"][0]
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    with pytest.raises(InvalidInputError) as caught:
        transfer.read_document(document)
    assert str(caught.value).startswith(f"sessions[0].{place} is ")


@pytest.mark.parametrize(
    "field", sorted(set(exported("one")["sessions"][0]) - {"trajectory", "previous_session_id"})
)
def test_a_missing_field_is_named(field: str) -> None:
    document = exported("one")
    del document["sessions"][0][field]
    with pytest.raises(InvalidInputError, match=rf"^sessions\[0\]\.{field} is missing"):
        transfer.read_document(document)


def test_fields_the_seed_lets_out_have_its_defaults() -> None:
    document = exported("one")
    del document["checksum"]
    for field in ("trajectory", "previous_session_id"):
        del document["sessions"][0][field]
    (read,) = transfer.read_document(document)
    assert (read.trajectory, read.previous_session_id) == ([], None)


def test_an_unknown_field_is_named_with_the_known_ones() -> None:
    document = exported("one")
    document["sessions"][0]["lastIc"] = 1
    with pytest.raises(InvalidInputError, match=r"sessions\[0\]\.lastIc is not a field.*last_ic"):
        transfer.read_document(document)


def test_one_session_twice_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"sessions\[1\]\.session_id 'one' appears twice"):
        transfer.read_document(exported("one", "one"))


def test_another_format_version_is_named() -> None:
    with pytest.raises(FormatVersionError, match="format_version is 3, this build reads 2"):
        transfer.read_document({**exported("one"), "format_version": 3})


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "text",
        {},
        {"format": "other"},
        {"format": "context-graph/sessions", "format_version": 2},
        {"format": "context-graph/sessions", "format_version": 2, "sessions": [1]},
        {"format": "context-graph/sessions", "format_version": 2, "sessions": [{}] * 10_001},
    ],
)
def test_what_is_no_document_is_refused(document: object) -> None:
    with pytest.raises(InvalidInputError):
        transfer.read_document(document)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(field=st.sampled_from(sorted(exported("one")["sessions"][0])), value=json_values)
def test_any_json_in_any_field_is_taken_or_refused_with_a_typed_error(field: str, value: object) -> None:
    document = exported("one")
    del document["checksum"]
    document["sessions"][0][field] = value
    try:
        (read,) = transfer.read_document(document)
    except InvalidInputError:
        return
    assert transfer.read_document(transfer.document([read])) == [read]
