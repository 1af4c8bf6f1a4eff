"""The hook verbs: apply the event, then say it in the caller's format, with what the gates decide."""

from __future__ import annotations

from collections.abc import Callable

from context_graph.errors import (
    ContextGraphError,
    CrisisTriggeredError,
    InvalidInputError,
    OwnerError,
    SessionNotFoundError,
    StoreError,
)
from context_graph.identity.brief import brief_line, crisis_text, state_block
from context_graph.identity.live import LiveSession, Outcome
from context_graph.model import EventKind, HookEvent
from context_graph.owner.call import Call, reply
from context_graph.owner.events import hook_event
from context_graph.owner.live_sessions import Applied, Started
from context_graph.owner.summary import session_summary
from context_graph.owner.views import classification_of, state_of
from context_graph.protocol import claude, spec
from context_graph.protocol.canary import is_canary
from context_graph.protocol.spec import DriftMetrics, HookOutput, render_output
from context_graph.wire.frames import APPLIED, GATE_IT, Reply, Request

__all__ = ["HANDLERS", "failure"]

FORMATS = (*spec.FORMATS, "claude")


def failure(request: Request, error: ContextGraphError, *, flags: int) -> Reply:
    """A hook's failure in its own format: claude never blocks, the others carry seed 001's exit code."""
    fmt = request.params.get("format", "json")
    if fmt == "claude":
        if isinstance(error, StoreError | OwnerError):
            text = claude.render_system_message(f"context-graph: {error}")
            return reply(text, stderr=f"context-graph: {error}", flags=flags)
        # What can't be recorded may still have to be refused: the gates read their input less strictly.
        return reply(stderr=f"context-graph: {error}", flags=flags | GATE_IT)
    output = HookOutput(success=False, error=str(error), execution_time_ms=0)
    fmt = fmt if fmt in FORMATS else "json"
    return reply(
        render_output(output, str(fmt)), stderr=str(error), exit_code=error.hook_exit_code, flags=flags
    )


def _event(call: Call, kind: EventKind) -> HookEvent:
    request = call.request
    return hook_event(
        kind,
        request.body,
        request.params,
        session_env=request.session_env,
        event_id=request.event_id,
        at_ms=request.at_ms,
        redactor=call.redactor,
    )


def _format(call: Call) -> str:
    fmt = call.option("format", "json")
    if fmt not in FORMATS:
        raise InvalidInputError(f"--format {fmt!r} is none of {', '.join(FORMATS)}")
    return fmt


def _session_start(call: Call) -> Reply:
    fmt = _format(call)
    event = _event(call, EventKind.SESSION_START)
    started = call.context.sessions.start(event)
    if started.twin and fmt == "claude":
        return reply(flags=APPLIED)
    text = "\n".join(part for part in (started.text, _last_summary(call, event, started)) if part)
    warning = " ".join(part for part in (started.warning, _losses(call)) if part)
    if fmt == "claude":
        return _tell(call, event, context=text, message=f"context-graph: {warning}" if warning else "")
    return _say(call, fmt, _output(call, started.live, text, started.drift), stderr=warning)


def _losses(call: Call) -> str:
    """What of the store was found to be lost, for the user, once."""
    lost = call.context.store.engine.tell_losses()
    if not lost:
        return ""
    return (
        f"Some of what this project's store had recorded last is lost ({'; '.join(lost)}). "
        "What is there is used; `context-graph-cli doctor` says more."
    )


def _last_summary(call: Call, event: HookEvent, started: Started) -> str:
    """What a session's start brings of memory."""
    own, store = started.live.snapshot.session_id, call.context.store

    def previous() -> list[str]:
        if event.source == "clear":  # it continues no session, yet there is one that was cleared
            return [row.session_id for row in store.list_sessions(limit=2)[0] if row.session_id != own]
        return [row.session_id for row in store.chain(own, limit=9).sessions[1:]]

    return call.context.memory_hooks.for_start(event, previous, call.settings)


def _pre_tool(call: Call) -> Reply:
    fmt, event = _format(call), _event(call, EventKind.PRE_TOOL)
    if fmt != "claude" and not _is_known(call, event):
        # Seed 001 section 6.2: an unknown session gets a minimal acknowledgment on the fast path.
        return _say(call, fmt, HookOutput(success=True, execution_time_ms=call.elapsed_ms()))
    applied = call.context.sessions.apply(event)
    live = applied.live
    if event.tool_use_id and event.tool_name.startswith("mcp__"):
        call.context.note_tool_use(event.tool_use_id, live.snapshot.session_id)
    line = brief_line(live.metrics if live.has_evidence else None)
    if fmt != "claude":
        return _say(call, fmt, _output(call, live, line))
    if applied.twin or event.agent_id:  # the brief is about the session, not about its subagents
        return _tell(call, event)
    mode, shown = call.settings.brief, call.context.sessions.shown_briefs
    if is_canary(event.session_id, event.tool_name):
        return _tell(call, event, context="" if mode == "off" else line)
    if mode == "off" or (mode == "on_change" and shown.get(event.session_id) == line):
        return _tell(call, event)
    shown[event.session_id] = line
    return _tell(call, event, context=line)


