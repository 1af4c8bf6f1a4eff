"""A fact that is forgotten is gone from what quotes it, too, and the answer says where it is left."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory

from context_graph.memory.traces import Words

FACT = "The staging proxy is called Zanzibarquux and listens on 9443."
WORD = "Zanzibarquux"


def session(cli: Cli, name: str, prompt: str, last: str = "All done.") -> None:
    hook(cli, "session-start", name, source="startup")
    hook(cli, "prompt-submit", name, prompt=prompt, prompt_id="p")
    edit = {"file_path": f"{cli.project}/a.py", "old_string": "a", "new_string": "b"}
    hook(cli, "post-tool", name, tool_name="Edit", tool_input=edit, tool_response={})
    hook(cli, "stop", name, last_assistant_message=last)
    memory(cli, "list")


def texts(cli: Cli) -> str:
    """All that is kept of the memories that are not forgotten."""
    lines = cli.run("memory", "export").stdout.splitlines()
    return "\n".join(line for line in lines if "deleted" not in json.loads(line))


def on_disk(cli: Cli) -> list[str]:
    """Files of the data root that have the word."""
    cli.run("owner", "stop")
    files = [path for path in cli.root.rglob("*") if path.is_file()]
    return [str(path.relative_to(cli.root)) for path in files if WORD.encode() in path.read_bytes()]


def test_a_forgotten_fact_leaves_summaries_notes_and_their_hidden_text(cli: Cli) -> None:
    session(cli, "s-1", f"Remember: {FACT} Then add the basket.", f"I added it. Note: {FACT}")
    stored = memory(cli, "store", FACT, "--rationale", "needed to deploy")
    assert texts(cli).count(WORD) > 2
    answer = memory(cli, "forget", stored["id"])
    assert WORD not in texts(cli), texts(cli)
    assert answer["taken_out_of"] and answer["recorded_in"]["sessions"] == ["s-1"]
    assert memory(cli, "recall", "which proxy listens on 9443?")["nodes"] == []
    session(cli, "s-1", "Now remove the basket again.")
    assert WORD not in texts(cli), "its session goes on, and says it no more"
    assert WORD not in context_of(hook(cli, "session-start", "s-2", source="startup"))
    memory(cli, "restore", stored["id"])
    assert WORD in texts(cli)


def test_a_fact_deleted_for_good_is_in_no_file_any_more(cli: Cli) -> None:
    session(cli, "s-1", f"Remember: {FACT} Then add the basket.", f"I added it. Note: {FACT}")
    hook(cli, "pre-compact", "s-1", trigger="auto")
    hook(cli, "post-compact", "s-1", trigger="auto", compact_summary=f"1. Primary request: {FACT}")
    hook(cli, "session-start", "s-1", source="compact")
    stored = memory(cli, "store", FACT, "--rationale", "needed to deploy")
    memory(cli, "recall", "staging proxy")
    assert on_disk(cli), "it was there"
    answer = memory(cli, "forget", stored["id"], "--permanent", "--yes")
    assert answer["erased_in_sessions"] == ["s-1"]
    assert on_disk(cli) == []


def test_what_says_the_same_is_forgotten_along_and_what_may_say_it_is_named(cli: Cli) -> None:
    rule = "Never use floats for money."
    session(cli, "s-1", f"Add the basket. {rule}")
    (note,) = memory(cli, "list", "--kind", "rule")["nodes"]
    stored = memory(cli, "store", rule.rstrip("."), "--rationale", "said by the user")
    other = memory(cli, "store", "Money: floats are never used for it", "--rationale", "said by the user")
    answer = memory(cli, "forget", stored["id"])
    assert answer["also_forgotten"] == [note["id"]]
    assert other["id"] in [one["id"] for one in answer["may_say_the_same"]]
    assert rule not in context_of(hook(cli, "session-start", "s-2", source="startup"))


def test_a_forgotten_summary_names_its_notes_or_takes_them_along(cli: Cli) -> None:
    session(cli, "s-1", "Add the basket. Never use floats for money.")
    (summary,) = [one for one in memory(cli, "list")["nodes"] if one["source"] == "capture"]
    notes = [one["id"] for one in memory(cli, "list")["nodes"] if one["source"] == "note"]
    said = cli.run("memory", "forget", summary["id"]).stdout
    assert "--notes" in said and all(one[:8] in said for one in notes)
    memory(cli, "restore", summary["id"])
    assert sorted(memory(cli, "forget", summary["id"], "--notes")["also_forgotten"]) == sorted(notes)
    assert memory(cli, "list")["nodes"] == []


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Decided: use tabs; The proxy listens on 9443; done", "Decided: use tabs; done"),
        ("Goal: x\nDecided: the  proxy listens\non 9443.\nOpen: y", "Goal: x\nOpen: y"),
        ("Then: The proxy listens on 94…", ""),
        ("The proxy…", "The proxy…"),
        ("Ask Bo. The proxy listens on…", "Ask Bo."),
        ("The proxy does not listen on 9443.", "The proxy does not listen on 9443."),
    ],
)
def test_a_sentence_is_taken_out_of_a_text_and_the_rest_stays(text: str, rest: str) -> None:
    assert Words("Nobody sings on Mondays.").taken_out(text) == text
    assert Words("Fact: The proxy listens on 9443.").taken_out(text).strip() == rest


VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from([FACT, f"Then: {FACT}", "x", "", "Zanzibar"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", FACT]), inner),
    max_leaves=12,
)


@given(VALUES)
def test_no_json_value_keeps_it_and_rows_keep_their_places(value: Any) -> None:
    clean = Words(FACT).taken_out_of(value)
    assert WORD not in repr(clean)
    if isinstance(value, list) and not all(isinstance(one, str) for one in value):
        assert len(clean) == len(value)
