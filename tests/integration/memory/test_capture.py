"""Sessions become memories without anybody asking: once each, durably, and the next session is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.faults.writes import Writes
from tests.support.cli import Cli, end_process
from tests.support.owner.harness import wait_until
from tests.support.sessions import context_of, hook, memory, remember, work_session

from context_graph.config import data_root, store_dir
from context_graph.memory.capture import capture_id
from context_graph.memory.memex import Memex
from context_graph.model import EventKind
from context_graph.store.graph.graph import GraphStore
from context_graph.store.sessions.sessions import SessionStore
from context_graph.text.quoting import FENCE_OPEN


def captured(cli: Cli) -> list[dict[str, object]]:
    return [node for node in memory(cli, "list")["nodes"] if node["source"] == "capture"]


def noted(cli: Cli) -> list[dict[str, str]]:
    return [node for node in memory(cli, "list")["nodes"] if node["source"] == "note"]


def alive(pid: int) -> bool:
    """Whether that process runs; one that nobody has waited for yet does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def kill_owner(cli: Cli) -> None:
    end_process(cli.owner_pid())


def test_what_the_model_says_between_its_calls_is_read_at_its_stop(cli: Cli, tmp_path: Path) -> None:
    """No hook tells it, the client's transcript does; secrets in it are masked as anywhere."""
    said = "`refill` never runs because `tick` is not registered in `src/clock.py`, not even with "
    said += "ghp_" + 4 * "aB3dE5fG7h"
    transcript = tmp_path / "s-1.jsonl"
    content = [{"type": "text", "text": said}, {"type": "tool_use", "id": "a", "name": "Edit", "input": {}}]
    transcript.write_text(json.dumps({"type": "assistant", "message": {"content": content}}) + "\n")
    work_session(cli, "s-1", stop=False, end=False)
    where = {"transcript_path": str(transcript)}
    hook(cli, "stop", "s-1", stop_hook_active=False, last_assistant_message="Done.", **where)
    (text,) = [str(one["content"]) for one in noted(cli) if "Found on the way" in one["content"]]
    assert "`tick` is not registered in `src/clock.py`" in text and "ghp_" not in text


def test_what_was_said_on_the_way_takes_no_last_words_from_the_summary(cli: Cli, tmp_path: Path) -> None:
    """A session that changed nothing: how it ended stands in its summary all the same."""
    said = "`refill` never runs because `tick` is not registered in `src/clock.py`."
    content = [{"type": "text", "text": said}, {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}]
    (tmp_path / "s-1.jsonl").write_text(
        json.dumps({"type": "assistant", "message": {"content": content}}) + "\n"
    )
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="Get the old bucket running again", prompt_id="1")
    run = {"command": "make serve"}
    hook(cli, "post-tool", "s-1", tool_name="Bash", tool_input=run, tool_response={"stdout": "up"})
    last = "The old bucket serves on port 9000 again."
    where = {"transcript_path": str(tmp_path / "s-1.jsonl")}
    hook(cli, "stop", "s-1", stop_hook_active=False, last_assistant_message=last, **where)
    assert any("Found on the way" in one["content"] for one in noted(cli))
    assert any("port 9000" in str(node["content"]) for node in memory(cli, "list")["nodes"])


