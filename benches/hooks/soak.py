#!/usr/bin/env python3
"""Hours of a busy project in minutes: hooks and MCP calls without pause, and the owner's memory watched.

    python benches/hooks/soak.py [--minutes 20] [--json FILE]

The store is filled to a size first, and with it RocksDB's bounded buffers, and then kept there (each new
memory or summary replaces one that is forgotten), so that what still grows is a leak. Prints resident memory
each half minute, a saw of some MiB as buffers fill and are written; exit 1 where it is higher after the tenth
minute than it was before by more than GOAL. Uses a data root of its own, removed at the end.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import uuid
from collections import deque
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.report import described, grid, machine, options, save

from context_graph.memory.capture import capture_id

CLI = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
KEPT = 5_000
"""Memories in the store once it is filled."""
KEPT_SESSIONS = 40
"""Sessions whose summaries are kept beside them."""
FIRST_SESSIONS = 700
"""Sessions before the first sample: they fill the 24 MiB of write buffers once (store/engine/tuning.py)."""
SAMPLE_S = 30.0
SETTLED_S = 600.0
"""By then the allocator has its arenas, RocksDB its caches; a run of less than 19 minutes is not judged."""
GOAL = 1.0
"""MiB by which the highest sample may rise: the samples hit another tooth of the saw each time."""
WORDS = (
    "token", "bucket", "limiter", "gateway", "client", "key", "burst", "refill", "retry", "backoff",
    "queue", "worker", "lease", "index", "posting", "vector", "schema", "migration", "column",
    "rollback", "snapshot", "replica", "quorum", "leader", "election", "heartbeat", "socket",
    "frame", "decode", "encode", "parser", "lexer", "grammar", "visitor", "fixture", "parametrize",
    "coverage", "flaky", "timeout", "deadline", "cancel", "shutdown", "drain",
)  # fmt: skip


class Bridge:
    """One MCP client over `context-graph-cli mcp`."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._process = subprocess.Popen(
            [CLI, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=folder
        )
        self._number = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "soak", "version": "1"},
        }
        self._request("initialize", hello)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The structured content of one tool call."""
        answer = self._request("tools/call", {"name": tool, "arguments": arguments})
        return dict(answer["result"]["structuredContent"])

    def close(self) -> None:
        """End the client."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(timeout=10)

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._number:
                return answer


