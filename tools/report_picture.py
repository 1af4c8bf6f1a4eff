#!/usr/bin/env python3
"""Draws the report's pictures from a real run: the demo's acts fill a store, Chromium opens its report.

python tools/report_picture.py docs/pictures   # writes report.png and report-session.png
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

SIZE: Final = {"width": 1260, "height": 1270}
FILES: Final = ("src/gateway/rate_limiter.py", "src/gateway/retries.py")
MEMORIES: Final = (
    ("Retries back off from 100 ms to 5 s with full jitter; the first is at once.", FILES[1]),
    ("The bucket refills by the clock of the gateway, never by that of the client.", FILES[0]),
    ("Staging listens on port 8443; the certificate is renewed on the first of a month.", ""),
    ("Releases go out on Tuesdays, after the migration has run on the replica.", ""),
)


def fill(demo: Demo) -> None:
    """The demo's sessions, and some memories with the files they rest on, of which one has changed since."""
    for name in FILES:
        path = demo.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("class TokenBucket:\n    pass\n")
    yesterday(demo)
    for text, file in MEMORIES:
        demo.run("memory", "store", text, *(("--evidence", file) if file else ()))
    (demo.project / FILES[1]).write_text("class Retries:\n    pass\n")
    drift(demo, today(demo))
    gate(demo)


def draw(report: Path, folder: Path) -> None:
    """The page's beginning, and the session that drifted."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no Chromium here; `make chromium` installs it")
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
