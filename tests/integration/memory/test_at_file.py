"""A tool call on a file brings what earlier sessions did and learned there, once, within its budget."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory, remember

from context_graph.memory.embed import default_provider
from context_graph.owner.sessions.injections import SESSION_TOKENS

GOAL = "Make the token bucket refill lazily"


def edit(cli: Cli, session: str, path: str, verb: str = "post-tool", **more: Any) -> str:
    given = {"file_path": f"{cli.project}/{path}", "old_string": "rate = 1", "new_string": "rate = 2"}
    answer = {"tool_response": {"filePath": given["file_path"]}} if verb == "post-tool" else {}
    return context_of(hook(cli, verb, session, tool_name="Edit", tool_input=given, **answer, **more))


def at_edit(cli: Cli, session: str, path: str) -> str:
    """What an edit brings: before it, or with its result if that took longer than a call waits (100 ms)."""
    return edit(cli, session, path, "pre-tool") or edit(cli, session, path)


def read(cli: Cli, session: str, path: str, **more: Any) -> str:
    given = {"file_path": f"{cli.project}/{path}"}
    answer = {"tool_response": {"type": "text", "file": {"filePath": given["file_path"], "content": "a"}}}
    return context_of(hook(cli, "post-tool", session, tool_name="Read", tool_input=given, **answer, **more))


def shell(cli: Cli, session: str, command: str, *, error: str = "") -> str:
    given = {"tool_name": "Bash", "tool_input": {"command": command}}
    if error:
        return context_of(hook(cli, "post-tool-failure", session, **given, error=error))
    answer = {"tool_response": {"stdout": "ok", "stderr": ""}}
    return context_of(hook(cli, "post-tool", session, **given, **answer))


def end(cli: Cli, name: str, *paths: str, goal: str = GOAL) -> None:
    """End a session with words that say why, in these files."""
    names = " and ".join(f"`{path}`" for path in paths)
    hook(cli, "stop", name, last_assistant_message=f"It failed because {names} did not know this: {goal}.")
    hook(cli, "session-end", name, reason="exit")


def session(cli: Cli, name: str, *paths: str, goal: str = GOAL) -> str:
    """A session that changed these files; the id of its summary."""
    hook(cli, "session-start", name, source="startup")
    hook(cli, "prompt-submit", name, prompt=goal)
    shell(cli, name, "pytest -q tests/test_bucket.py", error="Exit code 1\nAssertionError: 3 != 4")
    for path in paths:
        edit(cli, name, path)
    shell(cli, name, "pytest -q tests/test_bucket.py")
    end(cli, name, *paths, goal=goal)
    return str(memory(cli, "list")["nodes"][0]["id"])


def begin(cli: Cli, name: str) -> None:
    """A session whose start has read the index of files."""
    hook(cli, "session-start", name, source="startup")
    hook(cli, "prompt-submit", name, prompt="Look at how requests are limited")
    memory(cli, "list")


def note(cli: Cli, kind: str) -> str:
    """The id of the newest note of a kind."""
    return str(memory(cli, "list", "--kind", kind)["nodes"][0]["id"])


def test_the_first_read_of_a_file_brings_what_was_done_there_once(cli: Cli) -> None:
    session(cli, "s-1", "src/bucket.py", "src/clock.py")
    begin(cli, "s-2")
    text = read(cli, "s-2", "src/bucket.py")
    assert f"- [{note(cli, 'change')[:8]}] src/bucket.py, changed on " in text
    assert GOAL in text and "did not know this" in text
    assert read(cli, "s-2", "src/bucket.py") == "", "once a file"
    assert read(cli, "s-2", "src/clock.py") == "", "the same note is in the context already"
    assert read(cli, "s-2", "src/other.py") == ""


def test_a_file_is_told_about_though_the_start_showed_its_session_s_open_ends(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt=GOAL)
    shell(cli, "s-1", "pytest -q")
    edit(cli, "s-1", "src/bucket.py")
    shell(cli, "s-1", "pytest -q", error="FAILED tests/test_bucket.py::test_refill - AssertionError: 3 != 4")
    end(cli, "s-1", "src/bucket.py")
    assert "test_refill" in context_of(hook(cli, "session-start", "s-2", source="startup"))
    memory(cli, "list")
    assert "src/bucket.py, changed on " in read(cli, "s-2", "src/bucket.py")


def test_what_was_learned_at_a_file_is_told_there(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt=GOAL)
    shell(cli, "s-1", "make wheel", error="error: invalid pyproject.toml: project.license must be a string")
    edit(cli, "s-1", "pyproject.toml")
    shell(cli, "s-1", "make wheel")
    hook(cli, "session-end", "s-1", reason="exit")
    begin(cli, "s-2")
    text = at_edit(cli, "s-2", "pyproject.toml")
    assert "learned on " in text and "project.license must be a string" in text


def test_where_nobody_said_why_it_is_told_for_what_it_was_changed_how_and_how_it_was_tested(cli: Cli) -> None:
    """By the commit, if there is one: the prompt may say only where to look."""
    for session, path in (("s-1", "src/bucket.py"), ("s-2", "src/clock.py")):
        hook(cli, "session-start", session, source="startup")
        hook(cli, "prompt-submit", session, prompt=GOAL)
        edit(cli, session, path)
        shell(cli, session, "pytest -q tests/test_bucket.py")
        if session == "s-2":
            shell(cli, session, "git commit -am 'Let the clock tick by itself'")
        hook(cli, "session-end", session, reason="exit")
    begin(cli, "s-3")
    text = at_edit(cli, "s-3", "src/bucket.py")
    assert (
        f'"For: {GOAL} | Edit: `rate = 1` -> `rate = 2` | Tested with: pytest -q tests/test_bucket.py"'
        in text
    )
    assert '"For: Let the clock tick by itself | ' in at_edit(cli, "s-3", "src/clock.py")


def test_what_was_said_of_another_file_is_told_there(cli: Cli) -> None:
    """By its name, or by what is in it; of a name that two files have nobody knows whose it is."""
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt=GOAL)
    for path in ("src/clock.py", "src/a/index.py", "src/b/index.py"):
        read(cli, "s-1", path)
    edit(cli, "s-1", "src/bucket.py")
    said = (
        "`clock.py` must stay without imports because the installer copies it alone. "
        "The trouble in `index.py` is caused by an old cache."
    )
    hook(cli, "stop", "s-1", last_assistant_message=said)
    hook(cli, "session-end", "s-1", reason="exit")
    begin(cli, "s-2")
    text = at_edit(cli, "s-2", "src/clock.py")
    assert "src/clock.py, noted on " in text and "the installer copies it alone" in text
    assert at_edit(cli, "s-2", "src/a/index.py") == ""


def test_of_several_notes_the_one_that_was_asked_about_is_told(cli: Cli) -> None:
    for number, goal in enumerate(("Round the price of parcels up", "Log what the carrier answers")):
        session(cli, f"s-{number}", "src/app.py", goal=goal)
    hook(cli, "session-start", "s-9", source="startup")
    asked = hook(cli, "prompt-submit", "s-9", prompt="Why is the price of parcels rounded?")
    memory(cli, "list")
    told = f"{asked}{read(cli, 's-9', 'src/app.py')}"
    assert "Round the price" in told.split("Log what")[0], "at the prompt, or first at the file"


def test_of_notes_that_share_only_words_of_any_sentence_the_newest_is_told(cli: Cli) -> None:
    for number, goal in enumerate(("Send all of the totals to the archive for me", "Log carriers")):
        session(cli, f"s-{number}", "src/app.py", goal=goal)
    begin(cli, "s-9")
    hook(cli, "prompt-submit", "s-9", prompt="Add humidity to all of the tables for me")
    assert "Log carriers" in read(cli, "s-9", "src/app.py")


def test_a_file_that_the_prompt_names_is_told_about_at_once(cli: Cli) -> None:
    for number in range(4):
        session(cli, f"s-{number}", "src/app.py", goal=f"{GOAL}, part {number}")
    hook(cli, "session-start", "s-9", source="startup")
    asked = context_of(hook(cli, "prompt-submit", "s-9", prompt="What does app.py do with the bucket?"))
    memory(cli, "list")
    assert "src/app.py" in asked + read(cli, "s-9", "src/app.py")


def test_an_edit_is_told_before_it_is_made_or_with_its_result(cli: Cli) -> None:
    session(cli, "s-1", "src/bucket.py")
    begin(cli, "s-2")
    assert GOAL in edit(cli, "s-2", "src/bucket.py")
    assert edit(cli, "s-2", "src/bucket.py") == ""
    for number in range(9):  # a call waits 100 ms, and this machine may be busy
        begin(cli, f"s-3{number}")
        if text := edit(cli, f"s-3{number}", "src/bucket.py", "pre-tool"):
            break
    assert GOAL in text
    assert edit(cli, f"s-3{number}", "src/bucket.py") == ""


def test_a_command_that_names_a_file_is_a_touch(cli: Cli) -> None:
    session(cli, "s-1", "src/bucket.py")
    begin(cli, "s-2")
    assert GOAL in shell(cli, "s-2", "sed -n 1,40p src/bucket.py")


def test_the_first_file_of_a_prompt_is_told_about_at_once_and_the_next_at_its_third_touch(cli: Cli) -> None:
    """Most files that are opened are only looked at. The next prompt's work has a first file of its own."""
    for name in ("app", "bucket", "clock"):
        session(cli, f"s-{name}", f"src/{name}.py", goal=f"{GOAL}, for {name}")
    begin(cli, "s-9")
    assert "for bucket" in read(cli, "s-9", "src/bucket.py")
    assert [bool(read(cli, "s-9", "src/app.py")) for _ in range(7)] == [*[False] * 2, True, *[False] * 4]
    hook(cli, "prompt-submit", "s-9", prompt="Now write the minutes of our meeting down")
    assert "for clock" in read(cli, "s-9", "src/clock.py")