def test_a_session_becomes_one_memory_with_its_provenance(cli: Cli) -> None:
    """REQ-CORE-014: goal, files, commands, failures, decisions and open ends; source, session and events."""
    work_session(cli, "s-1")
    (node,) = captured(cli)
    lines = dict(line.split(": ", 1) for line in str(node["content"]).splitlines())
    assert lines["Goal"] == "Make the token bucket refill lazily"
    assert lines["Changed"] == "src/bucket.py"
    assert "Ran" not in lines and "Failed" not in lines, "what was done is told, and it worked in the end"
    assert "Decided" not in lines and "Open" not in lines, "its notes say it"
    assert (node["session_id"], node["project"], node["tags"]) == (
        "s-1",
        str(cli.project),
        ["session-summary"],
    )
    capture = node["metadata"]["capture"]  # type: ignore[index]
    notes = {one["kind"]: one for one in noted(cli)}
    assert set(node["metadata"]["notes"]) == {one["id"] for one in notes.values()}  # type: ignore[index]
    assert (
        "the clock went backwards" in notes["lesson"]["content"]
        and "edit of src/bucket.py" in notes["lesson"]["content"]
    )
    assert notes["change"]["content"].startswith(
        "Make the token bucket refill lazily\nChanged: src/bucket.py"
    )
    assert "Decided: I chose a float level" in notes["change"]["content"]
    assert "sliding window" in notes["open"]["content"] and notes["change"]["session_id"] == "s-1"
    assert (capture["first_event"], capture["last_event"]) == (1, 7)


def test_a_pause_is_enough_and_the_end_refreshes_the_same_memory(cli: Cli) -> None:
    """SessionEnd may never come (the client's contract, section 5): Stop has it all by then."""
    work_session(cli, "s-1", end=False)
    (before,) = captured(cli)
    hook(cli, "prompt-submit", "s-1", prompt="now cover the sliding window with tests", prompt_id="2")
    hook(cli, "stop", "s-1", last_assistant_message="Covered.")
    hook(cli, "session-end", "s-1", reason="other")
    (after,) = captured(cli)
    assert after["id"] == before["id"] and "sliding window with tests" in str(after["content"])
    assert memory(cli, "list", "--source", "capture")["nodes"] == [after], "never twice the same"


def test_a_session_with_nothing_to_say_leaves_no_memory(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="what does the bucket do?", prompt_id="1")
    hook(cli, "stop", "s-1", last_assistant_message="It limits the rate of requests.")
    hook(cli, "session-end", "s-1", reason="other")
    assert memory(cli, "list")["nodes"] == []


@pytest.mark.parametrize("last", ["stop", "session-end"])
def test_a_kill_between_answer_and_capture_loses_nothing_and_doubles_nothing(
    cli: Cli, tmp_path: Path, last: str
) -> None:
    """Invariant 5: the event announces the capture durably; opening the store makes it up.

    The owner dies before the first write that follows the last event's own: before the capture.
    """
    writes = Writes.build(tmp_path)
    cli = Cli(cli.launcher, cli.project, {**cli.env, "CONTEXT_GRAPH_PYTHON": str(writes.python())})
    work_session(cli, "s-1", stop=False, end=False)
    assert captured(cli) == []  # and nothing of these hooks is left to be written
    pid = cli.owner_pid()
    writes.arm(2, kills=True)
    hook(
        cli,
        last,
        "s-1",
        **({"reason": "other"} if last == "session-end" else {"last_assistant_message": "Done."}),
    )
    wait_until(lambda: not alive(pid), "the owner to be killed by its next write")
    writes.arm(0, kills=False)
    with SessionStore.open(store_dir(data_root(cli.env), cli.project) / "db", read_only=True) as store:
        *_, event = store.event_log.after("s-1", 0)
        assert event.kind in (EventKind.STOP, EventKind.SESSION_END), "killed before the event was durable"
        assert GraphStore.count_in(store.engine) == 0, "killed after the capture"
    (node,) = captured(cli)
    assert "token bucket" in str(node["content"])
    kill_owner(cli)
    assert captured(cli) == [node], "made up once, not again"


def test_what_the_log_kept_is_captured_too(cli: Cli) -> None:
    """Invariant 6: a session whose last hooks met no owner."""
    work_session(cli, "s-1", end=False)
    cli.run("owner", "stop")
    python = {"CONTEXT_GRAPH_PYTHON": "/bin/false"}  # so that this hook starts no owner either
    given = {"session_id": "s-1", "hook_event_name": "UserPromptSubmit", "prompt": "add jitter to the refill"}
    for verb, body in (
        ("prompt-submit", given),
        ("session-end", {"session_id": "s-1", "hook_event_name": "SessionEnd", "reason": "other"}),
    ):
        done = cli.run("hooks", verb, "--stdin", "--format", "claude", stdin=json.dumps(body), env=python)
        assert done.returncode == 0
    (node,) = captured(cli)
    assert "add jitter to the refill" in str(node["content"])


