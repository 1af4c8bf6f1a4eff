"""Counts what is masked, by kind, so that whoever stores something is told; never the text itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from context_graph.redact.deferred import TextRedactor

__all__ = ["Tally"]

_MARK: Final = re.compile(r"\[redacted:([a-z0-9-]{1,48})\]")


class Tally:
    """A redactor that passes on what another one does, and counts it."""

    def __init__(self, redactor: TextRedactor) -> None:
        self._redactor = redactor
        self._counts: Counter[str] = Counter()

    @property
    def rule_count(self) -> int:
        """As the redactor's."""
        return self._redactor.rule_count

    @property
    def problems(self) -> tuple[str, ...]:
        """As the redactor's."""
        return self._redactor.problems

    def finds(self, text: str) -> bool:
        """As the redactor's; counts nothing."""
        return self._redactor.finds(text)

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

    def redact_cut(self, text: str, limit_bytes: int, window_bytes: int | None = None) -> str:
        """As the redactor's; counts nothing: what is cut off can't be told from what was masked."""
        return self._redactor.redact_cut(text, limit_bytes, window_bytes)

    @contextmanager
    def counting(self) -> Iterator[dict[str, int]]:
        """What is masked inside the `with`, kind by kind; filled when it ends."""
        before, found = Counter(self._counts), dict[str, int]()
        try:
            yield found
        finally:
            found.update(sorted((self._counts - before).items()))
