"""Commands that once stalled the owner: plain words in a commit message, as everybody writes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.cli import Cli
from tests.support.sessions import hook, memory


@pytest.mark.parametrize("closing", ['"', ""], ids=["closed", "open"])
@pytest.mark.parametrize("words", [24, 40, 200])
def test_a_commit_message_of_plain_words_stalls_nobody(cli: Cli, words: int, closing: str) -> None:
    """The session is captured, and a hook of another project is answered by the same owner."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "always"  # a start has an answer
    plain = " ".join(f"{'and' if at % 5 else 'words'}" for at in range(words))
    command = f'git commit -m "Fix. The bucket refills {plain}{closing}'
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="Make the token bucket refill lazily", prompt_id="1")
    tool = {"tool_name": "Bash", "tool_input": {"command": command, "description": "Commit the change"}}
    hook(cli, "post-tool", "s-1", **tool, tool_response={"stdout": "1 file changed"})
    hook(cli, "stop", "s-1", last_assistant_message="Committed. We decided to keep the float level.")
    before = hook(cli, "session-start", "s-0", source="startup")
    hook(cli, "session-end", "s-1", reason="other")

    project = cli.project.with_name("another")
    project.mkdir()
    other = replace(cli, project=project)
    answered = hook(other, "session-start", "s-2", source="startup")
    assert "hookSpecificOutput" in before and "hookSpecificOutput" in answered, "no answer but from an owner"

    nodes = memory(cli, "list")["nodes"]
    (node,) = [one for one in nodes if one["source"] == "capture"]
    lines = dict(line.split(": ", 1) for line in node["content"].splitlines())
    assert lines["Goal"] == "Make the token bucket refill lazily"
    assert lines["Ran"].startswith('git commit -m "Fix.')
    assert any("keep the float level" in one["content"] for one in nodes if one["source"] == "note")
