"""A project whose hooks and memories go through the installed program while something is being broken.

`World` keeps a ledger of what was sent and what was acknowledged; `judge` compares it, once the fault is
gone, with what the stores hold. Acknowledged is a hook that exited 0 and did not say that its event could not
be recorded, and a memory whose id was printed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from tests.faults.report import Log, Row
from tests.support.cli import Cli
from tests.support.memories import open_memex

from context_graph.config import Location, data_root, lock_path, store_dir
from context_graph.model import EventKind, HookEvent
from context_graph.store.sessions.sessions import SessionStore
from context_graph.wire.client.request import request as client_request

__all__ = ["LONG", "SEED", "World", "owner_pid"]

SEED = int(os.environ.get("CONTEXT_GRAPH_TORTURE_SEED", "20261122"))
LONG = int(os.environ.get("CONTEXT_GRAPH_TORTURE_ROUNDS", "40"))
"""Rounds of the long runs; the short ones have a few."""
STUCK_S = 20.0
"""A hook that has not ended by then is stuck: the longest budget of any with the client's format is 4.5 s."""
_REFUSED = b"could not be recorded"
_EVENTS = {"post-tool": EventKind.POST_TOOL, "pre-tool": EventKind.PRE_TOOL}


def owner_pid(root: Path) -> int | None:
    """The process that the lock file names, if it is an owner of ours."""
    try:
        pid = int(lock_path(root).read_text().split()[0])
        name = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, IndexError, ValueError):
        return None
    ours = b"context_graph.owner" in name or b"context-graph-owner" in name
    return pid if ours and os.fsencode(root) in name else None


Round = Callable[["World", random.Random, int, list[str]], None]
"""One fault with what goes on beside it: its chance, its number, the sessions."""


