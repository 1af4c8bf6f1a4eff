"""Of the commands that worked only those are told that the user has not ruled out."""

from __future__ import annotations

from context_graph.notes.make import ways_without

WAYS = """Commands that worked:
Tests: pytest -q (3 times); make check
Run: pytest tools
Often used:
- npm run dev (2 times)"""


def test_commands_that_are_ruled_out_are_left_out() -> None:
    assert ways_without(WAYS, lambda _: False) == WAYS
    without = ways_without(WAYS, lambda command: command.startswith(("pytest", "npm")))
    assert without == "Commands that worked:\nTests: make check"
    assert ways_without(WAYS, lambda command: command != "npm run dev").endswith("- npm run dev (2 times)")


def test_of_which_all_are_ruled_out_nothing_is_left() -> None:
    assert ways_without(WAYS, lambda _: True) == ""
