"""The public names, the page that describes them, and what pages import, agree."""

from __future__ import annotations

import re
from pathlib import Path

import context_graph

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "dev" / "library.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_page_describes_every_public_name_and_no_other() -> None:
    table = PAGE.partition("| name |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(context_graph.__all__)
    for name in context_graph.__all__:
        assert getattr(context_graph, name) is not None


def test_the_table_of_calls_names_methods_that_are_there() -> None:
    table = PAGE.partition("| call |")[2].partition("\n\n")[0]
    calls = re.findall(r"`(\w+)(?:\(s\))?`", "".join(re.findall(r"^\| (.+?) \|", table, re.MULTILINE)))
    assert len(calls) > 30
    assert not [name for name in calls if not hasattr(context_graph.Memex, name)]


def test_pages_import_public_names_from_the_package_alone() -> None:
    found = 0
    for page in PAGES:
        for module, names in re.findall(
            r"^\s*from (context_graph[\w.]*) import ([\w, ]+)$", page.read_text(), re.MULTILINE
        ):
            assert module == "context_graph", f"{page.name}: {module}"
            assert set(re.split(r",\s*", names)) <= set(context_graph.__all__), f"{page.name}: {names}"
            found += 1
    assert found > 3
