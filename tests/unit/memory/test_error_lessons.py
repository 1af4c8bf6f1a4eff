"""What solved an error is told for the same error, and for no other one.

`error_lessons.json` has pairs of a failure that was solved and a later one, of which it says whether the
solution helps.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from context_graph.memory.context.error_lessons import ErrorLessons
from context_graph.memory.context.lesson_text import taught_by
from context_graph.model.memory import MemoryNode
from context_graph.model.note import KIND, NOTE
from context_graph.notes.gather import Gathered
from context_graph.notes.make import notes_of

NOW = 1_790_100_000_000
CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("error_lessons.json").read_text())


def lessons_of(command: str, error: str, steps: list[str]) -> list[MemoryNode]:
    """The lessons of a session in which ``command`` failed so, that was done, and it worked."""
    gathered, failures = Gathered(), Gathered().failures
    failures.failed(command, error, 1, 0, scratch=False)
    for number, step in enumerate(steps, 2):
        if step.startswith("edit "):
            _, path, line = step.split(" ", 2)
            failures.edited(path, line, own=False)
        else:
            failures.worked(step, number, 0)
    failures.worked(command, len(steps) + 2, 0)
    gathered.failures = failures
    return [
        MemoryNode(
            id=uuid4(),
            content=note.text,
            rationale="a note of a session",
            created_at_ms=NOW - 86_400_000,
            last_accessed_ms=NOW,
            importance=0.5,
            session_id="s-1",
            metadata={KIND: str(note.kind), NOTE: dict(note.extra)},
        )
        for note in notes_of(gathered)
        if note.kind == "lesson"
    ]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_solution_is_told_for_the_same_error_alone(case: dict[str, Any]) -> None:
    lessons = ErrorLessons()
    lessons.take(lessons_of(case["command"], case["error"], case["then"]))
    again = case["again"], case["its_error"]
    line = lessons.line("s-2", *again, (), now_ms=NOW)
    assert (line is not None) is case["helps"], line
    if line is not None:
        assert "was solved here on " in line.text and case["then"][0].split()[-1] in line.text
        assert lessons.line("s-2", *again, {line.node_id}, now_ms=NOW) is None, "once"
        assert lessons.line("s-1", *again, (), now_ms=NOW) is None, "not to its own session"


def test_among_many_lessons_no_wrong_one_is_told() -> None:
    lessons = ErrorLessons()
    for case in CASES:
        lessons.take(lessons_of(case["command"], case["error"], case["then"]))
    assert len(lessons) > 40
    wrong = []
    for case in CASES:
        line = lessons.line("s-2", case["again"], case["its_error"], (), now_ms=NOW)
        own = [step for step in case["then"] if line is not None and step[:30] in line.text]
        if own and not case["helps"]:
            wrong.append(case["name"])
    assert wrong == []


def summary_with(session: str, work: dict[str, Any]) -> MemoryNode:
    return MemoryNode(
        id=uuid4(),
        content="Goal: run it",
        rationale="a summary of a session",
        created_at_ms=NOW - 86_400_000,
        last_accessed_ms=NOW,
        importance=0.5,
        session_id=session,
        metadata={"capture": work},
    )


def test_what_failed_in_a_session_s_own_script_is_no_error_that_nobody_solved() -> None:
    """Unless the environment lacks something: that is so for other scripts, too."""
    trials = (
        ("python3 try_out.py", "ValueError: the settings of the shop are not configured yet", False),
        ('python -c "import shop; shop.run()"', "ValueError: the settings of the shop are missing", False),
        ("python3 try_out.py", "ModuleNotFoundError: No module named 'shop_settings'", True),
        ("python manage.py check", "ValueError: the settings of the shop are not configured yet", True),
    )
    for command, error, is_told in trials:
        known = ErrorLessons()
        for number in range(2):
            work = {"failures": {command: error}, "made": ["try_out.py"]}
            known.take([summary_with(f"s{number}", work)])
        line = known.line("now", command, error, (), now_ms=NOW)
        assert (line is not None) == is_told, command


def test_an_error_that_two_sessions_left_is_said_to_be_unsolved() -> None:
    def summary(session: str, error: str) -> MemoryNode:
        return summary_with(session, {"failures": {"python app.py": error}})

    error = "ImportError: libvips.so.42: cannot open shared object file: No such file or directory"
    lessons = ErrorLessons()
    lessons.take([summary("s-1", error)])
    assert lessons.line("s-9", "python x.py", error, (), now_ms=NOW) is None, "one session says little"
    lessons.take([summary("s-2", error)])
    line = lessons.line("s-9", "python x.py", error, (), now_ms=NOW)
    assert line is not None and "seen in 2 earlier sessions" in line.text and "libvips" not in line.text
    assert lessons.line("s-9", "python x.py", "ImportError: no", (), now_ms=NOW) is None


def test_what_solved_an_error_stays_whole_where_the_error_has_no_room() -> None:
    cure = "pip install --index-url https://pypi.internal/simple --upgrade shop-settings==4.2.17 shop-things"
    error = f"ImportError: the settings of the shop are missing in {'one of many folders ' * 9}"
    lessons = ErrorLessons()
    lessons.take(lessons_of("python -m jobs.sync", error, [cure]))

    def text_in(room: int) -> str:
        again = "python x.py", error
        line = lessons.line("s-2", *again, (), now_ms=NOW, fits=lambda text: len(text) <= room)
        return line.text if line is not None else ""

    texts = [text_in(room) for room in (400, 220, 160, 120)]
    assert all(cure in text for text in texts[:3]) and "it was" in texts[1] and "it was" not in texts[2]
    assert "pip install --index-url" in texts[3] and "…" in texts[3], "cut only where it alone has no room"
    assert text_in(10) == ""


def lesson_in_words(text: str) -> MemoryNode:
    return replace(summary_with("s-1", {}), content=text, metadata={KIND: "lesson", NOTE: {}})


LIBRARY = "ImportError: libpq.so.5: cannot open shared object file"
DATABASE = "OperationalError: no such table: shop_orders in the database that the tests use"


@pytest.mark.parametrize(
    ("text", "error", "cure"),
    [
        (
            f"{DATABASE}: Fixed by running the migrations of the second database",
            DATABASE,
            "running the migrations of the second database",
        ),
        (
            f"{LIBRARY}\n- Resolved by adding libpq5 to the Dockerfile",
            f"{LIBRARY}: No such file or directory",
            "libpq5",
        ),
        (
            'It was wrong: the compiler said "Cannot accept these fields, because they are no attributes." '
            "Fixed by adding the field to the attributes block.",
            "** (Spark) Cannot accept these fields, because they are no attributes",
            "attributes block",
        ),
    ],
)
def test_what_a_compaction_says_of_an_error_and_its_cure_is_told(text: str, error: str, cure: str) -> None:
    lessons = ErrorLessons()
    lessons.take([lesson_in_words(text)])
    line = lessons.line("s-2", "make it", error, (), now_ms=NOW)
    assert line is not None and cure in line.text


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{DATABASE}: Fixed by deleting the database and making it anew", DATABASE),
        (f"{DATABASE}: Solved by `rails db:reset`", DATABASE),
        (f"{DATABASE}: that is still so", DATABASE),
        (
            "AssertionError: the sum of both prices is wrong: Fixed by adding the tax",
            "AssertionError: the sum of both prices is wrong",
        ),
        (
            f"{LIBRARY}\n- Resolved by adding libpq5 to the Dockerfile",
            "ImportError: libGL.so.1: cannot open shared object file",
        ),
    ],
    ids=["deletes", "a command that deletes", "no cure", "a test of one's own", "another library"],
)
def test_of_what_a_compaction_says_nothing_wrong_is_told(text: str, error: str) -> None:
    lessons = ErrorLessons()
    lessons.take([lesson_in_words(text)])
    assert lessons.line("s-2", "make it", error, (), now_ms=NOW) is None


def test_what_a_test_runner_puts_before_an_error_hides_no_lesson() -> None:
    error = "ImportError: the settings of the shop are missing"
    lessons = ErrorLessons()
    lessons.take(
        lessons_of("pytest -q", f"FAILED tests/test_a.py::test_b - {error}", ["pip install shop-settings"])
    )
    line = lessons.line("s-2", "python x.py", error, (), now_ms=NOW)
    assert line is not None and "shop-settings" in line.text


@pytest.mark.parametrize(
    ("error", "solved"),
    [
        ("!!!!!!!! Interrupted: 1 error during collection !!!!!!!!", "pip install shop-settings"),
        ("ImportError: the settings of the shop are missing", "python3 -m pytest --help"),
    ],
)
def test_a_banner_or_a_command_that_only_asks_for_help_is_no_lesson(error: str, solved: str) -> None:
    text = f"Error: {error}\nFrom: pytest -q\nSolved by: {solved}"
    assert taught_by(text) is None
