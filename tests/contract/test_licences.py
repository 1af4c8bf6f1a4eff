"""What we depend on: every package is one we may ship with, and docs/dev/licences.md tells of all of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences_tool", ROOT / "tools" / "docs" / "licences.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses looks its own module up
    spec.loader.exec_module(module)
    return module


tool: Any = _tool()
ROWS, ABSENT = tool.closure(tool.declared()[0])


def test_all_that_is_declared_is_installed_here() -> None:
    assert ABSENT == [], f"declared in pyproject.toml, not installed: {ABSENT}; run `make build`"
    direct = {row.name for row in ROWS if "context-graph-core" in row.needed_by}
    declared = {Requirement(text).name.lower() for text in tool.declared()[0]} - tool.OURS
    assert direct == declared


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_its_licence_is_one_we_allow(row: Any) -> None:
    if row.name in tool.FILE_COPYLEFT:
        assert row.terms <= tool.ALLOWED | {"MPL-2.0", "MIT", "Apache-2.0"}
    else:
        assert row.terms and row.terms <= tool.ALLOWED, f"{row.name}: {row.licence}"


def test_a_licence_we_do_not_allow_would_be_seen() -> None:
    for licence in ("GPL-3.0-only", "MIT AND LGPL-2.1-or-later", "unknown", "MPL-2.0", ""):
        row = tool.Row("x", "1", licence, ("context-graph-core",))
        assert not (row.terms and row.terms <= tool.ALLOWED), licence


def test_the_page_lists_what_is_installed() -> None:
    """Names, licences and who needs them; versions may differ from machine to machine."""
    rows = []
    for line in tool.PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] != "package":
            rows.append((cells[0], cells[2], cells[3]))
    found = [(row.name, row.licence, ", ".join(row.needed_by)) for row in ROWS]
    assert rows == found, "run `python tools/docs/licences.py`"


def test_every_crate_of_the_launcher_is_one_we_may_ship_with_its_notice() -> None:
    assert {name for name, _ in tool.crates()} == tool.CRATES.keys() | tool.CRATES_NOT_LINKED
    notice, page = (ROOT / "ext" / "launcher" / "NOTICE").read_text(), tool.PAGE.read_text()
    assert "Permission is hereby granted" in notice
    for name, licence in tool.CRATES.items():
        assert "MIT" in licence.split(" OR "), f"{name}: {licence}"
        assert f"- {name}" in notice and f"| {name} |" in page, f"{name}: run `python tools/docs/licences.py`"


def test_every_crate_of_the_redactor_is_one_we_may_ship_with_its_notice() -> None:
    named = {name for name, _ in tool.crates("redaction/binding")}
    assert named == tool.LIBRARY_CRATES.keys() | tool.CRATES_OF_THE_BUILD
    notice, page = (ROOT / "ext" / "redaction" / "NOTICE").read_text(), tool.PAGE.read_text()
    assert "Permission is hereby granted" in notice
    for name, licence in tool.LIBRARY_CRATES.items():
        assert "MIT" in licence.split(" OR "), f"{name}: {licence}"
        assert name in notice and f"| {name} |" in page, f"{name}: run `python tools/docs/licences.py`"


def test_every_requirement_has_a_lower_limit_and_none_is_a_loose_file_or_address() -> None:
    always, extras = tool.declared()
    for text in [*always, *(item for items in extras.values() for item in items)]:
        requirement = Requirement(text)
        assert requirement.url is None, text
        assert {part.operator for part in requirement.specifier} & {">=", "==", "~="}, text


def test_the_data_in_the_package_has_its_licence_texts_beside_it() -> None:
    data = ROOT / "src" / "context_graph" / "data"
    notice = (data / "NOTICE").read_text()
    for name in ("LICENSE.Apache-2.0", "LICENSE.WordNet"):
        assert name in notice and (data / name).stat().st_size > 500
        assert f"`{name}`" in tool.PAGE.read_text()
    assert "static.bin" in notice
