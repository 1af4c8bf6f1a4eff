"""A person looks at what is kept and corrects it: by kind, confirmed, in other words."""

from __future__ import annotations

from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory

RULE = "Never use floats for money."


def says(cli: Cli, session: str, prompt: str, file: str = "a.py") -> None:
    hook(cli, "prompt-submit", session, prompt=prompt, prompt_id=f"p{len(prompt)}")
    edit = {"file_path": f"{cli.project}/{file}", "old_string": "a", "new_string": "b"}
    hook(cli, "post-tool", session, tool_name="Edit", tool_input=edit, tool_response={})
    hook(cli, "stop", session, last_assistant_message="Done.")
    memory(cli, "list")


def start(cli: Cli, session: str) -> str:
    return context_of(hook(cli, "session-start", session, source="startup"))


def rules(cli: Cli) -> list[dict[str, object]]:
    found: list[dict[str, object]] = memory(cli, "list", "--kind", "rule")["nodes"]
    return found


def test_a_reworded_rule_stays_reworded_while_its_session_goes_on(cli: Cli) -> None:
    start(cli, "s-1")
    says(cli, "s-1", f"Add the basket. {RULE}")
    (rule,) = rules(cli)
    new = "Money is an integer of cents; floats are never used for it."
    done = cli.run("memory", "reword", str(rule["id"])[:8], new)
    assert (done.returncode, done.stderr) == (0, "") and new in done.stdout
    says(cli, "s-1", f"Show the total. {RULE}", "b.py")
    assert [one["content"] for one in rules(cli)] == [new]
    told = start(cli, "s-2")
    assert new in told and RULE not in told
    history = memory(cli, "history", str(rule["id"]))["versions"]
    assert any(RULE in str(one) for one in history)


def test_a_summary_is_not_reworded_and_an_empty_text_is_refused(cli: Cli) -> None:
    start(cli, "s-1")
    says(cli, "s-1", f"Add the basket. {RULE}")
    (summary,) = [one for one in memory(cli, "list")["nodes"] if one["source"] == "capture"]
    refused = cli.run("memory", "reword", summary["id"], "other words")
    assert refused.returncode == 1 and "summary" in refused.stderr
    refused = cli.run("memory", "reword", str(rules(cli)[0]["id"]), "")
    assert refused.returncode == 2


def test_a_rule_that_somebody_stored_or_confirmed_is_told_with_those_that_were_said(cli: Cli) -> None:
    start(cli, "s-1")
    says(cli, "s-1", f"Add the basket. {RULE} Always write tests first.")
    memory(cli, "store", "Prices end in .99 everywhere.", "--kind", "rule")
    last = rules(cli)[-1]
    memory(cli, "confirm", str(last["id"]))
    told = start(cli, "s-2")
    assert "Prices end in .99" in told
    lines = [line for line in told.splitlines() if line.startswith("- ") and ': "' in line]
    assert str(last["content"]) in lines[0], "what somebody confirmed comes first"


def test_recall_finds_by_kind(cli: Cli) -> None:
    memory(cli, "store", "Prices end in .99 everywhere.", "--kind", "rule")
    memory(cli, "store", "Prices were lowered in May.", "--kind", "finding")
    found = memory(cli, "recall", "prices", "--kind", "rule", "--min-relevance", "0")["nodes"]
    assert [one["content"] for one in found] == ["Prices end in .99 everywhere."]
    refused = cli.run("memory", "store", "x y z", "--kind", "lesson")
    assert refused.returncode == 2 and "--kind" in refused.stderr


def test_confirmed_rules_go_into_their_block_of_claude_md_and_nothing_else_changes(cli: Cli) -> None:
    path, own = cli.project / "CLAUDE.md", "# Shop\r\n\nA web shop."
    path.write_bytes(own.encode())
    start(cli, "s-1")
    says(cli, "s-1", f"Add the basket. {RULE} Always write tests first.")
    assert cli.run("memory", "export", "--to", "claude-md").returncode == 0
    assert path.read_bytes() == own.encode(), "nobody confirmed any"
    (rule,) = [one for one in rules(cli) if RULE in str(one["content"])]
    memory(cli, "confirm", str(rule["id"]))
    cli.run("memory", "export", "--to", "claude-md")
    text = path.read_bytes().decode()
    assert (
        text.startswith(own + "\n<!-- context-graph rules") and f"- {RULE}\n" in text and "tests" not in text
    )
    path.write_text(text + "## Later\n", newline="")
    cli.run("memory", "export", "--to", "claude-md")
    assert path.read_bytes().decode() == text + "## Later\n", "written again, it is the same"
    memory(cli, "confirm", str(rule["id"]), "--take-back")
    cli.run("memory", "export", "--to", "claude-md")
    assert path.read_bytes().decode() == own + "\n## Later\n"


def test_a_block_with_one_mark_is_left_as_it_is(cli: Cli) -> None:
    path = cli.project / "CLAUDE.md"
    path.write_text("x\n<!-- end of context-graph rules -->\n")
    memory(cli, "store", RULE, "--kind", "rule")
    memory(cli, "confirm", str(rules(cli)[0]["id"]))
    refused = cli.run("memory", "export", "--to", "claude-md")
    assert refused.returncode == 1 and "CLAUDE.md" in refused.stderr
    assert path.read_text() == "x\n<!-- end of context-graph rules -->\n"
