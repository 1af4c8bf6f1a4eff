"""Tool calls that were let through and have not ended: one small file a session, beside the state.

What is in it: which requirements a call armed, so that one that failed or was refused arms nothing; which
single_use satisfactions it is about to use, and where HEAD was, so that a commit that was made is seen
however the call ends, and a second call does not pass on the same satisfaction meanwhile.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import Locked, read_bytes, write_atomic
from context_graph.requirements.pause import sessions_folder
from context_graph.requirements.session_ids import own_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.event import GateEvent

__all__ = ["SUFFIX", "Calls", "digest"]

SUFFIX = ".calls"
_BYTES = 1 << 20
_MOST = 50
_WAIT_S = 0.3
_FORGOTTEN_S = 86_400.0
"""After a day nobody waits for a call's end any more; a background command may take hours."""


class Calls:
    """The calls of one session in one repository, by tool use id, oldest first. Damage reads as none."""

    __slots__ = ("_cache", "_path", "session_id")

    def __init__(self, common_dir: str, session_id: str, cache: GateCache | None = None) -> None:
        self.session_id, self._cache = session_id, cache
        self._path = f"{sessions_folder(common_dir)}/{own_name(session_id)}{SUFFIX}" if session_id else ""

    def all(self) -> dict[str, dict[str, Any]]:
        """Every call that has not ended; not to be changed. Cost: one stat call where there is none."""
        if not self._path or not os.path.exists(self._path):
            return {}
        if self._cache is None:
            return _read(self._path)
        found: dict[str, dict[str, Any]] = self._cache.document(self._path, _read)
        return found

    def change(self, apply: Callable[[dict[str, dict[str, Any]]], object]) -> None:
        """Apply it under the session's lock; an empty file is removed.

        Raises:
            OSError: If the file can't be written.
        """
        if not self._path:
            return
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with Locked(os.path.dirname(self._path) + "/calls.lock", _WAIT_S):
            calls = _read(self._path)
            before = plain_json.dumps(calls)
            apply(calls)
            newest = max((_at(call) for call in calls.values()), default=0.0)
            for key in [key for key, call in calls.items() if newest - _at(call) > _FORGOTTEN_S]:
                del calls[key]
            while len(calls) > _MOST:
                del calls[next(iter(calls))]
            if plain_json.dumps(calls) == before:
                return
            if calls:
                write_atomic(self._path, plain_json.dumps(calls).encode(), sync=False)
            elif os.path.exists(self._path):
                os.unlink(self._path)
            if self._cache is not None:
                self._cache.forget_document(self._path)


def digest(event: GateEvent) -> str:
    """What tells the call from another of its tool, in an event that has no id (the permission dialog)."""
    import binascii

    try:
        text = plain_json.dumps(event.tool_input)
    except (TypeError, ValueError, RecursionError):
        text = ""
    return f"{event.tool_name}.{binascii.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _read(path: str) -> dict[str, dict[str, Any]]:
    try:
        document = plain_json.loads(read_bytes(path, _BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {key: call for key, call in document.items() if isinstance(call, dict)}


def _at(call: dict[str, Any]) -> float:
    value = call.get("at")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