def test_a_summary_that_was_forgotten_stays_forgotten(cli: Cli) -> None:
    """REQ-CORE-013: what a user forgot does not come back with the next pause."""
    work_session(cli, "s-1", end=False)
    (node,) = captured(cli)
    cli.run("memory", "forget", str(node["id"]))
    hook(cli, "prompt-submit", "s-1", prompt="always use monotonic time", prompt_id="2")
    hook(cli, "session-end", "s-1", reason="other")
    assert captured(cli) == []
    assert FENCE_OPEN not in context_of(hook(cli, "session-start", "s-2", source="startup"))


def test_capture_can_be_switched_off(cli: Cli) -> None:
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude" / "context-graph.toml").write_text("memory_capture = false\n")
    work_session(cli, "s-1")
    assert captured(cli) == []


def test_secrets_of_a_session_are_in_no_summary(cli: Cli) -> None:
    """Invariant 10: what the events hold is redacted, so what is made of them is."""
    secret = "ghp_" + "a8Zk3LmQ9xT2vB7nR4cW6yD1sF5gH0jK2pE3"
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt=f"push with token {secret} to the mirror", prompt_id="1")
    command = {"command": f"git push https://{secret}@example.org/x.git"}
    hook(cli, "post-tool", "s-1", tool_name="Bash", tool_input=command, tool_response={"stdout": ""})
    hook(cli, "stop", "s-1", last_assistant_message=f"We decided to keep {secret} in the keychain.")
    (node,) = captured(cli)
    assert secret not in json.dumps(node) and "[redacted:" in str(node["content"])


def test_the_next_session_is_told_what_the_last_one_left_open(cli: Cli) -> None:
    """Its goal and open ends, fenced, with their age; an empty session is looked past."""
    work_session(cli, "s-1")
    hook(cli, "session-start", "s-2", source="startup")
    hook(cli, "session-end", "s-2", reason="other")
    text = context_of(hook(cli, "session-start", "s-3", source="startup"))
    assert text.startswith(FENCE_OPEN) and "] open ends of the last session on " in text
    assert "Make the token bucket refill lazily" in text and "sliding window is not yet covered" in text
    assert "tests were run with" not in text, "one session says nothing of how it is done here"


def test_another_project_is_told_nothing(cli: Cli, tmp_path: Path) -> None:
    """Two projects never see each other's memories."""
    work_session(cli, "s-1")
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    there = Cli(cli.launcher, other, cli.env)
    assert FENCE_OPEN not in context_of(hook(there, "session-start", "s-2", source="startup"))
    assert memory(there, "list")["nodes"] == []


def test_compaction_seals_a_checkpoint_and_its_start_brings_it_back(cli: Cli) -> None:
    """PreCompact, then SessionStart(compact) of the same session."""
    work_session(cli, "s-1", end=False)
    hook(cli, "prompt-submit", "s-1", prompt="now add jitter to the refill", prompt_id="2")
    hook(cli, "pre-compact", "s-1", trigger="auto")
    text = context_of(hook(cli, "session-start", "s-1", source="compact"))
    assert "checkpoint of this session" in text
    assert "Make the token bucket refill lazily" in text and "now add jitter to the refill" in text
    (node,) = captured(cli)
    assert node["metadata"]["sealed_at_ms"] > 0  # type: ignore[index]


def test_compaction_is_survived_without_capture_and_without_any_memory(cli: Cli) -> None:
    """The checkpoint is worked out from the events; a store without memories gains none by it."""
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude" / "context-graph.toml").write_text("memory_capture = false\n")
    work_session(cli, "s-1", end=False)
    hook(cli, "pre-compact", "s-1", trigger="manual")
    text = context_of(hook(cli, "session-start", "s-1", source="compact"))
    assert "checkpoint of this session" in text and "token bucket" in text
    assert memory(cli, "list")["nodes"] == []


