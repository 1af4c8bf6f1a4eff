"""Pieces of work that end: by processor time, by the clock, one inside another, and never behind a commit."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from context_graph.system import watchdog
from context_graph.system.watchdog import Piece, TookTooLong

LIMIT_S = 0.1
told: list[str] = []


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    told.clear()
    watchdog.install(LIMIT_S, lambda piece: told.append("" if piece is None else piece.what))
    yield
    watchdog.install(0.0)
    signal.signal(signal.SIGALRM, before)


def spin() -> None:
    while True:
        pass


def backtrack() -> None:
    re.match(r"(a|a)+$", "a" * 64 + "b")


def swallow() -> None:
    """What a handler of ordinary errors may not keep."""
    while True:
        try:
            spin()
        except Exception:
            continue


@pytest.mark.parametrize("work", [spin, backtrack, swallow])
def test_work_without_end_is_ended(work: object) -> None:
    piece = Piece("a loop")
    # On a busy machine the clock comes first: it is given six times as long.
    why = r"a loop was ended: it (used 0\.1 s of processor time|did not finish within 0\.6 s)"
    with pytest.raises(TookTooLong, match=why) as raised:
        watchdog.run(piece, work)  # type: ignore[arg-type]
    assert raised.value.piece is piece
    assert watchdog.doing() is None and told == ["a loop", ""]


def test_work_that_waits_for_ever_is_ended_by_the_clock() -> None:
    with pytest.raises(TookTooLong, match=r"within 0\.6 s"):
        watchdog.run(Piece("a wait"), threading.Event().wait)


def test_a_piece_inside_another_has_its_own_time_and_costs_the_other_none() -> None:
    """However many of them: each is ended by itself, and the one around them goes on."""

    def around() -> int:
        ended = 0
        for _ in range(3):
            try:
                watchdog.run(Piece("inner"), spin)
            except TookTooLong as error:
                assert error.piece.what == "inner"
                ended += 1
        return ended

    assert watchdog.run(Piece("outer"), around) == 3
    assert told == ["outer", *["inner", "outer"] * 3, ""]


def test_what_commits_gets_somewhere() -> None:
    def work() -> str:
        end = time.thread_time() + 1.5 * LIMIT_S
        while time.thread_time() < end:
            watchdog.progress()
        return "done"

    assert watchdog.run(Piece("an import"), work) == "done"


def test_nothing_is_limited_off_the_main_thread_or_without_a_limit() -> None:
    def work() -> str:
        end = time.thread_time() + 1.5 * LIMIT_S
        while time.thread_time() < end:
            pass
        return "done"

    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(watchdog.run(Piece("a thread's"), work)))
    thread.start()
    thread.join()
    watchdog.install(0.0)
    found.append(watchdog.run(Piece("without"), work))
    assert found == ["done", "done"]


def test_who_is_asked_to_leave_ends_what_is_in_hand_and_then_writes_down_in_peace() -> None:
    watchdog.install(600.0)

    def work() -> None:
        watchdog.hurry()
        spin()

    with pytest.raises(TookTooLong, match="asked to stop") as raised:
        watchdog.run(Piece("a loop"), work)
    assert raised.value.asked
    assert watchdog.run(Piece("the checkpoint"), lambda: time.sleep(1.2) or "done") == "done"
