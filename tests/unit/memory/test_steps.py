"""The steps of a session's work, as captures keep them."""

import pytest

from context_graph.memory.context.ways import MAX_STEPS, add_step, changing_step, command_step


@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("pytest -q tests/test_a.py", "pytest"),
        ("python -m pytest -x", "pytest"),
        ("python3 tests/runtests.py forms", "tests/runtests.py"),
        ("python3 reproduce.py", "run a script"),
        ("python3 ./check.py", "run a script"),
        ("python3 -c 'print(1)'", "run a snippet"),
        ("mix test --trace", "mix test"),
        ("git commit -m 'x'", "git commit"),
        ("sed -i 's/a/b/' src/a.py", "edit"),
        ("cat <<'EOF' > try.py", "write a script"),
        ("echo x >> docs/a.md", "edit docs"),
        ("git status", ""),
        ("ls -l", ""),
        ("cat a.py", ""),
        ("mkdir -p build", ""),
        ("rm try.py", ""),
        ("sed -n 1,20p a.py", ""),
        ("", ""),
    ],
)
def test_a_command_is_the_step_of_its_program_and_looking_is_none(command: str, step: str) -> None:
    assert command_step(command) == step


@pytest.mark.parametrize(
    ("path", "new", "step"),
    [
        ("src/a.py", False, "edit"),
        ("src/a.py", True, "edit"),
        ("try.py", True, "write a script"),
        ("try.py", False, "edit"),
        ("tests/test_a.py", True, "edit tests"),
        ("lib/a_test.exs", False, "edit tests"),
        ("README.md", True, "edit docs"),
    ],
)
def test_a_changed_file_is_a_step_by_its_kind(path: str, new: bool, step: str) -> None:
    assert changing_step(path, new=new) == step


def test_a_repeated_step_counts_once_and_the_oldest_leave() -> None:
    steps: list[str] = []
    for step in ["edit", "edit", "pytest", "", "pytest"]:
        add_step(steps, step)
    assert steps == ["edit", "pytest"]
    for number in range(2 * MAX_STEPS):
        add_step(steps, f"make {number}")
    assert len(steps) == MAX_STEPS
    assert steps[-1] == f"make {2 * MAX_STEPS - 1}"
