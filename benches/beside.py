"""The commit before this one, built in a folder of its own, and the suite run in both trees by turns.

Both run the benches of this tree, each with its own package, kernels and launcher: turn by turn a case is
measured in the one and in the other, so that what the machine does meanwhile hits both alike.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benches.report import Figure, read
from benches.turns import ASKED, DONE, GRANTED
from tools.linked_tree import ROOT, link_environment

__all__ = ["Run", "Side", "build", "by_turns", "parent_of", "pass_turns"]

SUITE = ROOT / "benches" / "suite.py"
_KERNELS = ("ext/kernels", "ext/redaction", "setup.py")
_LAUNCHER = ("ext/launcher", "ext/redaction")


def parent_of() -> str:
    """The commit to compare with: the last one where the tree differs from it, else the one before."""
    return "HEAD" if _differs("HEAD", ("src", "ext", "setup.py")) else "HEAD^"


def build(revision: str, tree: Path) -> Path:
    """Make the tree of ``revision`` in ``tree``, with an environment of its own.

    What did not change since is copied, not compiled.

    Returns:
        Its interpreter.

    Raises:
        SystemExit: This clone does not have the commit, or it can't be built.
    """
    if _git("cat-file", "-e", f"{revision}^{{commit}}").returncode:
        raise SystemExit(
            f"no commit {revision} in this clone: fetch it (git fetch --unshallow), or name one: --parent"
        )
    tree.mkdir(parents=True)
    archive = subprocess.Popen(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", tree], stdin=archive.stdout, check=True)
    archive.wait()
    python = link_environment(tree)
    if _differs(revision, _KERNELS):
        subprocess.run([python, "setup.py", "--quiet", "build_ext", "--inplace"], cwd=tree, check=True)
    else:
        for module in (ROOT / "src").rglob("*.so"):
            shutil.copy2(module, tree / module.relative_to(ROOT))
    if _differs(revision, _LAUNCHER):
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "wheel", "--no-deps", "-w", "wheels", "./ext/launcher"], cwd=tree, check=True)
        wheels = list((tree / "wheels").glob("*.whl"))
        subprocess.run([*pip, "install", "--force-reinstall", "--no-deps", *wheels], cwd=tree, check=True)
    subprocess.run([python, "tools/docs/built.py"], cwd=tree, check=True)
    return python


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)


def _differs(revision: str, paths: Sequence[str]) -> bool:
    return _git("diff", "--quiet", revision, "--", *paths).returncode != 0


@dataclass(frozen=True)
class Run:
    """One side of a group: its figures, or why there are none."""

    figures: Sequence[Figure]
    error: str = ""


class Side:
    """A process that measures when it has the turn."""

    def __init__(
        self, words: Sequence[str | Path], rest: Sequence[str] = (), errors: int = subprocess.DEVNULL
    ) -> None:
        """Start ``words``, the descriptors of its turns, ``rest``; its errors go to a descriptor."""
        their_read, self._grants = os.pipe()
        self._asks, their_write = os.pipe()
        self._process = subprocess.Popen(
            [*words, f"{their_read},{their_write}", *rest],
            pass_fds=(their_read, their_write),
            env={**os.environ, "CONTEXT_GRAPH_BENCH_SMOKE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        os.close(their_read)
        os.close(their_write)

    def asks(self) -> bool:
        """Wait until it wants a turn; False where it has ended."""
        return os.read(self._asks, 1) == ASKED

    def work(self) -> None:
        """Let it have one turn."""
        os.write(self._grants, GRANTED)
        if (answer := os.read(self._asks, 1)) not in (DONE, b""):
            raise AssertionError(answer)

    def end(self) -> int:
        """Its exit code."""
        os.close(self._grants)
        os.close(self._asks)
        return self._process.wait()


def pass_turns(sides: Sequence[Side]) -> None:
    """Until all have ended, each one turn a round; the order within a round is drawn."""
    chance = random.Random(1)
    while waiting := [side for side in sides if side.asks()]:
        chance.shuffle(waiting)
        for side in waiting:
            side.work()


def by_turns(pythons: Sequence[Path], group: str) -> list[Run]:
    """One group of the suite, at its small size, with each interpreter."""
    runs = []
    with tempfile.TemporaryDirectory(prefix="context-graph-beside-") as folder, ExitStack() as stack:
        files = [Path(folder) / f"{number}.json" for number in range(len(pythons))]
        logs = [stack.enter_context(file.with_suffix(".log").open("w+")) for file in files]
        sides = [
            Side([python, SUITE, "--only", group, "--json", file, "--turns"], errors=log.fileno())
            for python, file, log in zip(pythons, files, logs, strict=True)
        ]
        pass_turns(sides)
        for side, file, log in zip(sides, files, logs, strict=True):
            if code := side.end():
                log.seek(0)
                runs.append(Run((), [f"exit {code}", *log.read().splitlines()][-1]))
            else:
                runs.append(Run(read(file)[1]))
    return runs
