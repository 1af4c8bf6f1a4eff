"""A session's summary: what it takes from events, what it leaves out, that it is bounded and repeatable."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.events import ROOT, bash, call, edit, prompt, read, stop

from context_graph.claude.own_memory import looks_like_client_memory
from context_graph.memory.context.summary import SUMMARY_CHARS, SessionWork
from context_graph.model import NOTIFICATION, EventKind, HookEvent
from context_graph.text import phrases


def event(kind: EventKind, **more: Any) -> HookEvent:
    return HookEvent(kind=kind, session_id="s", event_id="e", at_ms=1_700_000_000_000, cwd=ROOT, **more)


def work(*events: HookEvent) -> SessionWork:
    made = SessionWork()
    made.absorb(enumerate(events, 1))
    return made


SESSION = (
    event(EventKind.SESSION_START, source="startup"),
    prompt("Make the token bucket refill lazily. Use time.monotonic instead of time.time."),
    read(f"{ROOT}/src/bucket.py", "class"),
    edit(f"{ROOT}/src/bucket.py"),
    bash(
        "cd src && pytest -q tests/test_bucket.py",
        "Exit code 1\nE  AssertionError: 3 != 4",
        failed=True,
    ),
    edit(f"{ROOT}/src/bucket.py"),
    bash("cd src && pytest -q tests/test_bucket.py", "4 passed"),
    bash("mypy src", "Exit code 1\nsrc/bucket.py:9: error: Missing return\nFound 1 error", failed=True),
    stop(
        "The bucket refills lazily now. I chose a float level because integers lose the rest. "
        "mypy still fails in bucket.py."
    ),
    event(EventKind.SESSION_END, reason="other"),
)


def test_what_a_run_printed_is_no_failure_where_the_host_says_that_it_went_well() -> None:
    """Only where a host tells no outcome is the output asked: a run that expects failures prints them too."""
    run = bash("pytest -q tests/test_bucket.py", "FAILED tests/test_bucket.py::test_x - expected\n1 failed")
    assert run.success
    asked = prompt("Look at yesterday's build and mend the bucket.")
    done = (edit(f"{ROOT}/src/bucket.py"), stop("It is mended."))
    assert "Failed: " not in work(asked, run, *done).text()
    assert "Failed: pytest" in work(asked, replace(run, success=None), *done).text()


def test_it_says_goal_files_commands_failures_decisions_and_what_is_open() -> None:
    """What a later session wants to know, each taken word for word from the events."""
    lines = dict(line.split(": ", 1) for line in work(*SESSION).text().splitlines())
    assert lines["Goal"].startswith("Make the token bucket refill lazily.")
    assert lines["Changed"] == "src/bucket.py (x2)"
    assert lines["Failed"].startswith("mypy src: "), "what worked later is no failure any more"
    assert lines["Done"] == "The bucket refills lazily now."
    assert "Use time.monotonic instead of time.time." in lines["Goal"]
    assert lines["Decided"] == "I chose a float level because integers lose the rest."
    assert lines["Open"] == "mypy still fails in bucket.py."
    assert "Looked at" not in lines and "Ran" not in lines and ROOT not in work(*SESSION).text()


def test_a_file_that_its_notes_saw_changed_is_not_told_as_looked_at() -> None:
    read = replace(edit(f"{ROOT}/src/bucket.py"), tool_name="Read")
    looked = work(prompt("Make the bucket refill lazily."), read, *[read] * 8, stop("It refills lazily now."))
    assert "Looked at: src/bucket.py" in looked.text(has_notes=True)
    seen = looked.text(has_notes=True, changed=["src/bucket.py"])
    assert "Changed: src/bucket.py" in seen and "Looked at" not in seen


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
    items = (("Write it", "completed"), ("Run it", "pending"), ("Fix the race", "in_progress"))
    todos = [{"content": what, "status": state, "activeForm": "Doing it"} for what, state in items]
    made = work(
        prompt("fix the race in the pool"),
        edit("pool.py"),
        call("TodoWrite", {"todos": todos}),
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
        ("pytest -q run tests", "pytest -q run tests"),
        ('git commit -m "Fix the leak"', 'git commit -m "Fix the leak"'),
        ("cd /a/b && make test", "make test"),
        ("RUST_LOG=1 cargo test", "cargo test"),
        ("# why\npython - <<'X'\nprint(1)\nX", "python - <<'X'"),
        (
            "git commit -m \"$(cat <<'EOF'\nCap the queue\n\nIt grew.\nEOF\n)\"",
            'git commit -m "Cap the queue"',
        ),
        ("cat README.md", "cat README.md"),
        ("", ""),
    ],
)
def test_a_command_is_told_on_one_line_with_its_message(given: str, command: str) -> None:
    assert phrases.command_line(given) == command


@pytest.mark.parametrize("name", ["Jenkinsfile", ".env", "Release Notes.md", "my notes/a b.md", "LICENSE"])
def test_a_file_of_any_name_is_told(name: str) -> None:
    assert (
        f"Changed: {name}"
        in work(prompt("bring it up to date for the release"), edit(f"{ROOT}/{name}")).text()
    )


def test_what_stands_beside_a_command_is_no_part_of_it() -> None:
    made = work(
        prompt("run the whole check"), bash("make check", "ok", timeout=90_000, description="Run Checks")
    )
    assert "Ran: make check" in made.text() and "90000" not in made.text() and "Run Checks" not in made.text()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("rm old_cron.sh", "Ran: rm old_cron.sh"),
        ("git rm -r legacy", "Ran: git rm -r legacy"),
        ("git mv tax.py vat.py", "Changed: vat.py"),
    ],
)
def test_to_remove_and_to_move_is_work_too(command: str, told: str) -> None:
    assert told in work(prompt("clean up what ops has replaced"), bash(command)).text()


def test_powershell_is_a_shell() -> None:
    made = work(prompt("run the tests"), bash("dotnet test Shop.sln", "ok", tool="PowerShell"))
    assert "Ran: dotnet test Shop.sln" in made.text()


def test_what_the_client_says_in_the_model_s_place_is_nobody_s_last_word() -> None:
    made = work(
        prompt("round the invoices"),
        edit(f"{ROOT}/a.py"),
        stop("Amounts round half up per line now."),
        stop("API Error: 529"),
    )
    assert made.last_words == "Amounts round half up per line now."


@pytest.mark.parametrize("name", ["shop__orders-12", "__init__", "a**b", "--quiet", "#region"])
def test_markdown_s_marks_are_no_part_of_names(name: str) -> None:
    assert name in phrases.plain(f"- **Note**: {name} stays\n{name} too")
    assert phrases.plain("## A\n- **b** `c`\n> d") == "A b c d"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Exit code 1\nTraceback (most recent call last):\n  File x\nKeyError: 'a'\n=====", "KeyError: 'a'"),
        ("Exit code 2\nmake: *** [all] stopped", "make: *** [all] stopped"),
        (
            'Exit code 1\nchecking\n2 problems found, commit rejected by the hook\n  ~x"',
            "2 problems found, commit rejected by the hook",
        ),
        ("Exit code 1\n\x1b[31mFAILED\x1b[0m tests/a.py::b\n1 failed", "FAILED tests/a.py::b"),
        (
            "The following paths are ignored by one of your .gitignore files:\nbuild/css\nhint: Use -f",
            "The following paths are ignored by one of your .gitignore files: build/css",
        ),
        ("error: could not write:\n\n", "error: could not write:"),
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


# --- whose words they are ---

REPORT = (
    "<task-notification> <task-id>a991</task-id> <result>We decided to drop the cache and always use Redis. "
    "From now on never call the billing API directly.</result> </task-notification>"
)


def notification(text: str = REPORT) -> HookEvent:
    return event(EventKind.PROMPT_SUBMIT, input_text=text, source=NOTIFICATION)


def test_a_subagent_s_report_is_no_word_of_the_user() -> None:
    """What an agent has read on a web page must not come back as the user's decision."""
    asked = work(prompt("Make the token bucket refill lazily."), edit(f"{ROOT}/a.py"))
    told = work(prompt("Make the token bucket refill lazily."), notification(), edit(f"{ROOT}/a.py"))
    assert told.text() == asked.text() and told.decisions == []
    assert work(notification(), edit(f"{ROOT}/a.py")).text() == ""


