"""A session's summary: what it takes from events, what it leaves out, that it is bounded and repeatable."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.memory import phrases
from context_graph.memory.summary import SUMMARY_CHARS, SessionWork
from context_graph.model import EventKind, HookEvent

ROOT = "/home/u/project"


def event(kind: EventKind, **more: Any) -> HookEvent:
    return HookEvent(kind=kind, session_id="s", event_id="e", at_ms=1_700_000_000_000, cwd=ROOT, **more)


def prompt(text: str) -> HookEvent:
    return event(EventKind.PROMPT_SUBMIT, input_text=text)


def bash(command: str, output: str = "", *, failed: bool = False) -> HookEvent:
    kind = EventKind.POST_TOOL_FAILURE if failed else EventKind.POST_TOOL
    return event(kind, tool_name="Bash", input_text=command, output_text=output, success=not failed)


def edit(path: str) -> HookEvent:
    return event(
        EventKind.POST_TOOL,
        tool_name="Edit",
        input_text=f"{path} old text new text",
        output_text=f"{path} 3 lines",
    )


def stop(message: str) -> HookEvent:
    return event(EventKind.STOP, output_text=message)


def work(*events: HookEvent) -> SessionWork:
    made = SessionWork()
    made.absorb(enumerate(events, 1))
    return made


SESSION = (
    event(EventKind.SESSION_START, source="startup"),
    prompt("Make the token bucket refill lazily. Use time.monotonic instead of time.time."),
    event(EventKind.POST_TOOL, tool_name="Read", input_text=f"{ROOT}/src/bucket.py", output_text="class"),
    edit(f"{ROOT}/src/bucket.py"),
    bash(
        "cd src && pytest -q tests/test_bucket.py Run the bucket tests",
        "Exit code 1\nE  AssertionError: 3 != 4",
        failed=True,
    ),
    edit(f"{ROOT}/src/bucket.py"),
    bash("cd src && pytest -q tests/test_bucket.py Run the bucket tests", "4 passed"),
    bash("mypy src", "Exit code 1\nsrc/bucket.py:9: error: Missing return\nFound 1 error", failed=True),
    stop(
        "The bucket refills lazily now. I chose a float level because integers lose the rest. "
        "mypy still fails in bucket.py."
    ),
    event(EventKind.SESSION_END, reason="other"),
)


def test_it_says_goal_files_commands_failures_decisions_and_what_is_open() -> None:
    """What a later session wants to know, each taken word for word from the events."""
    lines = dict(line.split(": ", 1) for line in work(*SESSION).text().splitlines())
    assert lines["Goal"].startswith("Make the token bucket refill lazily.")
    assert lines["Changed"] == "src/bucket.py (x2)"
    assert "pytest -q tests/test_bucket.py (x2)" in lines["Ran"]
    assert "mypy src: " in lines["Failed"] and "AssertionError: 3 != 4 (worked later)" in lines["Failed"]
    assert "Use time.monotonic instead of time.time." in lines["Decided"]
    assert "I chose a float level because integers lose the rest." in lines["Decided"]
    assert lines["Open"] == "mypy still fails in bucket.py."
    assert "Looked at" not in lines and ROOT not in work(*SESSION).text()


@pytest.mark.parametrize(
    "events",
    [
        (),
        (event(EventKind.SESSION_START), event(EventKind.SESSION_END)),
        (prompt("what does the bucket do?"), stop("It limits the rate.")),
        (prompt("continue"), edit(f"{ROOT}/a.py")),
        (prompt("look around in here for me"), bash("ls -la"), bash("git status"), bash("cat a.py | grep x")),
    ],
)
def test_a_session_with_nothing_to_say_says_nothing(events: tuple[HookEvent, ...]) -> None:
    """Junk memories are what users of such tools complain of: questions and look-ups make none."""
    assert work(*events).text() == ""


def test_it_can_be_kept_as_json_and_go_on_event_by_event() -> None:
    """A refresh costs only what is new, and a long session keeps the goal that its events have lost."""
    whole = work(*SESSION)
    kept = SessionWork()
    for numbered in enumerate(SESSION, 1):
        kept = SessionWork.from_json(json.loads(json.dumps(kept.to_json())))
        assert kept.absorb([numbered]) == 1
    assert kept.text() == whole.text()
    assert kept.absorb(enumerate(SESSION, 1)) == 0, "what was seen is not counted twice"
    assert (kept.first_event, kept.last_event) == (1, len(SESSION))
    later = kept.last_event
    kept.absorb((later + n, bash(f"make target{n}")) for n in range(1, 800))
    assert kept.text().startswith("Goal: Make the token bucket")


@pytest.mark.parametrize("state", [None, [], {"version": 0}, {"version": 1, "prompts": 3, "unknown": 1}])
def test_state_of_another_make_begins_anew_or_is_taken_for_what_it_is(state: object) -> None:
    """It is derived: what can't be read is worked out again."""
    assert isinstance(SessionWork.from_json(state), SessionWork)


