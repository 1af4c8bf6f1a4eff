"""What hooks bring at files: how much of it is right, and whether a right line comes before the first edit.

The sessions of handover_dev work through an owner's service in this process, each project's in their order.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from research.measures.report import Data, Table
from research.measures.summaries import BEGAN_MS, DAY_MS, handover_sessions

from context_graph.claude.events import VERB_OF_EVENT
from context_graph.config import Settings
from context_graph.owner.service import OwnerService
from context_graph.redact import Redactor
from context_graph.wire.frames import Request

_LINE: Final = re.compile(r"(?m)^- \[([0-9a-f]{8})\] (?P<says>.*)$")
_EDITING: Final = frozenset({"Edit", "Write"})


class Told(NamedTuple):
    """One line of a memory."""

    event: str
    node: str
    is_early: bool
    """Whether nothing of the session's patch had been edited yet."""
    is_of_file: bool


@dataclass(slots=True)
class Row:
    """A session: the earlier ones that changed a file of its patch, and what it was told."""

    right: set[str]
    lines: list[Told] = field(default_factory=list)


def tables(data: Data) -> list[Table]:
    """By project and for all: right lines at files, and sessions that were shown a right one in time."""
    projects = {name: _worked(sessions) for name, sessions in handover_sessions(data.handover).items()}
    if not projects:
        return []
    rows = [(name, *_counted(found)) for name, found in projects.items()]
    rows.append(("all", *(sum(row[at] for row in rows) for at in range(1, 6))))
    columns = ("project", "sessions", "with a right one", "shown before the edit", "lines at files", "right")
    source = f"{sum(map(len, projects.values()))} sessions; right: of one that changed a file of this patch"
    return [Table("files: what is told at them", source, columns, rows)]


def _counted(rows: Sequence[tuple[Row, dict[str, str]]]) -> tuple[int, int, int, int, int]:
    asked = [(row, of) for row, of in rows if row.right]
    shown = sum(
        any(line.is_early and of.get(line.node) in row.right for line in row.lines) for row, of in asked
    )
    at_files = [(of.get(line.node), row) for row, of in rows for line in row.lines if line.is_of_file]
    return len(rows), len(asked), shown, len(at_files), sum(name in row.right for name, row in at_files)


def _worked(sessions: Sequence[dict[str, Any]]) -> list[tuple[Row, dict[str, str]]]:
    """Each session's row, with the session of each memory."""
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(folder))
        rows = []
        for number, session in enumerate(sessions):
            files = set(session["files"])
            right = {f"s{old}" for old in range(number) if files & set(sessions[old]["files"])}
            rows.append(Row(right, list(host.work(f"s{number}", number, session))))
        of = host.sessions()
        host.close()
    return [(row, of) for row in rows]


class Host:
    """An owner's service with one project."""

    def __init__(self, folder: Path) -> None:
        self._project, self._store = folder / "project", folder / "data" / "stores" / "project"
        self._project.mkdir()
        log = logging.getLogger("research.files")
        self._service = OwnerService(folder / "data", Settings(), log, Redactor())
        self._calls = 0
        self.at_ms = BEGAN_MS

    def work(self, name: str, number: int, session: dict[str, Any]) -> Iterator[Told]:
        """Work through a session; the lines that it is told."""
        self.at_ms = BEGAN_MS + 3 * DAY_MS * number
        wanted, edited = set(session["files"]), set[str]()
        yield from self.told(name, "SessionStart", True, source="startup")
        for raw in session["events"]:
            body = {key: value for key, value in raw.items() if key != "event"}
            if "tool_name" in body:
                body["tool_use_id"] = f"toolu_{self._calls:08d}"
                if body["tool_name"] in _EDITING:
                    edited.add(body["tool_input"].get("file_path", ""))
                before = {key: body[key] for key in ("tool_name", "tool_input", "tool_use_id")}
                yield from self.told(name, "PreToolUse", not edited & wanted, **before)
            yield from self.told(name, raw["event"], not edited & wanted, **body)
        list(self.told(name, "Stop", False, stop_hook_active=False))
        list(self.told(name, "SessionEnd", False, reason="other"))

    def told(self, name: str, event: str, is_early: bool, **body: Any) -> Iterator[Told]:
        """What the event brings."""
        self._calls, self.at_ms = self._calls + 1, self.at_ms + 10_000
        whole = {**body, "session_id": name, "cwd": str(self._project), "hook_event_name": event}
        request = Request(
            *(f"hooks.{VERB_OF_EVENT[event]}", f"{self._calls:032x}", {"format": "claude"}),
            json.dumps(whole).encode(),
            *(self._store, self._project, name),
            at_ms=self.at_ms,
        )
        answer = self._service.handle(request)
        self._service.settle()
        self.context.memory_hooks.tidy()
        told = json.loads(answer.stdout) if answer.stdout else {}
        text = told.get("hookSpecificOutput", {}).get("additionalContext", "")
        for line in _LINE.finditer(text):
            is_of_file = event.endswith("ToolUse") and "similar work on" not in line["says"]
            yield Told(event, line[1], is_early, is_of_file)

    @property
    def context(self) -> Any:
        return self._service.open_store(Request("memory.list", store=self._store, project=self._project))

    def sessions(self) -> dict[str, str]:
        """The session of each memory, by the id that lines begin with."""
        stored = self.context.memory.stored_after()
        return {str(row.node.id)[:8]: row.node.session_id or "" for row in stored}

    def close(self) -> None:
        self._service.close()
