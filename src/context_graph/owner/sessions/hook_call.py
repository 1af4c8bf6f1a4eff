"""Reads a hook's input, makes the event that is kept of it, and decides the gates inside the owner.

There is one decision per hook, merged with other features' output. Nothing is decided for a client that has
gone: it has already told its user that nothing was decided.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from context_graph.claude.events import EVENT_OF_VERB, VERB_OF_EVENT
from context_graph.claude.hooks.hook_input import HookInput, check_session_id
from context_graph.claude.hooks.origin import is_canary
from context_graph.claude.hosts.translate import HOSTS, answer_of, input_of, readable_of
from context_graph.claude.transcripts import said_between
from context_graph.config import account_of
from context_graph.errors import ContextGraphError, InvalidInputError
from context_graph.gates.event import CACHE_FOLDER, GateEvent, GateResult, claude_dir_of
from context_graph.model import EVENT_TEXT_BYTES, EventKind, HookEvent, cut_session_id
from context_graph.owner.sessions.event_parts import parts_of
from context_graph.redact import TextRedactor
from context_graph.store.sessions.event_log import RequirementLog
from context_graph.text.flattening import flatten_text
from context_graph.wire.frames import APPLIED, Reply, Request, is_late
from context_graph.wire.store_folder import append, frame

if TYPE_CHECKING:
    from context_graph.gates.rules import GateCache


_MESSAGE_CHARS = 65_536
_GAP = b"\n[...]\n"
_SHORT_CHARS = 200
_HARMLESS_CHARS = 12
_AGENT_ID_CHARS = 100


def input_of_request(request: Request) -> HookInput:
    """Return the input as the client sent it, never stored or logged, of a request with a verb ``hooks.*``.

    Raises InvalidInputError: If the verb is no hook, or the input of no documented shape. Cost: a pass of the
    JSON reader.
    """
    try:
        kind = EventKind(request.verb.removeprefix("hooks."))
    except ValueError as error:
        raise InvalidInputError(f"verb {request.verb!r} is not a hook") from error
    return input_of(kind, request.body, request.params)


def event_of(request: Request, hook_input: HookInput, redactor: TextRedactor) -> HookEvent:
    """Return the event: flattened, redacted and cut, what may be kept of ``hook_input``.

    The session is $CLAUDE_CODE_SESSION_ID, else the input's, else --session-id (D1.5). Raises
    InvalidInputError: If no session is named.
    """
    named = check_session_id(request.session_env, "CLAUDE_CODE_SESSION_ID")
    session_id = named or cut_session_id(hook_input.session_id)
    if not session_id:
        raise InvalidInputError(
            "session_id is missing: give it in the stdin JSON, by --session-id or CLAUDE_CODE_SESSION_ID"
        )
    if hook_input.kind is EventKind.STOP and hook_input.transcript_path:
        path = Path(hook_input.transcript_path)
        hook_input.between = said_between(path, session_id, request.at_ms or None)
    return _event(request, hook_input, session_id, redactor)


def recorded_event(
    name: str,
    body: Mapping[str, object],
    session_id: str,
    number: int,
    at_ms: int,
    redactor: TextRedactor,
    env: Mapping[str, str] | None = None,
) -> HookEvent:
    """Return the event that a hook would have made of what a record of a session tells.

    ``name`` is a value of EVENT_OF_VERB, ``body`` what the client would have sent but for session and name,
    ``number`` the event's in its session, ``env`` of the client. Raises as `input_of_request` and `event_of`.
    """
    whole = {**body, "hook_event_name": name, "session_id": session_id}
    verb = f"hooks.{VERB_OF_EVENT[name]}"
    request = Request(verb, f"{number:032x}", body=orjson.dumps(whole), env=env or {}, at_ms=at_ms)
    return event_of(request, input_of_request(request), redactor)


def _event(request: Request, hook_input: HookInput, session_id: str, redactor: TextRedactor) -> HookEvent:
    """Return the part of ``hook_input`` that may be kept; nothing unredacted leaves this method."""
    parts = parts_of(hook_input, redactor)
    if hook_input.kind is EventKind.PROMPT_SUBMIT:
        parts.account = account_of(request.env)
    return HookEvent(
        kind=hook_input.kind,
        session_id=redactor.redact_id(session_id),
        event_id=request.event_id,
        at_ms=request.at_ms or time.time_ns() // 1_000_000,
        tool_name=_short(hook_input.tool_name, redactor),
        tool_use_id=redactor.redact_id(hook_input.tool_use_id[:200]),
        prompt_id=_short(hook_input.prompt_id, redactor),
        input_text=_clean(
            hook_input.prompt if hook_input.kind is EventKind.PROMPT_SUBMIT else hook_input.tool_input,
            redactor,
        ),
        output_text=(
            _both_ends(hook_input.last_message, redactor)
            if hook_input.kind in (EventKind.STOP, EventKind.POST_COMPACT)
            else _clean(hook_input.error if hook_input.error else hook_input.tool_response, redactor)
        ),
        success=hook_input.success,
        source=_short(hook_input.source, redactor),
        reason=_short(hook_input.reason, redactor),
        previous_session_id=redactor.redact_id(cut_session_id(hook_input.previous_session_id)),
        duration_ms=hook_input.duration_ms,
        cwd=redactor.redact_id(hook_input.cwd[:4096]),
        agent_id=_short(hook_input.agent_id[:_AGENT_ID_CHARS], redactor),
        parts=parts,
        from_plugin=request.params.get("plugin") is True,
        is_elsewhere=request.params.get("format") in HOSTS,
        is_canary=is_canary(session_id, hook_input.tool_name),
    )


def _short(text: str, redactor: TextRedactor) -> str:
    """Return a name or reason: redacted like all text, unless it is too short to hold any secret."""
    return redactor.redact(text[:_SHORT_CHARS]) if len(text) > _HARMLESS_CHARS else text


def _clean(value: object, redactor: TextRedactor) -> str:
    # Flattening cuts each of several texts after a whole word, so that no secret loses its half to the cut.
    text = flatten_text(value, EVENT_TEXT_BYTES)
    return redactor.redact_cut(text, EVENT_TEXT_BYTES) if text else ""


def _both_ends(message: str, redactor: TextRedactor) -> str:
    """Return start and end of the model's message: the one says what was done, the other what is left."""
    if not message:
        return ""
    clean = redactor.redact_cut(message[:_MESSAGE_CHARS], 4 * _MESSAGE_CHARS).encode()
    if len(clean) <= EVENT_TEXT_BYTES:
        return clean.decode()
    half = EVENT_TEXT_BYTES // 2 - len(_GAP)
    # Cut at white space: then neither a character nor a redaction's mark is torn.
    start, end = clean[:half].rsplit(maxsplit=1), clean[-half:].split(maxsplit=1)
    if len(start) < 2 or len(end) < 2:
        return redactor.redact_cut(message, EVENT_TEXT_BYTES)
    return b"".join((start[0], _GAP, end[1])).decode()


