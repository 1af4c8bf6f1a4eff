"""Shows this project's state for people, programs and the client's status line: `status`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from context_graph.cli.calling import ask_json
from context_graph.cli.native import become_launcher
from context_graph.cli.options import Json
from context_graph.cli.tables import counted, size, span
from context_graph.cli.terminal import show
from context_graph.config import data_root, project_dir
from context_graph.gates.commands.command_context import clock
from context_graph.gates.decide.messages import status_line
from context_graph.gates.event import claude_dir_of

_LOOK_S = 15.0


def status(
    json_: Json = False,
    line: Annotated[
        bool,
        typer.Option(
            "--line", help="Print one line for the status bar; reads Claude Code's status JSON on stdin."
        ),
    ] = False,
) -> None:
    """Show this project at a glance: session, identity, requirements, memories, owner, and what waits.

    --line is for Claude Code's settings: "statusLine": {"type": "command", "command":
    "context-graph-cli status --line"}. The launcher serves it: it reads one small file and asks a running
    owner about requirements. `doctor` tries things out; this command only looks.

    Exit codes: 0; 1 no owner, or the store can't be used; 2 the database is corrupt. With --line always 0.

    Example: context-graph-cli status --json
    """
    if line:
        become_launcher(["status", "--line"])
    found = _look()
    if json_:
        print(json.dumps(found, ensure_ascii=False))
    else:
        show(status_rows(found))


def _look() -> dict[str, Any]:
    folder = project_dir()
    return {
        "project": str(folder),
        "at_ms": time.time_ns() // 1_000_000,
        "identity": ask_json("consciousness.status", timeout_s=_LOOK_S),
        "store": ask_json("doctor.look", {"quick": True}, timeout_s=_LOOK_S),
        "owner": ask_json("owner.status", timeout_s=_LOOK_S),
        "requirements": _requirements(folder),
    }


def _requirements(folder: Path) -> str:
    """What the status line would say of them."""
    return status_line(
        {},
        project_dir=str(folder),
        session_id=os.environ.get("CLAUDE_CODE_SESSION_ID", ""),
        claude_dir=claude_dir_of(os.environ),
        now=clock(os.environ),
        cache_dir=f"{data_root()}/cache/requirements",
    )


def status_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each line, in the order of interest."""
    store, owner = found["store"], found["owner"]
    memory, sessions = store["memory"], store["sessions"]
    rows = [
        ("project", found["project"]),
        ("session", _session(found["identity"], sessions, found["at_ms"])),
        ("identity", _identity(found["identity"])),
        ("requirements", found["requirements"]),
        ("memories", _memories(memory, found["at_ms"])),
        (
            "owner",
            f"version {owner['version']}, {size(owner['rss_bytes'])}, up {span(owner['uptime_s'])}, "
            f"{counted(owner['clients'], 'client')}",
        ),
        ("waiting", _waiting(store, found["identity"], memory)),
    ]
    problems = [*store["problems"], *(part["error"] for part in (memory, sessions) if "error" in part)]
    return [*rows, *(("problem", text) for text in problems)]


def _session(identity: Mapping[str, Any], sessions: Mapping[str, Any], now_ms: int) -> str:
    if "session_id" not in identity:
        return "none yet: no hook has recorded anything here"
    last = sessions.get("last_event_ms")
    ago = f", the last event {span(max(0, now_ms - last) / 1000)} ago" if last else ""
    of = f" of {sessions['count']}" if "count" in sessions else ""
    return f"{identity['session_id'][:8]}{of}, {counted(identity['events_applied'], 'event')}{ago}"


def _identity(identity: Mapping[str, Any]) -> str:
    state = identity.get("consciousness_state")
    if not state:
        return "nothing measured yet"
    return (
        f"IC {state['identity_continuity']:.2f} ({identity['ic_classification']}), {identity['state']} "
        f"(C={state['consciousness']:.2f}), r={state['integration']:.2f}"
    )


def _memories(memory: Mapping[str, Any], now_ms: int) -> str:
    if not memory.get("live"):
        return "none yet"
    last = memory.get("last_capture_ms")
    captured = f", a session captured {span(max(0, now_ms - last) / 1000)} ago" if last else ""
    used = f", {memory['used']} of {memory['memories']} shown were used" if memory.get("memories") else ""
    return f"{memory['live']}{captured}{used}"


def _waiting(store: Mapping[str, Any], identity: Mapping[str, Any], memory: Mapping[str, Any]) -> str:
    counts = (
        (store["spool_pending"], "spooled event", "spooled events"),
        (memory.get("captures_due", 0), "session to capture", "sessions to capture"),
        (len(identity.get("dreams_pending", ())), "consolidation", "consolidations"),
    )
    return ", ".join(counted(*one) for one in counts if one[0]) or "nothing"
