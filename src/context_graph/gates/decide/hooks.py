"""Decides what the gates answer to each event of the client: ``decide``.

Decisions depend only on files, the event and its clock. Deciding twice on one event changes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable

from context_graph.claude.hooks import hook_output
from context_graph.claude.hooks.origin import is_canary
from context_graph.gates.cache import GateCache
from context_graph.gates.decide.after_tool import after_expansion, after_tool
from context_graph.gates.decide.before_tool import before_tool
from context_graph.gates.decide.decision import Decision
from context_graph.gates.decide.git_hook import before_git
from context_graph.gates.decide.lifecycle import pre_compact, prompt_submit, session_end, session_start
from context_graph.gates.decide.permission import at_the_dialog
from context_graph.gates.decide.stop import before_stop
from context_graph.gates.decide.watch import at_config_change
from context_graph.gates.event import SKIP, GateEvent, GateResult
from context_graph.gates.state import journal

_STILL = ("SessionStart", "SessionEnd")
"""These go on when requirements are skipped: one says so, the other tidies up."""


def decide(event: GateEvent, cache: GateCache) -> GateResult:
    """Decide on ``event``. Never raises: if we fail, the call passes and the answer says so.

    Args:
        event: The hook call.
        cache: What a long-lived process remembers of files.

    Cost: without a requirements file a few stat calls; about 0.2 ms with six requirements met.
    At most one state file is written; a dynamic requirement takes up to its ``timeout``, all together 0.8 s.
    """
    try:
        handler = _HANDLERS.get(event.name)
        if handler is None or (event.env.get(SKIP) and event.name not in _STILL):
            return GateResult()
        if is_canary(event.session_id, event.hook.tool_name):
            return GateResult()
        decision = Decision(event, cache)
        handler(decision)
        return _sayable(decision.result)
    except Exception as error:  # whatever it is: a defect here must not stop the user's work, nor be silent
        return _failed(event, error)


def rendered(event_name: str, result: GateResult, *, context: str = "", message: str = "") -> bytes:
    """Return the client's document: the text of other features, then the result."""
    return hook_output.render(
        event_name,
        context="\n".join(part for part in (context, result.context) if part),
        system_message="\n".join(part for part in (message, result.system_message) if part),
        refusal=result.reason if result.decision in ("deny", "block") else "",
    )


_HANDLERS: dict[str, Callable[[Decision], None]] = {
    "PreToolUse": before_tool,
    "PostToolUse": after_tool,
    "PostToolUseFailure": after_tool,
    "PermissionDenied": after_tool,
    "PermissionRequest": at_the_dialog,
    "UserPromptExpansion": after_expansion,
    "Stop": before_stop,
    "SessionStart": session_start,
    "SessionEnd": session_end,
    "UserPromptSubmit": prompt_submit,
    "PreCompact": pre_compact,
    "ConfigChange": at_config_change,
    "git": before_git,
}


def _sayable(result: GateResult) -> GateResult:
    """Return the result with lone surrogates removed: names of files and ids may hold them, JSON may not."""
    for name in ("reason", "context", "system_message"):
        text = getattr(result, name)
        if not text.isascii():
            setattr(result, name, text.encode("utf-8", "replace").decode())
    return result


def _failed(event: GateEvent, error: Exception) -> GateResult:
    what = f"{type(error).__name__}: {error}"[:200]
    result = GateResult(
        system_message=f"context-graph: requirements were NOT checked for this {event.name}: internal "
        f"failure ({what}); `context-graph-cli req doctor` tells more"
    )
    if event.name == "PreToolUse":
        result.context = "The requirements of this project were not checked for this call (internal failure)."
    record = journal.record(
        "error", [], at=event.at, session_id=event.session_id, tool=event.hook.tool_name, detail=what
    )
    result.records.append(record)
    result.failed = True
    return result
