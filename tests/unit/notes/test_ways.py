"""Of the commands that worked only those are told that the user has not ruled out."""

from __future__ import annotations

from tests.support.events import bash, prompt, write

from context_graph.model import HookEvent
from context_graph.model.note import NoteKind
from context_graph.notes.gather import Gathered
from context_graph.notes.kinds.ways import ways_without
from context_graph.notes.make import notes_of

WAYS = """Commands that worked:
Tests: pytest -q (3 times); make check
Run: pytest tools
Often used:
- npm run dev (2 times)"""


def test_commands_that_are_ruled_out_are_left_out() -> None:
    assert ways_without(WAYS, lambda _: False) == WAYS
    without = ways_without(WAYS, lambda command: command.startswith(("pytest", "npm")))
    assert without == "Commands that worked:\nTests: make check"
    assert ways_without(WAYS, lambda command: command != "npm run dev").endswith("- npm run dev (2 times)")


def test_of_which_all_are_ruled_out_nothing_is_left() -> None:
    assert ways_without(WAYS, lambda _: True) == ""


def ways(*events: HookEvent) -> str:
    gathered = Gathered()
    gathered.absorb(enumerate((prompt("Make it faster"), *events), 1))
    return "".join(note.text for note in notes_of(gathered) if note.kind is NoteKind.WAY)


def test_a_count_is_of_what_ran_so_often() -> None:
    runs = [bash(f"bd close shop-{number} --reason=done") for number in range(3)]
    text = ways(*runs, bash("bd ready"), bash("bd ready"))
    assert "- bd close … --reason=done (3 times)" in text and "- bd ready (2 times)" in text
    assert "bd close" not in ways_without(text, lambda command: command.startswith("bd close"))


def test_what_failed_or_is_gone_or_asks_nobody_is_no_way_that_worked() -> None:
    text = ways(
        bash("pytest -q | tail -3", "2 failed, 3 passed"),
        bash("make check"),
        bash("make test | tail -1", "make: *** [test] Killed"),
        write("/home/u/project/testing/test_issue_repro.py", "def test_it(): ..."),
        bash("pytest testing/test_issue_repro.py"),
        bash("rm testing/test_issue_repro.py"),
        *[bash("claude -p x --permission-mode bypassPermissions")] * 3,
        *[bash("codex exec --dangerously-bypass-approvals-and-sandbox x")] * 3,
    )
    assert text == "Commands that worked:\nTests: make check"


def test_what_edits_or_reads_only_or_is_of_one_run_is_told_without_that() -> None:
    text = ways(
        bash("sed -i 's/a/print(a)/' shop/rates.py && pytest tests/test_a.py"),
        bash("python -m py_compile shop/rates.py"),
        bash('tk close 4 --reason="All of the tasks are done"'),
        bash('tk close 5 --reason="The last one is done as well"'),
        bash("shop-cli show 0ccf1a04-1b4c-43b6-8aa5-79e41db43a68"),
        bash("shop-cli show 1ccf1a04-1b4c-43b6-8aa5-79e41db43a68"),
        bash("shop-cli --yes | head -3", "error: unknown option '--yes'"),
        bash("shop-cli --yes | head -3", "error: unknown option '--yes'"),
        bash("ls shop 2>&1"),
        bash("ls shop 2>&1"),
    )
    assert text.splitlines() == [
        "Commands that worked:",
        "Tests: pytest tests/test_a.py",
        "Often used:",
        '- tk close … --reason="…" (2 times)',
        "- shop-cli show <id> (2 times)",
    ]


def test_what_runs_on_files_that_were_only_there_for_a_while_is_no_way() -> None:
    text = ways(
        bash("cat <<'EOF' > a.txt\nx\nEOF\ncat <<'EOF' > tests/queries/test_try.py\ny\nEOF"),
        write("/home/u/project/reproduction/settings.py", "DEBUG = True"),
        bash("./tests/runtests.py queries.test_try"),
        bash("django-admin test --settings=reproduction.settings"),
        bash("sphinx-build -b html reproduction reproduction/_build"),
        bash("./tests/runtests.py queries"),
        bash("rm tests/queries/test_try.py"),
    )
    assert text == "Commands that worked:\nTests: ./tests/runtests.py queries"
