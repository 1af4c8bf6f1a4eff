"""One event that two hooks of ours bring: the client's settings name them, and a plugin does too.

The client runs a command once that two settings files name, but not one that a plugin names as well.
Tool calls and prompts bear ids of the client's; a session's start or a Stop is known by what it says, by
who brings it, and by when: both hooks of an event are started together.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from context_graph.model import HookEvent

__all__ = ["TwinHooks"]

WINDOW_MS: Final = 5_000
"""Between the starts of two hooks that bring one event; a busy machine starts the second late."""
_KEPT: Final = 64
"""Events that may still have a twin: those of a few seconds, of all sessions of a store."""


class TwinHooks:
    """The last events, each with which installation of our hooks has brought it. Cost: 1 to 3 us an event."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], tuple[bool, int]] = OrderedDict()

    def is_second(self, event: HookEvent) -> bool:
        """Whether the other installation has brought ``event`` within WINDOW_MS; if not, it is remembered.

        An event that the same installation brings again is another event, however much alike they are.
        """
        sign = (event.session_id, _sign(event))
        first = self._seen.pop(sign, None)
        if first is not None:
            from_plugin, at_ms = first
            if from_plugin != event.from_plugin and abs(event.at_ms - at_ms) <= WINDOW_MS:
                return True
        self._seen[sign] = (event.from_plugin, event.at_ms)
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return False


def _sign(event: HookEvent) -> str:
    """What both hooks of one event have in common, and no other event of their session has at that time."""
    if event.has_own_key:
        return event.dedupe_key()
    texts = (
        event.prompt_id,
        event.source,
        event.reason,
        event.tool_name,
        event.input_text,
        event.output_text,
    )
    return "\0".join((event.kind.value, *texts))
