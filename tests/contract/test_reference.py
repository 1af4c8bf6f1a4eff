"""docs/mcp.md and docs/commands.md have the tables that the operations' definitions make."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from context_graph.memory.filters import RecallFilters
from context_graph.operations import OPERATIONS
from context_graph.operations.memories import Filters
from context_graph.operations.operation import parameters

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import reference


@pytest.mark.parametrize(
    "path", [reference.DOCS / "mcp.md", reference.DOCS / "commands.md"], ids=lambda one: one.name
)
def test_the_tables_are_those_of_the_definitions(path: Path) -> None:
    """`python tools/reference.py` writes them."""
    assert reference.pages()[path] == path.read_text(encoding="utf-8")


def test_a_table_that_was_changed_by_hand_is_seen() -> None:
    page = "### `x`\n\nWords.\n\n| parameter | meaning |\n|---|---|\n| `old` | gone |\n\nMore.\n"
    made = reference.rewritten(page, {"x": ["| parameter | meaning |", "|---|---|", "| `new` | here |"]})
    assert made == page.replace("| `old` | gone |", "| `new` | here |")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.arguments.__name__)
def test_each_parameter_says_what_it_is(operation: object) -> None:
    for one in parameters(operation.arguments):  # type: ignore[attr-defined]
        assert one.words.endswith(".") and one.words[0] != " ", one.name


def test_the_filters_that_are_told_are_those_that_are_taken() -> None:
    given = {"tags": ["a"], "johari_quadrants": ["open"], "min_importance": 0.5}
    for name in Filters.__struct_fields__:
        RecallFilters.parse({name: given.get(name, "2026-01-31")})
