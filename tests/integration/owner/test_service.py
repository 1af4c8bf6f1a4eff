"""The owner's verbs without its socket: what is durable when, and what a restart makes of it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from array import array
from pathlib import Path

import pytest

from context_graph.config import Settings
from context_graph.errors import InvalidInputError, StoreClosedError, StoreReadOnlyError
from context_graph.owner.service import OwnerService, build_service
from context_graph.store.sessions.sessions import SessionStore
from context_graph.wire.frames import APPLIED, Request

LOG = logging.getLogger("test")


def _service(root: Path) -> OwnerService:
    (root / "cache").mkdir(parents=True, exist_ok=True)
    return build_service(root, Settings(), LOG)


def _hook(service: OwnerService, root: Path, kind: str, number: int, text: str) -> None:
    body = {
        "session_id": "s-1",
        "tool_name": "Bash",
        "tool_use_id": f"toolu_{number}",
        "tool_input": {"command": text},
        "tool_response": {"stdout": text},
    }
    reply = service.handle(
        Request(
            verb=f"hooks.{kind}",
            event_id=f"{number:032x}",
            params={"format": "claude"},
            body=json.dumps(body if kind == "post-tool" else {"session_id": "s-1"}).encode(),
            store=root / "store",
            project=root,
            at_ms=1_700_000_000_000 + number,
        )
    )
    assert reply.flags == APPLIED, reply


def _show(service: OwnerService, root: Path) -> dict[str, object]:
    params = {"session-id": "s-1"}
    shown = service.handle(Request(verb="session.show", params=params, store=root / "store", project=root))
    # Vectors and measures are float32 in the store: that is all they promise.
    view: dict[str, object] = json.loads(shown.stdout, parse_float=lambda text: array("f", [float(text)])[0])
    return view


def _texts() -> list[str]:
    focused = ["pytest tests/test_bucket.py -k refill"] * 40
    return focused + ["sourdough levain hydration", "candles ticker futures", "vim palette colors"] * 3


def test_an_event_is_whole_after_its_answer_even_if_nothing_more_was_written(tmp_path: Path) -> None:
    """Invariant 5, REQ-SESSION-08: what an acknowledged event did is worked out again, its dream included."""
    steady, dying = tmp_path / "steady", tmp_path / "dying"
    views = []
    for root in (steady, dying):
        service = _service(root)
        _hook(service, root, "session-start", 0, "")
        for number, text in enumerate(_texts(), start=1):
            _hook(service, root, "post-tool", number, text)
            if root is steady:
                service.settle()
            elif number % 7 == 0:  # the process is gone between the answer and the rest of the work
                context = next(iter(service._stores.values()))
                context.abandon()
                service._stores.clear()
        views.append(_show(service, root))
        service.settle()
        service.close()
    assert views[0] == views[1]
    assert views[0]["dreams_pending"] == 1 and min(views[0]["ic_history"]) < 0.5  # type: ignore[call-overload]


def test_a_session_that_left_memory_comes_back_as_it_was(tmp_path: Path) -> None:
    """Invariant 7: goals from their checkpoint and the events after it."""
    service = _service(tmp_path)
    _hook(service, tmp_path, "session-start", 0, "")
    for number, text in enumerate(_texts(), start=1):
        _hook(service, tmp_path, "post-tool", number, text)
        service.settle()
    before = _show(service, tmp_path)
    service.close()
    again = _service(tmp_path)
    assert _show(again, tmp_path) == before
    again.close()


def test_an_event_that_could_not_be_written_is_applied_once_when_it_comes_again(tmp_path: Path) -> None:
    """Invariant 6: after a failed write, memory is not ahead of the disk."""
    service = _service(tmp_path)
    _hook(service, tmp_path, "session-start", 0, "")
    _hook(service, tmp_path, "post-tool", 1, "ls src")
    service.settle()
    context = next(iter(service._stores.values()))
    event = next(iter(context.store.event_log.after("s-1", 1)))
    event.tool_use_id = "toolu_2"
    context.store.close()
    context.sessions._store = SessionStore.open(tmp_path / "store" / "db", read_only=True)
    with pytest.raises(StoreReadOnlyError):
        context.sessions.apply(event)
    assert not context.sessions
    context.sessions._store.close()
    context.abandon()
    service._stores.clear()
    _hook(service, tmp_path, "post-tool", 2, "ls src")
    assert _show(service, tmp_path)["events_by_kind"] == {"session-start": 1, "post-tool": 2}
    service.settle()
    service.close()


def test_an_event_that_comes_again_leaves_no_session_half_written(tmp_path: Path) -> None:
    """Counting it writes the runtime; what other events did to the session is written before that."""
    views = []
    for root in (tmp_path / "steady", tmp_path / "dying"):
        service = _service(root)
        _hook(service, root, "session-start", 0, "")
        for number, text in enumerate(_texts(), start=1):
            _hook(service, root, "post-tool", number, text)
        _hook(service, root, "post-tool", 1, "comes again")
        if root.name == "dying":  # the process is gone right after the answer
            next(iter(service._stores.values())).abandon()
            service._stores.clear()
        views.append(_show(service, root))
        service.close()
    assert views[0] == views[1]


def test_a_store_that_is_closed_leaves_no_descriptor(tmp_path: Path) -> None:
    """An owner opens and closes stores as long as it lives; whether they end well or badly."""
    for number in range(4):
        service = _service(tmp_path)
        _hook(service, tmp_path, "session-start", number, "")
        service.settle()
        if number % 2:
            next(iter(service._stores.values())).abandon()
            service._stores.clear()
        service.close()
        assert not _briefs_open(tmp_path)


def test_a_store_that_can_t_be_closed_costs_the_others_nothing(tmp_path: Path) -> None:
    """Room is made for a store by closing the one used longest ago, whatever state that is in."""
    (tmp_path / "cache").mkdir()
    service = build_service(tmp_path, Settings(max_stores=2), LOG)
    places = [tmp_path / name for name in ("broken", "sound", "third")]
    for place in places[:2]:
        _hook(service, place, "session-start", 0, "")
        _hook(service, place, "post-tool", 1, "ls src")
    broken, sound = service.contexts()
    broken.store.close()
    before = sound.store.load_runtime("s-1")
    service.settle()
    assert sound.store.load_runtime("s-1") != before
    _hook(service, places[2], "session-start", 0, "")
    assert [context.folder.parent for context in service.contexts()] == places[1:]
    _hook(service, places[0], "post-tool", 2, "ls src")
    assert _show(service, places[0])["events_by_kind"] == {"session-start": 1, "post-tool": 2}
    service.close()


@pytest.mark.parametrize("step", ["checkpoint", "close"])
def test_an_owner_that_ends_writes_and_closes_what_it_can(tmp_path: Path, step: str) -> None:
    service = _service(tmp_path)
    for name in ("first", "broken", "last"):
        _hook(service, tmp_path / name, "session-start", 0, "")
        _hook(service, tmp_path / name, "post-tool", 1, "ls src")
    first, broken, last = service.contexts()
    broken.store.close()
    with pytest.raises(StoreClosedError):
        getattr(service, step)()
    if step == "checkpoint":
        for context in (first, last):
            found = context.store.load_goals("s-1")
            assert found is not None and found[0] == 2
        service.close()
    for context in (first, last):
        with pytest.raises(StoreClosedError):
            context.store.count()
    service.close()


@pytest.mark.parametrize(("verb", "most"), [("session.list", 1000), ("req.log", 10_000)])
@pytest.mark.parametrize("limit", ["0", "-1", "x", "", "²", "٣", "10001", "9" * 5000])
def test_a_limit_that_is_none_is_a_wrong_argument(tmp_path: Path, verb: str, most: int, limit: str) -> None:
    service = _service(tmp_path)
    request = Request(verb=verb, params={"limit": limit}, store=tmp_path / "store", project=tmp_path)
    with pytest.raises(InvalidInputError, match=rf"--limit .* must be a number from 1 to {most}"):
        service.handle(request)
    service.close()


def _briefs_open(root: Path) -> list[str]:
    """Descriptors of this process that are open on the root's brief cache."""
    links = []
    for handle in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it listed itself
            links.append(os.readlink(handle))
    return [link for link in links if link.startswith(f"{root}/") and "brief.bin" in link]
