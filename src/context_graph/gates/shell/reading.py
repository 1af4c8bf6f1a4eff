"""Keeps what was read of a shell's text, and how much may still be read."""

from __future__ import annotations

from collections.abc import Mapping

from context_graph.gates.shell.command import Command

LIMIT = 200_000
"""Characters that are read at all, inner texts included; what is longer is ``broken``."""

_DEPTH = 12


class Reading:
    """The commands of a text in their order. ``broken``: it could not be read to its end, or is too long."""

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self.commands: list[Command] = []
        self.variables = dict(variables or {})
        self.functions = False
        """Whether functions are defined: what they are given may be anything."""
        self.starts: dict[tuple[int, ...], str] = {}
        """Where a subshell begins that a program starts in another folder."""
        self.broken = False
        self.left = LIMIT
        """Characters that may still be read."""
        self._depth = self._shells = 0

    def spend(self, chars: int) -> bool:
        """Count ``chars`` against the limit of what may be read; whether enough was left."""
        self.left -= chars
        self.broken |= self.left < 0
        return self.left >= 0

    def enter(self) -> bool:
        """Go one level deeper, unless that is too deep; each True is followed by ``leave``."""
        fits = self._depth < _DEPTH
        self._depth += fits
        self.broken |= not fits
        return fits

    def leave(self) -> None:
        """Come back from a level."""
        self._depth -= 1

    def subshell(self, shell: tuple[int, ...] = (0,)) -> tuple[int, ...]:
        """A new subshell of ``shell``."""
        self._shells += 1
        return (*shell, self._shells)
