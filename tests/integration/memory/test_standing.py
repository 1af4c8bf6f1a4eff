"""What a later session is told without asking: the user's rules that concern it, and what solved an error."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory

ERROR = "Exit code 1\nImportError: libvips.so.42: cannot open shared object file: No such file or directory"
OTHER = "Exit code 1\nImportError: cannot import name 'Picture' from 'gallery.models'"


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


def test_a_remark_about_the_task_is_no_rule(cli: Cli) -> None:
    says(cli, "s-1", "make this one button blue", "try again please", "skip that test for now")
    text = start(cli, "s-2")
    assert "The user said" not in text


def test_a_rule_that_a_later_one_replaced_is_told_no_more(cli: Cli) -> None:
    says(cli, "s-1", "Add the basket. We use npm here, not yarn.")
    says(cli, "s-2", "Show the total. We moved to pnpm, don't use npm any more.")
    text = start(cli, "s-3")
    assert "We moved to pnpm" in text and "We use npm here" not in text


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


def test_with_memories_off_nothing_is_told(cli: Cli) -> None:
    says(cli, "s-1", "Add the basket. Never use floats for money.")
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude/context-graph.toml").write_text("memory_inject = false\n")
    cli.run("owner", "stop")
    assert "floats" not in start(cli, "s-2")
