#!/usr/bin/env python3
"""Sessions at full speed beside MCP clients and a consolidation: what fails, is lost, and takes how long.

    python benches/hooks/busy.py [--minutes 5] [--sessions 10] [--memories 2000] [--json FILE]

Each session runs one hook after another without a pause; now and then a program that does nothing (the floor)
runs in its place, so that both meet the same machine. One MCP client recalls. The other stores a rule about a
file, then a session of its own goes on editing that file until a hook tells the rule: from the store's answer
to the end of that hook is what `told` says. A deep consolidation runs meanwhile. At the end each session is
asked what it has, and compared with what was sent. Uses a data root of its own, removed at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.hooks.processes import build_native
from benches.hooks.soak import CLI, Soak
from benches.report import described, grid, machine, options, quantile, save

TOLD_S = 0.05
"""Highest p95 from a memory's store to the hook that tells it."""
HOOK_P99 = 20.0
"""Highest p99 of a hook, over the floor's median in the same run."""
FLOOR_EACH = 16
"""Hooks between two runs of the floor."""
KEPT_S = 60.0
"""How long a session is asked what it has."""
CONSOLIDATED_S = 120.0
"""How long the consolidation is waited for when all else has ended."""
GIVEN_UP_S = 10.0
"""A rule that was not told by then is told late, and counted as so late."""


@dataclass
class Tally:
    """What one thread did and saw. Times in seconds."""

    hooks: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)


