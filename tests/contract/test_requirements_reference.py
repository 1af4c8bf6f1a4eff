"""`req keys` tells what docs/gates.md tells, and every key that the gates read."""

from __future__ import annotations

import re
from pathlib import Path

from context_graph.gates.config.fields import ENTRY_KEYS, EVIDENCE_KEYS, REFERENCE, TOP_KEYS

KEYS = [tuple(row.values()) for row in REFERENCE]
PAGE = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()


def test_every_key_is_told() -> None:
    told = {key for key, *_ in KEYS}
    entries = {key.removeprefix("requirements.NAME.") for key in told if key.startswith("requirements.NAME.")}
    assert {key for key in told if "." not in key} == set(TOP_KEYS)
    assert {key for key in entries if "." not in key} == set(ENTRY_KEYS)
    assert {key.removeprefix("evidence.") for key in entries if "." in key} == set(EVIDENCE_KEYS)


def rows() -> list[list[str]]:
    """The cells of each row of the page's tables, without links and marks."""
    page = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", PAGE).replace("`", "").replace("**", "")
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if "|" in line
    ]


def test_it_says_what_the_page_s_row_says() -> None:
    """Type and default stand in the key's own row: that they stand anywhere on the page proves nothing."""
    for key, kind, default, meaning in KEYS:
        name = re.sub(r"^(requirements\.NAME\.(evidence\.)?|hooks\.)", "", key)
        found = [one[1:] for one in rows() if name in one[0].split(", ")]
        wanted = [kind, default] if kind else [default]
        assert any(one[:-1] in (wanted, ["", *wanted]) and one[-1].startswith(meaning) for one in found), key


def test_no_meaning_is_only_the_name_of_a_section() -> None:
    """`req keys` has no links: *scopes* alone tells nobody anything."""
    sections = {line.strip("# ").lower() for line in PAGE.splitlines() if line.startswith("#")}
    assert not [key for key, _, _, meaning in KEYS if meaning.lower() in sections or meaning == "see below"]
