"""Failures that were solved: what is kept of them, and of which nothing is."""

from __future__ import annotations

import pytest
from tests.support.events import bash, edit, prompt, read, stop, told, write

from context_graph.model import HookEvent
from context_graph.model.note import Note, NoteKind
from context_graph.notes.failures import is_trial, normalised
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


A = "/home/u/project/shop/rates.py"
BROKEN = bash(
    "pytest tests/test_a.py",
    "FAILED tests/test_a.py::test_b - ImportError: no rates of the day in here",
    failed=True,
)
REWRITES = "python3 - <<'EOF'\nopen('tests/test_a.py', 'w').write('')\nEOF"


def solved(*events: HookEvent) -> list[str]:
    """What solved the failures of a session."""
    return [note.text.split("Solved by: ")[1].split("\n")[0] for note in lessons(*events)]


def test_an_option_under_which_tests_pass_is_no_cure_where_files_were_changed() -> None:
    flagged = bash("pytest -W ignore tests/test_a.py", "1 passed")
    seen = read("/home/u/project/tests/test_a.py"), BROKEN
    assert solved(*seen, bash(REWRITES), flagged) == [], "a file's name alone says nothing"
    blind = "python3 - <<'EOF'\nopen(name, 'w').write('')\nEOF"
    assert solved(BROKEN, bash(blind), flagged) == [], "nobody knows what that changed"
    assert solved(BROKEN, edit(A, "a", "b"), flagged) == ["edit of shop/rates.py: b"]
    assert solved(BROKEN, flagged) == ["pytest -W ignore tests/test_a.py"]
    assert solved(BROKEN, edit(A, "a", "b"), bash("PYTHONPATH=. pytest tests/test_a.py")) == [
        "edit of shop/rates.py: b; then PYTHONPATH=. pytest tests/test_a.py"
    ]


def test_what_came_after_the_failed_tests_passed_cured_nothing() -> None:
    calls = (
        edit(A, "a", "b"),
        bash("pytest tests/test_a.py::test_b", "1 passed"),
        edit("/home/u/project/README.md", "x", "y"),
        bash("pytest tests/test_a.py", "4 passed"),
    )
    assert solved(BROKEN, *calls) == ["edit of shop/rates.py: b"]


def test_an_edit_that_was_undone_is_no_cure() -> None:
    again = bash("pytest tests/test_a.py", "4 passed")
    debug = edit(A, "a", "a\nprint(day)")
    assert solved(BROKEN, debug, edit(A, "a\nprint(day)", "a"), edit(A, "a", "b"), again) == [
        "edit of shop/rates.py: b"
    ]
    assert solved(BROKEN, edit(A, "a", "b"), edit(A, "b", "c"), edit(A, "c", "a"), again) == []
    assert solved(BROKEN, edit(A, "a", "b"), edit(A, "b", "c"), again) == ["edit of shop/rates.py: c"]


@pytest.mark.parametrize(
    ("reverts", "stays"),
    [
        ("git checkout -- shop/rates.py", False),
        ("git restore shop", False),
        ("git checkout .", False),
        ("git stash", False),
        ("git reset --hard", False),
        ("git checkout shop/other.py", True),
        ("git restore --staged shop/rates.py", True),
        ("git checkout -b rates", True),
        ("git stash list", True),
        ("git stash && pytest tests/test_a.py; git stash pop", True),
    ],
)
def test_an_edit_that_git_set_back_is_no_cure(reverts: str, stays: bool) -> None:
    other = edit("/home/u/project/conf.py", "x", "y")
    again = bash("pytest tests/test_a.py", "4 passed")
    (cure,) = solved(BROKEN, edit(A, "a", "b"), bash(reverts), other, again)
    assert ("shop/rates.py" in cure) == stays and cure.endswith("edit of conf.py: y") and "git" not in cure


def test_what_was_run_without_the_work_says_nothing_of_it() -> None:
    aside = bash("git stash"), BROKEN, bash("git stash pop")
    again = bash("pytest tests/test_a.py", "4 passed")
    assert solved(BROKEN, edit(A, "a", "b"), *aside, again) == ["edit of shop/rates.py: b"]


def test_a_run_whose_failure_a_pipe_hid_has_not_worked() -> None:
    hidden = bash("pytest tests/test_a.py | tail -3", "1 failed, 3 passed")
    cure = solved(BROKEN, edit(A, "a", "b"), hidden, edit(A, "b", "c"), bash("pytest tests/test_a.py"))
    assert cure == ["edit of shop/rates.py: c"]


