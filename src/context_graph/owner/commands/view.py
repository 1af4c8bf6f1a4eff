"""Names the verbs `view.*`; their code and all that it imports is loaded when the first of them comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from context_graph.owner.commands.call import Call
from context_graph.wire.frames import Reply

_NAMES: Final = (
    *(
        "health",
        "memories",
        "memory",
        "texts",
        "ledger",
        "sessions",
        "session",
        "runs",
        "run",
        "gates",
        "map",
        "effect",
    ),
    *("pane", "compaction"),
)


def _handler(name: str) -> Callable[[Call], Reply]:
    def handle(call: Call) -> Reply:
        from context_graph.owner.commands import view_rows

        return view_rows.HANDLERS[name](call)

    return handle


HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {f"view.{name}": _handler(name) for name in _NAMES}
