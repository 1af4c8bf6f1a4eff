"""view.terminal: what changes while it runs, and the owner's death under it."""

from __future__ import annotations

import threading

import pytest
from tests.support.view.rows import filled, memory_row
from tests.support.view.terminal import Driver, driven

from context_graph.view.terminal.app import Follower


def count(source: object, name: str) -> int:
    return sum(one[0] == name for one in source.asked)  # type: ignore[attr-defined]


def test_what_changed_is_asked_for_again_if_it_is_in_sight_else_when_it_comes_into_sight() -> None:
    source = filled(10)

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("10 of 10 memories")
        await view.press("3")
        await view.sees("log-odds")
        before = count(source, "memories"), count(source, "ledger")
        source.memory_rows.insert(0, memory_row(77, source.memory_rows[0].created_ms, "Just stored"))
        source.change("memories", "health")
        await view.until(lambda: view.app.query_one("#memories").is_stale, "it is known to be old")  # type: ignore[attr-defined]
        await view.pilot.pause(0.5)
        assert (count(source, "memories"), count(source, "ledger")) == before, "neither is asked for"
        await view.press("2")
        await view.sees("Just stored", "11 of 11 memories")
        source.memory_rows.insert(0, memory_row(78, source.memory_rows[0].created_ms, "And another"))
        source.change("memories")
        await view.sees("And another", "12 of 12 memories")

    driven(scenario, source)


def test_a_flood_of_changes_is_not_a_flood_of_questions() -> None:
    source = filled(10)

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("10 of 10 memories")
        before = count(source, "memories")
        for _ in range(500):
            source.change("memories")
        await view.until(lambda: count(source, "memories") > before, "asks again")
        await view.pilot.pause(1.0)
        assert count(source, "memories") - before <= 5

    driven(scenario, source)


@pytest.mark.thorough
def test_nothing_is_asked_while_nothing_changes() -> None:
    source = filled(10)

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("10 of 10 memories", "In full.")
        await view.pilot.pause(0.6)
        before = list(source.asked)
        await view.pilot.pause(1.0)
        assert source.asked == before

    driven(scenario, source)


def test_the_owner_dies_the_rows_stay_and_it_goes_on_when_another_is_there() -> None:
    source = filled(10)

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("10 of 10 memories", "In full.")
        source.die()
        await view.sees("The owner has gone", "Memory 4:")
        await view.answer("down", "f")
        await view.sees("no owner listens")
        assert source.done == []
        source.memory_rows.insert(
            0, memory_row(77, source.memory_rows[0].created_ms, "Told by the next owner")
        )
        source.revive()
        await view.sees("Told by the next owner", "11 of 11 memories")
        await view.sees_no("The owner has gone")
        source.memory_rows.insert(0, memory_row(78, source.memory_rows[0].created_ms, "Live again"))
        source.change("memories")
        await view.sees("Live again")

    driven(scenario, source)


def test_without_an_owner_it_starts_says_so_and_finds_one_later() -> None:
    source = filled(10)
    source.alive = False

    async def scenario(view: Driver) -> None:
        await view.sees("no owner listens", "The owner has gone")
        source.revive()
        await view.press("f5")
        await view.sees("Working")
        await view.sees_no("The owner has gone")

    driven(scenario, source)


def test_without_an_owner_it_looks_ever_less_often() -> None:
    """No busy loop: within a second at most three looks."""
    source = filled(1)
    source.alive = False
    lost = threading.Semaphore(0)
    follower = Follower(source, lambda parts: None, lambda said: lost.release())
    follower.start()
    try:
        assert lost.acquire(timeout=10)
        threading.Event().wait(1.0)
        assert source.follows <= 4
        source.revive()
        follower.try_now()
    finally:
        follower.end()
    follower.join(10)
    assert not follower.is_alive()


@pytest.mark.thorough
def test_nobody_waits_for_an_answer_after_quitting() -> None:
    """The search answers after the view has ended; were it waited for, this would run out of time."""
    source = filled(10)
    source.slow["limiter"] = threading.Event()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("10 of 10 memories")
        await view.press("slash", *"limiter")
        await view.until(lambda: ("memories", "limiter", False, "", 200) in source.asked, "the search")
        await view.press("enter")
        await view.press("q")
        await view.until(lambda: not view.app.is_running, "it ends")

    driven(scenario, source)
    source.slow["limiter"].set()
