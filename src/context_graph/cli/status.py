"""Shows this project's state for people, programs and the client's status line: `status`."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from context_graph.cli.calling import ask_json
from context_graph.cli.native import become_launcher
from context_graph.cli.options import Json
from context_graph.cli.output.panel import show
from context_graph.cli.output.status_text import status_rows
from context_graph.config import data_root, project_dir
from context_graph.gates.commands.command_context import clock
from context_graph.gates.decide.messages import status_line
from context_graph.gates.event import claude_dir_of

_LOOK_S = 15.0


def status(
    json_: Json = False,
    line: Annotated[
        bool,
        typer.Option("--line", help="One line for the client's status bar; reads its status JSON on stdin."),
    ] = False,
) -> None:
    """Show this project at a glance: session, identity, requirements, memories, owner, and what waits.

    --line is for the client's settings: "statusLine": {"type": "command", "command":
    "context-graph-cli status --line"}. The launcher does it: one small file is read, and the requirements'
    line asked of the owner. It starts none. `doctor` tries things out; this one only looks.

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
