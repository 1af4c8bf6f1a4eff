"""The manifest and the tests' docstrings say the same, and nothing that the seeds ask is left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.contract.requirements import REQUIREMENTS

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(
    r"\b(REQ-SESSION|REQ-HOOKS|TC-SESSION|REQ-CORE|EC-CORE|ERR-CORE|TC-CORE)"
    r"-(\d{2,3})((?:(?:\.\.|, | and )\d{2,3}\b)*)"
)
SEEDS = {
    *(f"REQ-SESSION-{number:02}" for number in range(1, 18)),
    *(f"TC-SESSION-{number:02}" for number in (*range(1, 23), 24)),  # the seed has no 23
    *(f"REQ-HOOKS-{number:02}" for number in (*range(1, 6), *range(10, 34))),  # nor 06 to 09
    *(f"REQ-CORE-{number:03}" for number in range(1, 28)),
    *(f"EC-CORE-{number:03}" for number in range(1, 19)),
    *(f"ERR-CORE-{number:03}" for number in range(1, 11)),
    *(f"TC-CORE-{number:03}" for number in range(1, 35)),
}


def _ids(docstring: str) -> Iterator[str]:
    """`REQ-HOOKS-17..21`, `REQ-SESSION-02, 09`: every id that is meant."""
    for family, first, rest in NAMED.findall(docstring):
        width, last = len(first), int(first)
        yield f"{family}-{first}"
        for sign, digits in re.findall(r"(\.\.|, | and )(\d+)", rest):
            numbers = range(last + 1, int(digits) + 1) if sign == ".." else (int(digits),)
            yield from (f"{family}-{number:0{width}}" for number in numbers)
            last = int(digits)


def _named_in_tests() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "benches").rglob("bench_*.py")]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for name in _ids(ast.get_docstring(node) or ""):
                    found.setdefault(name, set()).add(f"{path.relative_to(ROOT)}::{node.name}")
    return found


def test_every_requirement_of_the_seeds_is_in_the_manifest_with_a_test() -> None:
    assert set(REQUIREMENTS) == SEEDS
    assert not [name for name, requirement in REQUIREMENTS.items() if not requirement.tests]


def test_the_manifest_and_the_docstrings_name_the_same_tests() -> None:
    named = _named_in_tests()
    assert set(named) <= SEEDS, "a test names a requirement that the seeds don't have"
    for name, requirement in REQUIREMENTS.items():
        assert set(requirement.tests) == named.get(name, set()), name


def test_a_bench_that_proves_a_requirement_can_fail() -> None:
    """It compares with its goal, a ratio to a limit of the same run: benches/goal.py raises.

    CI runs it at full size, since a smoke run judges nothing.
    """
    named = {test for requirement in REQUIREMENTS.values() for test in requirement.tests}
    benches = sorted(test for test in named if test.startswith("benches/"))
    assert benches
    makefile = (ROOT / "Makefile").read_text()
    (judged,) = re.findall(r"(?m)^REQUIREMENT_BENCHES = (.*)", makefile)
    assert {test.partition("::")[0] for test in benches} == set(judged.split())
    assert "bench-requirements" in (ROOT / ".ci" / "run").read_text()
    assert "BENCH_PARENT" in (ROOT / ".github" / "workflows" / "ci.yml").read_text(), "else it runs none"
    (recipe,) = re.findall(r"(?m)^bench-requirements: .*\n((?:\t.*\n)+)", makefile)
    assert "SMOKE" not in recipe
    for test in benches:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        calls = {
            node.func.id
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert "held" in calls, f"{test} compares nothing with its goal"
        assert not any(
            keyword.arg == "judged"
            for node in ast.walk(function)
            if isinstance(node, ast.Call)
            for keyword in node.keywords
        )
