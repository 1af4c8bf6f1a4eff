"""Handles hooks: applies the event, then answers in the caller's format, including the gates' decision.

The gates' log is read and written here as well (`req …`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import orjson

from context_graph.claude.events import EVENT_OF_VERB
from context_graph.claude.hooks import hook_output
from context_graph.claude.hooks.hook_input import HookInput
from context_graph.claude.hooks.hook_output import HookOutput, render_output
from context_graph.claude.hosts.translate import CLIENT_FORMATS, answer_of, takes_context
from context_graph.errors import (
    ContextGraphError,
    CrisisTriggeredError,
    InvalidInputError,
    OwnerError,
    SessionNotFoundError,
    StoreError,
)
from context_graph.gates.event import CACHE_FOLDER
from context_graph.identity.brief import brief_line
from context_graph.identity.continuity import classify_ic
from context_graph.identity.live import LiveSession
from context_graph.model import EventKind, HookEvent
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.sessions.hook_call import Gates, entries_of, event_of, input_of_request
from context_graph.owner.sessions.identity_notices import CHANGES, notice
from context_graph.owner.sessions.live_sessions import Applied
from context_graph.owner.sessions.memory_hooks import MemoryHooks
from context_graph.store.sessions.event_log import KEPT
from context_graph.wire.frames import APPLIED, Reply, Request, is_late

_WAITS_S: Final = 0.25
"""How long an answer waits for events before its own to be applied; after that it knows nothing of them."""
FORMATS = (*hook_output.FORMATS, *CLIENT_FORMATS)


def failure(request: Request, error: ContextGraphError, gates: Gates, *, flags: int) -> Reply:
    """Return a hook's failure in its own format: a client gets what the gates decide, others seed 001's
    exit code.

    After the gates' document and a NUL comes what a failing store reports, for the user.
    """
    fmt = request.params.get("format", "json")
    if fmt in CLIENT_FORMATS:
        text = f"context-graph: {error}"
        document = b"" if isinstance(error, OwnerError) else gates.without_event(request)
        if isinstance(error, StoreError | OwnerError):
            return Reply(0, flags, stdout=b"%b\0%b" % (document, text.encode("utf-8", "replace")))
        return reply(document, stderr=text, flags=flags)
    output = HookOutput(success=False, error=str(error), execution_time_ms=0)
    fmt = fmt if fmt in FORMATS else "json"
    return reply(
        render_output(output, str(fmt)), stderr=str(error), exit_code=error.hook_exit_code, flags=flags
    )


@dataclass(frozen=True, slots=True)
class _Answering:
    """Builds the answer to one hook."""

    call: Call
    event: HookEvent
    applied: Applied
    """What the event led to."""
    format: str

    @property
    def input(self) -> HookInput:
        """Raw. Cost: a pass of the JSON reader."""
        return input_of_request(self.call.request)

    @property
    def for_client(self) -> bool:
        return self.format in CLIENT_FORMATS

    @property
    def tells(self) -> bool:
        """Whether the client's model is shown what this answer tells."""
        return takes_context(self.format, EventKind(self.call.request.verb.removeprefix("hooks.")))

    def tell(self, *, context: str = "", message: str = "", refusal: str = "") -> Reply:
        """Return the document in the client's format; ``refusal`` is of a call that the gates let through."""
        if self.call.flag("ungoverned"):  # the launcher has looked: nothing is there to decide by
            name = EVENT_OF_VERB[self.call.request.verb.removeprefix("hooks.")]
            document = hook_output.render(name, context=context, system_message=message, refusal=refusal)
            return Reply(0, APPLIED, stdout=document)
        log = self.call.context.store.requirement_log
        return self.call.gates.answer(
            self.call.request, self.event, log, context=context, message=message, refusal=refusal
        )

    def say(self, output: HookOutput, *, stderr: str = "", exit_code: int = 0) -> Reply:
        """Return the answer in one of seed 001's formats."""
        text = render_output(output, self.format)
        return reply(text, stderr=stderr, exit_code=exit_code, flags=APPLIED)

    def output(self, live: LiveSession, text: str) -> HookOutput:
        # A program that reads this answer may read the brief next; the client's own hooks never do.
        self.call.context.sessions.publish(live)
        return HookOutput(
            success=True,
            consciousness_state=live.measures,
            ic_classification=live.classification,
            context_injection=text or None,
            drift_metrics=live.drift,
            execution_time_ms=self.call.elapsed_ms(),
        )

    @property
    def mode(self) -> str:
        """What the model reads about the session's identity; programs that read JSON get what changed."""
        return self.call.settings.identity_lines if self.for_client else CHANGES


