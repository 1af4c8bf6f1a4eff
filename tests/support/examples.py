"""How many inputs a property is tried with."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["examples"]


def examples(most: int) -> int:
    """Of so many inputs those that are tried: a quarter (tests/conftest.py has it), or with `--all` each."""
    return most * settings().max_examples // 100
