"""docs/operations.md lists every setting with its variable, default and meaning."""

from __future__ import annotations

from pathlib import Path

from tests.support.setting_docs import setting_docs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def test_the_page_has_a_row_for_each_setting_as_the_code_has_it() -> None:
    rows = {
        tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `")
    }
    for key, variable, default, meaning in setting_docs():
        assert (key, variable, default, meaning.replace("|", "or")) in rows, key