def serve(call: Call) -> Reply:
    """Return the answer to one of VERBS.

    Raises InvalidInputError for an unknown format, or an input of no documented shape.
    """
    named = call.option("format", "json")
    if named not in FORMATS:
        raise InvalidInputError(f"--format {named!r} is none of {', '.join(FORMATS)}")
    call.context.memory_hooks.works.serve(call.request.env)
    call.context.memory_hooks.injections.is_awaited = lambda: not is_late(call.request)
    kind = EventKind(call.request.verb.removeprefix("hooks."))
    try:
        outcome = call.context.events.outcome(call.request, _WAITS_S)
    except SessionNotFoundError:
        if kind is not EventKind.PRE_TOOL:
            raise
        # Seed 001 section 6.2: an unknown session gets a minimal acknowledgment on the fast path.
        return _acknowledged(call, named)
    if outcome is None:
        return _unapplied(call, kind, named)
    event, applied = outcome
    answer = _HANDLERS.get(kind, _quiet)(_Answering(call, event, applied, named))
    if named == "claude" or named not in CLIENT_FORMATS:
        return answer
    name = EVENT_OF_VERB[call.request.verb.removeprefix("hooks.")]
    return replace(answer, stdout=answer_of(named, name, answer.stdout))


def _unapplied(call: Call, kind: EventKind, fmt: str) -> Reply:
    """Answer an event that waits behind too many others: it is kept, and nothing is known of them."""
    event = event_of(call.request, input_of_request(call.request), call.redactor)
    if fmt not in CLIENT_FORMATS:
        return _acknowledged(call, fmt)
    context, is_prompt = call.context, kind is EventKind.PROMPT_SUBMIT
    text = context.memory_hooks.for_prompt(event, call.settings) if is_prompt else ""
    return call.gates.answer(call.request, event, context.store.requirement_log, context=text)


def _acknowledged(call: Call, fmt: str) -> Reply:
    output = HookOutput(success=True, execution_time_ms=call.elapsed_ms())
    return reply(render_output(output, fmt), flags=APPLIED)


def _session_start(answering: _Answering) -> Reply:
    started = answering.applied
    if started.is_duplicate and answering.for_client:
        return reply(flags=APPLIED)
    follows = answering.call.context.notices.at_start(started.text, answering.mode)
    text = "\n".join(part for part in (follows, _last_summary(answering, started)) if part)
    call = answering.call
    is_seen = answering.for_client and not is_late(call.request)
    dreamt = call.service.dreams.unattended(call.context.folder) if is_seen else ""
    warning = " ".join(filter(None, (started.warning, _losses(call), _elsewhere(call), dreamt)))
    if answering.for_client:
        return answering.tell(context=text, message=f"context-graph: {warning}" if warning else "")
    return answering.say(answering.output(started.live, text), stderr=warning)


def _elsewhere(call: Call) -> str:
    sentence = call.context.elsewhere()
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _losses(call: Call) -> str:
    lost = call.context.store.engine.tell_losses()
    if not lost:
        return ""
    return (
        f"Records of this project's store are lost ({'; '.join(lost)}). "
        "What is there is used, a backup may have the rest; `context-graph-cli doctor` says more."
    )


def _last_summary(answering: _Answering, started: Applied) -> str:
    own, store = started.live.snapshot.session_id, answering.call.context.store

    def previous() -> list[str]:
        if answering.event.source == "clear":  # it continues no session, yet there is one that was cleared
            return [row.session_id for row in store.list_sessions(limit=2)[0] if row.session_id != own]
        return [row.session_id for row in store.chain(own, limit=9).sessions[1:]]

    return answering.call.context.memory_hooks.for_start(answering.event, previous, answering.call.settings)


def _pre_tool(answering: _Answering) -> Reply:
    live = answering.applied.live
    if not answering.for_client:
        return answering.say(answering.output(live, brief_line(live.metrics) if live.has_evidence else ""))
    context = _before_call(answering) if answering.tells else ""
    return answering.tell(context=context, refusal=_held(answering))


def _before_call(answering: _Answering) -> str:
    """Return what the model reads with a call; in a host that shows nothing then, with the call's result."""
    # The brief is about the session, not about its subagents.
    if answering.applied.is_duplicate or answering.event.agent_id:
        return ""
    due = earlier = ""
    if not is_late(answering.call.request):
        notices, hooks = answering.call.context.notices, answering.call.context.memory_hooks
        due = notices.at_call(answering.applied.live, answering.mode)
        tell = partial(hooks.for_work, answering.event, answering.call.settings)
        earlier = notices.of_earlier_work(answering.event.session_id, tell)
    parts = (due, earlier, _at_call(answering, before=True))
    return "\n".join(part for part in parts if part)


