#!/usr/bin/env python3
"""Draws the report's pictures from a real run: the demo's acts fill a store, Chromium opens its report.

python tools/pictures/report.py docs/pictures   # writes report.png and report-session.png
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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.demo import CLI, Demo
from tools.pictures.view import fill

SIZE: Final = {"width": 1260, "height": 1270}


def draw(report: Path, folder: Path) -> None:
    """The page's beginning, and the session that drifted."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no Chromium here; `make programs` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        page.goto(report.as_uri())
        page.screenshot(path=folder / "report.png")
        page.locator("#sessions summary", has_text="rate limiter count by IP").click()
        page.locator("#sessions details.one[open]").last.screenshot(path=folder / "report-session.png")
        browser.close()


def main() -> None:
    """Fill a store, write its report, draw it."""
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="context-graph-report-"))
    demo = Demo(home, Console(file=io.StringIO()))
    try:
        fill(demo)
        demo.run("report")
        draw(demo.project / "context-graph-report.html", folder)
    finally:
        subprocess.run([str(CLI), "owner", "stop"], env=demo.env, cwd=home, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