def test_a_file_that_was_made_and_removed_is_no_lesson() -> None:
    script = "/home/u/project/shop/new_report_v3.py"
    calls = (
        bash("python export.py", "Exit code 1\nValueError: no rates of the day in here", failed=True),
        write(script, "def rates(): ..."),
        bash("python export.py"),
    )
    assert "new_report_v3" in solved(*calls)[0]
    assert solved(*calls, bash("rm shop/new_report_v3.py")) == []
    own = (
        write("/home/u/project/testing/test_issue_repro.py", "def test_it(): ..."),
        bash("pytest testing/test_issue_repro.py", "FAILED - ValueError: no rates in here", failed=True),
        edit(A, "a", "b"),
        bash("pytest testing/test_issue_repro.py", "1 passed"),
    )
    assert solved(*own) and solved(*own, bash("rm testing/test_issue_repro.py")) == []


@pytest.mark.parametrize(
    "command",
    [
        "python3 -bb -c 'import shop'",
        "python3 -W error -c 'import shop'",
        "cd web && node --eval 'run()'",
        "timeout 9 python -Ic 'import shop'",
        "ruby -we 'run'",
        "python3 - <<'EOF'\nimport shop\nEOF",
    ],
)
def test_a_text_for_an_interpreter_is_a_trial(command: str) -> None:
    assert is_trial(command)


@pytest.mark.parametrize(
    "command",
    ["bash -e run.sh", "python3 -bb run.py", "python -m shop -c x.toml", "php artisan queue:work"],
)
def test_a_script_with_options_is_no_text(command: str) -> None:
    assert not is_trial(command)


@pytest.mark.parametrize(
    "events",
    [
        (
            bash("pytest tests/test_a.py", "FAILED tests/test_a.py::test_b - assert 1 == 2", failed=True),
            edit(A, "a", "b"),
            bash("pytest tests/test_a.py", "4 passed"),
        ),
        (BROKEN, edit("/home/u/project/tests/test_a.py", "a", "b"), bash("pytest tests/test_a.py")),
        (
            bash("make all", "shop/rates.py:4: SyntaxError: invalid syntax in here", failed=True),
            edit(A, "a", "b"),
            bash("make all"),
        ),
        (
            bash("./run.py suite", "Ran 8 tests\n\nFAILED (errors=6, skipped=2)", failed=True),
            edit(A, "a", "b"),
            bash("./run.py suite"),
        ),
        (
            bash("pytest tests", "!!! Interrupted: 1 error during collection !!!", failed=True),
            bash("pytest --help"),
            bash("pytest tests"),
        ),
        (
            bash("/usr/bin/python3 -m pytest tests/", "python3: No module named pytest", failed=True),
            bash("python -m pytest --version", "pytest 8"),
        ),
        (
            bash("make all", "Error: no rates of the day in here", failed=True),
            bash("cat <<'EOF' > shop/rates.py\nrates = 1\nEOF"),
            bash("make all"),
        ),
    ],
    ids=[
        "an assertion",
        "a test changed with its code",
        "half-written source",
        "a count",
        "a banner, help",
        "a version",
        "only a file's name",
    ],
)
def test_what_was_the_work_itself_or_says_nothing_is_no_lesson(events: tuple[HookEvent, ...]) -> None:
    assert lessons(*events) == []


def test_of_an_edit_the_first_line_that_says_something_is_told() -> None:
    again = bash("pytest tests/test_a.py", "4 passed")
    assert solved(BROKEN, edit(A, "a", "import os\nb = os.sep"), again) == [
        "edit of shop/rates.py: b = os.sep"
    ]


def test_where_a_later_run_only_counts_the_error_stays() -> None:
    counts = bash("pytest tests/test_a.py", "1 failed, 3 passed", failed=True)
    (note,) = lessons(BROKEN, counts, edit(A, "a", "b"), bash("pytest tests/test_a.py", "4 passed"))
    assert "ImportError: no rates of the day" in note.text


def test_a_compactions_story_of_half_done_work_is_no_lesson() -> None:
    summary = (
        "Summary:\n4. Errors and fixes:\n"
        "   - Undefined function load_rates/1: added the function to the module.\n"
        "   - Compile errors for a missing module: expected during incremental edits, made it.\n"
        "   - The database was locked by another process: stopped the old server with `make stop`.\n"
    )
    own = edit(A, "def load_rates(day):\n    pass", "def load_rates(day):\n    return day")
    assert [
        note.text.split(":")[0] for note in lessons(own, told("PostCompact", compact_summary=summary))
    ] == ["The database was locked by another process"]


def test_a_build_and_staging_after_edits_are_no_cure_and_what_fetches_is() -> None:
    failing = bash("git commit -m x", "Commit validation failed: two issues of the rates", failed=True)
    staged = bash("git add shop/rates.py && git commit -m x")
    edits = edit(A, "a", "b")
    assert solved(failing, bash("make build"), edits, staged) == ["edit of shop/rates.py: b"]
    assert solved(failing, bash("npm install"), edits, staged) == [
        "npm install; then edit of shop/rates.py: b"
    ]
    assert solved(failing, bash("make build"), bash("git commit -m x")) == ["make build"]
