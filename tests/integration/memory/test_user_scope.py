"""What a user says of all his work holds in every project of that account, and nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory

from context_graph.config import account_of
from context_graph.redact import Redactor

GERMAN = "Please always answer me in German."
PNPM = "In all my projects I use pnpm, never npm."


@pytest.fixture
def other(cli: Cli, tmp_path: Path) -> Cli:
    """Another project of the same account."""
    folder = tmp_path / "other"
    folder.mkdir()
    return replace(cli, project=folder, env={**cli.env, "CLAUDE_PROJECT_DIR": str(folder)})


def of_account(cli: Cli, folder: Path) -> Cli:
    return replace(cli, env={**cli.env, "CLAUDE_CONFIG_DIR": str(folder)})


def says(cli: Cli, session: str, prompt: str) -> None:
    hook(cli, "session-start", session, source="startup")
    hook(cli, "prompt-submit", session, prompt=prompt, prompt_id="p")
    edit = {"file_path": f"{cli.project}/a.py", "old_string": "a", "new_string": "b"}
    hook(cli, "post-tool", session, tool_name="Edit", tool_input=edit, tool_response={})
    hook(cli, "session-end", session, reason="other")
    memory(cli, "list")  # its notes are made before, else in the owner's next quiet moment


def start(cli: Cli, session: str) -> str:
    return context_of(hook(cli, "session-start", session, source="startup"))


def texts(cli: Cli, *words: str) -> list[str]:
    return [one["content"] for one in memory(cli, "list", *words)["nodes"]]


def test_a_sentence_about_all_projects_is_told_in_another_one_and_a_projects_rule_is_not(
    cli: Cli, other: Cli
) -> None:
    says(cli, "s-1", f"Add the basket. {PNPM} Here we never use floats for money.")
    told = start(other, "s-2")
    assert PNPM in told and "floats" not in told
    assert texts(cli, "--scope", "user") == [PNPM] == texts(other, "--scope", "user")
    assert PNPM not in texts(cli, "--kind", "rule"), "it is kept once"
    hook(cli, "stop", "s-1", last_assistant_message="Done.")
    memory(cli, "list")
    assert [one.name for one in (cli.root / "stores").glob("@*")] == [account_of(cli.env)]
    again = start(cli, "s-3")
    assert again.index(PNPM) < again.index("floats"), "the user's rules come first"


def test_an_accounts_name_is_kept_as_it_is_in_what_is_kept_of_a_session(tmp_path: Path) -> None:
    names = [account_of({"CLAUDE_CONFIG_DIR": str(tmp_path / str(number))}) for number in range(200)]
    assert len(set(names)) == 200 and [Redactor().redact(f'"account":"{one}"') for one in names] == [
        f'"account":"{one}"' for one in names
    ]


def test_another_account_is_told_nothing_of_it(cli: Cli, other: Cli, tmp_path: Path) -> None:
    work = of_account(cli, tmp_path / "work")
    says(work, "s-1", f"Add the basket. {GERMAN}")
    assert GERMAN in start(of_account(other, tmp_path / "work"), "s-2")
    assert GERMAN not in start(other, "s-3")
    assert memory(other, "list")["nodes"] == []
    named = cli.run("memory", "list", "--scope", "user")
    assert named.returncode == 1 and "scope" in named.stderr


def test_the_account_is_known_after_a_new_owner_has_read_the_log(
    cli: Cli, other: Cli, tmp_path: Path
) -> None:
    """The capture may come in an owner that no client of the account has spoken to."""
    work = of_account(cli, tmp_path / "work")
    hook(work, "session-start", "s-1", source="startup")
    cli.run("owner", "stop")
    hook(work, "prompt-submit", "s-1", prompt=f"Add the basket. {GERMAN}", prompt_id="p")
    edit = {"file_path": f"{cli.project}/a.py", "old_string": "a", "new_string": "b"}
    hook(work, "post-tool", "s-1", tool_name="Edit", tool_input=edit, tool_response={})
    hook(work, "session-end", "s-1", reason="other")
    cli.run("owner", "stop")
    assert GERMAN not in start(other, "s-2")
    memory(cli, "list")
    assert GERMAN in start(of_account(other, tmp_path / "work"), "s-3")


def test_a_newer_word_in_a_project_goes_before_the_users_own_there_alone(cli: Cli, other: Cli) -> None:
    says(cli, "s-1", f"Add the basket. {PNPM}")
    says(other, "s-2", "Add a page. We moved from pnpm to yarn here, don't use pnpm any more.")
    assert PNPM not in start(other, "s-3")
    assert PNPM in start(cli, "s-4")


def test_what_is_stored_for_the_user_is_told_found_shown_changed_and_forgotten_everywhere(
    cli: Cli, other: Cli
) -> None:
    fact = "The user's sister Ines reviews all texts before they are published."
    stored = memory(cli, "store", fact, "--rationale", "said in passing", "--scope", "user")
    assert stored["scope"] == "user" and stored.get("project") is None
    assert fact in start(other, "s-1")
    found = memory(other, "recall", "who reviews texts before they are published?")["nodes"]
    assert [one["content"] for one in found] == [fact]
    assert memory(other, "recall", "who reviews texts?", "--scope", "user")["nodes"]
    assert memory(other, "show", stored["id"][:8])["scope"] == "user"
    new = memory(other, "edit", stored["id"][:8], "--content", fact.replace("Ines", "Ida"))
    assert "Ida" in start(cli, "s-2") and "Ines" not in start(cli, "s-3")
    memory(cli, "forget", new["id"], "--reason", "user_requested")
    memory(cli, "forget", stored["id"], "--reason", "user_requested")
    assert "reviews all texts" not in start(other, "s-4")


def test_an_injection_on_request_has_it_too(cli: Cli, other: Cli) -> None:
    why = ("--rationale", "said in passing")
    memory(
        cli, "store", "The user's invoices go to the accountant on the first Monday", *why, "--scope", "user"
    )
    memory(other, "store", "The invoices of this shop are numbered by year", *why)
    context = memory(other, "inject", "when do invoices go to the accountant?")["context"]
    assert "first Monday" in context


def test_what_a_model_stored_is_not_told_as_the_users_words(cli: Cli, other: Cli) -> None:
    call = {"content": "Ines reviews all texts.", "rationale": "said in passing", "scope": "user"}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "store_memory", "arguments": call},
        },
    ]
    lines[0]["params"] |= {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}  # type: ignore[operator]
    done = cli.run("mcp", stdin="".join(json.dumps(one) + "\n" for one in lines))
    assert '"node_id"' in done.stdout, done
    told = start(other, "s-1")
    (line,) = (one for one in told.splitlines() if "Ines" in one)
    assert "stored by Claude" in line


def test_the_users_own_memories_join_no_hub(cli: Cli) -> None:
    from context_graph.errors import ConfigError
    from context_graph.sync.hub.membership import Membership, join

    memory(cli, "store", "Ines reviews all texts.", "--rationale", "said in passing", "--scope", "user")
    (store,) = (cli.root / "stores").glob("@user-*")
    with pytest.raises(ConfigError, match="scope user"):
        join(store, Membership("postgresql://x", "p", "t", "n"))
    assert not list(store.glob("*hub*"))
