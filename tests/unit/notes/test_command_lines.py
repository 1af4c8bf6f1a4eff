"""Which commands test, build, lint or run is told by their names, in whatever way they are called."""

from __future__ import annotations

import time

import pytest

from context_graph.memory.context.ways import Way, take_runs
from context_graph.notes.command_lines import LINE_CHARS, commands_in, line_of


def told(line: str) -> list[tuple[str, str, str]]:
    return [(one.kind, one.key, one.form) for one in commands_in(line)]


@pytest.mark.parametrize(
    ("line", "kind", "key", "form"),
    [
        ("pytest -q tests/test_a.py", "test", "pytest", "pytest"),
        ("python3 -m pytest -x", "test", "pytest", "python3 -m pytest"),
        ("A=1 uv run pytest", "test", "pytest", "uv run pytest"),
        ("timeout 60 ./bin/run-tests --fast", "test", "bin/run-tests", "./bin/run-tests"),
        ("npm run test:unit -- --watch=false", "test", "npm run test:unit", "npm run test:unit"),
        ("npx jest src/a.test.ts", "test", "jest", "npx jest"),
        ("python manage.py test shop", "test", "manage.py test", "python manage.py test"),
        ("./tests/runtests.py forms", "test", "tests/runtests.py", "./tests/runtests.py"),
        ("go test ./...", "test", "go test", "go test"),
        ("forge test -vv", "test", "forge test", "forge test"),
        ("make check", "test", "make check", "make check"),
        ("cargo clippy --all", "lint", "cargo clippy", "cargo clippy"),
        ("pre-commit run --all-files", "lint", "pre-commit", "pre-commit"),
        ("bash scripts/lint.sh", "lint", "scripts/lint.sh", "bash scripts/lint.sh"),
        ("make", "build", "make", "make"),
        ("pip install -e .", "build", "pip install", "pip install"),
        ("pip install -r requirements.txt", "build", "pip install", "pip install"),
        ("pip install numpy==1.26", "", "pip install", "pip install"),
        ("npm install --save-dev @types/node", "", "npm install", "npm install"),
        ("cargo install cargo-llvm-cov", "", "cargo install", "cargo install"),
        ("cargo install --path crates/cli", "build", "cargo install", "cargo install"),
        ("make install DESTDIR=/opt", "build", "make install", "make install"),
        ("npm start", "run", "npm start", "npm start"),
        ("docker compose up -d", "run", "docker compose up", "docker compose up"),
        ("python -c 'import a\nimport tests'", "", "python", "python"),
    ],
)
def test_a_command_is_known_by_its_names(line: str, kind: str, key: str, form: str) -> None:
    assert told(line) == [(kind, key, form)]


@pytest.mark.parametrize(
    "line",
    [
        "ls tests",
        "git commit -m 'run tests'",
        "grep -rn test src | head",
        "cat test.sh",
        "rm test_a.py",
        "tox --version",
        "echo pytest",
        "",
    ],
)
def test_what_only_names_tests_is_no_run_of_them(line: str) -> None:
    assert told(line) == []


def test_each_command_of_a_line_counts_and_says_where_it_ran() -> None:
    first, second = commands_in("cd web && npm run build && npm test 2>&1 | tail -5")
    assert (first.kind, first.raw, first.hidden) == ("build", "cd web && npm run build", False)
    assert (second.kind, second.hidden) == ("test", True), "the pipe's outcome is not the test's"


def test_a_here_document_is_no_command() -> None:
    assert line_of("cat <<'EOF' > a.py\npytest\nEOF") == "cat <<'EOF' > a.py"


def test_no_line_costs_much_time() -> None:
    for hostile in ("'", '"', "\\", "sudo ", "a=1 ", "&", "x;", "cd a && ", "-", "env -S "):
        began = time.thread_time()
        commands_in((hostile * LINE_CHARS)[:LINE_CHARS])
        assert time.thread_time() - began < 0.5, hostile


def counted(*calls: tuple[str, str, bool]) -> tuple[dict[str, Way], dict[str, str]]:
    ways: dict[str, Way] = {}
    failing: dict[str, str] = {}
    made: list[str] = ["repro.py"]
    passed: list[str] = []
    for line, output, failed in calls:
        take_runs(ways, failing, passed, made, line, output, failed=failed, root="/app/")
    return ways, failing


def test_a_pipe_hides_an_exit_code_and_the_output_tells() -> None:
    ways, failing = counted(("pytest | tail -3", "FAILED tests/a.py::b - assert\n2 failed, 3 passed", False))
    assert (ways["pytest"]["ok"], ways["pytest"]["failed"]) == (0, 1)
    assert failing == {"pytest": "tests/a.py::b"}
    ways, failing = counted(("pytest | tail -3", "5 passed, 1 xfailed", False))
    assert (ways["pytest"]["ok"], failing) == (1, {})


def test_tests_fail_until_they_or_all_of_them_pass() -> None:
    broken = ("pytest tests/a.py", "AssertionError: 1 != 2", True)
    assert counted(broken)[1] == {"pytest tests/a.py": "AssertionError: 1 != 2"}
    assert counted(broken, ("pytest tests/b.py", "", False))[1] != {}
    assert counted(broken, ("pytest tests/a.py", "", False))[1] == {}
    assert counted(broken, ("pytest -q", "", False))[1] == {}
    assert counted(broken, ("python -m pytest tests", "", False))[1] == {}, "they are among these"
    assert counted(broken, ("pytest tests/a.py::test_c", "", False))[1] != {}, "one of them is not all"
    assert counted(broken, ("pytest -k c", "", False))[1] != {}


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("pytest tests/gone.py", "ERROR: file or directory not found: tests/gone.py"),
        ("pytest repro.py", "FAILED repro.py::test_it - AssertionError"),
        ("pytest", "ERROR tests/a.py - ModuleNotFoundError: No module named 'x'\n1 error during collection"),
    ],
)
def test_what_tested_nothing_and_a_script_of_one_s_own_are_no_failing_tests(line: str, output: str) -> None:
    assert counted((line, output, True))[1] == {}


def test_a_script_of_the_session_s_own_is_no_way_of_the_project() -> None:
    ways, _ = counted(("python repro.py", "", False), ("cd /app && python scripts/seed.py", "", False))
    assert {form: way["kind"] for form, way in ways.items()} == {
        "python": "",
        "python scripts/seed.py": "run",
    }
    assert ways["python scripts/seed.py"]["example"] == "python scripts/seed.py"