def test_a_file_that_the_prompt_names_is_told_about_whichever_it_is(cli: Cli) -> None:
    for name in ("app", "bucket"):
        session(cli, f"s-{name}", f"src/{name}.py", goal=f"{GOAL}, for {name}")
    begin(cli, "s-9")
    asked = context_of(hook(cli, "prompt-submit", "s-9", prompt="Compare how app.py and bucket.py log"))
    assert "for bucket" in asked + read(cli, "s-9", "src/bucket.py")
    assert "for app" in asked + read(cli, "s-9", "src/app.py")


def test_a_file_that_is_about_to_change_is_told_about_whichever_it_is(cli: Cli) -> None:
    for name in ("app", "bucket"):
        session(cli, f"s-{name}", f"src/{name}.py", goal=f"{GOAL}, for {name}")
    begin(cli, "s-9")
    assert "for bucket" in read(cli, "s-9", "src/bucket.py")
    assert read(cli, "s-9", "src/app.py") == ""
    assert "for app" in at_edit(cli, "s-9", "src/app.py")


def test_a_file_changed_by_a_command_or_a_script_was_worked_on(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt=GOAL)
    read(cli, "s-1", "src/rates/bucket.py")
    shell(cli, "s-1", "sed -i 's/a/b/' src/rates/clock.py")
    script = "cat <<'EOF' > fix.py\np = 'src/rates/bucket.py'\nopen(p, 'w').write('x')\nEOF"
    shell(cli, "s-1", script)
    shell(cli, "s-1", "python3 fix.py")
    end(cli, "s-1", "src/rates/bucket.py")
    changed = memory(cli, "list")["nodes"][0]["metadata"]["capture"]["changed"]
    assert {"src/rates/clock.py", "src/rates/bucket.py"} <= set(changed)
    begin(cli, "s-2")
    assert GOAL in read(cli, "s-2", "src/rates/bucket.py")