@dataclass
class World:
    """One project, its sessions, and the ledger."""

    cli: Cli
    row: Row
    log: Log
    sent: dict[str, dict[str, str]] = field(default_factory=dict)
    """Session -> tool use id -> verb."""
    acknowledged: dict[str, set[str]] = field(default_factory=dict)
    memories: dict[str, str] = field(default_factory=dict)
    """Id -> text of what `memory store` said it stored."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def make(cls, cli: Cli, scenario: str, seed: int = SEED) -> World:
        log = Log(scenario, seed)
        log("begin", root=cli.env["CONTEXT_GRAPH_HOME"])
        return cls(cli, Row(scenario, seed), log)

    @property
    def root(self) -> Path:
        return data_root(self.cli.env)

    @property
    def store(self) -> Path:
        return store_dir(self.root, self.cli.project)

    def pid(self) -> int | None:
        return owner_pid(self.root)

    def fault(self, what: str, **more: Any) -> None:
        """Count one fault and log it."""
        self.row.faults += 1
        self.log(what, **more)

    def signal_owner(self, number: signal.Signals) -> int | None:
        """Send the owner a signal; its pid, or None if there is none."""
        pid = self.pid()
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
                self.fault(f"owner {number.name}", pid=pid)
                return pid
        return None

    def start(self, session: str) -> None:
        """A session's start, which waits for the owner. Not in the ledger: it makes a session of its id."""
        given = json.dumps({"session_id": session, "hook_event_name": "SessionStart", "source": "startup"})
        self._run(["hooks", "session-start", "--format", "claude"], given.encode())
        self.sent.setdefault(session, {})
        self.acknowledged.setdefault(session, set())

    def begin(self, name: str, sessions: int) -> tuple[random.Random, list[str]]:
        """The chance that the row's seed gives, and sessions that have started."""
        names = [f"{name}-{index}" for index in range(sessions)]
        for session in names:
            self.start(session)
        return random.Random(self.row.seed), names

    def torture(self, name: str, sessions: int, rounds: int, one: Round) -> None:
        """Rounds of a fault, each after one session's new start, and the judgement."""
        rng, names = self.begin(name, sessions)
        for number in range(rounds):
            self.start(rng.choice(names))
            one(self, rng, number, names)
        self.judge()

    def hook(
        self, session: str, name: str, verb: str = "post-tool", kill_after_s: float | None = None
    ) -> bool:
        """One hook as the client runs it, perhaps killed on its way; whether it was acknowledged."""
        body = {
            "session_id": session,
            "hook_event_name": "PostToolUse" if verb == "post-tool" else "PreToolUse",
            # Of a tool of ours before it has run nothing is kept, of an MCP server's whose call it is.
            "tool_name": "Bash" if verb == "post-tool" else "mcp__files__read",
            "tool_use_id": name,
            "tool_input": {"command": f"pytest tests/test_bucket.py -k {name}"},
        }
        if verb == "post-tool":
            body["tool_response"] = {"stdout": "test_bucket_refills passed", "stderr": ""}
        with self._lock:
            self.sent.setdefault(session, {})[name] = verb
            self.row.sent += 1
        done = self._run(["hooks", verb, "--format", "claude"], json.dumps(body).encode(), kill_after_s)
        if done is None or done.returncode == -signal.SIGKILL:
            return False
        assert done.returncode == 0, f"a hook exited {done.returncode}: {done.stderr!r}"
        if done.stdout.strip():
            json.loads(done.stdout)
        if _REFUSED in done.stdout + done.stderr:
            return False
        with self._lock:
            self.acknowledged.setdefault(session, set()).add(name)
            self.row.acknowledged += 1
        return True

    def remember(self, text: str) -> str | None:
        """Store one memory by command; its id, or None where that was refused or cut short."""
        with self._lock:
            self.row.sent += 1
        words = ["memory", "store", "-", "--rationale", "kept by a fault test", "--format", "json"]
        done = self._run(words, text.encode(), limit_s=90)
        if done is None or done.returncode != 0:
            self.log("store refused", said=done and done.stderr.decode(errors="replace")[:300])
            return None
        found = str(json.loads(done.stdout)["id"])
        with self._lock:
            self.memories[found] = text
            self.row.acknowledged += 1
        return found

    def command(self, *words: str) -> subprocess.CompletedProcess[bytes] | None:
        """Any other command, which may fail but not hang; None if it did."""
        return self._run(list(words), b"", limit_s=120)

    def burst(
        self,
        rng: random.Random,
        sessions: Iterable[str],
        number: int,
        *,
        beside: Callable[[], None] | None = None,
    ) -> None:
        """One to three hooks of each session side by side, and ``beside`` while they run."""
        workers = []
        for index, session in enumerate(sessions):
            own = random.Random(f"{rng.random()}-{index}")
            names = [f"toolu_{number}_{index}_{step}" for step in range(own.randint(1, 3))]

            def work(session: str = session, names: list[str] = names, own: random.Random = own) -> None:
                for name in names:
                    self.hook(session, name, "pre-tool" if own.random() < 0.3 else "post-tool")

            workers.append(threading.Thread(target=self._guarded, args=(work,)))
        for worker in workers:
            worker.start()
        if beside is not None:
            beside()
        for worker in workers:
            worker.join()
        assert not self._failures, self._failures[0]

    _failures: list[BaseException] = field(default_factory=list)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # handed to the test's own thread
            self._failures.append(error)

    def _run(
        self, words: list[str], stdin: bytes, kill_after_s: float | None = None, limit_s: float = STUCK_S
    ) -> subprocess.CompletedProcess[bytes] | None:
        began = time.monotonic()
        with _given(stdin) as given:
            process = subprocess.Popen(
                [str(self.cli.launcher), *words],
                stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=dict(self.cli.env), cwd=self.cli.project, start_new_session=True,
            )  # fmt: skip
        timer = threading.Timer(kill_after_s or 0, process.kill)
        if kill_after_s is not None:
            timer.start()
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            with self._lock:
                self.row.stuck += 1
            self.log("stuck", words=words, seconds=limit_s)
            return None
        finally:
            timer.cancel()
        if words[0] == "hooks":
            with self._lock:
                self.row.slowest_ms = max(self.row.slowest_ms, (time.monotonic() - began) * 1000.0)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def drain(self) -> dict[str, Any]:
        """Have an owner without faults apply what waits; what each session says of itself."""
        shown = {}
        woken = self.cli.run("session", "list", "--json", timeout=90)
        assert woken.returncode == 0, woken.stderr
        where = Location(self.root, self.store, self.cli.project)
        for session in self.sent:  # a command each would take a third of a second each
            params = {"session-id": session, "json": True}
            reply = client_request("session.show", params, location=where, timeout_s=90)
            assert reply.exit_code == 0, reply.stderr
            shown[session] = json.loads(reply.stdout)
            assert shown[session]["events_waiting"] == 0, shown[session]
        stopped = self.cli.run("owner", "stop")
        assert stopped.returncode == 0, stopped.stderr
        return shown

    def judge(self) -> Row:
        """Everything acknowledged is in the stores, once; what the sessions count is what was applied."""
        shown = self.drain()
        store = SessionStore.open(self.store / "db")
        try:
            assert store.engine.losses() == [], "a log is said to be damaged that was not"
            for session in self.sent:
                self._judge_session(store, session, shown[session]["events_by_kind"])
        finally:
            store.close()
        if self.memories:
            self._judge_memories()
        self.log("end", row=self.row)
        self.row.require_clean()
        return self.row

    def _judge_session(self, store: SessionStore, session: str, counted: dict[str, int]) -> None:
        applied = {
            name: verb
            for name, verb in self.sent[session].items()
            if store.event_log.is_applied(session, _key(session, name, verb))
        }
        missing = self.acknowledged[session] - set(applied)
        self.row.lost += len(missing)
        if missing:
            self.log("lost", session=session, names=sorted(missing))
        for verb in _EVENTS:
            expected = sum(1 for one in applied.values() if one == verb)
            self.row.twice += max(0, counted.get(verb, 0) - expected)
            self.row.lost += max(0, expected - counted.get(verb, 0))

    def _judge_memories(self) -> None:
        with open_memex(self.store) as memex:
            there = {stored.node.id: stored.node for stored in memex.stored_after()}
            for found, text in self.memories.items():
                node = there.get(UUID(found))
                if node is None or node.content != text:
                    self.row.lost += 1
                    self.log("lost memory", id=found)
            texts = [node.content for node in there.values() if node.content in set(self.memories.values())]
            self.row.twice += len(texts) - len(set(texts))
            store = memex.core.store
            assert store.recount() == store.counters


@contextmanager
def _given(text: bytes) -> Iterator[BinaryIO]:
    """Standard input that is whole before the program starts.

    Among two hundred threads of ours a pipe is filled seconds later: a client that late is not what is tried.
    """
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        yield file


def _key(session: str, name: str, verb: str) -> str:
    return HookEvent(_EVENTS[verb], session, "", 0, tool_use_id=name).dedupe_key()
