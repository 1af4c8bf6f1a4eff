"""What people look at, asked of a real owner: rows of each part, their changes, and the actions."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.sessions import memory

from context_graph.cli.console.calling import RefusedError
from context_graph.cli.view import OwnerSource
from context_graph.config import locate
from context_graph.errors import ContextGraphError, OwnerError, OwnerUnavailableError
from context_graph.store.layout import EVENTS, event_key
from context_graph.store.sessions.sessions import SessionStore
from context_graph.view.rows import PARTS, WHOLE_CHARS

SESSION = "5f1d7e94-9f40-4a76-8f4e-0c8a6d6a2b11"
PORT = "Staging listens on port 8443"


@pytest.fixture
def source(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnerSource]:
    monkeypatch.chdir(cli.project)
    made = OwnerSource()
    yield made
    made.close()


def store(cli: Cli, text: str, **given: object) -> str:
    """Id of a memory that a command stored."""
    words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    return str(memory(cli, "store", text, *words)["id"])


def hook(cli: Cli, verb: str, event: str, session: str = SESSION, **fields: object) -> str:
    body = {"session_id": session, "cwd": str(cli.project), "hook_event_name": event, **fields}
    done = cli.run("hooks", verb, "--format", "claude", stdin=json.dumps(body))
    assert done.returncode == 0, done.stderr
    return done.stdout


def call(cli: Cli, number: int, failed: bool = False, **fields: object) -> None:
    tool = {"tool_name": "Bash", "tool_use_id": f"toolu_{number}", **fields}
    tool["tool_input"] = {"command": f"pytest tests/test_invoice.py -k rounding_{number}"}
    if failed:
        hook(cli, "post-tool-failure", "PostToolUseFailure", error="1 failed: rounding", **tool)
    else:
        hook(cli, "post-tool", "PostToolUse", tool_response={"stdout": f"{number} passed"}, **tool)


def worked(cli: Cli) -> None:
    """A session with a prompt, four calls of which one failed, and a compaction."""
    hook(cli, "session-start", "SessionStart", source="startup")
    hook(
        cli, "prompt-submit", "UserPromptSubmit", prompt="Mend the rounding of invoices, port 8443 is staging"
    )
    for number in range(4):
        call(cli, number, failed=number == 2)
    hook(cli, "pre-compact", "PreCompact", trigger="auto")
    assert cli.run("session", "list").returncode == 0  # applies what a busy machine has left in the log


def test_an_empty_store_has_rows_without_content(source: OwnerSource) -> None:
    health = source.health()
    assert not health.works and "no hooks are set up here" in health.sentence
    assert {"state", "hooks", "Claude's memory", "disk"} <= {line.name for line in health.lines}
    assert source.memories().rows == [] and source.memories(query="anything").rows == []
    assert source.memories(forgotten=True).rows == []
    assert (source.ledger().rows, source.ledger().days) == ([], [])
    assert source.sessions().rows == [] and source.runs() == []
    assert source.gates().rows == [] and source.map().sessions == [] and source.effect().weeks == []
    with pytest.raises(RefusedError, match="no session in this store yet"):
        source.session("")
    with pytest.raises(RefusedError, match="no memory"):
        source.memory("5f3c1a2b")


def test_memories_come_in_pages_newest_first_and_a_search_by_relevance(cli: Cli, source: OwnerSource) -> None:
    texts = [
        f"Note {number} about the {word} of the mill" for number, word in enumerate(["wheel", "dam", "race"])
    ]
    ids = [store(cli, text, tag="mill") for text in texts]
    first = source.memories(limit=2)
    assert [row.id for row in first.rows] == ids[:0:-1] and first.total == 3
    rest = source.memories(limit=2, cursor=first.next_cursor)
    assert [row.id for row in rest.rows] == ids[:1] and rest.next_cursor == ""
    (row,) = rest.rows
    assert (row.text, row.source, row.tags, row.is_forgotten) == (texts[0], "cli", ["mill"], False)
    long = store(cli, "The race is " + "very " * 200 + "long.")
    assert source.memories(limit=1).rows[0].text.endswith("…")
    (whole,) = source.memories(limit=1, chars=WHOLE_CHARS).rows
    assert (whole.id, whole.text[-5:]) == (long, "long.")
    found = source.memories(query="what about the dam?").rows
    assert found[0].id == ids[1] and (found[0].relevance or 0) > (found[-1].relevance or 0)


def test_one_memory_is_shown_with_links_history_and_as_it_was(cli: Cli, source: OwnerSource) -> None:
    one, other = (
        store(cli, PORT, rationale="a person told it"),
        store(cli, "The proxy forwards 8443 to staging"),
    )
    memory(cli, "link", one, other, "--type", "causes")
    time.sleep(0.01)
    before_ms = time.time_ns() // 1_000_000
    time.sleep(0.01)
    new = memory(cli, "edit", one, "--content", f"{PORT}0")["id"]
    seen = source.memory(one[:8])
    assert seen.content == PORT and seen.rationale == "a person told it"
    assert seen.row.standing == f"superseded by {new[:8]}" and seen.row.standing_kind == "superseded"
    assert {(link.relation, link.is_outgoing, link.other_id) for link in seen.links} == {
        ("causes", True, other),
        ("supersedes", False, new),
    }
    assert [change.what for change in seen.changes] == ["linked", "linked", "added"]
    then = source.memory(one, as_of_ms=before_ms)
    assert [link.relation for link in then.links] == ["causes"] and then.as_of_ms == before_ms
    source.forget(one)
    gone = source.memories(forgotten=True).rows
    assert [row.id for row in gone] == [one] and gone[0].is_forgotten
    assert source.memory(one).row.is_forgotten
    assert ("forgotten because", "view") in {(line.name, line.text) for line in source.memory(one).facts}


def test_a_confirmed_memory_rests_on_its_files_as_they_are_and_that_is_taken_back(
    cli: Cli, source: OwnerSource
) -> None:
    subprocess.run(["git", "init", "-q", str(cli.project)], check=True)
    (cli.project / "app.toml").write_text("port = 8443\n")
    one = store(cli, PORT, evidence="app.toml")
    (cli.project / "app.toml").write_text("port = 8443\nhost = 'staging'\n")
    assert source.memory(one).row.standing == "changed since: app.toml"
    assert source.confirm(one) == f"{one[:8]} is confirmed: verified"
    seen = source.memory(one)
    assert seen.row.standing_kind == "verified" and "confirmed" in {line.name for line in seen.facts}
    assert source.take_back(one) == f"{one[:8]} is as it was"
    assert source.memory(one).row.standing_kind == "changed"
    with pytest.raises(RefusedError, match="nothing to take back"):
        source.take_back(one)
    done = cli.run("memory", "confirm", one[:8])
    assert done.returncode == 0 and "is confirmed: verified" in done.stdout


def test_the_ledger_says_what_was_shown_when_and_why(cli: Cli, source: OwnerSource) -> None:
    one, other = store(cli, PORT), store(cli, "The staging database is restored on Sundays")
    hook(cli, "session-start", "SessionStart", source="startup")
    asked = "which port does staging listen on?"
    assert PORT in hook(cli, "prompt-submit", "UserPromptSubmit", prompt=asked)
    ledger = source.ledger()
    (shown,) = ledger.rows
    assert (shown.memory_id, shown.cause, shown.text, shown.session_id) == (one, "prompt", PORT, SESSION)
    assert shown.relevance > 0.5 and not shown.used
    assert shown.about == asked and shown.relevance > shown.near[other]
    parts = list(shown.parts.values())
    assert {"opening", "lead"} <= set(shown.parts) and parts == sorted(parts, key=abs, reverse=True)
    (day,) = ledger.days
    assert (day.memories, day.used) == (1, 0) and day.tokens >= shown.tokens > 0
    assert source.ledger(session_id="0" * 8).rows == []
    assert {row.id: row.shown for row in source.memories().rows} == {one: 1, other: 0}


def test_a_session_has_its_line_of_time(cli: Cli, source: OwnerSource) -> None:
    worked(cli)
    (row,) = source.sessions().rows
    assert row.id == SESSION and row.goal.startswith("Mend the rounding") and row.events == 7
    seen = source.session(SESSION[:8])
    assert [mark.kind for mark in seen.marks] == [
        "start",
        "prompt",
        "green",
        "green",
        "red",
        "green",
        "compaction",
    ]
    assert "rounding_2" in seen.marks[4].text and seen.goal.startswith("Mend the rounding")
    assert len(seen.points) == 4 and all(-1.0 <= point.ic <= 1.0 for point in seen.points)
    failed_at = next(one.at_ms for one in seen.events if one.failed)
    assert seen.points[2].at_ms == failed_at and row.ic == pytest.approx(seen.points[-1].ic, abs=1e-3)
    assert [one.kind for one in seen.events][:2] == ["pre-compact", "post-tool"]
    assert [one.id for one in seen.chain] == [SESSION] and seen.damage == ""


def test_a_session_that_goes_on_names_the_one_before(cli: Cli, source: OwnerSource) -> None:
    worked(cli)
    hook(cli, "session-end", "SessionEnd", reason="other")
    second = "7a1d7e94-9f40-4a76-8f4e-0c8a6d6a2b22"
    hook(cli, "session-start", "SessionStart", session=second, source="startup")
    newest = source.sessions().rows[0]
    assert (newest.id, newest.previous_id) == (second, SESSION)
    assert [one.id for one in source.session(second).chain] == [second, SESSION]
    page = source.sessions(limit=1)
    assert page.total == 2 and source.sessions(cursor=page.next_cursor).rows[0].id == SESSION


def test_a_damaged_event_is_said_and_the_rest_is_shown(cli: Cli, source: OwnerSource) -> None:
    worked(cli)
    cli.stop_owner()
    with SessionStore.open(locate().store / "db") as opened:
        opened.engine.put(EVENTS, event_key(SESSION, 5), b"\x03 not an event")
    seen = source.session(SESSION)
    assert len(seen.events) == 4 and seen.damage
    assert source.sessions().rows[0].goal.startswith("Mend the rounding")


def test_a_run_is_a_difference_and_can_be_undone(cli: Cli, source: OwnerSource) -> None:
    first = store(cli, "The nightly backup runs at two in the morning")
    again = store(cli, "The nightly backup runs at two in the morning.")
    planned = source.dry_run("light")
    assert planned.is_dry and [change.kind for change in planned.changes] == ["merged"]
    assert source.runs() == []
    assert source.consolidate("light").startswith("done: 1 merged")
    (run,) = source.runs()
    assert run.mode == "light" and run.trigger and run.counts["merged"] == 1
    merged = source.run(run.token[:8]).changes[0]
    assert {merged.id, merged.into_id} == {first, again} and "nightly backup" in merged.into_text
    assert (merged.kind, merged.text) == (planned.changes[0].kind, planned.changes[0].text)
    assert source.undo(run.token).startswith("undone: 1 restored")
    undo, done = source.runs()
    assert (undo.undoes, done.undone_by) == (run.token, undo.token)
    assert "restored" in {change.kind for change in source.run(undo.token).changes}
    with pytest.raises(RefusedError, match="undone already"):
        source.undo(run.token)


def test_a_deep_run_draws_the_map(cli: Cli, source: OwnerSource) -> None:
    topics = (
        "tax rounding invoice ledger cents",
        "kernel scheduler runqueue preempt tick",
        "bread flour yeast oven crust",
    )
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    texts = [f"{topic}: the {word} note on {topic}" for topic in topics for word in words]
    for text in texts:
        store(cli, text)
    assert source.map().at_ms is None
    source.consolidate("deep")
    drawn = source.map()
    assert drawn.at_ms and len(drawn.clusters) >= 2
    labels = " ".join(cluster.label for cluster in drawn.clusters)
    assert "oven" in labels or "yeast" in labels or "flour" in labels or "crust" in labels


RULE = "From now on never sleep in tests, wait for the event instead."


def changed(cli: Cli, source: OwnerSource, session: str, prompt: str, *names: str) -> None:
    """A session that was asked for something, changed files, and ended."""
    hook(cli, "session-start", "SessionStart", session, source="startup")
    hook(cli, "prompt-submit", "UserPromptSubmit", session, prompt=prompt)
    for at, name in enumerate(names):
        given = {"file_path": str(cli.project / name), "old_string": "a", "new_string": f"b{at}"}
        edit = {"tool_name": "Edit", "tool_use_id": f"toolu_{session[:4]}{at}", "tool_input": given}
        hook(cli, "post-tool", "PostToolUse", session, tool_response={"ok": True}, **edit)
    hook(cli, "stop", "Stop", session, last_assistant_message="Done, the tests pass.")
    hook(cli, "session-end", "SessionEnd", session, reason="other")
    until = time.monotonic() + 60
    while session not in {one.id for one in source.map().sessions}:
        assert time.monotonic() < until, "it leaves a summary"
        time.sleep(0.05)


def test_the_map_has_files_by_sessions_and_what_was_said_there(cli: Cli, source: OwnerSource) -> None:
    subprocess.run(["git", "init", "-q", str(cli.project)], check=True)
    second = "7a1d7e94-9f40-4a76-8f4e-0c8a6d6a2b22"
    changed(
        cli, source, SESSION, f"Mend the limiter of the gateway. {RULE}", "src/a.py", "src/a.py", "src/b.py"
    )
    changed(cli, source, second, "Count requests per key in the limiter", "src/b.py", "src/c.py")
    drawn = source.map()
    files = {session.id: dict(session.files) for session in drawn.sessions}
    assert files == {SESSION: {"src/a.py": 2, "src/b.py": 1}, second: {"src/b.py": 1, "src/c.py": 1}}
    assert [session.id for session in drawn.sessions] == [SESSION, second], "the oldest first"
    (rule,) = [note for note in drawn.notes if note.kind == "rule"]
    assert "never sleep in tests" in rule.text and rule.session_id == SESSION and not rule.replaced_by
    memory(cli, "store", "In tests sleep for a second at most.", "--kind", "rule", "--supersedes", rule.id)
    (before, after) = [note for note in source.map().notes if note.kind == "rule"]
    assert before.id == rule.id and before.replaced_by == after.id and not after.replaced_by


def test_the_effect_counts_what_was_told_and_a_rule_that_had_to_be_said_again(
    cli: Cli, source: OwnerSource
) -> None:
    subprocess.run(["git", "init", "-q", str(cli.project)], check=True)
    changed(cli, source, SESSION, f"Mend the limiter of the gateway. {RULE}", "src/a.py")
    kept = "7a1d7e94-9f40-4a76-8f4e-0c8a6d6a2b22"
    changed(cli, source, kept, "Count requests per key in the limiter", "src/b.py")
    (week,) = source.effect().weeks
    assert (week.rules, week.broken, source.effect().broken) == (1, 0, [])
    assert week.memories >= 1 and week.tokens > 0 and week.used <= week.memories
    again = "7a1d7e94-9f40-4a76-8f4e-0c8a6d6a2b33"
    changed(cli, source, again, f"Write a test of the limiter. {RULE}", "tests/test_a.py")
    effect = source.effect()
    (row,) = effect.broken
    assert "never sleep in tests" in row.text and row.session_id == again and "said again" in row.how
    assert sum(one.broken for one in effect.weeks) == 1


GATES = """\
version: "1.0"
enabled: true
requirements:
  commit_plan:
    enabled: true
    scope: session
    trigger_tools: [Edit]
    message: "Say first what the plan is."
