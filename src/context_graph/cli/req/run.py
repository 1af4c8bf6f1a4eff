"""Runs each `req` command: calls the `gates` package and returns the answer to show."""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

from context_graph.cli.req.doctor import installation, missing_hooks
from context_graph.errors import ContextGraphError, UsageError
from context_graph.gates.commands import commands, setup, upkeep
from context_graph.gates.commands.command_context import CommandContext
from context_graph.gates.config.fields import REFERENCE

_KINDS_READ = 10_000

Answer = tuple[dict[str, Any], int]
"""What is shown, and the exit code."""


class Call(NamedTuple):
    """One command: where it was given, the data root, and its parameters."""

    context: CommandContext
    root: str
    given: dict[str, Any]

    def text(self, name: str) -> str:
        return str(self.given.get(name, ""))

    def flag(self, name: str) -> bool:
        return bool(self.given.get(name))


def status(call: Call) -> Answer:
    found = commands.status(call.context, session=call.text("session"), branch=call.text("branch"))
    if not found["session_id"]:
        print("context-graph-cli: no session is known here; give --session ID", file=sys.stderr)
    return found, 0


def satisfy(call: Call) -> Answer:
    metadata = call.given.get("metadata")
    return commands.satisfy(
        call.context,
        call.given["names"],
        session=call.text("session"),
        branch=call.text("branch"),
        ttl=call.given.get("ttl"),
        metadata=_object(metadata, "--metadata") if metadata is not None else None,
        force=call.flag("force"),
    ), 0


def clear(call: Call) -> Answer:
    return commands.clear(
        call.context,
        call.given["names"],
        everything=call.flag("all"),
        session=call.text("session"),
        branch=call.text("branch"),
    ), 0


def pause(call: Call) -> Answer:
    return commands.pause(call.context, session=call.text("session"), reason=call.text("reason")), 0


def resume(call: Call) -> Answer:
    return commands.resume(call.context, session=call.text("session")), 0


def list_branches(call: Call) -> Answer:
    return {"branches": upkeep.branches(call.context)}, 0


def prune(call: Call) -> Answer:
    return upkeep.prune(call.context, preview=call.flag("preview")), 0


def sessions(call: Call) -> Answer:
    return {"sessions": upkeep.sessions(call.context, project=call.flag("project"))}, 0


def enable(call: Call) -> Answer:
    return setup.set_enabled(call.context, call.text("name"), True), 0


def disable(call: Call) -> Answer:
    return setup.set_enabled(call.context, call.text("name"), False), 0


def show_config(call: Call) -> Answer:
    found = setup.config_show(call.context, name=call.text("name"))
    if not call.flag("sources"):
        found.pop("sources", None)
    return found, 0


def init(call: Call) -> Answer:
    made = setup.init(
        call.context,
        preset=call.given.get("preset", "relaxed"),
        local=call.flag("local"),
        force=call.flag("force"),
        preview=call.flag("preview"),
    )
    return {**made, "missing_hooks": missing_hooks(call.context)}, 0


def check(call: Call) -> Answer:
    tool_input = _object(call.given.get("input", "{}"), "--input")
    found = commands.check(
        call.context, call.text("name") or "Edit", tool_input, session=call.text("session")
    )
    return found, 0 if found["decision"] == "allow" else 1


def keys(call: Call) -> Answer:
    name = call.text("name")
    found = [one for one in REFERENCE if not name or name in (one["key"], one["key"].rpartition(".")[2])]
    if not found:
        raise UsageError(f"no key {name!r}; `context-graph-cli req keys` lists them")
    return {"keys": found}, 0


def doctor(call: Call) -> Answer:
    findings = [*installation(call.context, call.root), *upkeep.doctor(call.context)]
    if not any(one["level"] in ("error", "warning") for one in findings):
        findings.append(upkeep.sound())
    is_sound = not any(one["level"] == "error" for one in findings)
    return {"sound": is_sound, "findings": findings}, 0 if is_sound else 1


def log(call: Call) -> Answer:
    """``entries`` (newest first, each with at_ms, kind, requirements and what else is known) and ``source``.

    Raises:
        UsageError: A limit that is no number from 1 to 10000.
    """
    limit = str(call.given.get("limit", "50"))
    if not limit.isdigit() or not 1 <= int(limit) <= _KINDS_READ:
        raise UsageError(f"--limit {limit!r} must be a number from 1 to {_KINDS_READ}")
    session = call.context.session(call.given["session"]) if call.given.get("session") else ""
    kind, requirement = call.text("kind"), call.text("requirement")
    try:
        from context_graph.cli.calling import ask_json  # the client and its sockets: only this command asks

        asked = {"limit": str(_KINDS_READ if kind else limit), "session": session, "requirement": requirement}
        found = ask_json("req.log", asked)["entries"]
        source = "store"
    except ContextGraphError as error:
        print(f"context-graph-cli: {error}; this is the project's own journal", file=sys.stderr)
        own = commands.log(
            call.context, limit=int(limit), session=session, kind=kind, requirement=requirement
        )
        found = [{**one, "at_ms": int(float(one.pop("at", 0)) * 1000)} for one in own]
        source = "journal"
    chosen = [one for one in found if not kind or one.get("kind") == kind]
    return {"source": source, "entries": chosen[: int(limit)]}, 0


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{option}: must be a JSON object, such as {{}}")
    return value
