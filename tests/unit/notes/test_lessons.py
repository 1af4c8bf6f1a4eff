"""Failures that were solved: what is kept of them, and of which nothing is."""

from __future__ import annotations

import pytest
from tests.support.events import bash, edit, prompt, stop, write

from context_graph.model import HookEvent
from context_graph.model.note import Note, NoteKind
from context_graph.notes.failures import normalised
from context_graph.notes.gather import Gathered
from context_graph.notes.make import notes_of


def lessons(*events: HookEvent) -> list[Note]:
    gathered = Gathered()
    gathered.absorb(enumerate((prompt("Get the nightly export to run again"), *events), 1))
    return [note for note in notes_of(gathered) if note.kind is NoteKind.LESSON]


NO_YAML = "Exit code 1\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'"


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (
            (
                bash("python export.py", NO_YAML, failed=True),
                bash("pip install pyyaml"),
                bash("python export.py"),
            ),
            "pip install pyyaml",
        ),
        (
            (
                bash("python -m pytest", "Exit code 1\nE   ImportError: no usable engine", failed=True),
                bash("uv add pyarrow"),
                bash("python -m pytest", "8 passed"),
            ),
            "uv add pyarrow",
        ),
        (
            (
                bash("python tools/sync.py", NO_YAML, failed=True),
                bash("PYTHONPATH=. python3 tools/sync.py --quiet"),
            ),
            "python3 tools/sync.py --quiet",
        ),
        (
            (
                bash(
                    "git add build/schema.json", "Exit code 1\nThe following paths are ignored", failed=True
                ),
                bash("git add -f build/schema.json"),
            ),
            "git add -f build/schema.json",
        ),
        (
            (
                bash("node build.js", "Exit code 1\nError: Cannot find module './entry'", failed=True),
                bash("cd assets && node build.js", "built"),
            ),
            "cd assets && node build.js",
        ),
        (
            (
                bash("git add a.py b.py out/site.css", "Exit code 1\nThe paths are ignored", failed=True),
                bash("git add a.py b.py"),
                bash("git add -f out/site.css"),
            ),
            "git add -f out/site.css",
        ),
        (
            (
                bash(
                    "cargo build",
                    "Exit code 101\nerror[E0433]: failed to resolve: use of undeclared crate",
                    failed=True,
                ),
                edit("/home/u/project/Cargo.toml", "[dependencies]", '[dependencies]\nserde = "1"'),
                bash("cargo build", "Finished"),
            ),
            'edit of Cargo.toml: serde = "1"',
        ),
        (
            (
                bash(
                    "cd web && npm test",
                    "Exit code 1\nError: listen EADDRINUSE: address already in use :::5173",
                    failed=True,
                ),
                bash("fuser -k 5173/tcp"),
                bash("cd web && npm test", "12 passed"),
            ),
            "fuser -k 5173/tcp",
        ),
        (
            (
                bash(
                    "dotnet test Shop.sln",
                    "Exit code 1\nNETSDK1045: unable to target net9.0",
                    failed=True,
                    tool="PowerShell",
                ),
                bash("winget install Microsoft.DotNet.SDK.9", tool="PowerShell"),
                bash("dotnet test Shop.sln", "Passed!", tool="PowerShell"),
            ),
            "winget install Microsoft.DotNet.SDK.9",
        ),
    ],
)
def test_what_solved_a_failure_is_kept(events: tuple[HookEvent, ...], told: str) -> None:
    (note,) = lessons(*events)
    assert told in note.text.split("Solved by: ")[1]
    assert note.text.startswith("Error: ") and note.extra["error"]


@pytest.mark.parametrize(
    "events",
    [
        (bash("python export.py", NO_YAML, failed=True), bash("pip install pyyaml")),
        (bash("helm upgrade app .", "Exit code 1\nError: UPGRADE FAILED", failed=True), bash("helm list")),
        (bash("make all", "Exit code 2\nerror: nope", failed=True), bash("make all")),
        (bash("grep -r limit src", "Exit code 1", failed=True), bash("grep -ri limit src")),
        (
            bash("pytest -q", "FAILED tests/test_a.py::test_b - assert 1 == 2", failed=True),
            bash("pytest -q -k test_c", "1 passed"),
        ),
        (
            write("/home/u/project/try_it.py", "import shop"),
            bash("python try_it.py", "Exit code 1\nNameError: name 'shop'", failed=True),
            edit("/home/u/project/try_it.py", "import shop", "import shop.api"),
            bash("python try_it.py", "ok"),
        ),
        (
            bash("git push", "fatal: The current branch x has no upstream branch.", failed=True),
            bash("git push -u origin x"),
        ),
        (
            bash("terraform plan", "Exit code 1\nError: Error acquiring the state lock", failed=True),
            bash("terraform force-unlock -force 9b1"),
            bash("terraform plan", "Plan: 1 to add"),
        ),
    ],
    ids=[
        "unsolved",
        "another command of the program",
        "by itself",
        "a search",
        "a part of the tests",
        "a scratch script",
        "git says it itself",
        "what forces something is no advice",
    ],
)
def test_what_taught_nothing_leaves_no_lesson(events: tuple[HookEvent, ...]) -> None:
    assert lessons(*events) == []


def test_a_failure_that_came_again_counts() -> None:
    failing = bash("python export.py", NO_YAML, failed=True)
    (note,) = lessons(failing, failing, bash("pip install pyyaml"), bash("python export.py"))
    assert note.text.startswith("Error (2 times): ") and note.extra["times"] == 2


def test_a_lesson_names_each_file_that_was_edited_once() -> None:
    failing = bash(
        "cargo build", "Exit code 101\nerror[E0433]: failed to resolve: undeclared crate", failed=True
    )
    edits = [
        edit(f"/home/u/project/{name}", "a", f"b{at}") for at, name in enumerate(("a.rs", "b.rs", "a.rs"))
    ]
    (note,) = lessons(failing, *edits, bash("cargo build", "Finished"))
    assert [path.rpartition("/")[2] for path in note.files] == ["a.rs", "b.rs"]


def test_an_error_is_the_same_wherever_and_whenever_it_comes() -> None:
    one = normalised("/home/u/shop/rates.py:41: KeyError: 'EUR' at 0x7f01ab (pid 4711)")
    assert one == normalised("/srv/ci/build/rates.py:7: KeyError: 'EUR' at 0x99cd (pid 12)")
    assert one != normalised("/srv/ci/build/rates.py:7: KeyError: 'USD' at 0x99cd (pid 12)")


CAUSE = "The export failed because the folder out/ did not exist"


def test_a_lesson_of_a_turn_that_changed_nothing_says_what_was_asked_and_why_it_failed() -> None:
    error = "Exit code 1\nFileNotFoundError: 'out/orders.csv' is missing"
    calls = (
        bash("python3 export.py", error, failed=True),
        bash("mkdir -p out"),
        bash("python3 export.py", "ok"),
    )
    (note,) = lessons(*calls, stop(f"{CAUSE}; I made it."))
    assert f"Cause: {CAUSE}" in note.text
    assert note.text.endswith("Asked: Get the nightly export to run again")
    (beside,) = lessons(*calls, edit("export.py"), stop(f"{CAUSE}; I made it."))
    assert CAUSE not in beside.text and "Asked" not in beside.text, "the note of the change says it"
