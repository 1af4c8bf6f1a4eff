"""A redactor that is still on its way: asked for text, it waits; asked for nothing, it costs nobody time.

The detector's rules take a helper process the first time after an installation. A session's start has
no text to redact and must not wait for that.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Protocol

from context_graph.redact.detector import Redactor
from context_graph.redact.imported import is_cached

__all__ = ["DeferredRedactor", "TextRedactor", "load_redactor"]


class TextRedactor(Protocol):
    """What takes secrets out of text; see Redactor."""

    @property
    def rule_count(self) -> int: ...
    @property
    def problems(self) -> tuple[str, ...]: ...
    def finds(self, text: str) -> bool: ...
    def redact(self, text: str) -> str: ...
    def redact_id(self, text: str) -> str: ...
    def redact_cut(self, text: str, limit_bytes: int, window_bytes: int | None = None) -> str: ...


def load_redactor(cache_dir: Path, log: logging.Logger) -> TextRedactor:
    """The redactor: at once when its rules are cached, else loading in a thread. Problems are logged."""
    if not is_cached(cache_dir):
        return DeferredRedactor(cache_dir, log)
    redactor = Redactor.load(cache_dir)
    for problem in redactor.problems:
        log.warning("%s", problem)
    return redactor


class DeferredRedactor:
    """A Redactor whose first use waits until it is loaded; if loading fails, our own rules hold."""

    def __init__(self, cache_dir: Path, log: logging.Logger) -> None:
        self._cache_dir = cache_dir
        self._log = log
        self._redactor: Redactor | None = None
        self._thread = threading.Thread(target=self._load, name="redaction-rules", daemon=True)
        self._thread.start()

    @property
    def rule_count(self) -> int:
        """Rules in force; waits for them."""
        return self._ready().rule_count

    @property
    def problems(self) -> tuple[str, ...]:
        """What is missing and why; waits until that is known."""
        return self._ready().problems

    def finds(self, text: str) -> bool:
        """As Redactor.finds; the first call may wait some 0.3 s."""
        return self._ready().finds(text)

    def redact(self, text: str) -> str:
        """As Redactor.redact; the first call may wait some 0.3 s."""
        return self._ready().redact(text)

    def redact_id(self, text: str) -> str:
        """As Redactor.redact_id; the first call may wait some 0.3 s."""
        return self._ready().redact_id(text)

    def redact_cut(self, text: str, limit_bytes: int, window_bytes: int | None = None) -> str:
        """As Redactor.redact_cut; the first call may wait some 0.3 s."""
        return self._ready().redact_cut(text, limit_bytes, window_bytes)

    def _ready(self) -> Redactor:
        if self._redactor is None:
            self._thread.join()
            if self._redactor is None:  # the thread died of a bug: it has been logged by its own hook
                self._redactor = Redactor(
                    problems=("redaction: rules could not be loaded; our own alone hold",)
                )
        return self._redactor

    def _load(self) -> None:
        redactor = Redactor.load(self._cache_dir)
        for problem in redactor.problems:
            self._log.warning("%s", problem)
        self._redactor = redactor
