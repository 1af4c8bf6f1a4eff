"""Each mutant still applies to the source, still compiles, and names tests that are there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tools.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_a_mutant_applies_and_compiles(mutant: Mutant) -> None:
    faulty = mutant.applied(ROOT)
    assert faulty != (ROOT / mutant.file).read_text() and mutant.what and mutant.tests
    if mutant.file.endswith(".py"):
        compile(faulty, mutant.file, "exec")
    for test in mutant.tests:
        if mutant.crate:
            assert re.fullmatch(r"--(lib|test \w+)( \w+)?", test), test
            continue
        file, _, rest = test.partition("::")
        assert (
            f"def {rest.partition('[')[0]}(" in (ROOT / file).read_text() if rest else (ROOT / file).exists()
        ), test


def test_all_four_languages_have_many() -> None:
    by_language = Counter(Path(mutant.file).suffix for mutant in MUTANTS)
    assert len(MUTANTS) >= 120 and {".py", ".pyx", ".rs", ".sql"} == by_language.keys()
    assert min(by_language.values()) >= 20


def test_ids_are_unique_and_listed() -> None:
    ids = [mutant.id for mutant in MUTANTS]
    assert len(set(ids)) == len(ids)
    command = [sys.executable, str(ROOT / "tools" / "mutants.py"), "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in listed.splitlines()] == ids


def test_one_that_no_longer_applies_is_told() -> None:
    stale = Mutant("X1", "is stale", MUTANTS[0].file, "no such text in it", "", ())
    with pytest.raises(ValueError, match="X1 no longer applies"):
        stale.applied(ROOT)
