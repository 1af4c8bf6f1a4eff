"""One entry of the manifest."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Requirement"]


@dataclass(frozen=True)
class Requirement:
    """One requirement: what must hold, and the tests that would fail if it didn't."""

    behaviour: str
    tests: tuple[str, ...]