def _subagent_start(answering: _Answering) -> Reply:
    """Bring a subagent what fits its task; it sees nothing of the context that its parent has."""
    applied, context = answering.applied, answering.call.context
    if not answering.for_client:
        return answering.say(answering.output(applied.live, ""))
    if applied.is_duplicate:
        return answering.tell()
    task = context.lineage.task_of(answering.event, answering.input.agent_type)
    start = context.memory_hooks.for_task(answering.event, task, answering.call.settings)
    return answering.tell(context=start)


def _at_call(answering: _Answering, *, before: bool) -> str:
    """Return what is known of the file and the command of a call of this session's own."""
    if answering.event.agent_id or is_late(answering.call.request):
        return ""
    return answering.call.context.memory_hooks.for_call(
        answering.event, answering.call.settings, before=before
    )


def _held(answering: _Answering) -> str:
    """Return why a call is refused that goes against a rule of the user; "" where it is let through."""
    if answering.applied.is_duplicate or is_late(answering.call.request):
        return ""
    rule = answering.call.context.memory_hooks.held_by(answering.event, answering.call.settings)
    return f"{rule} Repeat the call if you still mean it: it is held once." if rule else ""


def _post_tool(answering: _Answering) -> Reply:
    applied, notices = answering.applied, answering.call.context.notices
    if answering.for_client:
        if applied.is_duplicate:
            return reply(flags=APPLIED)
        is_told_before = takes_context(answering.format, EventKind.PRE_TOOL)
        if not is_told_before:
            state = _before_call(answering)
        elif answering.event.agent_id or is_late(answering.call.request):
            state = ""
        else:
            state = notices.alarm(applied.live, answering.mode)
        known = answering.call.context.memory_hooks.for_error(answering.event, answering.call.settings)
        parts = (state, known, _at_call(answering, before=False))
        return answering.tell(context="\n".join(part for part in parts if part))
    output = answering.output(
        applied.live, notice(applied.outcome, queues=answering.call.settings.auto_dream)
    )
    crisis = output.ic_classification is not None and output.ic_classification.crisis_triggered
    if crisis and applied.outcome is not None and applied.outcome.measured:
        text = f"Crisis threshold breached: IC={applied.live.metrics.ic:.2f}"
        return answering.say(output, stderr=text, exit_code=CrisisTriggeredError.hook_exit_code)
    return answering.say(output)


def _prompt_submit(answering: _Answering) -> Reply:
    applied = answering.applied
    if applied.is_duplicate and answering.for_client:
        return reply(flags=APPLIED)
    live, settings, text = applied.live, answering.call.settings, ""
    if answering.event.is_prompt:  # else nobody asked for anything
        is_shown = not is_late(answering.call.request)  # else it is kept for later
        state = answering.call.context.notices.at_prompt(live, answering.mode) if is_shown else ""
        recalled = answering.call.context.memory_hooks.for_prompt(answering.event, settings)
        text = "\n".join(part for part in (state, recalled) if part)
    return (
        answering.tell(context=text) if answering.for_client else answering.say(answering.output(live, text))
    )


def _quiet(answering: _Answering) -> Reply:
    """Answer events whose context would force another turn or be dropped: recorded, and refused or not."""
    applied = answering.applied
    if not answering.for_client:
        return answering.say(answering.output(applied.live, ""))
    # A Stop is held by one hook; two would tell the model the same reason twice.
    return (
        reply(flags=APPLIED)
        if applied.is_duplicate and answering.event.kind is EventKind.STOP
        else answering.tell()
    )


def _stop(answering: _Answering) -> Reply:
    """Let a session stop, or have it say first, once, what it learned."""
    applied, call = answering.applied, answering.call
    asks = call.settings.ask_what_was_learned and answering.format == "claude" and not applied.is_duplicate
    is_own = not (answering.event.agent_id or is_late(call.request))
    if not (asks and is_own) or answering.input.stop_hook_active:
        return _quiet(answering)
    ask = partial(question_at_stop, call.context.memory_hooks, answering.event)
    return answering.tell(refusal=call.context.notices.at_stop(answering.event.session_id, ask))


