"""What a session has done so far recalls the earlier session that worked on the same."""

from __future__ import annotations

from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected
from tests.support.sessions import hook

PLACES = {
    "pay": ("billing/invoices.py", "parse_invoice_date", "the year of an invoice with two digits"),
    "img": ("gallery/thumbnails.py", "rotate_picture", "the orientation of a picture from a phone"),
    "msg": ("mailer/bounces.py", "retry_bounced", "the bounce of a mail that was sent twice"),
}
QUESTION = "where did we write down how this was fixed the last time"


def calls(cli: Cli, session: str, name: str) -> None:
    """Read, edit and test one place."""
    path, function, about = PLACES[name]
    file = f"{cli.project}/{path}"
    hook(cli, "post-tool", session, tool_name="Read", tool_input={"file_path": file},
         tool_response={"content": f"def {function}(text): # {about}"})  # fmt: skip
    hook(cli, "post-tool", session, tool_name="Bash", tool_input={"command": f"grep -rn {function} ."},
         tool_response={"stdout": f"{path}:12: {function}(value)  # {about}"})  # fmt: skip
    edit = {
        "file_path": file,
        "old_string": f"{function}(value)",
        "new_string": f"{function}(value, strict=True)",
    }
    hook(cli, "post-tool", session, tool_name="Edit", tool_input=edit, tool_response={"filePath": file})


def worked(cli: Cli, session: str, name: str) -> None:
    """A whole session, whose own words are the same in all places."""
    hook(cli, "session-start", session, source="startup")
    hook(
        cli,
        "prompt-submit",
        session,
        prompt="Fix it as we said and write down how it was fixed",
        prompt_id=f"{session}-1",
    )
    calls(cli, session, name)
    hook(cli, "stop", session, last_assistant_message="It is fixed, and I wrote down how this was fixed.")
    hook(cli, "session-end", session, reason="other")


def first(cli: Cli, session: str, question: str = QUESTION) -> list[str]:
    """The memories that the model gets when it asks, best first."""
    with connected(cli, env={"CLAUDE_CODE_SESSION_ID": session}) as peer:
        found = peer.ask("recall_memory", query=question, verbosity_level=2)
    return [node["content"] for node in found["nodes"]]


def test_the_session_that_worked_on_the_same_comes_first(cli: Cli) -> None:
    for name in PLACES:
        worked(cli, f"old-{name}", name)
    for name in ("pay", "img", "msg"):
        hook(cli, "session-start", f"new-{name}", source="startup")
        hook(cli, "prompt-submit", f"new-{name}", prompt="something is wrong again", prompt_id=f"{name}-1")
        calls(cli, f"new-{name}", name)
        assert PLACES[name][0] in first(cli, f"new-{name}")[0], name


def test_it_does_so_after_the_owner_was_gone(cli: Cli) -> None:
    for name in PLACES:
        worked(cli, f"old-{name}", name)
    hook(cli, "session-start", "new", source="startup")
    hook(cli, "prompt-submit", "new", prompt="something is wrong again", prompt_id="n-1")
    calls(cli, "new", "pay")
    cli.run("owner", "stop")
    assert PLACES["pay"][0] in first(cli, "new")[0]
    calls(cli, "new", "img")
    calls(cli, "new", "img")
    calls(cli, "new", "img")
    assert PLACES["img"][0] in first(cli, "new")[0]


def test_without_calls_of_its_own_the_words_decide(cli: Cli) -> None:
    for name in PLACES:
        worked(cli, f"old-{name}", name)
    hook(cli, "session-start", "new", source="startup")
    assert first(cli, "new") == first(cli, "other")