"""


def test_gates_are_shown_with_what_they_refused_and_how_they_stand(cli: Cli, source: OwnerSource) -> None:
    subprocess.run(["git", "init", "-q", "-b", "feature/x", str(cli.project)], check=True)
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude" / "requirements.yaml").write_text(GATES)
    cli.start_owner()  # a call before it is there is refused for that, not by the plan
    hook(cli, "session-start", "SessionStart", source="startup")
    tool = {
        "tool_name": "Edit",
        "tool_use_id": "toolu_1",
        "tool_input": {"file_path": str(cli.project / "a.py")},
    }
    assert '"deny"' in hook(cli, "pre-tool", "PreToolUse", **tool)
    gates = source.gates()
    (refused,) = gates.rows
    assert (refused.kind, refused.requirements, refused.branch) == ("denied", ["commit_plan"], "feature/x")
    (state,) = gates.states
    assert (state.branch, state.is_satisfied, state.refused) == ("feature/x", False, 1)
    assert cli.run("req", "satisfy", "commit_plan", "--session", SESSION).returncode == 0
    gates = source.gates()
    assert gates.states[0].is_satisfied and gates.rows[0].kind == "satisfied"
    assert "gate" in {mark.kind for mark in source.session(SESSION).marks}


class _Following(threading.Thread):
    """Collects what the owner says changed, until it is gone."""

    def __init__(self, source: OwnerSource) -> None:
        super().__init__(daemon=True)
        self._source = source
        self.told: list[str] = []
        self.lines = 0
        self.began = threading.Event()
        self.start()
        assert self.began.wait(20)

    def run(self) -> None:
        changes = iter(self._source.follow())
        assert tuple(next(changes)) == PARTS, "what changed before is not known"
        self.began.set()
        with suppress(OwnerError):  # a test that has ended took its owner with it
            for parts in changes:
                self.told += parts
                self.lines += 1

    def wait_for(self, part: str) -> None:
        until = time.monotonic() + 20
        while part not in self.told:
            assert time.monotonic() < until, f"{part} did not change: {self.told}"
            time.sleep(0.02)
        self.told.clear()


def test_whoever_follows_is_told_which_part_changed(cli: Cli, source: OwnerSource) -> None:
    cli.start_owner()
    store(cli, PORT)
    following = _Following(source)
    time.sleep(0.3)
    assert following.told == []
    source.memories()
    store(cli, "another one")
    following.wait_for("memories")
    hook(cli, "session-start", "SessionStart", source="startup")
    following.wait_for("sessions")
    hook(cli, "prompt-submit", "UserPromptSubmit", prompt="which port does staging listen on?")
    following.wait_for("ledger")
    assert set(following.told) <= set(PARTS)
    cli.stop_owner()
    following.join(20)
    assert not following.is_alive()
    with pytest.raises(OwnerUnavailableError):
        next(iter(source.follow()))


@pytest.mark.thorough
def test_a_busy_store_is_told_of_in_few_lines_and_other_stores_not_at_all(
    cli: Cli, source: OwnerSource, tmp_path: Path
) -> None:
    cli.start_owner()
    following = _Following(source)
    lines = "\n".join(
        json.dumps({"content": f"note {number}", "rationale": "made for a test"}) for number in range(200)
    )
    cli.run("memory", "import", stdin=lines)
    began = time.monotonic()
    for number in range(20):
        store(cli, f"one more {number}")
    following.wait_for("memories")
    assert following.lines <= 8 * (time.monotonic() - began) + 8
    time.sleep(1.0)  # what was held back for a moment is told by now
    seen = following.lines
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    cli.run("memory", "store", "not here", cwd=elsewhere)
    time.sleep(0.6)
    assert following.lines == seen


def test_a_wrong_question_names_what_is_wrong(source: OwnerSource) -> None:
    with pytest.raises(ContextGraphError, match="--limit '0' must be a number from 1 to 1000"):
        source.memories(limit=0)
    with pytest.raises(ContextGraphError, match="no change abcd1234"):
        source.run("abcd1234")
    assert os.environ["CONTEXT_GRAPH_HOME"], "asked of a data root of its own"