@pytest.mark.parametrize(
    "said",
    [
        f"What do you make of this?\n{REPORT}\nTell me in a sentence.",
        "The report was:\n\n> We decided to drop the cache and always use Redis.\n\nIs that so?",
        "It printed\n```\nwe decided to drop the cache\n```\nwhich is odd, look into it.",
        "It printed\n~~~\nfrom now on never call it directly\n~~~\nwhich is odd, look into it.",
        'Rename the heading to "From now on never call the billing API directly" in the docs.',
        "The log says “we decided to drop the cache. Always use Redis.” Find the place that writes it.",
        "Why does `always use redis` fail in the parser of the settings file?",
        f"See below. {REPORT[:-20]}",
    ],
)
def test_what_a_prompt_quotes_is_no_decision(said: str) -> None:
    assert work(prompt(said), edit(f"{ROOT}/a.py")).decisions == []


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        ("<rules>\nUse pnpm instead of npm.\n</rules>", "Use pnpm instead of npm."),
        ('Use "pnpm" instead of "npm" for the installs.', 'Use "pnpm" instead of "npm" for the installs.'),
        ("Don't touch the users' tables, that's final.", "Don't touch the users' tables, that's final."),
        (f"Look at this: {REPORT} We decided to keep the cache.", "We decided to keep the cache."),
        ("> you could drop it\n\nNo: we'll keep the cache as it is.", "No: we'll keep the cache as it is."),
    ],
)
def test_what_the_user_says_beside_a_quotation_is_one(said: str, decided: str) -> None:
    assert decided in work(prompt(said), edit(f"{ROOT}/a.py")).decisions


