"""The front's redacted copy for the spool, held to the launcher's (ext/launcher/src/copy.rs)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from context_graph.front import copy
from context_graph.front.copy import Copier

GOLDEN = Path(__file__).parents[2] / "golden" / "secrets.tsv"
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
MASK = "[redacted:assignment]"


@pytest.fixture
def copier(tmp_path: Path) -> Copier:
    return Copier(str(tmp_path))


def _rows() -> list[tuple[str, str, str]]:
    rows = [row for row in GOLDEN.read_text().splitlines() if row.strip() and not row.startswith("#")]
    cells = (
        [re.sub(r"\\(.)", lambda f: ESCAPES[f[1]], c.replace("{}", "")) for c in r.split("\t")] for r in rows
    )
    return [(rule, secret, text) for rule, secret, text in cells]


def test_every_golden_secret_is_masked(copier: Copier) -> None:
    """REQ-HOOKS-33: alone and inside JSON, also before an owner has read more rules."""
    missed = []
    for rule, secret, text in _rows():
        made = json.dumps(copier.value({"prompt": text, "tool_input": {"command": text}}), ensure_ascii=False)
        parts = [part for part in secret.splitlines() if len(part) >= 8 and not part.startswith("-----")]
        missed += [rule for part in parts if part in made]
    assert not missed


def test_values_under_telling_names_are_masked_whole_at_any_depth(copier: Copier) -> None:
    given = {
        "env": {"api_key": "abc", "PIN_password": 1234, "tokens": ["a", {"b": "c"}], "token_count": 7},
        "after": "kept",
    }
    assert copier.value(given) == {
        "env": {"api_key": MASK, "PIN_password": MASK, "tokens": [MASK, {"b": MASK}], "token_count": 7},
        "after": "kept",
    }


def test_in_a_list_the_text_after_a_telling_one_is_masked(copier: Copier) -> None:
    given = {"args": ["mysql", "--password", "hunter", "-u", "root"], "h": [["Authorization", "abc"]]}
    made = {"args": ["mysql", "--password", MASK, "-u", "root"], "h": [["Authorization", MASK]]}
    assert copier.value(given) == made


def test_a_value_is_masked_where_the_field_beside_it_names_a_secret(copier: Copier) -> None:
    given = {
        "env": [{"name": "DB_PASSWORD", "value": "plum"}, {"name": "PORT", "value": "8080"}],
        "value": "kept",
    }
    made = {
        "env": [{"name": "DB_PASSWORD", "value": MASK}, {"name": "PORT", "value": "8080"}],
        "value": "kept",
    }
    assert copier.value(given) == made
    for before in ({"value": "plum", "on": True, "name": "DB_PASSWORD"}, {"value": 7, "name": "DB_PASSWORD"}):
        assert copier.value(before) == before | {"value": MASK}
    for kept in (
        {"value": "blue", "name": "colour"},
        {"value": "plain", "list": [], "name": "DB_PASSWORD"},
        [{"value": "plain"}, {"name": "DB_PASSWORD"}],
        {"value": 7, "name": "token_count"},
        {"value": "${DB_PASSWORD}", "name": "DB_PASSWORD"},
        {"value": "plain", "title": "DB_PASSWORD"},
        {"label": "Password", "value": "password"},
        {"name": "DB_PASSWORD", "valueFrom": {"name": "db"}},
        {"name": "DB_PASSWORD", "value": "$(DB_PASSWORD)"},
        {"name": "token_count", "value": 1234},
        {"name": "DB_PASSWORD", "value": {"value": "plain"}},
    ):
        assert copier.value(kept) == kept


def test_a_secret_used_as_a_name_is_masked_and_ids_are_kept(copier: Copier) -> None:
    secret = "ghp_" + "Zx81Qa7LmN0pRt5VwYb3Zx81Qa7LmN0pRt5V"
    assert secret not in json.dumps(copier.value({secret: 1, "text": f"use {secret}"}))
    kept = {"session_id": "session-x7Kp2mQ9vL4tR8wZ1nB6cY3", "cwd": "/home/u/x7Kp2mQ9vL4tR8wZ1nB6cY3"}
    assert copier.value(kept) == kept


def test_texts_are_cut_and_a_secret_across_the_cut_leaves_no_half(copier: Copier) -> None:
    assert len(copier.text("ä" * 9000).encode()) <= copy.TEXT_MAX
    secret = "ghp_" + "Zx81Qa7LmN0pRt5VwYb3Zx81Qa7LmN0pRt5V"
    assert "ghp_Zx" not in copier.text("x " * (copy.TEXT_MAX // 2 - 8) + secret)


def test_without_rules_no_text_passes_and_ids_do(copier: Copier) -> None:
    """An installation that is not whole must neither lose the event nor let a secret through."""
    copier._rules = None
    made = copier.value({"session_id": "s-1", "prompt": "anything", "n": 1, "empty": ""})
    assert "anything" not in json.dumps(made) and "s-1" in json.dumps(made)


def test_a_rule_that_fails_masks_the_text(copier: Copier, monkeypatch: pytest.MonkeyPatch) -> None:
    assert copier._rules is not None
    monkeypatch.setattr(copier._rules, "redact_cut", lambda *_: 1 / 0)
    assert copier.text("anything") == "[redacted:unchecked]"
