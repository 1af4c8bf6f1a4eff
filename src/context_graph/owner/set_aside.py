"""What a store's owner tries no more: work that failed or had to be ended twice, by whichever owners.

A small file beside the database, so that it can be written, and read, whatever the database does. An attempt
that an owner did not survive is counted by the next one, from what `wire.work_file` says was in hand.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any, Final

import orjson

__all__ = ["NAME", "SetAside"]

NAME: Final = "set_aside.json"
_TRIES: Final = 2.0
"""Failed attempts after which there is no other."""
_ROWS: Final = 512
_WEEK_MS: Final = 7 * 86_400_000
"""A single failure of so long ago means nothing any more."""
_TEXT_CHARS: Final = 300


class SetAside:
    """Of one store. A file that can't be read counts as none, one that can't be written is kept in memory:
    at worst something is tried once more."""

    def __init__(self, folder: Path, log: logging.Logger) -> None:
        self._path = folder / NAME
        self._log = log
        self._rows: dict[str, dict[str, Any]] = {}
        try:
            found = orjson.loads(self._path.read_bytes())
            for row in found["items"]:
                self._rows[str(row["key"])] = {**row, "failures": float(row["failures"])}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s: not read: %s", self._path, error)

    def holds(self, key: str) -> bool:
        """Whether the work of that key is set aside."""
        row = self._rows.get(key)
        return row is not None and row["failures"] >= _TRIES

    def failed(self, key: str, what: str, why: str, *, weight: float = 1.0) -> bool:
        """Count a failed attempt; whether the work is set aside now.

        Args:
            what: The work, in words.
            weight: 1, or less where it may not have been the work's own fault.
        """
        now_ms = time.time_ns() // 1_000_000
        row = self._rows.pop(key, {"key": key, "failures": 0.0})
        row.update(what=what[:_TEXT_CHARS], why=why[:_TEXT_CHARS], at_ms=now_ms)
        row["failures"] += weight
        self._rows[key] = row
        self._forget_old(now_ms)
        self._write()
        if self.holds(key):
            self._log.error("set aside: %s: %s (`context-graph-cli owner retry` tries it again)", what, why)
        return self.holds(key)

    def succeeded(self, key: str) -> None:
        """The work of that key is done. Cost: a look-up, unless it had failed before."""
        if self._rows.pop(key, None) is not None:
            self._write()

    def rows(self) -> list[dict[str, Any]]:
        """What is set aside: key, what, why, failures and at_ms of the last one."""
        return [dict(row) for key, row in self._rows.items() if self.holds(key)]

    def release(self) -> list[dict[str, Any]]:
        """Have everything tried again; what was set aside."""
        released = self.rows()
        if self._rows:
            self._rows.clear()
            self._write()
        return released

    def _forget_old(self, now_ms: int) -> None:
        for key in [one for one, row in self._rows.items() if not self.holds(one)]:
            if now_ms - int(self._rows[key].get("at_ms", 0)) > _WEEK_MS:
                del self._rows[key]
        while len(self._rows) > _ROWS:
            del self._rows[next(iter(self._rows))]

    def _write(self) -> None:
        draft = self._path.with_suffix(".new")
        try:
            draft.write_bytes(orjson.dumps({"items": list(self._rows.values())}))
            os.replace(draft, self._path)
        except OSError as error:
            self._log.warning("%s: not written: %s", self._path, error)
