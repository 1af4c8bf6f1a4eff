"""Opens a file in headless Chromium without a network, and keeps what the browser says and asks for."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

__all__ = ["Opened", "browser", "needs_chromium", "opened", "program"]


@functools.cache
def program() -> str:
    """Chromium's path; "" if there is none."""
    found = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    return next((one for one in found if one), "")


def _why_not() -> str:
    """In CI it must be there: .ci/run installs it."""
    return "" if program() or os.environ.get("CI") == "true" else "no Chromium here: make programs"


needs_chromium = pytest.mark.skipif(bool(_why_not()), reason=_why_not())


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser; started and ended in 2 s."""
    with sync_playwright() as playwright:
        # No sandbox: these tests run as root too, and open only files that they made.
        started = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield started
        finally:
            started.close()


@dataclass
class Opened:
    """A page, with all that the browser said of it and all that it asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def cells(self, table: str, column: int) -> list[str]:
        """The texts of a column, counted from 0, as they are shown."""
        found: list[str] = self.page.locator(
            f'[data-name="{table}"] tbody td:nth-child({column + 1})'
        ).all_text_contents()
        return found

    def status(self, table: str) -> str:
        """What the table says about its page."""
        return self.page.locator(f'[data-name="{table}"] [role="status"]').text_content() or ""

    def search(self, table: str, words: str) -> None:
        """Type into the table's search."""
        self.page.locator(f'[data-name="{table}"] input').fill(words)


@contextlib.contextmanager
def opened(at: Browser, file: Path, options: Mapping[str, Any] | None = None) -> Iterator[Opened]:
    """``file`` in a context of its own that is offline."""
    context = at.new_context(offline=True, viewport={"width": 1300, "height": 900}, **(options or {}))
    try:
        found = Opened(context.new_page())
        found.page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
        found.page.on("pageerror", lambda error: found.said.append(f"error: {error}"))
        found.page.on("dialog", lambda dialog: (found.said.append(dialog.message), dialog.dismiss())[0])
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.goto(file.as_uri())
        yield found
    finally:
        context.close()