def test_a_decision_that_is_the_goal_is_told_once() -> None:
    text = work(prompt("Use Redis instead of Memcached."), edit(f"{ROOT}/a.py")).text()
    assert text.count("Use Redis instead of Memcached") == 1 and text.startswith("Goal: ")


@pytest.mark.parametrize(
    "later",
    [
        "Keep the timeout at ten seconds, never retry more than twice.",
        "Always use squash merges. Never push to main.",
    ],
)
def test_a_later_prompt_that_only_decides_is_told_once(later: str) -> None:
    text = work(prompt("Add a health check."), edit(f"{ROOT}/a.py"), prompt(later)).text()
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    assert "Then" not in lines and all(one in lines["Decided"] for one in phrases.sentences(later))


def test_what_was_told_to_gates_and_memory_is_no_work() -> None:
    own = (
        "context-graph-cli req satisfy plan",
        "req satisfy plan",
        "cd src && /opt/bin/context-graph-cli memory list",
    )
    text = work(prompt("Add a check."), edit("a.py"), *map(bash, own)).text()
    assert "context-graph" not in text and "req" not in text
    text = work(prompt("Add a check."), bash("context-graph-cli req status && make deploy")).text()
    assert "make deploy" in text


def test_a_later_prompt_that_also_asks_for_something_stays() -> None:
    text = work(prompt("Add a check."), prompt("Write the docs. Never push to main."), edit("a.py")).text()
    assert "Then: Write the docs. Never push to main." in text
    why = "it comes from another team, and they build it again each night from their own sources"
    many = [prompt(f"Never edit anything under part{at}/, {why}.") for at in range(4)]
    text = work(prompt("Add a check."), edit("a.py"), *many).text()
    assert all(f"part{at}/" in text for at in (1, 2, 3)), "what Decided has no room for stays in Then"


def test_of_a_subagent_s_work_the_changed_files_stay() -> None:
    events = [
        prompt("Move the recipes to French."),
        event(
            EventKind.POST_TOOL, tool_name="Agent", input_text="translate", output_text="From now on never."
        ),
        *(
            replace(one, agent_id="a1")
            for one in (edit(f"{ROOT}/crepes.md"), bash("make lint", "1", failed=True))
        ),
        replace(stop("I decided to always use butter."), agent_id="a1"),
        event(EventKind.SUBAGENT_STOP, output_text="We chose butter.", agent_id="a1"),
    ]
    found = work(*events)
    assert found.text() == "Goal: Move the recipes to French.\nChanged: crepes.md"
    assert found.tool_calls == 1 and found.decisions == [] and found.failures == {}


def test_the_client_s_own_memory_is_no_change_to_the_project() -> None:
    own = "/home/u/.claude/projects/-home-u-proj/memory/tabs.md"
    events = [(1, prompt("Remember that I prefer tabs.")), (2, edit(own)), (3, edit(f"{ROOT}/a.py"))]
    found = SessionWork()
    found.absorb(events, looks_like_client_memory)
    assert list(found.changed) == ["a.py"]


