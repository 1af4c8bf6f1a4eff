"""How often a tool has failed in a row, by session: from the third time on the model is told what is open.

A failed call meets no requirement and uses none up, which is easily lost sight of in a row of them. The
counts are a convenience, kept below the data root, not in the project: what can't be kept is not told.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import Locked, read_bytes, write_atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.event import GateEvent

__all__ = ["TOLD_FROM", "ended", "failed", "succeeded"]

TOLD_FROM = 3
"""Failures in a row from which on each is answered."""

_FILE = "/failures.json"
_BYTES = 1 << 20
_SESSIONS = 200
_TOOLS = 50
_CALLS = 100
_WAIT_S = 0.2

_Calls = dict[str, dict[str, list[str]]]
"""By session, then by tool: when calls failed since the last that did not."""


def failed(event: GateEvent) -> int:
    """Note the failed call; how many of its tool have failed in a row now, this one included.

    The same event counts once however often it is looked at: what one process could not finish another does.
    """
    call = f"{event.at:.3f}"
    counts = [0]

    def note(found: _Calls) -> None:
        tools = found[event.session_id] = found.pop(event.session_id, {})
        calls = tools[event.tool_name] = tools.pop(event.tool_name, [])
        if call not in calls:
            calls.append(call)
        for row, most in ((found, _SESSIONS), (tools, _TOOLS)):
            while len(row) > most:
                row.pop(next(iter(row)))
        del calls[:-_CALLS]
        counts.append(len(calls))

    _change(event, note)
    return counts[-1]


def succeeded(event: GateEvent, cache: GateCache | None) -> None:
    """The row of this tool has ended. Cost: one stat call where nothing has failed."""
    if not event.cache_dir:
        return
    path = event.cache_dir + _FILE
    found = _read(path) if cache is None else cache.document(path, _read)
    if event.tool_name in found.get(event.session_id, ()):
        _change(event, lambda now: now.get(event.session_id, {}).pop(event.tool_name, None))


def ended(event: GateEvent) -> None:
    """The session has ended."""
    if event.cache_dir and event.session_id in _read(event.cache_dir + _FILE):
        _change(event, lambda now: now.pop(event.session_id, None))


def _change(event: GateEvent, change: Callable[[_Calls], object]) -> None:
    """Apply it under the lock, where there is a folder that can be written."""
    folder = event.cache_dir
    if not folder:
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with Locked(folder + "/failures.lock", _WAIT_S):
            found = _read(folder + _FILE)
            change(found)
            write_atomic(folder + _FILE, plain_json.dumps(found).encode(), sync=False)
    except OSError:
        return


def _read(path: str) -> _Calls:
    """What is kept; nothing where it is damaged."""
    try:
        document = plain_json.loads(read_bytes(path, _BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {
        session: {tool: list(map(str, calls)) for tool, calls in tools.items() if isinstance(calls, list)}
        for session, tools in document.items()
        if isinstance(tools, dict)
    }