def _post_tool(call: Call, kind: EventKind = EventKind.POST_TOOL) -> Reply:
    fmt, event = _format(call), _event(call, kind)
    applied = _apply_known(call, fmt, event)
    notice = _notice(call, applied.outcome)
    if applied.twin and fmt == "claude":
        return reply(flags=APPLIED)
    if fmt == "claude":
        return _tell(call, event, context=notice)
    output = _output(call, applied.live, notice)
    crisis = output.ic_classification is not None and output.ic_classification.crisis_triggered
    if crisis and applied.outcome is not None and applied.outcome.measured:
        text = f"Crisis threshold breached: IC={applied.live.metrics.ic:.2f}"
        return _say(call, fmt, output, stderr=text, exit_code=CrisisTriggeredError.hook_exit_code)
    return _say(call, fmt, output)


def _post_tool_failure(call: Call) -> Reply:
    return _post_tool(call, EventKind.POST_TOOL_FAILURE)


def _prompt_submit(call: Call) -> Reply:
    fmt, event = _format(call), _event(call, EventKind.PROMPT_SUBMIT)
    applied = _apply_known(call, fmt, event)
    if applied.twin and fmt == "claude":
        return reply(flags=APPLIED)
    live = applied.live
    if not event.is_prompt:  # nobody asked for anything
        return _tell(call, event) if fmt == "claude" else _say(call, fmt, _output(call, live, ""))
    block = state_block(live.metrics if live.has_evidence else None) if call.settings.inject else ""
    recalled = call.context.memory_hooks.for_prompt(event, call.settings)
    text = "\n".join(part for part in (block, recalled) if part)
    if fmt == "claude":
        return _tell(call, event, context=text)
    return _say(call, fmt, _output(call, live, text))


def _quiet(kind: EventKind) -> Callable[[Call], Reply]:
    """Events whose context would force another turn or be dropped: they are recorded, and refused or not."""

    def handle(call: Call) -> Reply:
        fmt, event = _format(call), _event(call, kind)
        applied = _apply_known(call, fmt, event)
        if fmt != "claude":
            return _say(call, fmt, _output(call, applied.live, ""))
        # A Stop is held by one hook; two would tell the model the same reason twice.
        return reply(flags=APPLIED) if applied.twin and kind is EventKind.STOP else _tell(call, event)

    return handle


def _session_end(call: Call) -> Reply:
    fmt, event = _format(call), _event(call, EventKind.SESSION_END)
    live = _apply_known(call, fmt, event).live
    if fmt == "claude":
        return _tell(call, event)
    summary = session_summary(live, event.duration_ms) if call.flag("generate-summary", True) else ""
    return _say(call, fmt, _output(call, live, summary))


def _tell(call: Call, event: HookEvent, *, context: str = "", message: str = "") -> Reply:
    """The one document of the client's format: what there is to tell, and what the gates decide."""
    log = call.context.store.requirement_log
    return call.gates.answer(call.request, event, log, context=context, message=message)


def _apply_known(call: Call, fmt: str, event: HookEvent) -> Applied:
    """Apply ``event``; outside the claude format its session must exist (seed 001: exit code 5)."""
    if fmt != "claude" and not _is_known(call, event):
        raise SessionNotFoundError(
            f"session not found: {event.session_id!r}; begin it with `hooks session-start` in this project"
        )
    return call.context.sessions.apply(event)


def _is_known(call: Call, event: HookEvent) -> bool:
    return (
        is_canary(event.session_id, event.tool_name)
        or call.context.sessions.get(event.session_id) is not None
    )


def _notice(call: Call, outcome: Outcome | None) -> str:
    """The words of seed 000 REQ-SESSION-14, when this very event crossed a line."""
    if outcome is None or not outcome.measured:
        return ""
    if outcome.crisis_entered:
        queued = outcome.dream_requested and call.settings.auto_dream
        return crisis_text(outcome.metrics.ic, queued=queued)
    return f"IC warning: {outcome.metrics.ic:.2f}" if outcome.warning_entered else ""


def _output(call: Call, live: LiveSession, text: str, drift: DriftMetrics | None = None) -> HookOutput:
    # A program that reads this answer may read the brief next; the client's own hooks never do.
    call.context.sessions.publish(live)
    return HookOutput(
        success=True,
        consciousness_state=state_of(live),
        ic_classification=classification_of(live),
        context_injection=text or None,
        drift_metrics=drift,
        execution_time_ms=call.elapsed_ms(),
    )


def _say(call: Call, fmt: str, output: HookOutput, *, stderr: str = "", exit_code: int = 0) -> Reply:
    return reply(render_output(output, fmt), stderr=stderr, exit_code=exit_code, flags=APPLIED)


HANDLERS: dict[str, Callable[[Call], Reply]] = {
    "hooks.session-start": _session_start,
    "hooks.pre-tool": _pre_tool,
    "hooks.post-tool": _post_tool,
    "hooks.post-tool-failure": _post_tool_failure,
    "hooks.prompt-submit": _prompt_submit,
    "hooks.stop": _quiet(EventKind.STOP),
    "hooks.pre-compact": _quiet(EventKind.PRE_COMPACT),
    "hooks.session-end": _session_end,
    "hooks.permission-request": _quiet(EventKind.PERMISSION_REQUEST),
    "hooks.subagent-stop": _quiet(EventKind.SUBAGENT_STOP),
    "hooks.prompt-expansion": _quiet(EventKind.PROMPT_EXPANSION),
    "hooks.permission-denied": _quiet(EventKind.PERMISSION_DENIED),
}
