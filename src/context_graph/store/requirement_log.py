"""The log of the requirement gates: every refusal, and everything that satisfied or lifted a requirement.

The gates decide from the project's files and never from this log: it is what people read afterwards
(`context-graph-cli req log`). One JSON object an entry, the newest KEPT of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import orjson

from context_graph.errors import CorruptedIdentityError, InvalidInputError
from context_graph.store.engine import Engine
from context_graph.store.layout import (
    EVENTS,
    REQUIREMENT_LOG_PREFIX,
    after,
    damaged,
    requirement_log_key,
    unwrap,
    wrap,
)

__all__ = ["KEPT", "RequirementLog", "decode_entry"]

KEPT: Final = 10_000
"""Entries; some 200 bytes each."""
_TRIM_EVERY: Final = 256
_REMEMBERED: Final = 512
_VERSION: Final = 1
_TEXT_CHARS: Final = 500
_NAMES: Final = 64
_NAME_CHARS: Final = 100
_TEXTS: Final = ("kind", "session_id", "event", "tool", "by", "detail", "branch", "project")


class RequirementLog:
    """The log in one open engine. Not thread-safe, like the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next: int | None = None

    def append(self, entries: Sequence[Mapping[str, object]], *, once: str = "") -> None:
        """Store ``entries`` as one batch, in their order; durable on return.

        With ``once`` (an id) nothing is stored if one of the newest _REMEMBERED entries came under that id:
        a spool that was drained as the owner died is drained again.

        Of each ``at_ms`` (Unix milliseconds), the texts of _TEXTS and the list ``requirements`` are kept,
        cut to _TEXT_CHARS and _NAME_CHARS characters and _NAMES names. Cost: one write; the first call of
        an engine one look-up more.

        Raises:
            StoreError: If they can't be made durable; none is stored then.
        """
        if not entries or (once and self._has(once)):
            return
        seq = self._following()
        batch = self._engine.batch()
        for number, entry in enumerate(entries, seq):
            key = requirement_log_key(number)
            batch.put(EVENTS, key, wrap(key, _VERSION, orjson.dumps(_clean(entry, once))))
            if number % _TRIM_EVERY == 0 and number > KEPT:
                batch.delete_range(EVENTS, requirement_log_key(0), requirement_log_key(number - KEPT + 1))
        self._engine.write(batch)
        self._next = seq + len(entries)

    def entries(
        self, *, limit: int = 50, session_id: str = "", requirement: str = ""
    ) -> list[dict[str, Any]]:
        """The newest ``limit`` entries first, of one session and about one requirement if they are named.

        An entry that can't be read stands there as kind ``damaged`` with the reason, so that none is lost
        in silence. Cost: one read an entry that is looked at.

        Raises:
            InvalidInputError: A limit that is not 1 to KEPT.
        """
        if not 1 <= limit <= KEPT:
            raise InvalidInputError(f"--limit {limit} must be a number from 1 to {KEPT}")
        found: list[dict[str, Any]] = []
        for entry in self._newest_first():
            wanted = not session_id or entry.get("session_id") == session_id
            if wanted and (not requirement or requirement in entry.get("requirements", ())):
                found.append(entry)
                if len(found) == limit:
                    break
        # What waited in several files of a spool was not recorded in the order in which it happened.
        return sorted(found, key=lambda entry: entry["at_ms"], reverse=True)

    def _has(self, once: str) -> bool:
        return any(entry.get("id") == once for entry in islice(self._newest_first(), _REMEMBERED))

    def _newest_first(self) -> Iterator[dict[str, Any]]:
        end = after(REQUIREMENT_LOG_PREFIX)
        for key, record in self._engine.scan(EVENTS, end, REQUIREMENT_LOG_PREFIX, reverse=True):
            try:
                yield decode_entry(key, record)
            except CorruptedIdentityError as error:
                yield {"kind": "damaged", "at_ms": 0, "requirements": [], "detail": str(error)}

    def _following(self) -> int:
        if self._next is None:
            end = after(REQUIREMENT_LOG_PREFIX)
            last = next(iter(self._engine.scan(EVENTS, end, REQUIREMENT_LOG_PREFIX, reverse=True)), None)
            self._next = 1 if last is None else int.from_bytes(last[0][-8:], "big") + 1
        return self._next


def decode_entry(key: bytes, record: bytes) -> dict[str, Any]:
    """The entry in ``record``.

    Raises:
        CorruptedIdentityError: If it is damaged or no entry.
        FormatVersionError: If it was written in another version.
    """
    try:
        entry = orjson.loads(unwrap(key, record, _VERSION))
    except orjson.JSONDecodeError as error:
        raise damaged(key, f"entry of the requirement log: {error}") from error
    if not isinstance(entry, dict):
        raise damaged(key, "an entry of the requirement log that is no object")
    return entry


def _clean(entry: Mapping[str, object], once: str) -> dict[str, object]:
    at_ms, names = entry.get("at_ms"), entry.get("requirements")
    clean: dict[str, object] = {"at_ms": at_ms if isinstance(at_ms, int) and 0 <= at_ms < 1 << 53 else 0}
    if once:
        clean["id"] = once[:_NAME_CHARS]
    for name in _TEXTS:
        value = entry.get(name)
        if isinstance(value, str) and value:
            clean[name] = value[:_TEXT_CHARS].encode("utf-8", "replace").decode()
    listed = names if isinstance(names, (list, tuple)) else ()
    clean["requirements"] = [
        name[:_NAME_CHARS].encode("utf-8", "replace").decode()
        for name in listed[:_NAMES]
        if isinstance(name, str)
    ]
    return clean