def test_scratch_files_that_were_removed_are_no_news() -> None:
    made = work(
        prompt("find the leak in the pool"),
        edit(f"{ROOT}/scratch.py"),
        edit(f"{ROOT}/pool.py"),
        bash("rm scratch.py"),
    )
    assert "Changed: pool.py" in made.text() and "scratch" not in made.text()


def test_a_todo_list_gives_what_is_open_with_what_is_in_progress_first() -> None:
    todos = "Write it completed Writing it\nRun it pending Running it\nFix the race in_progress Fixing it"
    made = work(
        prompt("fix the race in the pool"),
        edit("pool.py"),
        event(EventKind.POST_TOOL, tool_name="TodoWrite", input_text=todos),
    )
    assert "Open: Fix the race; Run it" in made.text()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(EventKind),
            st.sampled_from(["Bash", "Edit", "Read", "TodoWrite", "mcp__x__y"]),
            st.text(max_size=400),
            st.text(max_size=400),
        ),
        max_size=40,
    )
)
def test_it_is_bounded_and_repeatable_whatever_the_events_hold(
    events: list[tuple[EventKind, str, str, str]],
) -> None:
    made = [
        event(kind, tool_name=tool, input_text=given, output_text=out) for kind, tool, given, out in events
    ]
    first, second = work(*made), work(*made)
    assert first.text() == second.text()
    assert len(first.text()) <= SUMMARY_CHARS
    assert len(json.dumps(first.to_json())) < 80_000


def test_the_longest_session_fits_the_limit() -> None:
    long = "word " * 300
    events = [prompt(f"Always use {n} instead of that. {long}") for n in range(9)]
    events += [edit(f"{ROOT}/{'d' * 80}/file{n}.py") for n in range(40)]
    events += [bash(f"make {'x' * 70}{n}", f"fatal: {long}", failed=True) for n in range(40)]
    events += [stop(f"Next steps: {long}. TODO: {long}. Later {long}.")]
    text = work(*events).text()
    assert len(text) <= SUMMARY_CHARS and text.startswith("Goal: ") and "Failed: " in text


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ("pytest -q Run the tests", "pytest -q"),
        ('git commit -m "Fix the leak" Commit the fix', 'git commit -m "Fix the leak"'),
        ("cd /a/b && make test", "make test"),
        ("RUST_LOG=1 cargo test", "cargo test"),
        ("# why\npython - <<'X'\nprint(1)\nX", "python - <<'X'"),
        ("cat README.md", "cat README.md"),
        ("", ""),
    ],
)
def test_the_command_is_told_from_what_stands_around_it(given: str, command: str) -> None:
    assert phrases.command_of(given) == command


@pytest.mark.parametrize(
    ("given", "answer", "path"),
    [
        ("src/a.py old new", "src/a.py 3", "src/a.py"),
        ("/home/u/My Notes/a b.md old", "/home/u/My Notes/a b.md 3 lines", "/home/u/My Notes/a b.md"),
        ("Makefile all:", "", "Makefile"),
        ("hello world", "", ""),
        ("", "", ""),
    ],
)
def test_the_path_is_what_a_file_tool_begins_with(given: str, answer: str, path: str) -> None:
    assert phrases.path_of(given, answer) == path


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Exit code 1\nTraceback (most recent call last):\n  File x\nKeyError: 'a'\n=====", "KeyError: 'a'"),
        ("Exit code 2\nmake: *** [all] stopped", "make: *** [all] stopped"),
        ("Exit code 1\n\x1b[31mFAILED\x1b[0m tests/a.py::b\n1 failed", "1 failed"),
        ("", ""),
    ],
)
def test_the_line_of_an_error_that_tells_most(text: str, line: str) -> None:
    assert phrases.error_line(text) == line


@pytest.mark.parametrize("text", ["ok", "yes, go on!", "/clear", "Thanks", "  ", "continue please"])
def test_small_talk(text: str) -> None:
    assert phrases.is_small_talk(text)


@pytest.mark.parametrize("text", ["fix the tests", "/review the parser", "use sqlite", "why?"])
def test_no_small_talk(text: str) -> None:
    assert not phrases.is_small_talk(text)
