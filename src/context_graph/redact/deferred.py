"""Wraps the redactor: waits while it loads its rules, and counts what it masks.

The rules need a helper process the first time after an installation. A session's start has no text to redact
and must not wait for that; calls with text wait.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from context_graph.redact.detector import Redactor
from context_graph.redact.imported import is_cached

_MARK: Final = re.compile(r"\[redacted:([a-z0-9-]{1,48})\]")


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
    return _loaded(cache_dir, log) if is_cached(cache_dir) else DeferredRedactor(cache_dir, log)


def _loaded(cache_dir: Path, log: logging.Logger) -> Redactor:
    redactor = Redactor.load(cache_dir)
    for problem in redactor.problems:
        log.warning("%s", problem)
    return redactor


class DeferredRedactor(Redactor):
    """A Redactor whose first use waits, some 0.3 s, until it is loaded; if that fails, our own rules hold."""

    def __init__(self, cache_dir: Path, log: logging.Logger) -> None:
        self._loading = threading.Thread(
            target=self._load, args=(cache_dir, log), name="redaction-rules", daemon=True
        )
        self._loading.start()

    def _load(self, cache_dir: Path, log: logging.Logger) -> None:
        self.__dict__.update(vars(_loaded(cache_dir, log)))

    def __getattr__(self, name: str) -> Any:
        """What only a loaded redactor has."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._loading.join()
        if "rule_count" not in self.__dict__:  # the thread died of a bug: it has been logged by its own hook
            own = Redactor(problems=("redaction: rules could not be loaded; our own alone hold",))
            self.__dict__.update(vars(own))
        return object.__getattribute__(self, name)


class Tally:
    """A redactor that passes on what another one does, and counts it by kind; it keeps no text."""

    def __init__(self, redactor: TextRedactor) -> None:
        self._redactor = redactor
        self._counts: Counter[str] = Counter()
        self.finds = redactor.finds
        self.redact_cut = (
            redactor.redact_cut
        )  # not counted: what is cut off can't be told from what was masked

    @property
    def rule_count(self) -> int:
        """As the redactor's."""
        return self._redactor.rule_count

    @property
    def problems(self) -> tuple[str, ...]:
        """As the redactor's."""
        return self._redactor.problems

    def redact(self, text: str) -> str:
        """As the redactor's; new marks are counted."""
        return self._counted(text, self._redactor.redact(text))

    def redact_id(self, text: str) -> str:
        """As the redactor's; new marks are counted."""
        return self._counted(text, self._redactor.redact_id(text))

    def _counted(self, text: str, clean: str) -> str:
        if clean is not text:
            self._counts += Counter(_MARK.findall(clean)) - Counter(_MARK.findall(text))
        return clean

    @contextmanager
    def counting(self) -> Iterator[dict[str, int]]:
        """What is masked inside the `with`, kind by kind; filled when it ends."""
        before, found = Counter(self._counts), dict[str, int]()
        try:
            yield found
        finally:
            found.update(sorted((self._counts - before).items()))
