"""Ends a hook without an owner: keeps the event, says what can be said, and sees to it that an owner comes.

The second half of ext/launcher/src/hook.rs, in a module of its own so that the first loads without it.
"""

from __future__ import annotations

import os
import time

from context_graph.claude.hooks.claude import EVENT_OF_VERB
from context_graph.front import brief, client, gate, spool
from context_graph.front.copy import Copier
from context_graph.front.document import Fault, dumps, is_object, parse, top_text
from context_graph.front.event import fresh_id
from context_graph.front.options import CLIENTS, allowed_ms
from context_graph.front.output import client_document, render
from context_graph.front.paths import PATH_MAX
from context_graph.front.programs import Starter
from context_graph.front.trouble import first_to_tell
from context_graph.system.streams import Deadline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.front.call import Call
    from context_graph.front.client import NoAnswer
    from context_graph.wire.brief_layout import SlotParts

Ending = tuple[int, bytes, bytes]
"""How a call ends: exit code, standard output, standard error."""

_TIMED_OUT, _STORE_FAILED, _BAD_INPUT = 2, 3, 4
"""Seed 001's exit codes."""
_TOOL_NAME_MAX = 1_000
_NO_SESSION = (
    "session_id is missing: give it in the stdin JSON, with --session-id, or in CLAUDE_CODE_SESSION_ID"
)
_NO_BODY = "stdin: empty, but --stdin asks for it; send the client's hook JSON or seed 001's HookInput"


def failure(output: str, why: str, code: int, started: float) -> Ending:
    """A failure in the caller's format; the client gets it on stderr, for JSON there would reach the model or
    user.
    """
    elapsed_ms = int((time.monotonic() - started) * 1000)
    stdout = b"" if output in CLIENTS else render(output, why, None, elapsed_ms)
    return code, stdout, f"context-graph: {why}\n".encode("utf-8", "replace")


def _joined(*texts: str) -> str:
    """The texts that are not empty, one below the other."""
    return "\n".join(text for text in texts if text)


def _without_nul(text: str) -> str:
    """An argument can't hold a NUL; a name or folder with one names nothing."""
    return "" if "\0" in text else text


