"""Pages and settings say of tools, commands and events what their definitions say."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from tools.docs import built, reference
from tools.docs.man import page

from context_graph.operations import OPERATIONS
from context_graph.operations.filters import Filters
from context_graph.operations.naming import filters_of
from context_graph.operations.operation import parameters


@pytest.mark.parametrize("path", reference.pages(), ids=lambda one: one.name)
def test_what_is_written_is_what_the_definitions_say(path: Path) -> None:
    """`python tools/docs/reference.py` writes it."""
    assert reference.pages()[path] == path.read_text(encoding="utf-8")


def test_the_man_page_is_the_help_s_and_its_roff_is_sound(tmp_path: Path) -> None:
    """The build writes it; the wheel installs it."""
    path = tmp_path / built.MAN.name
    path.write_text(page(), encoding="utf-8")
    man = shutil.which("man")
    if man is None:
        pytest.skip("no man here to read it with: apt-get install man-db")
    done = subprocess.run(
        [man, "--warnings", "-l", str(path)],
        capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    shown = " ".join(done.stdout.replace("\u2010\n", "-").split())
    for words in ("memory recall QUERY", "--top-k N", "Exit codes: 0", "status --json"):
        assert words in shown
    data = tomllib.loads((built.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert data["data-files"]["share/man/man1"] == [str(built.MAN.relative_to(built.ROOT))]


def test_a_table_that_was_changed_by_hand_is_seen() -> None:
    page = "### `x`\n\nWords.\n\n| parameter | meaning |\n|---|---|\n| `old` | gone |\n\nMore.\n"
    made = reference.rewritten(page, {"x": ["| parameter | meaning |", "|---|---|", "| `new` | here |"]})
    assert made == page.replace("| `old` | gone |", "| `new` | here |")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.arguments.__name__)
def test_each_parameter_says_what_it_is(operation: object) -> None:
    for one in parameters(operation.arguments):  # type: ignore[attr-defined]
        assert one.words.endswith(".") and one.words[0] != " ", one.name


def test_the_filters_that_are_told_are_those_that_are_taken() -> None:
    given = {"tags": ["a"], "kind": "rule", "johari_quadrants": ["open"], "min_importance": 0.5}
    for name in Filters.__struct_fields__:
        filters_of({name: given.get(name, "2026-01-31")})
