"""A test that fails without the session's changes too is told as that, and as nothing else."""

from __future__ import annotations

import json

import pytest
from tests.support.events import ROOT, bash, edit, prompt, write

from context_graph.model import HookEvent
from context_graph.notes.gather import Gathered
from context_graph.notes.make import notes_of

ASKED = prompt("Totals are off by a cent in this basket, please fix.")
MEND = edit(f"{ROOT}/shop/basket.py", "    return sum(prices)", "    return round(sum(prices), 2)")
BACK = bash("git checkout shop/basket.py")
STASH, POP = bash("git stash"), bash("git stash pop")
NAME = "tests/test_basket.py::test_tax"


def run(*names: str, command: str = "pytest tests/test_basket.py") -> HookEvent:
    return bash(command, "Exit code 1\n" + "\n".join(f"FAILED {name} - x" for name in names), failed=True)


OWN = run(NAME, command="pytest repro.py")


def told_of(*events: HookEvent) -> list[str]:
    gathered = Gathered()
    for numbered in enumerate((ASKED, *events), 1):
        gathered = Gathered.from_json(json.loads(json.dumps(gathered.to_json())))
        gathered.absorb([numbered])
    return [note.text for note in notes_of(gathered) if note.key == "clean"]


@pytest.mark.parametrize(
    "events",
    [
        (MEND, run(NAME), BACK, run(NAME), MEND),
        (MEND, run(NAME, "tests/test_basket.py::test_other"), STASH, run(NAME), POP),
        (run(NAME), MEND, run(NAME)),
        (MEND, run(NAME), run(NAME, command="git checkout shop/basket.py && pytest tests/test_basket.py")),
    ],
)
def test_what_fails_with_and_without_the_changes_is_told(events: tuple[HookEvent, ...]) -> None:
    assert told_of(*events) == [f"`pytest tests/test_basket.py` fails without the change too: {NAME}"]


@pytest.mark.parametrize(
    "events",
    [
        (run(NAME), MEND, bash("pytest tests/test_basket.py", "1 passed")),
        (MEND, run(NAME), BACK, run("tests/test_basket.py::test_total")),
        (MEND, run(NAME), STASH, POP, run(NAME)),
        (write(f"{ROOT}/repro.py"), OWN, MEND, OWN),
        (run(NAME), run(NAME)),
    ],
)
def test_what_the_change_mends_breaks_or_never_met_is_not_told(events: tuple[HookEvent, ...]) -> None:
    assert told_of(*events) == []
