"""Shows this project's state for people and programs: `status`."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from context_graph.cli.console.calling import Finished, RefusedError, ask, granted
from context_graph.cli.console.tables import counted, size, span
from context_graph.cli.console.terminal import print_folded, show, shown
from context_graph.cli.native import become_launcher
from context_graph.cli.words import Command, Option
from context_graph.config import checkout_top, client_dir, project_dir
from context_graph.errors import ContextGraphError, exit_code_of
from context_graph.view.health import NUMBERS

_LOOK_S: Final = 15.0
_SETTINGS: Final = ("settings.json", "settings.local.json")
_SETTINGS_BYTES: Final = 1 << 20
_PROGRAM: Final = b"context-graph-cli"
_DAY_S: Final = 86_400.0


def status(line: bool, verbose: bool, as_json: bool) -> None:
    """Say in one sentence whether it works and what it knew today, then show this project at a glance.

    --line is for Claude Code's settings: "statusLine": {"type": "command", "command":
    "context-graph-cli status --line"}. The launcher serves it: it reads one small file and asks a running
    owner about requirements. `doctor` tries things out; this command only looks, and says in words what
    --verbose has as numbers.

    Exit codes: 0; 1 no owner, or the store can't be used; 3 the database is corrupt. With --line always 0.

    Example: context-graph-cli status --json
    """
    if line:
        become_launcher(["status", "--line"])
    folder = project_dir()
    try:
        health = _health(folder)
    except ContextGraphError as error:
        broken: dict[str, Any] = {"project": str(folder), "works": False, "sentence": f"Not working: {error}"}
        if as_json:
            print(json.dumps(broken, ensure_ascii=False))
        else:
            print_folded(shown(broken["sentence"]))
        raise Finished(
            error.reply_code if isinstance(error, RefusedError) else exit_code_of(error, "status")
        ) from error
    if as_json:
        print(json.dumps(health, ensure_ascii=False))
    else:
        print_folded(shown(health["sentence"]))
        hidden = {"state", *(() if verbose else (NUMBERS,))}  # the one is the sentence
        lines = [line for line in health["lines"] if line["name"] not in hidden]
        show([("project", health["project"]), *((line["name"], line["text"]) for line in lines)])


def _health(folder: Path) -> dict[str, Any]:
    """Return the owner's health of the project (`view.rows.Health`), with a line about the owner itself."""
    now = time.time()
    day = time.localtime(now)
    midnight = now - (day.tm_hour * 3600 + day.tm_min * 60 + day.tm_sec)
    asked = {"since": str(int(midnight * 1000))}
    health = _asked("view.health", asked)
    last_ms = health["figures"]["store"]["sessions"].get("last_event_ms")
    comes = bool(last_ms) and now - last_ms / 1000 <= _DAY_S
    if not ((comes and _are_named(folder)) or _hooks_set_up(folder)):
        health = _asked("view.health", {**asked, "hooks-set-up": "false"})
    health["project"] = str(folder)
    owner = health["figures"]["owner"] = _asked("owner.status")
    text = (
        f"version {owner['version']}, {size(owner['rss_bytes'])}, up {span(owner['uptime_s'])}, "
        f"{counted(owner['clients'], 'client')}"
    )
    health["lines"].append({"name": "owner", "text": text, "is_problem": False})
    return dict(health)


def _asked(verb: str, params: Mapping[str, object] | None = None) -> Any:
    return json.loads(granted(ask(verb, params, timeout_s=_LOOK_S)))


def _are_named(folder: Path) -> bool:
    """Return whether the settings have our program's name: enough where events come, a tenth of the cost."""
    places = (checkout_top(folder) / ".claude", client_dir())
    for path in (place / name for place in places for name in _SETTINGS):
        with contextlib.suppress(OSError), path.open("rb") as file:
            if _PROGRAM in file.read(_SETTINGS_BYTES):
                return True
    return False


def _hooks_set_up(folder: Path) -> bool:
    """Return whether a settings file or plugin of the client, or another host's file, calls us here."""
    from context_graph.claude.hosts.host import name_us
    from context_graph.cli.doctor.client_files import settings_files
    from context_graph.cli.doctor.hooks_in_use import hooks_in_use

    settings, _ = settings_files(folder, os.environ)
    if hooks_in_use(folder, settings, os.environ).hooks:
        return True
    if not name_us(folder, os.environ):
        return False
    from context_graph.claude.hosts.install import are_set_up  # costs half of this command

    return are_set_up(folder, os.environ)


COMMANDS: Final = (
    Command.of(
        status,
        "This project at a glance",
        Option("--line", "Print one line for the status bar; reads Claude Code's status JSON on stdin."),
        Option("--verbose", "Show the measures behind the words, too."),
    ),
)
