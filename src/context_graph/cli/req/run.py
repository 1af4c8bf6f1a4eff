"""Carries out the `req` commands for which the `gates` package needs help, and reports what they changed."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from context_graph.cli.console.terminal import complain
from context_graph.config import Location, locate
from context_graph.errors import ContextGraphError, UsageError
from context_graph.gates.commands import commands, setup, upkeep
from context_graph.gates.commands.command_context import CommandContext
from context_graph.gates.config.fields import REFERENCE
from context_graph.wire.store_folder import append, frame

MOST_ENTRIES = 10_000


def install_git_hooks(context: CommandContext) -> dict[str, Any]:
    from context_graph.wire.client.spawn import find_launcher

    return upkeep.install_git_hooks(context, os.path.realpath(find_launcher()))


def init(context: CommandContext, **options: Any) -> dict[str, Any]:
    return {**setup.init(context, **options), "missing_hooks": upkeep.missing_hooks(context)}


def keys(context: CommandContext, *, name: str = "") -> dict[str, Any]:
    keys = [row for row in REFERENCE if not name or name in (row["key"], row["key"].rpartition(".")[2])]
    if not keys:
        raise UsageError(f"no key {name!r}; `context-graph-cli req keys` lists them")
    return {"keys": keys}


def doctor(context: CommandContext) -> dict[str, Any]:
    findings = [*upkeep.installation(context, os.fspath(locate(None).root)), *upkeep.doctor(context)]
    if not any(finding["level"] in ("error", "warning") for finding in findings):
        findings.append(upkeep.sound())
    return {"sound": not any(finding["level"] == "error" for finding in findings), "findings": findings}


def log(
    context: CommandContext, *, limit: int, session: str = "", requirement: str = "", kind: str = ""
) -> dict[str, Any]:
    """Return ``entries`` (newest first, each with at_ms, kind, requirements and more) and ``source``."""
    session = context.session(session) if session else ""
    try:
        # The client and its sockets: only this command asks.
        from context_graph.cli.console.calling import ask_json

        asked = {
            "limit": str(MOST_ENTRIES if kind else limit),
            "session": session,
            "requirement": requirement,
        }
        entries = ask_json("req.log", asked)["entries"]
        source = "store"
    except ContextGraphError as error:
        complain(f"{error}; this is the project's own journal")
        own = commands.log(context, limit=limit, session=session, kind=kind, requirement=requirement)
        entries = [{**entry, "at_ms": int(float(entry.pop("at", 0)) * 1000)} for entry in own]
        source = "journal"
    chosen = [entry for entry in entries if not kind or entry.get("kind") == kind]
    return {"source": source, "entries": chosen[:limit]}


# What a command changed goes into the event log, which the owner reads before its next answer: so no command
# waits for an owner or starts one, and a running owner misses nothing.


def report(records: list[dict[str, Any]], cwd: str, place: Location) -> str:
    """Leave ``records`` in the event log of the store; why that failed, empty if it did not.

    What people wrote (``detail``) stays in the project's own journal: nothing is redacted on this side.
    """
    if not records:
        return ""
    kept = [{key: value for key, value in record.items() if key != "detail"} for record in records]
    value = {
        "verb": "req.record",
        "session": os.environ.get("CLAUDE_CODE_SESSION_ID", ""),
        "at_ms": time.time_ns() // 1_000_000,
        "project": os.fspath(place.project),
        "cwd": cwd,
        "params": {},
        "body": {"records": kept},
    }
    try:
        append(os.fspath(place.store), frame(os.urandom(16).hex(), json.dumps(value).encode()))
    except OSError as error:
        return f"not in the store's log: {error.strerror}: {error.filename}"
    return ""
