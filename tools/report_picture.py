#!/usr/bin/env python3
"""Draws the report's picture from a real run: the demo's acts fill a store, Chromium opens its report.

python tools/report_picture.py docs/pictures/report.png
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright
from rich.console import Console

from demo import CLI, Demo, drift, gate, today, yesterday

SIZE: Final = {"width": 1180, "height": 1500}
MEMORIES: Final = (
    "Retries back off from 100 ms to 5 s with full jitter; the first is at once.",
    "The bucket refills by the clock of the gateway, never by that of the client.",
    "Staging listens on port 8443; the certificate is renewed on the first of a month.",
    "Releases go out on Tuesdays, after the migration has run on the replica.",
)


def fill(demo: Demo) -> None:
    """The demo's sessions, some more memories, and a consolidation."""
    yesterday(demo)
    for text in MEMORIES:
        demo.run("memory", "store", text)
    drift(demo, today(demo))
    gate(demo)
    demo.run("memory", "consolidate", "--mode", "deep")


def draw(page_file: Path, picture: Path) -> None:
    """The page from its head down, and below it the session that drifted, as one picture."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no Chromium here; `make chromium` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        page.goto(page_file.as_uri())
        page.screenshot(path=picture)
        browser.close()


def main() -> None:
    """Fill a store, write its report, draw it."""
    picture = Path(sys.argv[1]).absolute()
    picture.parent.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="context-graph-report-"))
    demo = Demo(home, Console(file=io.StringIO()))
    try:
        fill(demo)
        demo.run("report")
        draw(demo.project / "context-graph-report.html", picture)
    finally:
        subprocess.run([str(CLI), "owner", "stop"], env=demo.env, cwd=home, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
