"""docs/threat-model.md and docs/dev/promises.md: each claim names tests, and each of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml
from tools.mutants import MUTANTS

BY_HAND = {"test_bytes"}
"""What takes another native program to be broken: one that ends with 2 was put in the launcher's place."""
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## What holds\n")[1].split("\n## ")[0]
CLAIMS = [line for line in SECTION.splitlines() if line.startswith("| ") and not line.startswith("| claim")]


def _tests(path: Path) -> set[str]:
    return {
        item.name
        for item in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(item, ast.FunctionDef) and item.name.startswith("test_")
    }


def test_every_claim_says_how_and_names_a_test() -> None:
    assert len(CLAIMS) > 20
    for line in CLAIMS:
        claim, how, tests = (cell.strip() for cell in line.strip("|").split("|"))
        assert claim and how and re.fullmatch(r"`[^`]+::test_\w+`(, `[^`]+::test_\w+`)*", tests), line


@pytest.mark.parametrize("page", ["threat-model", "dev/promises"])
def test_every_named_test_is_there(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[^`:]+)::(test_\w+)`", text)
    assert len(named) > 20
    for path, name in named:
        assert name in _tests(ROOT / path), f"{path}::{name}"


@pytest.mark.parametrize("page", ["threat-model", "dev/promises"])
def test_a_fault_is_known_that_each_named_test_notices(page: str) -> None:
    """Somebody has broken each promise and seen its test fail; `make mutants` does it again."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    noticing = {test for mutant in MUTANTS for test in mutant.tests}
    for path, name in re.findall(r"`(tests/[^`:]+)::(test_\w+)`", text):
        assert noticing & {path, f"{path}::{name}"} or name in BY_HAND, f"tools/mutated: {path}::{name}"


def test_every_security_test_backs_a_claim_or_is_the_control_of_one() -> None:
    """A file of security tests that no claim names would be looked for in vain."""
    for path in sorted((ROOT / "tests" / "security").glob("test_*.py")):
        assert f"`tests/security/{path.name}::" in SECTION, path.name


def test_what_only_root_can_prove_is_run_by_ci_which_is_not_root() -> None:
    """Else these claims would be skipped there, and nothing would say so."""
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if "mark.root" in path.read_text("utf-8")]
    assert len(marked) > 4
    steps = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))["jobs"]["check"]["steps"]
    assert "make test-root" in [step.get("run") for step in steps]
    rule = (
        (ROOT / "Makefile").read_text("utf-8").partition("\ntest-root: AS_ROOT := ")[2].partition("\n\n")[0]
    )
    prefix, _, recipe = rule.splitlines()
    assert prefix.startswith("$(if $(filter 0,$(shell id -u)),,sudo "), "who is root needs no sudo"
    assert recipe.startswith("\t$(AS_ROOT) env ") and recipe.endswith(" tests")
    assert " -m pytest -m root " in recipe
