#!/usr/bin/env python3
"""Draws the terminal view's pictures from a real run: the demo's acts fill a store, the view shows it.

python tools/pictures/view.py docs/pictures   # writes view.svg and view-session.svg
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from context_graph.cli.console.moments import moment
from context_graph.cli.view import OwnerSource
from context_graph.view.terminal.app import ViewApp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.demo import CLI, Demo, drift, gate, today, yesterday

FILES: Final = ("src/gateway/rate_limiter.py", "src/gateway/retries.py")
MEMORIES: Final = (
    ("Retries back off from 100 ms to 5 s with full jitter; the first is at once.", FILES[1]),
    ("The bucket refills by the clock of the gateway, never by that of the client.", FILES[0]),
    ("Staging listens on port 8443; the certificate is renewed on the first of a month.", ""),
    ("Releases go out on Tuesdays, after the migration has run on the replica.", ""),
)
PICTURES: Final = {
    "view.svg": ((124, 30), ("2", "down", "down")),
    "view-session.svg": ((100, 28), ("4", "down", "enter")),
}
_TRIES: Final = 250


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


async def drawn(size: tuple[int, int], keys: Sequence[str]) -> str:
    """What the view of this folder's project shows after ``keys``, as SVG that loads nothing."""
    source = OwnerSource()
    app = ViewApp(source, partial(moment, "the time"), theme="dark")
    async with app.run_test(size=size) as pilot:
        for key in keys:
            await pilot.press(key)
            await settled(app, pilot)
        return plain(app.export_screenshot(title="context-graph-cli view"))


async def settled(app: ViewApp, pilot: Any) -> None:
    """Wait until nothing is asked any more, and the cursor has rested."""
    for _ in range(_TRIES):
        await pilot.pause(0.1)
        if not list(app.workers):
            break
    await pilot.pause(0.5)


def plain(svg: str) -> str:
    """The picture without fonts from a network."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> None:
    """Fill a store, and draw each picture."""
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="context-graph-view-"))
    demo = Demo(home, Console(file=io.StringIO()))
    try:
        fill(demo)
        os.environ.clear()
        os.environ.update(demo.env)
        os.chdir(demo.project)
        for name, (size, keys) in PICTURES.items():
            (folder / name).write_text(asyncio.run(drawn(size, keys)), encoding="utf-8")
    finally:
        subprocess.run([str(CLI), "owner", "stop"], env=demo.env, cwd=home, capture_output=True, check=False)
        os.chdir("/")
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