def test_a_note_that_rests_on_a_file_is_told_there(cli: Cli) -> None:
    (cli.project / "deploy.md").write_text("8443")
    node = remember(cli, "Staging listens on 8443", "--evidence", "deploy.md")
    begin(cli, "s-2")
    text = read(cli, "s-2", "deploy.md")
    assert f"[{node[:8]}]" in text and "verified" in text and "8443" in text


def test_what_was_forgotten_is_not_told(cli: Cli) -> None:
    session(cli, "s-1", "src/bucket.py")
    begin(cli, "s-2")
    for one in memory(cli, "list")["nodes"]:
        cli.run("memory", "forget", one["id"])
    assert read(cli, "s-2", "src/bucket.py") == ""


@pytest.mark.parametrize("setting", ["memory_at_file = false", "memory_inject = false"])
def test_settings_switch_it_off(cli: Cli, setting: str) -> None:
    session(cli, "s-1", "src/bucket.py")
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude" / "context-graph.toml").write_text(setting)
    cli.run("owner", "stop")
    begin(cli, "s-2")
    assert read(cli, "s-2", "src/bucket.py") == ""


def test_a_subagent_s_calls_bring_nothing_and_use_nothing_up(cli: Cli) -> None:
    session(cli, "s-1", "src/bucket.py")
    begin(cli, "s-2")
    assert read(cli, "s-2", "src/bucket.py", agent_id="agent-1") == ""
    assert GOAL in read(cli, "s-2", "src/bucket.py")


def test_after_a_compaction_it_is_told_again(cli: Cli) -> None:
    session(cli, "s-1", "src/bucket.py")
    begin(cli, "s-2")
    assert GOAL in read(cli, "s-2", "src/bucket.py")
    hook(cli, "session-start", "s-2", source="compact")
    memory(cli, "list")
    assert GOAL in read(cli, "s-2", "src/bucket.py")


def test_a_session_is_told_no_more_than_its_budget(cli: Cli) -> None:
    for number in range(12):
        goal = " ".join(f"purpose{number}x{at}" for at in range(40))
        session(cli, f"s-{number}", f"src/part{number}.py", goal=f"{number}: {goal}")
    begin(cli, "s-99")
    texts = [at_edit(cli, "s-99", f"src/part{number}.py") for number in range(12)]
    count = default_provider().count_tokens
    assert all(count(text) <= 120 for text in texts)
    assert 300 < sum(map(count, texts)) <= SESSION_TOKENS


def test_the_ledger_has_it_with_its_kind(cli: Cli) -> None:
    session(cli, "s-1", "src/bucket.py")
    begin(cli, "s-2")
    read(cli, "s-2", "src/bucket.py")
    shown = memory(cli, "list", "--injected")["injections"][0]
    assert shown["event"] == "file" and shown["memories"][0]["id"] == note(cli, "change")
