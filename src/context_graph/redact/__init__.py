"""Removes secrets from text before the first write (REQ-HOOKS-33): ``Redactor().redact(text)``.

The rules are a crate, ext/redaction, that the launcher holds too; ``_redaction`` is its module for Python.
Here is what the owner adds: text with lone surrogates, and counts by kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from context_graph.redact import _redaction

__all__ = ["Redactor", "Tally", "TextRedactor"]

_WHOLE_MARK: Final = re.compile(r"\[redacted:([a-z0-9-]{1,48})\]")
_Clean = TypeVar("_Clean")


class TextRedactor(Protocol):
    """Removes secrets from text; see Redactor."""

    def finds(self, text: str) -> bool: ...
    def redact(self, text: str) -> str: ...
    def redact_id(self, text: str) -> str: ...
    def redact_cut(self, text: str, limit_bytes: int, window_bytes: int | None = None) -> str: ...


class Redactor:
    """Replaces each secret in a text by ``[redacted:<rule>]``. Holds no text; threads may share one."""

    rule_count: Final = _redaction.rule_count()
    """Rules in force."""

    def finds(self, text: str) -> bool:
        """Return whether `redact` would replace anything."""
        return _whole(_redaction.redact, text) is not None

    def redact(self, text: str) -> str:
        """Return ``text`` with every secret replaced; the very same object when there is none.

        Cost: about 40 us for 4 KB of ordinary text, linear in its length whatever it holds.
        """
        clean = _whole(_redaction.redact, text)
        return text if clean is None else clean

    def redact_id(self, text: str) -> str:
        """Return an id, a name or a path without issuers' tokens: nothing else in it is taken for a
        secret."""
        clean = _whole(_redaction.redact_id, text)
        return text if clean is None else clean

    def redact_cut(self, text: str, limit_bytes: int, window_bytes: int | None = None) -> str:
        """At most ``limit_bytes`` of the redacted start of ``text``, cut between characters.

        Only the first ``window_bytes`` (default four times the limit) are looked at. A secret that the
        window's end cuts in two may no longer look like one, so what follows the last white space
        there is dropped; a marker is never cut in two either.
        """
        window = 4 * limit_bytes if window_bytes is None else window_bytes
        return _whole(lambda whole: _redaction.redact_cut(whole, limit_bytes, window), text[: window + 1])


def _whole(run: Callable[[str], _Clean], text: str) -> _Clean:
    """Return what ``run`` makes of ``text``, each lone surrogate, which UTF-8 can't hold, a question mark."""
    try:
        return run(text)
    except UnicodeEncodeError:
        return run(text.encode("utf-8", "replace").decode())


class Tally:
    """A redactor that passes on what another one does, and counts it by kind; it keeps no text."""

    def __init__(self, redactor: TextRedactor) -> None:
        self._redactor = redactor
        self._counts: Counter[str] = Counter()
        self.finds = redactor.finds
        # Not counted: what is cut off can't be told from what was masked.
        self.redact_cut = redactor.redact_cut

    def redact(self, text: str) -> str:
        """As the redactor's; new marks are counted."""
        return self._counted(text, self._redactor.redact(text))

    def redact_id(self, text: str) -> str:
        """As the redactor's; new marks are counted."""
        return self._counted(text, self._redactor.redact_id(text))

    def _counted(self, text: str, clean: str) -> str:
        if clean is not text:
            self._counts += Counter(_WHOLE_MARK.findall(clean)) - Counter(_WHOLE_MARK.findall(text))
        return clean

    @contextmanager
    def counting(self) -> Iterator[dict[str, int]]:
        """Count what is masked inside the `with`, by kind; filled when it ends."""
        before, masked = Counter(self._counts), dict[str, int]()
        try:
            yield masked
        finally:
            masked.update(sorted((self._counts - before).items()))
