"""`req keys` tells what docs/requirements.md tells, and every key that the gates read."""

from __future__ import annotations

import re
from pathlib import Path

from context_graph.requirements.fields import ENTRY_KEYS, EVIDENCE_KEYS
from context_graph.requirements.reference import KEYS
from context_graph.requirements.schema import TOP_KEYS

PAGE = (Path(__file__).parents[2] / "docs" / "requirements.md").read_text()


def test_every_key_is_told() -> None:
    told = {key for key, *_ in KEYS}
    entries = {key.removeprefix("requirements.NAME.") for key in told if key.startswith("requirements.NAME.")}
    assert {key for key in told if "." not in key} == set(TOP_KEYS)
    assert {key for key in entries if "." not in key} == set(ENTRY_KEYS)
    assert {key.removeprefix("evidence.") for key in entries if "." in key} == set(EVIDENCE_KEYS)


def test_it_says_what_the_page_says() -> None:
    page = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", PAGE).replace("`", "").replace("**", "")
    for key, kind, default, meaning in KEYS:
        assert meaning in page, key
        assert all(part in page for part in (kind, default)), key