class Soak:
    """One project under load."""

    def __init__(self, folder: Path, seed: int = 7) -> None:
        (folder / "project" / ".git").mkdir(parents=True, exist_ok=True)
        self.folder = folder / "project"
        self.env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
            "CONTEXT_GRAPH_HOME": str(folder / "data"),
            "CLAUDE_PROJECT_DIR": str(self.folder),
        }
        self.random = random.Random(seed)
        self.bridge = Bridge(self.env, self.folder)
        self.kept: deque[str] = deque()
        self.sessions: deque[str] = deque()
        self.did = {"stored": 0, "recalled": 0, "injected": 0, "hooks": 0, "sessions": 0}

    def text(self, words: int) -> str:
        """Words that look like notes on code."""
        return " ".join(self.random.choices(WORDS, k=words)) + f" {self.random.randrange(10**6)}"

    def store(self) -> None:
        """Store one memory; above KEPT, forget the oldest for good."""
        stored = self.bridge.call(
            "store_memory", content=self.text(60), rationale="a note of the soak", importance=0.5
        )
        self.kept.append(stored["node_id"])
        self.did["stored"] += 1
        if len(self.kept) > KEPT:
            gone = self.kept.popleft()
            self.bridge.call("forget_memory", node_id=gone, soft_delete=False, reason="user_requested")

    def session(self) -> None:
        """One short session through the hooks."""
        session = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        tool = {"tool_name": "Bash", "tool_input": {"command": "pytest -q " + self.text(3)}}
        steps: list[tuple[str, dict[str, Any]]] = [
            ("session-start", {"hook_event_name": "SessionStart", "source": "startup"}),
            ("prompt-submit", {"hook_event_name": "UserPromptSubmit", "prompt": self.text(12)}),
        ]
        for number in range(8):
            call = {**tool, "tool_use_id": f"toolu_{session[:8]}_{number}"}
            steps.append(("pre-tool", {"hook_event_name": "PreToolUse", **call}))
            after = {"hook_event_name": "PostToolUse", **call, "tool_response": self.text(40)}
            steps.append(("post-tool", after))
        steps.append(("stop", {"hook_event_name": "Stop", "last_assistant_message": self.text(20)}))
        steps.append(("session-end", {"hook_event_name": "SessionEnd", "reason": "other"}))
        env = {**self.env, "CLAUDE_CODE_SESSION_ID": session}
        for verb, body in steps:
            body = {"session_id": session, "cwd": str(self.folder), **body}
            subprocess.run(
                [CLI, "hooks", verb, "--format", "claude"],
                input=json.dumps(body).encode(), env=env, cwd=self.folder, check=True, capture_output=True,
            )  # fmt: skip
            self.did["hooks"] += 1
        self.did["sessions"] += 1
        self.sessions.append(session)
        if len(self.sessions) > KEPT_SESSIONS:
            summary = str(capture_id(self.sessions.popleft()))
            self.bridge.call("forget_memory", node_id=summary, soft_delete=False, reason="user_requested")

    def round(self) -> None:
        """A bit of everything."""
        for _ in range(20):
            self.store()
        for _ in range(10):
            self.bridge.call("recall_memory", query=self.text(6), top_k=10)
            self.did["recalled"] += 1
        self.bridge.call("inject_context", query=self.text(6), max_tokens=500)
        self.bridge.call("get_memetic_status")
        self.did["injected"] += 1
        self.session()

    def owner(self) -> dict[str, Any]:
        """`owner status`."""
        done = subprocess.run(
            [CLI, "owner", "status", "--json"], env=self.env, cwd=self.folder, check=True, capture_output=True
        )
        status: dict[str, Any] = json.loads(done.stdout)
        return status

    def close(self) -> None:
        """End the client and the owner."""
        self.bridge.close()
        subprocess.run(
            [CLI, "owner", "stop"], env=self.env, cwd=self.folder, capture_output=True, check=False
        )


def grown(samples: list[tuple[float, float]]) -> float | None:
    """MiB by which the highest sample after SETTLED_S is above the highest before, once there are both."""
    before = [mib for at, mib in samples if at < SETTLED_S]
    after = [mib for at, mib in samples if at >= SETTLED_S]
    return round(max(after) - max(before), 2) if samples[-1][0] >= 1.9 * SETTLED_S else None


def main() -> None:
    """Fill, soak, report."""
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-soak-"))
    soak = Soak(folder)
    try:
        while len(soak.kept) < KEPT:
            soak.store()
        while soak.did["sessions"] < FIRST_SESSIONS:
            soak.session()
        report = watch(soak, given.minutes * 60.0)
    finally:
        soak.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(described(machine()))
    print(grid(("what", "figure"), report["summary"].items()))
    save(given.json, report)
    more = report["summary"]["grown_after_10_minutes_mib"]
    if more is not None and more > GOAL:
        sys.exit(f"MISSED: the owner has {more} MiB more than in the first ten minutes, goal {GOAL}")


def watch(soak: Soak, seconds: float) -> dict[str, Any]:
    """Run rounds for ``seconds``; resident memory every SAMPLE_S."""
    began, due = time.monotonic(), 0.0
    samples: list[tuple[float, float]] = []
    while (at := time.monotonic() - began) < seconds:
        if at >= due:
            status = soak.owner()
            samples.append((at, status["rss_bytes"] / 2**20))
            due = at + SAMPLE_S
            print(f"{at:7.0f} s  {samples[-1][1]:7.1f} MiB  {status['requests']} requests", flush=True)
        soak.round()
    summary = {
        **soak.did,
        "seconds": round(seconds),
        "rss_mib_first": round(samples[0][1], 1),
        "rss_mib_last": round(samples[-1][1], 1),
        "grown_after_10_minutes_mib": grown(samples),
        "errors": soak.owner()["errors"],
    }
    return {"summary": summary, "samples": samples}


if __name__ == "__main__":
    main()