def test_a_resumed_session_is_told_nothing_again_and_a_cleared_one_gets_a_pointer(cli: Cli) -> None:
    """Who resumes has the transcript. Whoever cleared wants it clear: one line says where the rest is."""
    work_session(cli, "s-1")
    work_session(cli, "s-2")
    resumed = context_of(hook(cli, "session-start", "s-1", source="resume"))
    assert resumed == ""
    cleared = context_of(hook(cli, "session-start", "s-3", source="clear"))
    assert FENCE_OPEN not in cleared and "The session before the clear is memory " in cleared


def test_a_long_session_keeps_the_goal_that_its_stored_events_have_lost(cli: Cli) -> None:
    """The store keeps 512 events; the summary goes on from the last one that it saw."""
    from context_graph.memory.capture import capture, works_in
    from context_graph.model import EventKind, EventParts, HookEvent

    def event(number: int) -> tuple[int, HookEvent]:
        kind = EventKind.PROMPT_SUBMIT if number == 1 else EventKind.POST_TOOL
        text = "Make the token bucket refill lazily" if number == 1 else f"make target{number}"
        tool = "" if number == 1 else "Bash"
        return number, HookEvent(
            kind,
            "s",
            f"e{number}",
            number,
            tool_name=tool,
            input_text=text,
            success=True,
            parts=EventParts(command=text if tool else ""),
        )

    with Memex.open(cli.project / "store") as memex:
        events = [event(number) for number in range(1, 1001)]
        assert capture(memex, "s", lambda after: events[after:40], project=None) is not None
        assert capture(memex, "s", lambda after: events[max(after, 500) :], project=None) is not None
        assert capture(memex, "s", lambda after: events[after:], project=None) is None, "nothing new"
        node = memex.get(capture_id("s"))
        assert node is not None and node.content.startswith("Goal: Make the token bucket refill lazily")
        assert "make target1000" in node.content and len(works_in(memex)) == 1


REPORT = (
    "<task-notification>\n<task-id>a991</task-id>\n<result>We decided to drop the float level and always use "
    "Redis. From now on never call the bucket directly.</result>\n</task-notification>"
)


def test_what_a_subagent_reports_is_recorded_and_is_nobody_s_decision(cli: Cli) -> None:
    """It comes where prompts come; taken for one it would be the user's word in the next session."""
    remember(cli, "We use Redis for sessions")
    work_session(cli, "s-1", end=False)
    (before,) = captured(cli)
    for source in ({}, {"source": "system"}):
        told = hook(cli, "prompt-submit", "s-1", prompt=REPORT, prompt_id=f"n{len(source)}", **source)
        assert context_of(told) == "", "no state, no memories: nobody asked"
    written = f"{cli.project}/crepes.md"
    hook(
        cli,
        "post-tool",
        "s-1",
        tool_name="Write",
        tool_input={"file_path": written, "content": "eggs"},
        tool_response={"filePath": written},
        agent_id="a991",
    )
    hook(cli, "session-end", "s-1", reason="other")
    (after,) = captured(cli)
    lines = dict(line.split(": ", 1) for line in str(after["content"]).splitlines())
    was = dict(line.split(": ", 1) for line in str(before["content"]).splitlines())
    assert lines.pop("Changed") == "crepes.md; src/bucket.py" and was.pop("Changed") == "src/bucket.py"
    assert lines == was
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["notification"] == 2 and shown["events_by_kind"]["subagent"] == 1
    told = hook(cli, "session-start", "s-2", source="startup")
    assert "never call the bucket" not in context_of(told) and "sliding window" in context_of(told)


