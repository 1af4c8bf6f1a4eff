"""Lists the verbs of the owner's socket, each with its handler and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from context_graph.owner.commands import hooks
from context_graph.owner.commands.call import Call
from context_graph.wire.frames import Reply


@dataclass(frozen=True, slots=True)
class Verb:
    """The handler of one verb of a frame, and what it needs."""

    handler: Callable[[Call], Reply]
    wants_memory: bool = False
    """A consolidation of the owner's own gives way to it."""
    is_hook: bool = False
    """Its failures are said in the hook's format, and the launcher keeps the event."""
    needs_store: bool = True


_WATCHING: Final = frozenset({"memory.consolidate", "memory.stats", "memory.runs", "memory.goals"})
"""These begin a consolidation or look at one: watching must not keep it from happening."""
_RECALLING: Final = ("hooks.prompt-submit", "hooks.session-start", "hooks.subagent-start")

FIRST: Final[dict[str, Verb]] = {
    **{name: Verb(hooks.serve, name in _RECALLING, is_hook=True) for name in hooks.VERBS},
    "hooks.git": Verb(lambda call: call.gates.git(call.request), needs_store=False),
    "req.statusline": Verb(lambda call: call.gates.status_line(call.request), needs_store=False),
}
"""What a client asks first, and waits for."""

_VIEW: Final = (
    *("health", "memories", "memory", "texts", "ledger", "sessions", "session", "runs", "run", "gates"),
    *("map", "effect", "pane", "compaction"),
)


def _view(name: str) -> Callable[[Call], Reply]:
    def handle(call: Call) -> Reply:  # what these import is loaded when the first of them comes
        from context_graph.owner.commands import view_rows

        return view_rows.answer(name, call)

    return handle


@cache
def others() -> dict[str, Verb]:
    """Return every other verb but `owner.*` and `mcp.attach`, which the server itself answers.

    Imports their modules, which would take a start an eighth of its time.
    """
    from context_graph.owner.commands import import_from, maintenance, memory, session, sync

    rest = (session, maintenance, import_from, sync)
    return {
        **{name: Verb(handler, name not in _WATCHING) for name, handler in memory.HANDLERS.items()},
        **{name: Verb(handler) for module in rest for name, handler in module.HANDLERS.items()},
        **{name: Verb(handler) for name, handler in hooks.REQ_HANDLERS.items()},
        **{f"view.{name}": Verb(_view(name)) for name in _VIEW},
    }
