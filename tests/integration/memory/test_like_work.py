"""What a session has done so far recalls the earlier session that worked on the same."""

from __future__ import annotations

from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected
from tests.support.sessions import context_of, hook

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


def ran(cli: Cli, session: str, command: str, out: str) -> None:
    given, gave = {"command": command}, {"stdout": out}
    hook(cli, "post-tool", session, tool_name="Bash", tool_input=given, tool_response=gave)


def looked_up(cli: Cli, session: str, name: str) -> None:
    """Search three times for what is in a place, without its file being touched."""
    path, function, about = PLACES[name]
    for number in range(3):
        command, line = f"grep -n {number} {function}", f"{path}:{number}: {function}(value)  # {about}"
        ran(cli, session, command, line)


def before_a_call(cli: Cli, session: str) -> str:
    """What the model is told with its next call, once the owner has taken in those before."""
    assert cli.run("session", "show", "--session-id", session).returncode == 0
    return context_of(hook(cli, "pre-tool", session, tool_name="Glob", tool_input={"pattern": "*.md"}))


def test_the_session_that_worked_on_the_same_is_told_of_once(cli: Cli) -> None:
    for name in PLACES:
        worked(cli, f"old-{name}", name)
    hook(cli, "session-start", "new", source="startup")
    hook(cli, "prompt-submit", "new", prompt="something is wrong again", prompt_id="n-1")
    assert before_a_call(cli, "new") == "", "nothing was done yet"
    looked_up(cli, "new", "pay")
    told = before_a_call(cli, "new")
    assert "similar work on" in told and PLACES["pay"][0] in told
    assert PLACES["img"][0] not in told
    for _ in range(4):
        looked_up(cli, "new", "pay")
        assert "similar work on" not in before_a_call(cli, "new"), "it is told once"


def test_a_session_that_nothing_is_like_is_told_of_none(cli: Cli) -> None:
    for name in PLACES:
        worked(cli, f"old-{name}", name)
    hook(cli, "session-start", "new", source="startup")
    hook(cli, "prompt-submit", "new", prompt="something is wrong again", prompt_id="n-1")
    for number in range(13):
        said = f"chart {number}: icon is recommended, values.schema.json absent"
        ran(cli, "new", f"helm lint charts/{number}", said)
        assert before_a_call(cli, "new") == ""


def test_a_session_that_the_context_knows_already_is_not_told_of(cli: Cli) -> None:
    for name in PLACES:
        worked(cli, f"old-{name}", name)
    hook(cli, "session-start", "new", source="startup")
    path, function, about = PLACES["pay"]
    asked = f"{function} in {path} gets {about} wrong"
    told = hook(cli, "prompt-submit", "new", prompt=asked, prompt_id="n-1")
    assert path in context_of(told), "the prompt brought it"
    looked_up(cli, "new", "pay")
    assert before_a_call(cli, "new") == ""
