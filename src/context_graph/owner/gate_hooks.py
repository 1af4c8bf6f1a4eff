"""The requirement gates inside the owner: one decision a hook, merged with what the other features say.

The owner never starts a process for a decision, and never decides for a client that has gone: both are left
to the launcher's slow path (reply flag GATE_IT), which decides from the same files with the same code.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from context_graph.errors import ContextGraphError
from context_graph.model import EventKind, HookEvent
from context_graph.owner.requirement_records import entries_of
from context_graph.protocol import claude
from context_graph.protocol.claude import EVENT_NAMES
from context_graph.protocol.documents import EVENT_OF_VERB
from context_graph.protocol.hook_input import parse_hook_input
from context_graph.redact import TextRedactor
from context_graph.requirements.event import GateEvent
from context_graph.requirements.processes import client_pid
from context_graph.store.requirement_log import RequirementLog
from context_graph.wire.frames import APPLIED, GATE_IT, Reply, Request, is_late

if TYPE_CHECKING:
    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.event import GateResult

__all__ = ["Gates"]

_CLOCK: Final = "CONTEXT_GRAPH_CLOCK_OFFSET"
CACHE_FOLDER: Final = "cache/requirements"
"""Below the data root: configurations as the gates read them."""


class _Call(GateEvent):
    """A hook call whose client process is looked for only if the decision asks for it."""

    parent_pid = 0

    def _set_lazy(self, tool_input: object, prompt: str, pid: int) -> None:
        self.tool_input, self.prompt = tool_input, prompt

    @property
    def pid(self) -> int:  # type: ignore[override]
        return client_pid(self.parent_pid)


class Gates:
    """Decides for all stores of one owner; holds what a decision may reuse of the last one."""

    def __init__(self, root: Path, log: logging.Logger, redactor: TextRedactor) -> None:
        self._redactor = redactor
        self._cache_dir = os.fspath(root / CACHE_FOLDER)
        self._log = log
        self._cache: GateCache | None = None

    def answer(
        self,
        request: Request,
        event: HookEvent,
        log: RequirementLog,
        *,
        context: str = "",
        message: str = "",
    ) -> Reply:
        """The reply in the client's format: the others' ``context`` and ``message``, and the gate's decision.

        ``event`` is durable already. Never raises: a gate that fails allows, and says so.
        """
        # The client checks the name against the event it fired, not the one we infer from --success.
        name = EVENT_OF_VERB[request.verb.removeprefix("hooks.")]
        if is_late(request):  # a look now would arm or consume a second time, after what was satisfied since
            return _leave_it(context, message)
        result = self._decide(request, event)
        if result is None or result.deferred:
            return _leave_it(context, message)
        self._record(log, event, name, result)
        shown = "\n".join(part for part in (message, result.system_message) if part)
        told = "\n".join(part for part in (context, result.context) if part)
        refusal = result.reason if result.decision in ("deny", "block") else ""
        out = claude.render(name, context=told, system_message=shown, refusal=refusal)
        return Reply(0, APPLIED, stdout=out)

    def status_line(self, request: Request) -> Reply:
        """The status line for the client's status JSON; opens no store and never raises."""
        from context_graph.requirements.statusline import status_line

        env = request.env
        try:
            event = GateEvent(
                "", home=os.environ.get("HOME", ""), config_dir=env.get("CLAUDE_CONFIG_DIR", "")
            )
            line = status_line(
                _object(request.body),
                project_dir=env.get("CLAUDE_PROJECT_DIR", "") or os.fspath(request.cwd or ""),
                session_id=request.session_env,
                claude_dir=event.claude_dir,
                now=(request.at_ms or time.time_ns() // 1_000_000) / 1000 + clock_offset(env),
                cache_dir=self._cache_dir,
                cache=self._known(),
            )
        except Exception:  # whatever it is: a status line is no place for a traceback
            self._cache = None
            self._log.exception("status line")
            line = "requirements: see the owner's log"
        return Reply(0, 0, stdout=f"{line}\n".encode("utf-8", "replace"))

    def forget(self) -> None:
        """Let go of what is kept between decisions: a call was ended, and it may be half done."""
        self._cache = None

    def _known(self) -> GateCache:
        # With all of the gates: an owner that no hook has asked yet has not loaded them.
        from context_graph.requirements.cache import GateCache

        if self._cache is None:
            self._cache = GateCache()
        return self._cache

    def _decide(self, request: Request, event: HookEvent) -> GateResult | None:
        """The gate's result; None where it failed, so that a fresh process has its try."""
        from context_graph.requirements.hooks import decide

        try:
            return decide(self._gate_event(request, event), cache=self._known(), may_run=False)
        except Exception:
            self._cache = None
            self._log.exception("gate of %s", request.verb)
            return None

    def _gate_event(self, request: Request, event: HookEvent) -> GateEvent:
        # Once more, for the event holds redacted and shortened texts: a gate must see what the tool is given.
        kind = EventKind(request.verb.removeprefix("hooks."))
        given = parse_hook_input(kind, request.body, request.params)
        env = request.env
        made = _Call(
            EVENT_NAMES[given.kind],
            session_id=event.session_id,
            cwd=given.cwd or os.fspath(request.cwd or ""),
            project_dir=env.get("CLAUDE_PROJECT_DIR", ""),
            home=os.environ.get("HOME", ""),
            config_dir=env.get("CLAUDE_CONFIG_DIR", ""),
            tool_name=given.tool_name,
            tool_input=given.tool_input,
            tool_use_id=given.tool_use_id,
            success=given.success,
            prompt=given.prompt,
            source=given.source,
            reason=given.reason,
            stop_hook_active=given.stop_hook_active,
            interrupted=given.interrupted,
            agent_id=given.agent_id,
            command_name=given.command_name,
            background=given.background,
            env=env,
            at=event.at_ms / 1000 + clock_offset(env),
            cache_dir=self._cache_dir,
        )
        made.parent_pid = request.parent_pid
        return made

    def _record(self, log: RequirementLog, event: HookEvent, name: str, result: GateResult) -> None:
        """Best effort: the decision stands in the project's files whether or not the log has it."""
        if not result.records:
            return
        common = {
            "at_ms": event.at_ms,
            "session_id": event.session_id,
            "event": name,
            "tool": event.tool_name,
            "project": result.project,
            "branch": result.branch,
        }
        try:
            log.append(entries_of(result.records, common, self._redactor))
        except ContextGraphError as error:
            self._log.error("requirement log: %s", error)


def _object(body: bytes) -> dict[str, object]:
    """The JSON object in ``body``; an empty one for anything else."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def clock_offset(env: Mapping[str, str]) -> float:
    """Seconds that a request asks to be added to its time, to rehearse expiry; 0 if it asks none."""
    try:
        return float(env.get(_CLOCK, "") or 0)
    except ValueError:
        return 0.0


def _leave_it(context: str, message: str) -> Reply:
    """The event is durable; what is told travels as text, the user's part behind a NUL."""
    return Reply(0, APPLIED | GATE_IT, stdout=f"{context}\0{message}".encode("utf-8", "replace"))
