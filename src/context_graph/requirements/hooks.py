"""What the gates say to each event of the client: ``decide``, for the owner and for the slow path alike.

Decisions depend on files, the event and its clock alone, and looking twice at one event changes nothing more.
"""

from __future__ import annotations

from context_graph.protocol.canary import is_canary
from context_graph.requirements.event import GateEvent, GateResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from context_graph.requirements.cache import GateCache

__all__ = ["decide"]

SKIP = "CLAUDE_SKIP_REQUIREMENTS"
_STILL = ("SessionStart", "SessionEnd")
"""These go on when requirements are skipped: one says so, the other tidies up."""


def decide(event: GateEvent, *, cache: GateCache | None = None, may_run: bool = True) -> GateResult:
    """What to answer to ``event``. Never raises: a failure of ours lets the call pass and says so.

    Args:
        event: The hook call.
        cache: What a long-lived process remembers; None reads every file anew.
        may_run: Whether a dynamic requirement's process may run here. If it may not and one would have to,
            the result is ``deferred`` and nothing was changed.

    Cost: without a requirements file a few stat calls; about 0.2 ms with ``cache`` and six requirements met.
    At most one state file is written; a dynamic requirement takes up to its ``timeout``.
    """
    try:
        handler = _handler(event.name)
        if handler is None or (event.env.get(SKIP) and event.name not in _STILL):
            return GateResult()
        if is_canary(event.session_id, event.tool_name):
            return GateResult()
        return _sayable(handler(event, cache, may_run))
    except Exception as error:  # whatever it is: a defect here must not stop the user's work, nor be silent
        return _failed(event, error)


def _handler(name: str) -> Callable[[GateEvent, GateCache | None, bool], GateResult] | None:
    if name == "PreToolUse":
        from context_graph.requirements.holding import before_tool

        return before_tool
    if name in ("PostToolUse", "PostToolUseFailure", "PermissionDenied"):
        from context_graph.requirements.after import after_tool

        return after_tool
    if name == "UserPromptExpansion":
        from context_graph.requirements.after import after_expansion

        return after_expansion
    if name == "Stop":
        from context_graph.requirements.stop import before_stop

        return before_stop
    if name in ("SessionStart", "SessionEnd", "UserPromptSubmit", "PreCompact"):
        from context_graph.requirements import lifecycle

        return lifecycle.HANDLERS[name]
    if name == "PermissionRequest":
        from context_graph.requirements.asked import at_the_dialog

        return at_the_dialog
    return None


def _sayable(result: GateResult) -> GateResult:
    """Its texts without halves of characters, which names of files and ids may hold and JSON may not."""
    for name in ("reason", "context", "system_message"):
        text = getattr(result, name)
        if not text.isascii():
            setattr(result, name, text.encode("utf-8", "replace").decode())
    return result


def _failed(event: GateEvent, error: Exception) -> GateResult:
    from context_graph.requirements import journal

    result = GateResult()
    what = f"{type(error).__name__}: {error}"[:200]
    result.system_message = (
        f"context-graph: requirements were NOT checked for this {event.name}: internal failure ({what}); "
        "`context-graph-cli req doctor` tells more"
    )
    if event.name == "PreToolUse":
        result.context = "The requirements of this project were not checked for this call (internal failure)."
    result.records.append(
        journal.record(
            "error", [], at=event.at, session_id=event.session_id, tool=event.tool_name, detail=what
        )
    )
    return result
