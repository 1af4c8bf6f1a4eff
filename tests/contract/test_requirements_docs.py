"""docs/gates.md names every key that the configuration knows, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from context_graph.gates.config import fields, schema
from context_graph.gates.decide import exemptions

PAGE = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()


def _keys(heading: str) -> set[str]:
    """The code words of the first column of the tables below ``heading``, up to the next heading."""
    body = PAGE.split(f"\n{heading}\n", 1)[1]
    body = re.split(r"\n#{2,3} ", body, maxsplit=1)[0]
    rows = [line for line in body.splitlines() if line.startswith("| `")]
    return {word for line in rows for word in re.findall(r"`([^`]+)`", line.split("|")[1])}


def test_every_key_of_a_requirement_is_told() -> None:
    assert _keys("## Keys") == fields.ENTRY_KEYS | fields.TOP_KEYS


def test_every_setting_of_the_hooks_is_told() -> None:
    assert _keys("### Hooks") == {key.name for key in fields.HOOKS}


def test_every_key_of_the_evidence_is_told() -> None:
    assert _keys("### Evidence") == fields.EVIDENCE_KEYS


def test_the_commands_that_pass_every_gate_are_told() -> None:
    told = " ".join(PAGE.split()).split("call of `context-graph-cli req` (or `req`)", 1)[1].split(". ", 1)[0]
    assert set(re.findall(r"`(\w+)`", told)) == exemptions.EXEMPT


def test_keys_of_the_original_without_effect_are_told() -> None:
    line = next(line for line in PAGE.splitlines() if "keys of the original without effect here" in line)
    assert set(re.findall(r"`(\w+)`", line)) == schema.WITHOUT_EFFECT
