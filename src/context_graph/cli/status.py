"""Shows this project's state for people and programs: `status`, and without Typer, which costs 0.2 s."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from context_graph.cli.calling import Finished, ask
from context_graph.cli.command_table import wants_json
from context_graph.cli.native import become_launcher
from context_graph.cli.tables import counted, size, span
from context_graph.cli.terminal import show, shown
from context_graph.config import project_dir
from context_graph.errors import ContextGraphError
from context_graph.view.health import sentence

_LOOK_S: Final = 15.0


class _RefusedError(ContextGraphError):
    """The owner's answer says what is wrong; ``reply_code`` is its exit code."""

    code = "status_refused"

    def __init__(self, message: str, reply_code: int) -> None:
        super().__init__(message)
        self.reply_code = reply_code


def status(**given: Any) -> None:
    """Show the project; see `command_table.STATUS`."""
    if given.get("line"):
        become_launcher(["status", "--line"])
    folder, as_json = project_dir(), wants_json(given)
    try:
        found = _look(folder)
    except ContextGraphError as error:
        broken: dict[str, Any] = {"project": str(folder), "works": False, "sentence": f"Not working: {error}"}
        print(json.dumps(broken, ensure_ascii=False) if as_json else shown(broken["sentence"]))
        raise Finished(error.reply_code if isinstance(error, _RefusedError) else error.exit_code) from error
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        print(shown(found["sentence"]))
        show(status_rows(found))


def _look(folder: Path) -> dict[str, Any]:
    now = time.time()
    day = time.localtime(now)
    midnight = now - (day.tm_hour * 3600 + day.tm_min * 60 + day.tm_sec)
    found: dict[str, Any] = {
        "project": str(folder),
        "at_ms": int(now * 1000),
        "identity": _asked("consciousness.status"),
        "store": _asked("doctor.look", {"quick": True, "since": str(int(midnight * 1000))}),
        "owner": _asked("owner.status"),
        "requirements": _answer("req.statusline", {}, b"{}").decode().strip(),
    }
    works, said = sentence(found["store"], found["at_ms"], lambda: _hooks_set_up(folder))
    return {"project": found["project"], "works": works, "sentence": said, **found}


def _asked(verb: str, params: Mapping[str, object] | None = None) -> Any:
    return json.loads(_answer(verb, params or {}))


def _answer(verb: str, params: Mapping[str, object], body: bytes = b"") -> bytes:
    reply = ask(verb, params, body, timeout_s=_LOOK_S)
    if reply.exit_code:
        said = reply.stderr.decode("utf-8", "replace").strip().removeprefix("context-graph: ")
        raise _RefusedError(said or f"{verb} failed", reply.exit_code)
    return reply.stdout


def _hooks_set_up(folder: Path) -> bool:
    """Whether a settings file or plugin of the client calls us here."""
    from context_graph.doctor.client_files import settings_files  # only where no event came lately
    from context_graph.doctor.hooks_in_use import hooks_in_use

    settings, _ = settings_files(folder, os.environ)
    return bool(hooks_in_use(folder, settings, os.environ).hooks)


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
        f"continuity {state['identity_continuity']:.2f} ({identity['ic_classification']}), "
        f"consciousness {state['consciousness']:.2f} ({identity['state'].lower()})"
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
