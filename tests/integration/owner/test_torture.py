"""kill -9 of owner, launcher and caller at random moments loses nothing and doubles nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.faults.report import Row
from tests.support.cli import Cli
from tests.support.owner.harness import wait_until

from context_graph.config import data_root, lock_path, store_dir
from context_graph.model import EventKind, HookEvent
from context_graph.store.sessions.sessions import SessionStore

SESSIONS = 8
SEED = int(os.environ.get("CONTEXT_GRAPH_TORTURE_SEED", "20261121"))


@dataclass
class Ledger:
    """What was sent and what was acknowledged, by session."""

    sent: dict[str, set[str]] = field(default_factory=dict)
    acknowledged: dict[str, set[str]] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    """What each session says of itself."""
    owners_killed: int = 0
    hooks_killed: int = 0


def _body(session: str, tool_use_id: str) -> bytes:
    return json.dumps(
        {
            "session_id": session,
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_use_id": tool_use_id,
            "tool_input": {"command": f"pytest tests/test_bucket.py -k {tool_use_id}"},
            "tool_response": {"stdout": "test_bucket_refills passed", "stderr": ""},
        }
    ).encode()


def _owner_pid(root: Path) -> int | None:
    try:
        words = lock_path(root).read_text().split()
        pid = int(words[0])
        name = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, IndexError, ValueError):
        return None
    return pid if b"context_graph" in name or b"context-graph" in name else None


def _kill(pid: int | None) -> bool:
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _send(cli: Cli, rng: random.Random, session: str, tool_use_id: str, ledger: Ledger) -> None:
    """One hook run under a shell of its own (the stand-in for the client), perhaps killed on its way."""
    command = f'exec 3<&0; "{cli.launcher}" hooks post-tool --format claude <&3'
    caller = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=cli.env,
        cwd=cli.project,
        start_new_session=True,
    )
    ledger.sent[session].add(tool_use_id)
    if rng.random() < 0.15:
        timer = threading.Timer(rng.uniform(0, 0.004), lambda: _kill_group(caller.pid))
        timer.start()
    caller.communicate(_body(session, tool_use_id), timeout=60)
    if caller.returncode == 0:
        ledger.acknowledged[session].add(tool_use_id)
    elif caller.returncode == -signal.SIGKILL:
        ledger.hooks_killed += 1
    else:
        raise AssertionError(f"a hook exited {caller.returncode}")


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _rounds(cli: Cli, rounds: int, ledger: Ledger) -> Iterator[int]:
    rng = random.Random(SEED)
    root = data_root(cli.env)
    for number in range(rounds):
        deadly = rng.random() < 0.7
        if deadly:  # a start waits for the owner, so that there is one to kill
            _start(cli, "waker")
        workers = []
        for index, session in enumerate(ledger.sent):
            own = random.Random(f"{SEED}-{number}-{index}")
            ids = [f"toolu_{number}_{index}_{step}" for step in range(own.randint(1, 3))]

            def work(session: str = session, ids: list[str] = ids, own: random.Random = own) -> None:
                for tool_use_id in ids:
                    _send(cli, own, session, tool_use_id, ledger)

            workers.append(threading.Thread(target=work))
        for worker in workers:
            worker.start()
        if deadly:
            threading.Event().wait(
                rng.uniform(0, 0.03)
            )  # the random moment of the kill, not a wait for something
            ledger.owners_killed += _kill(_owner_pid(root))
        for worker in workers:
            worker.join(timeout=120)
            assert not worker.is_alive(), "a hook is stuck"
        yield number


def _start(cli: Cli, session: str) -> None:
    given = json.dumps({"session_id": session, "source": "startup"})
    started = cli.run("hooks", "session-start", "--format", "claude", stdin=given)
    assert started.returncode == 0, started.stderr


def _shown(cli: Cli, session: str) -> Any:
    """`session show` once no event waits: on a busy machine the first answers know only some of them."""
    found: list[Any] = []

    def is_whole() -> bool:
        found.append(json.loads(cli.run("session", "show", "--session-id", session, "--json").stdout))
        return bool(found[-1]["events_waiting"] == 0)

    wait_until(is_whole, "all events to be applied", 60)
    return found[-1]


def _torture(cli: Cli, rounds: int, row: Row) -> str:
    sessions = [f"torture-{index}" for index in range(SESSIONS)]
    ledger = Ledger({session: set() for session in sessions}, {session: set() for session in sessions})
    for session in sessions:
        _start(cli, session)
    kept = dict(cli.env)
    for _ in _rounds(cli, rounds, ledger):
        pass
    for session in sessions:
        ledger.counted[session] = _shown(cli, session)["events_by_kind"].get("post-tool", 0)
    assert cli.run("owner", "stop").returncode == 0
    store = SessionStore.open(store_dir(data_root(kept), cli.project) / "db")
    try:
        return _judge(store, ledger, row)
    finally:
        store.close()


def _judge(store: SessionStore, ledger: Ledger, row: Row) -> str:
    sent = acknowledged = applied_in_all = 0
    for session, ids in ledger.sent.items():
        applied = {name for name in ids if store.event_log.is_applied(session, _key(session, name))}
        missing = ledger.acknowledged[session] - applied
        assert not missing, f"{session}: acknowledged and lost: {sorted(missing)[:5]}"
        events = [event.tool_use_id for event in store.event_log.after(session, 0) if event.tool_use_id]
        assert len(events) == len(set(events)), f"{session}: applied twice"
        assert set(events) <= applied
        assert ledger.counted[session] == len(applied), f"{session}: the session counts otherwise"
        sent, acknowledged = sent + len(ids), acknowledged + len(ledger.acknowledged[session])
        applied_in_all += len(applied)
    row.faults, row.sent, row.acknowledged = ledger.owners_killed + ledger.hooks_killed, sent, acknowledged
    killed = f"{ledger.owners_killed} owners and {ledger.hooks_killed} hooks killed"
    counted = f"sent {sent}, acknowledged {acknowledged}, applied {applied_in_all}, lost 0, twice 0"
    return f"seed {SEED}: {killed}; {counted}"


def _key(session: str, tool_use_id: str) -> str:
    event = HookEvent(EventKind.POST_TOOL, session, "", 0, tool_use_id=tool_use_id)
    return event.dedupe_key()


def test_random_kills_lose_and_double_nothing_short_run(
    cli: Cli, capsys: pytest.CaptureFixture[str], fault_row: Row, rounds: Callable[[int], int]
) -> None:
    """Invariants 5 and 6, up to ten rounds of the long run."""
    summary = _torture(cli, rounds(10), fault_row)
    with capsys.disabled():
        print(f"\n{summary}")


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_random_kills_lose_and_double_nothing(
    cli: Cli, capsys: pytest.CaptureFixture[str], fault_row: Row
) -> None:
    """Invariants 5 and 6: 200 rounds, 8 sessions side by side."""
    summary = _torture(cli, 200, fault_row)
    with capsys.disabled():
        print(f"\n{summary}")