class Session:
    """One session of the project, and its hooks."""

    def __init__(self, soak: Soak, name: str, tally: Tally) -> None:
        self.soak, self.name, self.tally = soak, name, tally
        self.env = {**soak.env, "CLAUDE_CODE_SESSION_ID": name}

    def hook(self, verb: str, event: str, **body: object) -> str:
        """One hook to its end; what it said."""
        given = {"session_id": self.name, "cwd": str(self.soak.folder), "hook_event_name": event, **body}
        began = time.perf_counter()
        done = subprocess.run(
            [CLI, "hooks", verb, "--format", "claude"],
            input=json.dumps(given), env=self.env, cwd=self.soak.folder,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.tally.hooks.append(time.perf_counter() - began)
        if done.returncode or done.stderr or "systemMessage" in done.stdout:
            self.tally.failures.append(f"{verb}: {done.returncode} {done.stderr or done.stdout}"[:200])
        if verb != "pre-tool":  # of those only some are kept
            self.tally.sent[verb] += 1
        return done.stdout

    def edits(self, path: str, number: str) -> str:
        """A call that is to change the file."""
        return self.hook(
            "pre-tool", "PreToolUse", tool_name="Edit", tool_input={"file_path": path}, tool_use_id=number
        )


def work(session: Session, until: float, floor: Path) -> None:
    """A session's hooks, one after another."""
    soak, tally, number = session.soak, session.tally, 0
    session.hook("session-start", "SessionStart", source="startup")
    while time.monotonic() < until:
        number += 1
        if number % 40 == 1:
            session.hook("prompt-submit", "UserPromptSubmit", prompt=soak.text(12), prompt_id=f"p{number}")
        call = {"tool_name": "Bash", "tool_input": {"command": "pytest -q " + soak.text(3)}}
        call["tool_use_id"] = f"toolu_{session.name}_{number}"
        session.hook("pre-tool", "PreToolUse", **call)
        session.hook("post-tool", "PostToolUse", **call, tool_response=soak.text(40))
        if number % 40 == 0:
            session.hook("stop", "Stop", last_assistant_message=soak.text(20))
        if number % (FLOOR_EACH // 2) == 0:
            began = time.perf_counter()
            subprocess.run([floor], env=session.env, capture_output=True, check=True)
            tally.floors.append(time.perf_counter() - began)


def called(soak: Soak, tally: Tally, tool: str, **arguments: object) -> dict[str, Any]:
    """One call of a tool; {} if it failed."""
    began = time.perf_counter()
    try:
        return soak.bridge.call(tool, **arguments)
    except (KeyError, OSError, ValueError) as error:
        tally.failures.append(f"{tool}: {type(error).__name__} {error}"[:200])
        return {}
    finally:
        tally.calls.append(time.perf_counter() - began)


def recalls(soak: Soak, tally: Tally, until: float) -> None:
    """One client that recalls."""
    while time.monotonic() < until:
        called(soak, tally, "recall_memory", query=soak.text(6), top_k=10)


def tells(soak: Soak, session: Session, until: float) -> None:
    """The client whose rules are to be told, and the session that is to hear them."""
    session.hook("session-start", "SessionStart", source="startup")
    number = 0
    while time.monotonic() < until:
        number += 1
        path, attempt = f"src/probe_{number}/form_{number}.py", 0
        rule = f"Never edit {path} by hand: change its template."
        called(
            soak, session.tally, "store_memory", content=rule, rationale="a rule of the bench", kind="rule"
        )
        began = time.perf_counter()
        while time.perf_counter() - began < GIVEN_UP_S:
            attempt += 1
            said = session.edits(str(soak.folder / path), f"toolu_probe_{number}_{attempt}")
            if f"form_{number}.py" in said:
                break
        session.tally.told.append(time.perf_counter() - began)


def kept(soak: Soak, session: Session) -> Counter[str]:
    """The events that a session has, by verb; a command that failed counts as such, and is run again."""
    command = [CLI, "session", "show", "--session-id", session.name, "--json"]
    until = time.monotonic() + KEPT_S
    while True:
        done = subprocess.run(
            command, env=soak.env, cwd=soak.folder, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return Counter(json.loads(done.stdout)["events_by_kind"])
        session.tally.failures.append(f"session show: {done.stderr}"[:200])
        if time.monotonic() > until:
            sys.exit(f"{session.name}: {done.stderr}")
        time.sleep(1.0)


def run(soak: Soak, clients: list[Soak], minutes: float, sessions: int, floor: Path) -> dict[str, Any]:
    """All at once; the figures."""
    tallies = [Tally() for _ in range(sessions + 2)]
    until = time.monotonic() + 60.0 * minutes
    workers = [Session(soak, f"busy-{number}", tallies[number]) for number in range(sessions)]
    listener = Session(soak, "busy-listener", tallies[-1])
    threads = [threading.Thread(target=work, args=(one, until, floor)) for one in workers]
    threads.append(threading.Thread(target=recalls, args=(clients[0], tallies[-2], until)))
    threads.append(threading.Thread(target=tells, args=(clients[1], listener, until)))
    for thread in threads:
        thread.start()
    command = [CLI, "memory", "consolidate", "--mode", "deep", "--any-state", "--format", "json"]
    consolidation = subprocess.Popen(command, env=soak.env, cwd=soak.folder, stdout=subprocess.DEVNULL)
    for thread in threads:
        thread.join()
    load = os.getloadavg()[0]
    try:
        consolidated = consolidation.wait(CONSOLIDATED_S)
    except subprocess.TimeoutExpired:  # it has the lowest priority
        consolidation.kill()
        consolidated = consolidation.wait()
    there = {one.name: kept(soak, one) for one in [*workers, listener]}
    differences = [
        there[one.name][verb] - count
        for one in [*workers, listener]
        for verb, count in one.tally.sent.items()
    ]
    return figures(tallies, differences, consolidated, load)


def figures(tallies: list[Tally], differences: list[int], consolidated: int, load: float) -> dict[str, Any]:
    """What all of them saw."""
    hooks = sorted(time_s for one in tallies for time_s in one.hooks)
    floors = sorted(time_s for one in tallies for time_s in one.floors)
    calls = sorted(time_s for one in tallies for time_s in one.calls)
    told = sorted(tallies[-1].told)
    failures = [text for one in tallies for text in one.failures]
    base = quantile(floors, 0.5)
    return {
        "hooks": len(hooks),
        "hooks_p50": round(quantile(hooks, 0.5) / base, 2),
        "hooks_p99": round(quantile(hooks, 0.99) / base, 2),
        "floor_p50_ms": round(1e3 * base, 2),
        "calls": len(calls),
        "calls_p99_ms": round(1e3 * quantile(calls, 0.99), 1),
        "told": len(told),
        "told_p50_ms": round(1e3 * quantile(told, 0.5), 1),
        "told_p95_ms": round(1e3 * quantile(told, 0.95), 1),
        "failed": len(failures),
        "failures": failures[:5],
        "lost": -sum(one for one in differences if one < 0),
        "twice": sum(one for one in differences if one > 0),
        "consolidation_exit": consolidated,
        "load": round(load, 1),
    }


def main() -> None:
    """Fill, run, report; exit 1 where something failed, was lost or came twice."""
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--memories", type=int, default=2000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-busy-"))
    build_native(folder)
    clients = [Soak(folder, number) for number in range(2)]
    try:
        for _ in range(given.memories):
            clients[0].store()
        report = run(clients[0], clients, given.minutes, given.sessions, folder / "noop")
    finally:
        for one in clients:
            one.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(described(machine()))
    print(grid(("what", "figure"), report.items()))
    print(
        f"goals: nothing failed, lost or twice; hooks p99 {HOOK_P99} x floor; told p95 {TOLD_S * 1e3:.0f} ms"
    )
    save(given.json, report)
    if report["failed"] or report["lost"] or report["twice"]:
        sys.exit("MISSED: something failed, was lost or came twice")


if __name__ == "__main__":
    main()
