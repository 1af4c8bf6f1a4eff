"""The store's log of the requirement gates: order, bounds, damage, and records that come twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_graph.errors import InvalidInputError
from context_graph.store.engine.engine import Engine
from context_graph.store.layout import EVENTS, requirement_log_key
from context_graph.store.salvage.repair import salvage
from context_graph.store.schema import open_database
from context_graph.store.sessions.event_log import KEPT, RequirementLog


def entry(number: int, **more: object) -> dict[str, object]:
    return {"at_ms": number, "kind": "denied", "session_id": f"s-{number}", "requirements": ["plan"], **more}


def test_entries_come_back_newest_first_with_what_was_said(engine: Engine) -> None:
    """Each field, cut to its limit; what is none of them is dropped."""
    log = RequirementLog(engine)
    log.append([entry(1), entry(2, detail="x" * 2000, requirements=["a"] * 100, tool="Edit", odd="y", by=7)])
    newest, oldest = log.entries()
    assert (newest["at_ms"], oldest["at_ms"]) == (2, 1)
    assert set(newest) == {"at_ms", "kind", "session_id", "requirements", "detail", "tool"}
    assert (len(newest["detail"]), len(newest["requirements"])) == (500, 64)


def test_a_new_process_goes_on_after_the_last_entry(db: Path) -> None:
    """Durable on return."""
    for number in (1, 2, 3):
        opened = open_database(db)
        RequirementLog(opened).append([entry(number)])
        opened.close()
    opened = open_database(db)
    assert [one["at_ms"] for one in RequirementLog(opened).entries()] == [3, 2, 1]
    opened.close()


def test_the_log_is_bounded(engine: Engine) -> None:
    """Invariant 9: the newest KEPT stay, as near as the trimming's step."""
    log = RequirementLog(engine)
    for start in range(0, KEPT + 1000, 500):
        log.append([entry(number) for number in range(start, start + 500)])
    kept = sum(1 for _ in engine.scan(EVENTS, b"l:", b"l;"))
    assert KEPT <= kept < KEPT + 256
    assert log.entries(limit=1)[0]["at_ms"] == KEPT + 999


def test_what_comes_twice_under_one_id_is_kept_once(engine: Engine) -> None:
    """Invariant 6: the log is read again if the owner died before its position was stored."""
    log = RequirementLog(engine)
    for once in ("a" * 32, "b" * 32, "a" * 32):
        log.append([entry(1), entry(2)], once=once)
    assert len(log.entries()) == 4


def test_entries_are_found_by_session_and_requirement(engine: Engine) -> None:
    """Req log --session --requirement."""
    log = RequirementLog(engine)
    log.append([entry(number, requirements=["a"] if number % 2 else ["b", "a"]) for number in range(6)])
    assert [one["at_ms"] for one in log.entries(requirement="b")] == [4, 2, 0]
    assert [one["at_ms"] for one in log.entries(session_id="s-3")] == [3]
    assert len(log.entries(limit=2)) == 2
    for limit in (0, KEPT + 1):
        with pytest.raises(InvalidInputError, match="--limit"):
            log.entries(limit=limit)


def test_a_damaged_entry_hides_no_other_and_a_repair_keeps_the_rest(engine: Engine, tmp_path: Path) -> None:
    """A record that can't be read stands there as such; a repair knows the log's keys."""
    log = RequirementLog(engine)
    log.append([entry(1), entry(2), entry(3)])
    engine.put(EVENTS, requirement_log_key(2), b"torn")
    kinds = {one["kind"] for one in log.entries()}
    assert kinds == {"denied", "damaged"} and len(log.entries()) == 3
    path = engine.path
    engine.close()
    salvage(path, tmp_path / "repaired", "events")
    repaired = open_database(tmp_path / "repaired")
    assert sorted(one["at_ms"] for one in RequirementLog(repaired).entries()) == [1, 3]
    repaired.close()
