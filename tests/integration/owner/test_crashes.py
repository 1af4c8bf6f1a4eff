"""A crash of the owner counts against the event in hand, once; a kill from outside does not."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.owner.harness import OwnerHarness

from context_graph.owner.chores import NAME

OWNER = """
import os, sys
from pathlib import Path
from context_graph.wire.run_folder import WorkFile, begin_crash_note
root = Path(sys.argv[1])
begin_crash_note(root)
WorkFile(root).write("the logged hooks.stop of session s", str(root / "store"), "event:1")
exec(sys.argv[2])
"""
ENDS = {
    "crash": "os.abort()",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "kill": "os.kill(os.getpid(), 9)",
    "terminated": "os.kill(os.getpid(), 15)",
    "exit": "sys.exit(0)",
}


@pytest.mark.parametrize("end", ENDS)
def test_only_a_crash_counts_and_only_once(tmp_path: Path, end: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "store").mkdir()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", OWNER, str(tmp_path), ENDS[end]], env=env, capture_output=True)
    # In a process of its own: it is this one's crash that would be noted from now on.
    code = (
        "import logging, sys, time; from pathlib import Path\n"
        "from context_graph.owner.chores import count_interrupted\n"
        "from context_graph.wire.run_folder import begin_crash_note, read_work\n"
        "root = Path(sys.argv[1])\n"
        "crashed, now_ms = begin_crash_note(root), time.time_ns() // 1_000_000\n"
        "count_interrupted(read_work(root), now_ms, logging.getLogger('test'), crashed=crashed)\n"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=env, check=True)
    counted = tmp_path / "store" / NAME
    failures = (
        [row["failures"] for row in json.loads(counted.read_bytes())["items"]] if counted.exists() else []
    )
    assert failures == ([1.0] if end in ("crash", "segfault") else [])


@pytest.mark.real
def test_a_crash_leaves_no_copy_of_the_owner_s_memory(owner: OwnerHarness) -> None:
    """A limit of 1 and not of 0, which a program in core_pattern would not be held to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        process = owner.start()
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    assert resource.prlimit(process.pid, resource.RLIMIT_CORE)[0] == (1 if hard else 0)
    os.kill(process.pid, signal.SIGABRT)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -signal.SIGABRT
    assert (os.WTERMSIG(status), os.WCOREDUMP(status)) == (signal.SIGABRT, False)
