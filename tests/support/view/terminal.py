"""Runs the terminal view without a terminal: Textual's pilot over a source of rows."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from tests.support.view.rows import RowsSource
from textual.events import Key
from textual.keys import _character_to_key
from textual.pilot import Pilot

from context_graph.cli.console.moments import moment
from context_graph.view.source import ASKS
from context_graph.view.terminal.app import ViewApp

NARROW, WIDE = (80, 24), (160, 50)
_WAIT_S: Final = 45.0
"""Less than a test may take: what the screen showed is told."""


class Driver:
    """One view on ``size`` cells, and the keys of a person."""

    def __init__(self, source: Any, pilot: Pilot[None], app: ViewApp) -> None:
        self.source, self.pilot, self.app = source, pilot, app

    @property
    def lines(self) -> list[str]:
        """What the terminal shows, line by line."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(part.text for part in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    def type(self, text: str) -> None:
        """Type faster than the view can follow: all keys are there before it sees the first."""
        driver = self.app._driver
        assert driver is not None
        for char in text:
            key = Key(_character_to_key(char), char)
            key.set_sender(self.app)
            driver.send_message(key)

    async def answer(self, *keys: str) -> None:
        """Press what asks first, and say yes."""
        await self.press(*keys)
        await self.sees("Enter: do it")
        await self.press("enter")

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the view work until ``condition`` holds."""
        end = time.monotonic() + _WAIT_S
        while time.monotonic() < end:
            if condition():
                return
            await self.pilot.pause(0.02)
        raise AssertionError(f"never: {what}\n{self.text}")

    async def sees(self, *words: str) -> None:
        """Wait until the terminal shows each of ``words``."""
        await self.until(lambda: all(one in self.text for one in words), f"shows {words}")

    async def sees_no(self, words: str) -> None:
        await self.until(lambda: words not in self.text, f"no longer shows {words}")

    async def rests(self) -> None:
        """Wait until no question to the owner is under way: one would start the next owner."""
        await self.until(lambda: all(each.name != ASKS for each in threading.enumerate()), "rests")


Scenario = Callable[[Driver], Awaitable[None]]


def driven(
    scenario: Scenario, source: RowsSource, size: tuple[int, int] = NARROW, *, theme: str = "dark"
) -> None:
    """Play ``scenario`` on a view of ``source``."""

    async def play() -> None:
        app = ViewApp(source, lambda text: moment("the time", text), theme=theme)
        async with app.run_test(size=size) as pilot:
            driver = Driver(source, pilot, app)
            await driver.sees("Health")
            await scenario(driver)

    asyncio.run(play())
