"""Sessions and events for the tests of the store, and ways to damage it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.support.forkserver import python

from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot
from context_graph.store import layout
from context_graph.store.engine.engine import Engine
from context_graph.store.layout import SESSION_IDENTITY
from context_graph.store.sessions.sessions import SessionStore

START_MS = 1_763_761_000_000


def run(code: str, *arguments: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with this environment and these helpers."""
    helpers = f"import sys; sys.path.append({os.fspath(Path(__file__).parents[2])!r})\n"
    return subprocess.run(
        python("-c", helpers + textwrap.dedent(code), *map(str, arguments)),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


_KILLED = """
    import os, sys
    from context_graph.store.engine.engine import Engine
    from context_graph.store.graph.graph import GraphStore

    left = int(sys.argv[2])

    def deadly(name):
        original = getattr(Engine, name)

        def step(self, *given):
            global left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), 9)
            return original(self, *given)

        setattr(Engine, name, step)

    for name in ("create_family", "put"):
        deadly(name)
    GraphStore.open(sys.argv[1])
    os.kill(os.getpid(), 9)
"""


def opened_until_killed(db: Path, steps: int) -> subprocess.CompletedProcess[str]:
    """A process that opens the memories of ``db`` and dies before write ``steps``, or once opened."""
    return run(_KILLED, db, steps)


def in_a_namespace(code: str, folder: Path) -> str:
    """What Python prints in a process that may mount a small file system in ``folder``; the test is skipped
    where none may."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("no user namespaces here to mount a small file system in")
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", textwrap.dedent(code), str(folder)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def snapshot(session_id: str, at: int = 0, previous: str | None = None) -> SessionIdentitySnapshot:
    """With values that float32 holds exactly, so that it equals itself after storage."""
    made = SessionIdentitySnapshot(
        session_id=session_id,
        timestamp_ms=START_MS + at,
        previous_session_id=previous,
        purpose_vector=[0.25] * 12 + [0.5],
        last_ic=0.875,
    )
    made.append_to_trajectory([0.25] * 13)
    return made


def event(session_id: str, number: int) -> HookEvent:
    """The event of that number."""
    return HookEvent(
        kind=EventKind.POST_TOOL,
        session_id=session_id,
        event_id=f"{number:032x}",
        at_ms=START_MS + number,
        tool_name="Bash",
        tool_use_id=f"toolu_{number}",
        input_text=f"command {number}",
        success=True,
    )


def commit(store: SessionStore, session_id: str, number: int) -> HookEvent:
    """Commit the event of that number with its snapshot and live state."""
    made = event(session_id, number)
    store.commit_event(
        snapshot(session_id, number),
        event=made,
        seq=number,
        dedupe_key=made.dedupe_key(),
        runtime=b"runtime %d" % number,
    )
    return made


def keys(engine: Engine, prefix: bytes, family: str = SESSION_IDENTITY) -> list[bytes]:
    """All keys with ``prefix``."""
    return [key for key, _ in engine.scan(family, prefix, layout.after(prefix))]


def break_record(engine: Engine, session_id: str) -> None:
    """Flip a bit of a snapshot behind the store's back."""
    key = layout.snapshot_key(session_id)
    record = bytearray(engine.get(SESSION_IDENTITY, key) or b"")
    record[40] ^= 1
    engine.put(SESSION_IDENTITY, key, bytes(record))


def damage(file: Path, at: int, *, cut: bool = False, flip: int = 0xFF) -> None:
    """Flip bits of one byte of ``file``, or cut the file there."""
    content = bytearray(file.read_bytes())
    if cut:
        del content[at:]
    else:
        content[at] ^= flip
    file.write_bytes(content)


def largest(db: Path, pattern: str) -> Path:
    """The largest file that fits."""
    return max(db.glob(pattern), key=lambda file: file.stat().st_size)


def noise(size: int) -> bytes:
    """Bytes that don't compress."""
    return os.urandom(size)