def test_the_client_s_own_memory_is_left_out_of_what_changed(cli: Cli) -> None:
    chosen, config = cli.project.parent / "notes", Path(cli.env["HOME"]) / ".claude"
    config.mkdir(exist_ok=True)
    (config / "settings.json").write_text(json.dumps({"autoMemoryDirectory": str(chosen)}))
    work_session(cli, "s-1", end=False)
    for number, path in enumerate(
        (config / "projects/-p/memory/tabs.md", chosen / "MEMORY.md", config / "plans/p.md")
    ):
        hook(
            cli,
            "post-tool",
            "s-1",
            tool_name="Write",
            tool_use_id=f"own-{number}",
            tool_input={"file_path": str(path), "content": "x"},
            tool_response={"filePath": str(path)},
        )
    hook(cli, "session-end", "s-1", reason="other")
    (node,) = captured(cli)
    lines = dict(line.split(": ", 1) for line in str(node["content"]).splitlines())
    assert lines["Changed"] == f"{config}/plans/p.md; src/bucket.py", "a plan is work that others go on with"


def test_what_is_said_after_the_first_prompt_reaches_the_profile_and_the_next_morning(cli: Cli) -> None:
    """A second prompt's words and runs count as soon as the session paused, and after a restart too."""
    work_session(cli, "s-1", end=False)
    hook(cli, "prompt-submit", "s-1", prompt="From now on never call the bucket directly.", prompt_id="2")
    hook(cli, "stop", "s-1", last_assistant_message="Noted: the bucket stays behind `limits`.")
    hook(cli, "session-end", "s-1", reason="other")
    assert "never call the bucket directly" in context_of(hook(cli, "session-start", "s-2", source="startup"))
    cli.run("owner", "restart")
    assert "never call the bucket directly" in context_of(hook(cli, "session-start", "s-3", source="startup"))


def test_a_note_that_was_forgotten_stays_so_and_one_that_is_void_goes(cli: Cli) -> None:
    work_session(cli, "s-1", end=False)
    by_kind = {one["kind"]: one for one in noted(cli)}
    memory(cli, "forget", by_kind["lesson"]["id"])
    hook(cli, "prompt-submit", "s-1", prompt="Cover the sliding window with tests as well", prompt_id="2")
    path = f"{cli.project}/tests/test_bucket.py"
    hook(
        cli,
        "post-tool",
        "s-1",
        tool_name="Edit",
        tool_input={"file_path": path, "old_string": "a", "new_string": "def test_window(): ..."},
        tool_response={"filePath": path},
    )
    hook(cli, "stop", "s-1", last_assistant_message="Added `test_window`, which slides by one second.")
    after = noted(cli)
    assert "lesson" not in {one["kind"] for one in after} and "open" not in {one["kind"] for one in after}
    assert sum(one["kind"] == "change" for one in after) == 2
    gone = {one["id"]: one["reason"] for one in memory(cli, "list", "--deleted")["tombstones"]}
    assert gone[by_kind["open"]["id"]] == "the session's later words say otherwise"
    shown = memory(cli, "list", "--kind", "change")["nodes"]
    assert {one["id"] for one in shown} == {one["id"] for one in after if one["kind"] == "change"}


def test_a_newer_word_of_the_user_ends_the_older_one(cli: Cli) -> None:
    for number, said in enumerate(
        (
            "From now on staging listens on port 8443.",
            "From now on staging listens on port 9000 instead of 8443.",
        )
    ):
        session = f"s-{number}"
        hook(cli, "session-start", session, source="startup")
        hook(cli, "prompt-submit", session, prompt=said, prompt_id=session)
        hook(cli, "stop", session, last_assistant_message="Noted.")
        hook(cli, "session-end", session, reason="other")
    wait_until(lambda: len(memory(cli, "list", "--kind", "rule")["nodes"]) == 2, "both to be kept")
    newer, older = memory(cli, "list", "--kind", "rule")["nodes"]
    (link,) = [
        one for one in memory(cli, "show", newer["id"])["edges"] if one["relationship_type"] == "supersedes"
    ]
    assert link["target_id"] == older["id"]
    told = hook(cli, "prompt-submit", "s-9", prompt="which port does staging listen on?", prompt_id="9")
    assert "port 8443." not in context_of(told)
