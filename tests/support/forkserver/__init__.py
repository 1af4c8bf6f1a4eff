"""A stand-in for the Python interpreter whose programs fork from a preloaded parent instead of starting anew.

A command then costs some 10 ms of processor time instead of 170 to 370, an owner 50 instead of 350, and is
still a process of its own. A test marked `real` gets real interpreters.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["interpreter", "python"]

_HERE = Path(__file__).parent


def python(*words: str) -> list[str]:
    """The command line of a program in Python that runs to its end, as this test's commands are run.

    Not for one that is killed from outside: a fork dies a moment after its stand-in.
    """
    return [os.environ.get("CONTEXT_GRAPH_PYTHON", sys.executable), "-P", *words]


@contextlib.contextmanager
def interpreter() -> Iterator[Path]:
    """The stand-in's path, as long as its parent lives."""
    with tempfile.TemporaryDirectory(prefix="cg-fork-") as folder:
        made = Path(folder, "python")
        source = _HERE / "interpreter.c"
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", made, source], check=True)
        Path(folder, "real").symlink_to(sys.executable)
        command = [sys.executable, "-P", str(_HERE / "server.py"), str(Path(folder, "parent"))]
        # A fork's command line takes the place of ours, in the room that ours and the environment have.
        env = {**os.environ, "ROOM": " " * 8192}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, cwd="/", env=env, **pipes) as parent:
            assert parent.stdin is not None and parent.stdout is not None
            assert parent.stdout.readline() == b"ready\n", "the parent of forks did not start"
            try:
                yield made
                assert parent.poll() is None, "the parent of forks has died: programs were started without it"
            finally:
                parent.kill()  # not by the end of its input, which whatever was forked here may hold open