class Fallback:
    """What is done for one hook when no owner has spoken."""

    def __init__(self, hook: Call) -> None:
        self._hook = hook
        self._event = hook.event
        self._kind = hook.options.kind
        self._copier: Copier | None = None

    def run(self, why: NoAnswer) -> Ending:
        """Keep the event in the spool, and answer as well as can be."""
        hook = self._hook
        try:
            record = self._event.spool_json(self._redacting())
        except Fault as fault:
            empty = not (self._event.body or b"").strip()
            return self._failure(_NO_BODY if empty else str(fault), _BAD_INPUT)
        # Without a session the owner could not apply the event later either; only a session's start may have
        # none.
        if self._kind != "session-start" and not self._event.session_id():
            return self._failure(_NO_SESSION, _BAD_INPUT)
        lost = self._keep(record)
        started, reason = Starter(self._event.places).start(self._event.env)
        hook.debug_start(started, reason)
        if hook.is_client:
            context = self._context(why, recorded=not lost)
            trouble = self._trouble(why, "" if started else reason)
            return self.say(context, _joined(f"context-graph: {lost}" if lost else "", trouble))
        if lost:
            return self._failure(lost, _STORE_FAILED)
        if why.why in (client.TIMEOUT, client.SILENT):
            budget = allowed_ms(self._kind, hook.options.format)
            return self._failure(f"Hook timeout after {budget}ms", _TIMED_OUT)
        measures = brief.measures(self._slot())
        return 0, render(hook.options.format, None, measures, hook.elapsed_ms()), b""

    def _failure(self, why: str, code: int) -> Ending:
        return failure(self._hook.options.format, why, code, self._hook.started)

    def _redacting(self) -> Copier:
        if self._copier is None:
            self._copier = Copier(self._event.places.root)
        return self._copier

    def _trouble(self, why: NoAnswer, unstartable: str) -> str:
        """What the user has to know, once a session, of an owner or a store that can't be had."""
        if why.why == client.FAILING:
            what, text = "store", why.detail
        elif why.why == client.UNSTARTABLE or unstartable:
            reason = why.detail if why.why == client.UNSTARTABLE else unstartable
            what, text = (
                "owner",
                f"context-graph: no owner can be started ({reason}). Nothing is remembered or brought "
                "meanwhile; events wait in the spool. `context-graph-cli doctor` says more.",
            )
        else:
            return ""
        if not text or self._kind == "session-end":
            return ""
        anyway = self._kind in ("session-start", "prompt-submit")
        first = first_to_tell(self._event.places.root, what, self._event.session_id(), anyway)
        return text if first else ""

    def _keep(self, record: bytes) -> str:
        """Put one record into the store's spool; "" or a sentence for the user."""
        try:
            spool.append(self._event.places.store, fresh_id(), spool.frame(record))
        except (spool.SpoolError, OSError) as error:
            return f"this event could not be recorded: {error}"
        return ""

    def _slot(self) -> SlotParts | None:
        session = self._event.session_id()
        return brief.lookup(f"{self._event.places.store}/brief.bin", session) if session else None

    def _context(self, why: NoAnswer, *, recorded: bool) -> str:
        """What the client's model is told when the event is queued.

        The last known brief if it is wanted always, or at a session's start why there is nothing to tell. The
        other events have nothing that can't wait.
        """
        # What changed since the model saw a brief, only the owner knows: it says so at the next call.
        if self._kind == "pre-tool" and self._event.env.get("CONTEXT_GRAPH_BRIEF") == "always":
            return brief.warm_line(self._slot())
        if self._kind != "session-start":
            return ""
        cause = {
            client.UNSTARTABLE: "no owner can be started (context-graph-cli doctor says why)",
            client.FAILING: "this project's store can't be used (context-graph-cli doctor says why)",
        }.get(why.why, "the owner did not answer in time")
        fate = "this event is queued and will be applied" if recorded else "this event is not recorded"
        return f"context-graph: {cause}; {fate}."

    def say(self, context: str, notice: str) -> Ending:
        """The client's document without the owner's help.

        ``context`` for the model, ``notice`` for the user, and where the project has requirements the gates'
        decision.
        """
        body = self._event.body
        if body and self._hook.is_governed() and is_object(body):
            return self._gated(context, notice, body)
        return 0, self._document(context, notice), b""

    def _document(self, context: str, notice: str) -> bytes:
        """What the hook's program reads, by the keys that it knows."""
        return client_document(self._hook.options.format, EVENT_OF_VERB[self._kind], context, notice)

    def _gated(self, context: str, notice: str, body: bytes) -> Ending:
        """Let Python decide from the project's files. Should that fail too, the call is allowed, and said to
        be.
        """
        event = self._event
        cwd = _without_nul(top_text(body, "cwd"))
        session = brief.cut_session(_without_nul(event.session_id()))
        question = (
            self._kind,
            event.places.root,
            cwd if cwd.startswith("/") and len(cwd.encode()) <= PATH_MAX else event.places.cwd,
            session.decode("utf-8", "surrogateescape"),
            _without_nul(top_text(body, "tool_name"))[:_TOOL_NAME_MAX],
            str(event.at_ms),
            str(os.getppid()),
            context,
            notice,
            self._hook.options.format,
        )
        deadline = Deadline(gate.within_ms(self._kind), self._hook.started)
        try:
            record, document = gate.ask(event.env, event.places.cwd, question, body, deadline)
        except gate.GateError as error:
            return self._ungated(context, notice, str(error))
        self._keep_decision(record)
        return 0, document, b""

    def _ungated(self, context: str, notice: str, why: str) -> Ending:
        """What is said when nothing could decide: to the user, the model where it listens, and the log."""
        name = EVENT_OF_VERB[self._kind]
        warning = (
            f"context-graph: the requirement gates could not be checked ({why}); this {name} was let through "
            "without them. `context-graph-cli req doctor` says more."
        )
        self._keep_decision(dumps({"records": [{"kind": "error", "detail": warning}]}))
        stdout = self._document(_joined(context, warning), _joined(notice, warning))
        return 0, stdout, f"{warning}\n".encode("utf-8", "replace")

    def _keep_decision(self, record: bytes) -> None:
        """Best effort: the decision stands in the project's state files whether or not the log has it."""
        if not record:
            return
        try:
            parse(record)
            lost = self._keep(self._event.decision_json(record, self._redacting()))
        except Fault as fault:
            lost = str(fault)
        if lost:
            self._hook.debug(f"the gate's record: {lost}")
