"""Mutants: small faults put into a copy of the source, each of which some test must notice.

    python tools/mutants.py             all of them
    python tools/mutants.py --only A1   one, or several: --only A1,A2
    python tools/mutants.py --list      what they are

The tree is copied (its environment by hard links), a mutant is applied there, and its tests run
there; nothing is changed in place. Exit code 1 if a mutant survives, no longer applies, or its tests do not
run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
_COPIED: Final = (
    "src",
    "tests",
    "tools",
    "research",
    "benches",
    "docs",
    "ext",
    "pyproject.toml",
    "setup.py",
    "README.md",
)
_LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "target", ".pytest_cache", ".hypothesis")
_LIMIT_S: Final = 1800
_FAILED: Final = 1  # pytest's exit code for tests that failed; others say that it could not run them


@dataclass(frozen=True)
class Mutant:
    """One fault."""

    id: str
    what: str
    file: str
    old: str
    """Stands in the file exactly once."""
    new: str
    tests: tuple[str, ...]
    """Of these at least one must fail."""

    def applied(self, root: Path) -> str:
        """The file's text with the fault in it.

        Raises:
            ValueError: The text that it replaces is not there, or more than once.
        """
        text = (root / self.file).read_text()
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.id} no longer applies: {self.file} has its text {text.count(self.old)} times"
            )
        return text.replace(self.old, self.new)


_ATOMIC: Final = "tests/integration/store/test_atomic.py::test_a_change_is_whole_or_not_there"

MUTANTS: Final = (
    Mutant(
        "A1",
        "an event's digest is written before the event, not with it",
        "src/context_graph/store/sessions/event_log.py",
        "        batch.put(EVENTS, layout.applied_key(",
        "        self._engine.put(EVENTS, layout.applied_key(",
        (f"{_ATOMIC}[event-kills]",),
    ),
    Mutant(
        "A2",
        "the counters are written after what they count, not with it",
        "src/context_graph/store/graph/graph.py",
        "        counters = work.finish()\n        self._engine.write(work.batch)\n",
        "        self._engine.write(work.batch)\n        work.batch = self._engine.batch()\n"
        "        counters = work.finish()\n        self._engine.write(work.batch)\n",
        (f"{_ATOMIC}[store-kills]",),
    ),
    Mutant(
        "A3",
        "a session's first event is written after its snapshot, not with it",
        "src/context_graph/store/sessions/sessions.py",
        "        self.event_log.put(batch, snapshot.session_id, event, seq, dedupe_key)\n"
        "        self._put_state(batch, snapshot, runtime, goals, dream)\n",
        "        self._put_state(batch, snapshot, runtime, goals, dream)\n"
        "        self._engine.write(batch)\n"
        "        batch = self._engine.batch()\n"
        "        self.event_log.put(batch, snapshot.session_id, event, seq, dedupe_key)\n",
        (f"{_ATOMIC}[start-kills]",),
    ),
    Mutant(
        "A4",
        "a run's record is written after the run, not with it",
        "src/context_graph/store/graph/run_batch.py",
        "    store.history.put_run(work.batch, run)\n    if changes.undoes",
        "    store.commit(work)\n    work = store.begin()\n    store.history.put_run(work.batch, run)\n"
        "    if changes.undoes",
        (f"{_ATOMIC}[consolidate-kills]", f"{_ATOMIC}[undo-kills]"),
    ),
    Mutant(
        "A5",
        "a tombstone is written before its memory is marked, not with it",
        "src/context_graph/store/graph/graph.py",
        "        self._apply([forget_edit(self, found, tombstone)])\n",
        "        edit = forget_edit(self, found, tombstone)\n"
        "        self._engine.put(*edit.writes[1])  # type: ignore[arg-type]\n"
        "        self._apply([edit._replace(writes=[edit.writes[0], *edit.writes[2:]])])\n",
        (f"{_ATOMIC}[forget-kills]",),
    ),
    Mutant(
        "A6",
        "the tombstone of what is deleted for good is written before the memory goes",
        "src/context_graph/store/graph/graph.py",
        "            for edit in remove_edits(self, found, stone, unlinked):\n",
        "            if stone is not None:\n"
        "                self._engine.put(TOMBSTONES, node_id, records.encode_tombstone(node_id, stone))\n"
        "            for edit in remove_edits(self, found, None, unlinked):\n",
        (f"{_ATOMIC}[delete-kills]",),
    ),
    Mutant(
        "C1",
        "an event does not say durably that a capture is due",
        "src/context_graph/store/sessions/event_log.py",
        "        if capture:\n            batch.put(",
        "        if capture and not session_id:\n            batch.put(",
        (
            "tests/integration/memory/test_capture.py::"
            "test_a_kill_between_answer_and_capture_loses_nothing_and_doubles_nothing",
        ),
    ),
    Mutant(
        "U3",
        "undo takes back the uses of an edge that came after the run",
        "src/context_graph/store/graph/run_batch.py",
        "            back = _with_uses(back, now)\n",
        "            pass\n",
        ("tests/integration/consolidation/test_runs.py::test_uses_of_edges_after_a_run_outlive_its_undoing",),
    ),
    Mutant(
        "U5",
        "a deletion for good leaves what was merged into the memory",
        "src/context_graph/memory/editing.py",
        "    stones = [stone, *(replace(stone, id=twin.node.id) for twin in together.twins)]\n",
        "    stones = [stone]\n",
        ("tests/integration/memory/test_deleted_for_good.py",),
    ),
    Mutant(
        "R2",
        "an event's tool, prompt id and reason are written as they came",
        "src/context_graph/owner/sessions/hook_call.py",
        "    return redactor.redact(text[:_SHORT_CHARS]) if len(text) > _HARMLESS_CHARS else text\n",
        "    return text[:_SHORT_CHARS]\n",
        ("tests/integration/redact/test_secrets_on_disk.py",),
    ),
    Mutant(
        "R4",
        "the reasons of imported tombstones are written as they came",
        "src/context_graph/memory/editing.py",
        "    return replace(stone, reason=core.redactor.redact(stone.reason))\n",
        "    return stone\n",
        ("tests/integration/redact/test_secrets_on_disk.py",),
    ),
    Mutant(
        "Q3",
        "a memory that asks counts as much as one that tells",
        "src/context_graph/memory/index/blend.py",
        "    question: float = -0.3\n",
        "    question: float = 0.0\n",
        ("tests/integration/memory/test_blend.py",),
    ),
    Mutant(
        "Q4",
        "the session of a good hit lifts no other memory of it",
        "src/context_graph/memory/index/blend.py",
        "    session: float = 0.5\n",
        "    session: float = 0.0\n",
        ("tests/integration/memory/test_blend.py",),
    ),
    Mutant(
        "S5",
        "a segment is removed without being closed to its writers",
        "src/context_graph/owner/sessions/log_reader.py",
        "os.fchmod(self._handle, 0o400)",
        "os.fchmod(self._handle, 0o600)",
        ("tests/integration/owner/test_event_log.py",),
    ),
)


class Copy:
    """The tree in a folder of its own, with an environment whose package is the copy's."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir()
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.root / name, ignore=_LEFT_OUT)
            elif source.exists():
                shutil.copy2(source, self.root / name)
        self._environment(Path(sys.prefix), self.root / ".venv")

    def _environment(self, source: Path, target: Path) -> None:
        shutil.copytree(source, target, symlinks=True, copy_function=_linked, ignore=_LEFT_OUT)
        texts = [*target.glob("bin/*"), *target.glob("lib/*/site-packages/*.pth")]
        for file in (one for one in texts if one.is_file() and not one.is_symlink()):
            content = file.read_bytes()
            if content[:4] != b"\x7fELF" and os.fsencode(ROOT) in content:
                mode = file.stat().st_mode
                file.unlink()  # a hard link: the original stays as it is
                file.write_bytes(content.replace(os.fsencode(ROOT), os.fsencode(self.root)))
                file.chmod(mode)

    def judge(self, mutant: Mutant) -> str:
        """What became of it: "killed", or why not."""
        target = self.root / mutant.file
        original = target.read_text()
        try:
            target.write_text(mutant.applied(self.root))
        except ValueError as error:
            return str(error)
        try:
            code = self._tests(mutant.tests)
        finally:
            target.write_text(original)
        if code == _FAILED:
            return "killed"
        return (
            f"{mutant.id} survives: {mutant.what}" if code == 0 else f"{mutant.id}: pytest ended with {code}"
        )

    def _tests(self, tests: Sequence[str]) -> int:
        python = self.root / ".venv" / "bin" / "python"
        options = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist")
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{python.parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            [str(python), "-m", "pytest", *options, *tests],
            cwd=self.root, env=env, timeout=_LIMIT_S, capture_output=True, text=True, check=False,
        )  # fmt: skip
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        print("\n".join(f"    {line[:160]}" for line in failed))
        return done.returncode


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system
        shutil.copy2(source, target, follow_symlinks=False)


def main(words: Sequence[str] | None = None) -> int:
    """See the module; the exit code."""
    parser = argparse.ArgumentParser(description="Put faults into a copy of the source and see a test fail.")
    parser.add_argument("--only", metavar="ID", help="these alone, with commas between them")
    parser.add_argument("--list", action="store_true", help="say what they are and end")
    given = parser.parse_args(words)
    wanted = {one for one in (given.only or "").split(",") if one}
    chosen = [one for one in MUTANTS if not wanted or one.id in wanted]
    if unknown := wanted - {one.id for one in MUTANTS}:
        parser.error(f"no mutant {', '.join(sorted(unknown))}")
    if given.list:
        print("\n".join(f"{one.id}  {one.what} ({one.file}; {', '.join(one.tests)})" for one in chosen))
        return 0
    bad = 0
    with tempfile.TemporaryDirectory(prefix="cg-mutants-") as folder:
        copy = Copy(Path(folder))
        for mutant in chosen:
            found = copy.judge(mutant)
            bad += found != "killed"
            print(f"{mutant.id}  {found}", flush=True)
    print(f"{len(chosen) - bad} of {len(chosen)} killed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