def _post_compact(answering: _Answering) -> Reply:
    """Compare the compaction's summary with what the session had; the client takes no context here."""
    applied = answering.applied
    if not applied.is_duplicate and not answering.event.agent_id:
        answering.call.context.memory_hooks.compacted(answering.event, answering.input.last_message)
    return answering.tell() if answering.for_client else answering.say(answering.output(applied.live, ""))


def _session_end(answering: _Answering) -> Reply:
    live = answering.applied.live
    if answering.for_client:
        return answering.tell()
    wanted = answering.call.flag("generate-summary", True)
    return answering.say(
        answering.output(live, _summary(live, answering.event.duration_ms) if wanted else "")
    )


def _summary(live: LiveSession, duration_ms: int = 0) -> str:
    """Return the session in a sentence or two, from its own counts (REQ-HOOKS-21, --generate-summary)."""
    counts = live.events_by_kind
    failed = counts.get(EventKind.POST_TOOL_FAILURE.value, 0)
    tools = counts.get(EventKind.POST_TOOL.value, 0) + failed
    prompts = counts.get(EventKind.PROMPT_SUBMIT.value, 0)
    parts = [
        f"Session {live.snapshot.session_id}: {live.events_applied} events",
        f"{prompts} prompts, {tools} tool calls ({failed} failed)",
    ]
    if live.ic_history:
        ic = live.snapshot.last_ic
        parts.append(f"IC {ic:.2f} ({classify_ic(ic)}), lowest {min(live.ic_history):.2f}")
    else:
        parts.append("nothing measured yet")
    if duration_ms:
        parts.append(f"{duration_ms / 1000:.0f} s")
    return "; ".join(parts)


_HANDLERS: Final[dict[EventKind, Callable[[_Answering], Reply]]] = {
    EventKind.SESSION_START: _session_start,
    EventKind.PRE_TOOL: _pre_tool,
    EventKind.POST_TOOL: _post_tool,
    EventKind.POST_TOOL_FAILURE: _post_tool,
    EventKind.PROMPT_SUBMIT: _prompt_submit,
    EventKind.SESSION_END: _session_end,
    EventKind.STOP: _stop,
    EventKind.POST_COMPACT: _post_compact,
    EventKind.SUBAGENT_START: _subagent_start,
}
"""What is said at an event; at the others nothing (`_quiet`)."""
VERBS: Final = tuple(f"hooks.{kind.value}" for kind in EventKind)


# The log of what the gates refused and what satisfied them


def _req_record(call: Call) -> Reply:
    """Store the record of what a command changed; the change itself is already in the project's files."""
    try:
        body = orjson.loads(call.request.body)
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"the input is not JSON: {error}") from error
    records = body.get("records") if isinstance(body, dict) else None
    common = {"at_ms": call.began_ms, "session_id": call.request.session_env}
    call.context.store.requirement_log.append(
        entries_of(records, common, call.redactor), once=call.request.event_id
    )
    return reply(flags=APPLIED)


def _req_log(call: Call) -> Reply:
    entries = call.context.store.requirement_log.entries(
        limit=call.count("limit", 50, KEPT),
        session_id=call.option("session"),
        requirement=call.option("requirement"),
    )
    return reply(orjson.dumps({"entries": entries}))


REQ_HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {"req.record": _req_record, "req.log": _req_log}


def preload(root: Path) -> None:
    """Import what the first hooks need before one waits for it: of its 100 ms this would take 30.

    The gates are loaded where some have been decided before; elsewhere the first hook that they govern does
    it, which has seconds.
    """
    import context_graph.store.graph.graph

    if (root / CACHE_FOLDER).exists():
        import context_graph.gates.decide.hooks  # noqa: F401


QUESTION: Final = (
    "context-graph asks once, for this session's notes: say in two or three sentences what was wrong or "
    "wanted, what you changed for it (files, functions), and what a later session should know. Then stop."
)
_ASKED: Final = "asked"
"""The ledger's name of the occasion."""


def question_at_stop(hooks: MemoryHooks, event: HookEvent) -> str:
    """Return the question to a session about to stop; "" where it was asked before or has nothing to say.

    That it was asked is written at once: no restart asks again. Cost: a read of the ledger, some 5 ms.
    """
    work = hooks.works.work(event.session_id, own=True)
    if work is None or not work.is_unexplained() or hooks.ledger.knows(event.session_id, _ASKED):
        return ""
    hooks.ledger.record(event.session_id, _ASKED, (), at_ms=event.at_ms)
    hooks.ledger.flush()
    return QUESTION
