"""What a later session is told without asking: the user's rules that concern it, and what solved an error."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected
from tests.support.sessions import context_of, hook, memory, remember

from context_graph.memory.embed import default_provider

ERROR = "Exit code 1\nImportError: libvips.so.42: cannot open shared object file: No such file or directory"
OTHER = "Exit code 1\nImportError: cannot import name 'Picture' from 'gallery.models'"


OTHER_RULES = (
    "Icons always come from the shared set, and nobody draws any by hand in this project.",
    "Never add a dependency without asking me, the security people check each one for weeks.",
    "Commit messages are always written in English, with the number of the ticket in front.",
    "Class names are always singular, the generator of the documentation wants it that way.",
    "Never touch the vendored parser, its authors send us a new copy every other month.",
    "Log lines never contain addresses of customers, the auditors read them once a year.",
    "Never use abbreviations in names, half of the team reads this in a foreign language.",
    "Every public function has a docstring, because the reference is printed for the customer.",
    "Never sleep in tests, the runners are so slow that no pause is ever long enough.",
    "Error texts never blame the reader, the support team has to answer for each of them.",
    "We always squash before merging, otherwise the bisect script stumbles over half commits.",
)


def says(cli: Cli, session: str, *prompts: str) -> None:
    """A session in which somebody said that, and something was done."""
    hook(cli, "session-start", session, source="startup")
    for number, prompt in enumerate(prompts):
        hook(cli, "prompt-submit", session, prompt=prompt, prompt_id=f"p{number}")
        edit = {"file_path": f"{cli.project}/gallery/{session}.py", "old_string": "a", "new_string": "b"}
        hook(cli, "post-tool", session, tool_name="Edit", tool_input=edit, tool_response={})
    hook(cli, "session-end", session, reason="other")


def start(cli: Cli, session: str) -> str:
    return context_of(hook(cli, "session-start", session, source="startup"))


def asked(cli: Cli, session: str, prompt: str) -> str:
    return context_of(hook(cli, "prompt-submit", session, prompt=prompt, prompt_id="p"))


def bash(cli: Cli, session: str, command: str, error: str = "") -> str:
    call = {"tool_name": "Bash", "tool_input": {"command": command}}
    if error:
        return context_of(hook(cli, "post-tool-failure", session, **call, error=error))
    return context_of(hook(cli, "post-tool", session, **call, tool_response={"stdout": "ok"}))


def test_a_rule_of_the_user_is_told_at_the_next_start_once(cli: Cli) -> None:
    rule = "Never use floats for money."
    says(cli, "s-1", f"Add the shopping basket. {rule}")
    text = start(cli, "s-2")
    assert "The user said:" in text and rule in text
    assert "The user said" not in asked(cli, "s-2", "How do we round the money in the basket?"), "once"
    hook(cli, "pre-compact", "s-2", trigger="auto")
    again = context_of(hook(cli, "session-start", "s-2", source="compact"))
    again += asked(cli, "s-2", "Do we keep the money in floats or in cents?")
    assert again.count(rule) == 1, "its context had it no longer"


def test_of_more_rules_than_a_start_holds_the_nearest_to_its_task_are_told_at_the_first_prompt(
    cli: Cli,
) -> None:
    """They share no word with the task; at later prompts only what concerns them comes."""
    says(cli, "s-1", "Add the cellar. All volumes are kept in whole millilitres, never as floats.")
    for number, rule in enumerate(OTHER_RULES):
        says(cli, f"s-{number + 2}", f"Go on with the pages. {rule}")
    said = "whole millilitres"
    assert said not in start(cli, "s-20")
    first = asked(cli, "s-20", "Sum up the litres of all bottles")
    assert said in first and "vendored parser" not in first
    assert said not in start(cli, "s-21")
    asked(cli, "s-21", "Restart the worker and see whether its queue drains")
    assert said not in asked(cli, "s-21", "Sum up the litres of all bottles")


def test_after_a_compaction_a_rule_that_was_taken_back_before_it_is_not_told(cli: Cli) -> None:
    says(cli, "s-1", "Add the gallery. Don't use threads here.", "Never use floats for the sizes.")
    assert "use threads here" in start(cli, "s-2")
    later = "I changed my mind, you can use threads, but only for the uploads."
    asked(cli, "s-2", f"{later} Speed up the gallery.")
    edit = {"file_path": f"{cli.project}/gallery/up.py", "old_string": "a", "new_string": "b"}
    hook(cli, "post-tool", "s-2", tool_name="Edit", tool_input=edit, tool_response={})
    hook(cli, "pre-compact", "s-2", trigger="auto")
    again = context_of(hook(cli, "session-start", "s-2", source="compact"))
    assert "you can use threads, but only for the uploads" in again and "Never use floats" in again
    assert "use threads here" not in again


def test_a_question_that_was_asked_before_is_told_the_answer_and_not_the_question(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="Add a retry to the upload client, with backoff.", prompt_id="p")
    edit = {"file_path": f"{cli.project}/gallery/client.py", "old_string": "a", "new_string": "b"}
    hook(cli, "post-tool", "s-1", tool_name="Edit", tool_input=edit, tool_response={})
    said = "Added a retry in gallery/client.py. I chose not to retry POST, because orders could be doubled."
    hook(cli, "stop", "s-1", last_assistant_message=said, stop_hook_active=False)
    hook(cli, "session-end", "s-1", reason="other")
    question = "Do we retry POST requests? Why not?"
    for session in ("s-2", "s-3"):
        start(cli, session)
        text = asked(cli, session, question)
        assert "orders could be doubled" in text and question not in text
        bash(cli, session, "ls gallery")
        hook(cli, "stop", session, last_assistant_message="No.", stop_hook_active=False)
        hook(cli, "session-end", session, reason="other")


def test_a_command_that_a_rule_is_against_is_told_as_no_way(cli: Cli) -> None:
    for session, command in (("s-1", "python3 -m pytest -q"), ("s-2", "make check")):
        hook(cli, "session-start", session, source="startup")
        hook(cli, "prompt-submit", session, prompt="Add the basket and run its tests", prompt_id="p")
        bash(cli, session, command)
        bash(cli, session, command)
        hook(cli, "session-end", session, reason="other")
    question = "Which commands worked for the tests of the basket?"
    start(cli, "s-3")
    assert "pytest" in asked(cli, "s-3", question)
    says(cli, "s-4", "We run the checks with make check, not with pytest directly.")
    start(cli, "s-5")
    text = asked(cli, "s-5", question)
    assert "make check" in text and "python3 -m pytest" not in text


def test_a_remark_about_the_task_is_no_rule(cli: Cli) -> None:
    says(cli, "s-1", "make this one button blue", "try again please", "skip that test for now")
    text = start(cli, "s-2")
    assert "The user said" not in text


def test_a_rule_that_a_later_one_replaced_is_told_no_more(cli: Cli) -> None:
    says(cli, "s-1", "Add the basket. We use npm here, not yarn.")
    says(cli, "s-2", "Show the total. We moved to pnpm, don't use npm any more.")
    text = start(cli, "s-3")
    assert "We moved to pnpm" in text and "We use npm here" not in text


def test_a_sentence_that_ends_a_rule_is_kept_though_it_sounds_like_a_task(cli: Cli) -> None:
    later = "make that 120 for the line length from today, the formatter is set up"
    says(cli, "s-1", "Add the basket.", later)
    assert later not in start(cli, "s-2"), "there is nothing that it could change"
    says(cli, "s-3", "Add the basket. The maximal line length is 80, always.")
    says(cli, "s-4", "Show the total.", later)
    kept = [node["content"] for node in memory(cli, "list", "--kind", "rule")["nodes"]]
    assert later in kept, "a command waits for what sessions left; a start on a busy machine does not"
    text = start(cli, "s-5")
    assert later in text and "is 80" not in text


def test_a_rule_that_was_forgotten_is_told_no_more(cli: Cli) -> None:
    says(cli, "s-1", "Add the basket. Never use floats for money.")
    assert "The user said" in start(cli, "s-2")
    (rule,) = memory(cli, "list", "--kind", "rule")["nodes"]
    memory(cli, "forget", rule["id"], "--reason", "user_requested")
    assert "The user said" not in start(cli, "s-3")


@pytest.mark.parametrize("told_to", ["the next session", "a session after a new owner"])
def test_what_solved_an_error_is_told_where_it_comes_again(cli: Cli, told_to: str) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="Make thumbnails of the pictures", prompt_id="p")
    assert bash(cli, "s-1", "python thumbnails.py", ERROR) == "", "nobody has solved it"
    bash(cli, "s-1", "apt-get install -y libvips42")
    bash(cli, "s-1", "python thumbnails.py")
    hook(cli, "session-end", "s-1", reason="other")
    if told_to != "the next session":
        cli.run("owner", "stop")
    start(cli, "s-2")
    assert "libvips42" not in bash(cli, "s-2", "python gallery.py", OTHER), "another error"
    told = bash(cli, "s-2", "python export.py --all", ERROR)
    assert "This error was solved here on " in told and "apt-get install -y libvips42" in told
    assert "libvips42" not in bash(cli, "s-2", "python export.py --all", ERROR), "once a session"


def touched(cli: Cli, session: str, path: str) -> str:
    edit = {"file_path": f"{cli.project}/{path}", "old_string": "a", "new_string": "b"}
    return context_of(hook(cli, "pre-tool", session, tool_name="Edit", tool_input=edit))


def about_to(cli: Cli, session: str, command: str) -> Any:
    return hook(cli, "pre-tool", session, tool_name="Bash", tool_input={"command": command})


FILLING = (
    "Always use British English in the manual.",
    "Never use floats for money.",
    "Always answer in plain sentences without emojis.",
    "Never add a dependency without asking me first.",
    "Never log names of customers.",
    "Dates are always written as year, month and day.",
    "Never write comments that say what the code says.",
    "Always keep functions shorter than forty lines.",
    "Never catch an exception without handling it.",
    "Always close sockets in the function that opened them.",
    "Never print anything from library code.",
    "Always measure before you make something faster.",
    "Never use global variables.",
    "Always show prices with tax.",
    "Never abbreviate names of months.",
    "Always ask before you delete a table.",
)
"""Rules of all work, so many that a start has no room for one of a folder."""


def test_a_rule_of_a_folder_or_a_kind_of_file_is_told_at_such_a_file_once(cli: Cli) -> None:
    says(cli, "s-1", "Never edit files under gen/, change the proto files instead.", *FILLING)
    says(cli, "s-2", "Migrations in *.sql must be reversible, always.")
    rule = "Never edit files under gen/"
    assert rule not in start(cli, "s-3")
    memory(cli, "list")
    assert touched(cli, "s-3", "app/main.ts") == ""
    told = touched(cli, "s-3", "gen/api.pb.go")
    assert "The user said, " in told and rule in told
    assert rule not in touched(cli, "s-3", "gen/other.pb.go"), "once"
    assert default_provider().count_tokens(told) <= 120


@pytest.mark.parametrize("by", ["command", "tool"])
def test_what_is_stored_during_a_session_is_told_by_its_next_call(cli: Cli, by: str) -> None:
    """No prompt has to come between: the call before said nothing, and asked nobody."""
    remember(cli, "The limiter of the gateway counts in milliseconds.")
    hook(cli, "session-start", "s-1", source="startup")

    def edited() -> str:
        path = str(cli.project / "src/client_v2.py")
        return context_of(hook(cli, "pre-tool", "s-1", tool_name="Edit", tool_input={"file_path": path}))

    assert edited() == ""
    rule = "Never edit src/client_v2.py by hand: change its template."
    if by == "command":
        remember(cli, rule, "--kind", "rule")
        assert rule in edited()
    else:
        with connected(cli) as peer:
            peer.ask("store_memory", content=rule, rationale="said in a review", kind="rule")
            # What a tool's call left is done after its answer, before anything else is served.
            peer.ask("get_memetic_status")
            assert rule in edited()
    assert edited() == "", "once"


def test_a_rule_that_names_a_program_is_told_at_its_command_once(cli: Cli) -> None:
    says(cli, "s-1", "Use pnpm here, not npm.", *FILLING)
    start(cli, "s-2")
    memory(cli, "list")
    told = context_of(about_to(cli, "s-2", "cd web && npm install lodash"))
    if "pnpm" in told:  # else the start told it
        assert "The user said, " in told and default_provider().count_tokens(told) <= 60
    assert context_of(about_to(cli, "s-2", "npm install chalk")) == "", "once"
    assert context_of(about_to(cli, "s-2", "pnpm add chalk")) == ""


def test_a_call_against_a_rule_is_held_once_where_that_is_asked_for(cli: Cli) -> None:
    says(cli, "s-1", "Add the basket. Use pnpm here, not npm.")
    start(cli, "s-2")
    assert "permissionDecision" not in str(about_to(cli, "s-2", "npm install lodash")), (
        "by default it is told"
    )
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude/context-graph.toml").write_text('rule_reminders = "hold"\n')
    cli.run("owner", "stop")
    start(cli, "s-3")
    cli.run("memory", "stats")  # from here on the owner is up
    assert "permissionDecision" not in str(about_to(cli, "s-3", "pnpm add lodash"))
    held = about_to(cli, "s-3", "npm install lodash")["hookSpecificOutput"]
    assert held["permissionDecision"] == "deny"
    reason = held["permissionDecisionReason"]
    assert "Use pnpm here, not npm." in reason and "Repeat the call if you still mean it" in reason
    assert "permissionDecision" not in str(about_to(cli, "s-3", "npm install lodash")), "never twice"
    cli.run("owner", "stop")
    start(cli, "s-3")
    assert "permissionDecision" not in str(about_to(cli, "s-3", "npm install lodash")), "nor by a new owner"


def test_a_rule_that_claude_stored_holds_no_call(cli: Cli) -> None:
    remember(cli, "Use pnpm here, not npm.", "--scope", "user")
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude/context-graph.toml").write_text('rule_reminders = "hold"\n')
    start(cli, "s-1")
    assert "permissionDecision" not in str(about_to(cli, "s-1", "npm install lodash"))


def test_a_run_of_tests_whose_failure_a_pipe_hid_is_told_what_solved_it(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="Make thumbnails of the pictures", prompt_id="p")
    bash(cli, "s-1", "pytest tests/test_a.py", ERROR)
    bash(cli, "s-1", "apt-get install -y libvips42")
    bash(cli, "s-1", "pytest tests/test_a.py")
    hook(cli, "session-end", "s-1", reason="other")
    start(cli, "s-2")
    memory(cli, "list")
    call = {"tool_name": "Bash", "tool_input": {"command": "pytest tests/test_b.py | tail -5"}}
    output = f"E   {ERROR.splitlines()[-1]}\n1 failed in 0.2s"
    told = context_of(hook(cli, "post-tool", "s-2", **call, tool_response={"stdout": output}))
    assert "apt-get install -y libvips42" in told
    assert default_provider().count_tokens(told) <= 100


def test_an_error_that_nobody_solved_is_said_to_be_so(cli: Cli) -> None:
    for name in ("s-1", "s-2"):
        hook(cli, "session-start", name, source="startup")
        hook(cli, "prompt-submit", name, prompt="Make thumbnails of the pictures", prompt_id="p")
        assert bash(cli, name, "python thumbnails.py", ERROR) == ""
        hook(cli, "session-end", name, reason="other")
    start(cli, "s-3")
    told = bash(cli, "s-3", "python thumbnails.py", ERROR)
    assert "This error was seen in 2 earlier sessions" in told and "never solved here" in told
    assert bash(cli, "s-3", "python thumbnails.py", ERROR) == "", "once"


def test_what_always_failed_is_told_at_the_command(cli: Cli) -> None:
    for number in range(3):
        says(cli, f"s-{number}", "Add the basket")
        bash(cli, f"s-{number}", "python -m pytest", "sh: 1: python: not found, says the shell of this box")
        bash(cli, f"s-{number}", "python3 -m pytest")
        hook(cli, "session-end", f"s-{number}", reason="other")
    assert "always failed" not in start(cli, "s-9")
    memory(cli, "list")
    told = context_of(about_to(cli, "s-9", "python -m pytest tests"))
    assert '"python -m pytest" always failed here' in told and "python3 -m pytest" in told
    assert context_of(about_to(cli, "s-9", "python -m pytest")) == "", "once"


def test_with_memories_off_nothing_is_told(cli: Cli) -> None:
    says(cli, "s-1", "Add the basket. Never use floats for money.")
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude/context-graph.toml").write_text("memory_inject = false\n")
    cli.run("owner", "stop")
    assert "floats" not in start(cli, "s-2")