# The gates


class Gates:
    """Decides for all stores of one owner; holds the cache that decisions share."""

    def __init__(self, root: Path, log: logging.Logger, redactor: TextRedactor) -> None:
        self._redactor = redactor
        self._root = root
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
        refusal: str = "",
    ) -> Reply:
        """Return the reply in the client's format: the others' ``context`` and ``message``, and the gate's
        decision; where that lets a call through, their ``refusal``.

        The event is durable already. Never raises: a gate that fails allows, and says so.
        """
        # The client checks the name against the event it fired, not the one we infer from --success.
        name = EVENT_OF_VERB[request.verb.removeprefix("hooks.")]
        result = GateResult()
        # Where the client has gone on without, deciding would arm or consume for a call that nobody held.
        if not is_late(request) and not event.is_canary:
            # By the raw input: the stored event holds redacted and shortened texts.
            raw = input_of_request(request)
            result = self._decide(self._event_of(raw, request, event.session_id, event.at_ms))
        self._record(log, event, name, result)
        if refusal and result.decision not in ("deny", "block"):
            result.decision, result.reason = "deny", refusal
        from context_graph.gates.decide.hooks import rendered

        return Reply(0, APPLIED, stdout=rendered(name, result, context=context, message=message))

    def without_event(self, request: Request) -> bytes:
        """Return the gates' document on a hook whose event can't be applied, in the client's format.

        The input is read as far as it can be: no call passes because some other field is odd.
        """
        kind, params = EventKind(request.verb.removeprefix("hooks.")), request.params
        try:
            hook_input, unreadable = input_of(kind, request.body, params), ""
        except InvalidInputError as error:
            hook_input, unreadable = readable_of(kind, request.body, params), str(error)[:_SHORT_CHARS]
        session_id = request.session_env or hook_input.session_id or str(params.get("session-id", ""))
        event = self._event_of(hook_input, request, cut_session_id(session_id), request.at_ms)
        if is_late(request) or is_canary(event.session_id, hook_input.tool_name):
            return b""
        result = self._decide(event)
        if (
            unreadable
            and not result.decision
            and event.projects.find(event.cwd, event.project_dir) is not None
        ):
            result.tell_user(f"the gates could not read this call's input ({unreadable})")
        name = EVENT_OF_VERB[kind.value]
        if result.records and request.store is not None:
            self._leave(request, _common(event.session_id, name, hook_input.tool_name, result), result)
        from context_graph.gates.decide.hooks import rendered

        return answer_of(str(params.get("format", "")), name, rendered(name, result))

    def _leave(self, request: Request, common: dict[str, object], result: GateResult) -> None:
        """Leave the records in the event log, for a store that can't be written now."""
        value = {
            "verb": "req.record",
            "session": common["session_id"],
            "at_ms": request.at_ms,
            "project": os.fspath(request.project or ""),
            "cwd": os.fspath(request.cwd or ""),
            "params": {},
            "body": {"records": entries_of(result.records, common, self._redactor)},
        }
        try:
            append(os.fspath(request.store or ""), frame(os.urandom(16).hex(), orjson.dumps(value)))
        except OSError as error:
            self._log.error("requirement log: %s", error)

    def git(self, request: Request) -> Reply:
        """Decide on a commit or push that git asks about; opens no store. Raises InvalidInputError."""
        from context_graph.gates.decide.hooks import git_answer, git_event

        event = git_event(
            _object(request.body),
            request.env,
            session_id=request.session_env,
            cwd=os.fspath(request.cwd or ""),
            at_ms=request.at_ms or time.time_ns() // 1_000_000,
            pid=request.parent_pid,
            root=os.fspath(self._root),
        )
        if is_late(request):
            return Reply(1, stderr=b"it did not answer in time")
        result = self._decide(event)
        if result.failed:
            return Reply(1, stderr=result.system_message.encode("utf-8", "replace"))
        return Reply(stdout=git_answer(event, result))

    def status_line(self, request: Request) -> Reply:
        """Return the status line for the client's status JSON; opens no store and never raises."""
        from context_graph.gates.decide.messages import status_line

        env = request.env
        try:
            line = status_line(
                _object(request.body),
                project_dir=env.get("CLAUDE_PROJECT_DIR", "") or os.fspath(request.cwd or ""),
                session_id=request.session_env,
                claude_dir=claude_dir_of({"HOME": os.environ.get("HOME", ""), **env}),
                now=(request.at_ms or time.time_ns() // 1_000_000) / 1000,
                cache_dir=os.fspath(self._root / CACHE_FOLDER),
                cache=self._known(),
            )
        except Exception:  # whatever it is: a status line is no place for a traceback
            self._cache = None
            self._log.exception("status line")
            line = "requirements: see the owner's log"
        return Reply(0, 0, stdout=f"{line}\n".encode("utf-8", "replace"))

    def forget(self) -> None:
        """Drop everything cached between decisions: a call was ended, and the cache may be half done."""
        self._cache = None

    def _known(self) -> GateCache:
        # With all of the gates: an owner that no hook has asked yet has not loaded them.
        from context_graph.gates.rules import GateCache

        if self._cache is None:
            self._cache = GateCache()
        return self._cache

    def _decide(self, event: GateEvent) -> GateResult:
        """Return the gate's result; one that failed is asked for again without what files said."""
        from context_graph.gates.decide.hooks import decide

        result = decide(event, self._known())
        if result.failed:
            self._log.error("gate of %s: %s", event.name, result.system_message)
            self._cache = None
            result = decide(event, self._known())
        return result

    def _event_of(self, hook_input: HookInput, request: Request, session_id: str, at_ms: int) -> GateEvent:
        return GateEvent.of_hook(
            hook_input,
            request.env,
            session_id=session_id,
            cwd=os.fspath(request.cwd or ""),
            at_ms=at_ms or time.time_ns() // 1_000_000,
            parent_pid=request.parent_pid,
            root=self._root,
        )

    def _record(self, log: RequirementLog, event: HookEvent, name: str, result: GateResult) -> None:
        """Record the decision, best effort: the project's files have it in any case."""
        if not result.records:
            return
        common = _common(event.session_id, name, event.tool_name, result)
        try:
            log.append(entries_of(result.records, {"at_ms": event.at_ms, **common}, self._redactor))
        except ContextGraphError as error:
            self._log.error("requirement log: %s", error)


def _object(body: bytes) -> dict[str, object]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _common(session_id: str, event: str, tool: str, result: GateResult) -> dict[str, object]:
    """Return what all records of one decision share."""
    place = {"project": result.project, "branch": result.branch}
    return {"session_id": session_id, "event": event, "tool": tool, **place}


_MOST = 200


def entries_of(
    records: object, common: Mapping[str, object], redactor: TextRedactor
) -> list[dict[str, object]]:
    """Return one log entry per record; ``common`` fills in what a record lacks.

    A record is an object as `gates.state.journal` writes it: ``kind`` and ``at`` (Unix seconds), and what is
    known of requirements, session, tool, branch, by and detail. Raises InvalidInputError if ``records`` is
    no list of at most _MOST objects.
    """
    if not isinstance(records, list) or len(records) > _MOST:
        raise InvalidInputError(f"records: must be a list of at most {_MOST} objects")
    entries = []
    for record in records:
        if not isinstance(record, dict):
            raise InvalidInputError("records: must be objects, as `gates.state.journal.record` makes them")
        entry = {**common, **record}
        at = entry.pop("at", None)
        if isinstance(at, (int, float)) and not isinstance(at, bool) and 0 <= at < 1e11:
            entry["at_ms"] = int(at * 1000)
        for name in ("detail", "tool"):
            value = entry.get(name)
            if isinstance(value, str) and len(value) > _HARMLESS_CHARS:
                entry[name] = redactor.redact(value[:1000])
        entries.append(entry)
    return entries
