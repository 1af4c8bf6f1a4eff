"""Keeps imports in progress: each comes in many requests, so that hooks are served in between."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from context_graph.errors import InvalidInputError
from context_graph.memory.exchange.importing import Import

MAX_OPEN: Final = 4
IDLE_S: Final = 600.0
"""Time without a request after which an import is given up; what it wrote stays, it can be run again."""
SILENT_S: Final = 10.0
"""The same where another one wants its place: a command that lives asks several times a second."""


@dataclass(slots=True)
class _Open:
    store: str
    work: Import
    used_at: float = field(default_factory=time.monotonic)


class Imports:
    """The imports of one owner, each known by a token and bound to its store."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def begin(self, store: str, work: Import) -> str:
        """Take up an import; its token.

        Raises:
            InvalidInputError: MAX_OPEN others are on their way, and all were heard of lately.
        """
        now = time.monotonic()
        for token in [token for token, one in self._open.items() if now - one.used_at > IDLE_S]:
            del self._open[token]
        if len(self._open) >= MAX_OPEN:
            longest = min(self._open, key=lambda token: self._open[token].used_at)
            if now - self._open[longest].used_at < SILENT_S:
                raise InvalidInputError(
                    f"{MAX_OPEN} imports are on their way already; try again when one is done"
                )
            del self._open[longest]
        token = os.urandom(8).hex()
        self._open[token] = _Open(store, work)
        return token

    def get(self, store: str, token: str) -> Import:
        """The import of that token.

        Raises:
            InvalidInputError: There is none in this store: it was given up, or the owner is another one.
        """
        found = self._open.get(token)
        if found is None or found.store != store:
            raise InvalidInputError("no such import is on its way; run it again: what is there is skipped")
        found.used_at = time.monotonic()
        return found.work

    def end(self, token: str) -> None:
        """Let go of it."""
        self._open.pop(token, None)