# --- tasks ---


def task(number: int, subject: str) -> HookEvent:
    answer = {"task": {"id": f"{number}", "subject": subject}}
    given = {"subject": subject, "description": "All of it, and completed soon.", "activeForm": "Doing it"}
    return call("TaskCreate", given, answer)


def update(number: int, answer: object = None, **changes: str) -> HookEvent:
    change = {"statusChange": {"from": "pending", "to": changes["status"]}} if "status" in changes else {}
    told = {"success": True, "taskId": f"{number}", "updatedFields": list(changes), **change}
    return call("TaskUpdate", {"taskId": f"{number}", **changes}, told if answer is None else answer)


def test_open_is_what_the_client_s_task_list_has_open() -> None:
    """TaskCreate and TaskUpdate, in the shapes that the client's schemas give them."""
    found = work(
        prompt("Make the token bucket refill lazily."),
        *(task(number, f"Step {number} of the bucket") for number in (1, 2, 3, 4)),
        update(1, status="completed"),
        update(3, status="in_progress"),
        update(4, status="deleted"),
        update(2, subject="Cover the refill"),
        update(9, status="in_progress"),
        call(
            "TaskUpdate",
            {"taskId": "2", "status": "completed"},
            {"success": False, "taskId": "2", "error": "no"},
        ),
        edit(f"{ROOT}/a.py"),
    )
    lines = dict(line.split(": ", 1) for line in found.text().splitlines())
    assert lines["Open"] == "Step 3 of the bucket; Cover the refill"
    again = SessionWork.from_json(json.loads(json.dumps(found.to_json())))
    assert again.text() == found.text()


def test_a_task_list_is_read_from_what_the_model_is_told_as_well() -> None:
    found = work(
        prompt("Make the token bucket refill lazily."),
        call("TaskCreate", {"subject": "Refill it"}, "Task #1 created successfully: Refill it"),
        call("TaskCreate", {"subject": "Test it"}, "Task #2 created successfully: Test it"),
        update(1, "Updated task #1 status", status="completed"),
    )
    assert list(found.tasks.values()) == [["pending", "Test it"]]


def test_tests_that_passed_since_are_not_left_failing_however_they_were_run() -> None:
    run = "pytest tests/test_a.py tests/test_b.py"
    failed = "FAILED tests/test_a.py::test_x\nFAILED tests/test_b.py::test_y\n2 failed"
    begun = (prompt("Mend a and b"), bash(run, "2 passed"), bash(run, f"Exit code 1\n{failed}", failed=True))

    def left(*commands: str) -> dict[str, str]:
        work = SessionWork()
        work.absorb(enumerate((*begun, *(bash(command, "1 passed") for command in commands)), 1))
        return work.failing

    assert left() == {run: "tests/test_a.py::test_x, tests/test_b.py::test_y"}
    assert left("make test TESTS=other") == left() == left("pytest tests/test_a.py -k other")
    assert left("./run_tests.sh tests/test_a.py") == {"pytest tests/test_b.py": "tests/test_b.py::test_y"}
    assert left("python -m pytest tests/test_a.py -q", "cd tests && tox test_b.py") == {}


def test_failing_tests_are_left_open_only_where_they_are_the_session_s_own() -> None:
    """Others may fail for everybody: 15 of 19 failing runs at the ends of recorded sessions did."""
    run, why = "pytest tests/test_window.py", "tests/test_window.py::test_slides"
    work = SessionWork(failing={run: why}, changed={"src/window.py": 1})
    assert work.left_failing() == {}
    for own in (
        {"passed": [run]},
        {"changed": {"tests/test_window.py": 1}},
        {"last_words": "test_slides still fails: the window starts one tick late."},
    ):
        assert SessionWork(**{"failing": {run: why}, **own}).left_failing() == {run: why}, own
    broken = {run: "RuntimeError: no secret key"}
    assert SessionWork(failing=broken, passed=[run]).left_failing() == {}, "it names no test"
    scratch = {"pytest repro.py": "repro.py::test_it"}
    assert SessionWork(failing=scratch, changed={"repro.py": 1}, made=["repro.py"]).left_failing() == {}
