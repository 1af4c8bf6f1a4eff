"""`memory undo`: one word for the last change, of whatever kind."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.integration.cli.test_by_hand import at_terminal
from tests.support.cli import Cli
from tests.support.sessions import memory, remember, work_session

from context_graph.memory.capture import capture_id
from context_graph.memory.core import now_ms
from context_graph.memory.editing import DAY_MS
from context_graph.memory.memex import Memex
from context_graph.memory.runs import new_act

FACT, NEWER = "Staging listens on 8443", "Staging listens on 9443"


def texts(cli: Cli, *words: str) -> set[str]:
    """What the list shows, each with what supersedes it."""
    return {
        f"{node['content']}{' (superseded)' * ('superseded_by' in node)}"
        for node in memory(cli, "list", *words)["nodes"]
    }


def changes(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory(cli, "undo", "--list")["changes"]
    return found


def test_each_kind_of_change_is_undone_by_the_same_word_and_the_undoing_too(cli: Cli, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    other = remember(cli, "Deploys run from main")
    before = {"Deploys run from main", FACT}
    fact = remember(cli, FACT)

    def undone(kind: str) -> dict[str, Any]:
        changed = texts(cli)
        assert changes(cli)[0]["mode"] == kind
        told = memory(cli, "undo")
        assert texts(cli) == before and told["mode"] == kind, told
        again = memory(cli, "undo", told["token"])
        assert again["mode"] == "undo" and texts(cli) == changed
        assert memory(cli, "undo", again["token"])["mode"] == "undo" and texts(cli) == before
        return told

    memory(cli, "edit", fact, "--content", NEWER)
    assert texts(cli) == {"Deploys run from main", NEWER, f"{FACT} (superseded)"}
    assert undone("supersede")["edges"] == 1
    memory(cli, "forget", fact)
    assert undone("forget")["restored"] == 1
    memory(cli, "reword", fact, "The test system is at 8443")
    assert undone("edit")["changed"] == 1
    assert memory(cli, "recall", "staging listens")["nodes"][0]["id"] == fact
    ids = [*(str(uuid.uuid4()) for _ in range(450)), fact]
    kind = {"type": "memory", "rationale": "by an import", "created_at_ms": 1}
    rows = [json.dumps({**kind, "id": one, "content": f"Fact {at}"}) for at, one in enumerate(ids)]
    lines.write_text("\n".join(rows))
    assert memory(cli, "import", str(lines), "--overwrite")["added"] == 450
    changed = memory(cli, "undo")
    assert (changed["mode"], changed["forgotten"], changed["changed"]) == ("import", 450, 1)
    assert texts(cli) == before
    memory(cli, "link", fact, other)
    assert memory(cli, "show", fact)["edges"]
    assert memory(cli, "undo")["mode"] == "link" and not memory(cli, "show", fact)["edges"]


def test_what_is_stored_is_forgotten_again_and_the_next_undo_takes_the_one_before(cli: Cli) -> None:
    first, second = remember(cli, FACT), remember(cli, "Deploys run from main")
    assert memory(cli, "undo")["forgotten"] == 1 and texts(cli) == {FACT}
    assert memory(cli, "show", second)["tombstone"]["reason"] == "what stored it was undone"
    assert memory(cli, "undo")["forgotten"] == 1 and texts(cli) == set()
    done = cli.run("memory", "undo")
    assert done.returncode == 1 and "no change of this store is left to be undone" in done.stderr
    assert memory(cli, "restore", first)["id"] == first


def test_a_forgotten_memory_comes_back_wherever_its_words_stood(cli: Cli) -> None:
    work_session(cli, "s-1")
    summary = memory(cli, "show", str(capture_id("s-1")))["content"]
    note = next(node for node in memory(cli, "list")["nodes"] if node["source"] == "note")
    told = memory(cli, "forget", note["id"])
    assert memory(cli, "undo")["mode"] == "forget"
    assert memory(cli, "show", note["id"])["content"] == note["content"]
    assert memory(cli, "show", str(capture_id("s-1")))["content"] == summary, told


def test_what_was_changed_since_stays_and_what_is_deleted_for_good_is_gone(cli: Cli) -> None:
    fact, gone = remember(cli, FACT), remember(cli, "The key is in the safe")
    token = changes(cli)[1]["token"]
    memory(cli, "reword", fact, NEWER)
    told = memory(cli, "undo", token[:8])
    assert (told["kept_count"], texts(cli)) == (1, {NEWER, "The key is in the safe"})
    stored = next(one["token"] for one in changes(cli) if one["mode"] == "store" and not one["undone_by"])
    memory(cli, "forget", gone, "--permanent", "--yes")
    assert all(gone not in json.dumps(one) for one in changes(cli))
    assert memory(cli, "undo", stored)["forgotten"] == 0
    assert texts(cli) == {NEWER} and "safe" not in json.dumps(changes(cli))


def test_what_an_act_did_goes_with_the_retention(memex: Memex) -> None:
    """It need not have overwritten anything, so nothing else would take its record along."""
    with memex.acting(new_act("store", "library", "")):
        memex.store(FACT, rationale="needed for deploys")
    assert [one.mode for one in memex.runs(acts=True)] == ["store"] and memex.runs() == []
    memex.purge(now_ms() + 40 * DAY_MS)
    assert memex.runs(acts=True) == []


def test_a_failure_in_between_leaves_no_change_in_the_next_one(memex: Memex) -> None:
    with pytest.raises(RuntimeError), memex.acting(new_act("import", "library", "")):
        memex.store(FACT, rationale="needed for deploys")
        raise RuntimeError("the power went")
    other = memex.store("Deploys run from main", rationale="stored by itself")
    assert memex.undo().forgotten == 1 and [one.id for one in memex.list().nodes] == [other.id]


def test_a_consolidation_is_one_of_them(cli: Cli) -> None:
    remember(cli, FACT)
    remember(cli, f"{FACT}.")
    assert memory(cli, "consolidate")["merged_count"] == 1
    remember(cli, "Deploys run from main")
    assert [one["mode"] for one in changes(cli)] == ["store", "light", "store", "store"]
    assert memory(cli, "undo")["mode"] == "store" and memory(cli, "undo")["mode"] == "light"
    assert texts(cli) == {FACT, f"{FACT}."}


def test_what_holds_in_all_projects_is_undone_where_it_was_said(cli: Cli) -> None:
    remember(cli, "I always write tests first", "--scope", "user")
    assert texts(cli, "--scope", "user") == {"I always write tests first"}
    assert memory(cli, "undo")["forgotten"] == 1 and texts(cli, "--scope", "user") == set()


@pytest.mark.parametrize(
    ("answer", "code", "left"), [("y\n", 0, set()), ("n\n", 1, {FACT}), ("\n", 1, {FACT})]
)
def test_a_person_is_told_which_change_is_meant_and_asked(
    cli: Cli, answer: str, code: int, left: set[str]
) -> None:
    node_id = remember(cli, FACT)
    done, seen = at_terminal(cli, answer, "memory", "undo")
    assert (done, texts(cli)) == (code, left), seen
    assert "ago  store, by a command" in seen and f"{node_id[:8]} {FACT}" in seen and "Undo this?" in seen


def test_the_list_says_what_when_by_whom_and_of_which_memories(cli: Cli) -> None:
    node_id = remember(cli, FACT)
    memory(cli, "forget", node_id)
    memory(cli, "undo")
    undo, forget, store = cli.run("memory", "undo", "--list").stdout.split("\n    ")[0::1][:1] and changes(
        cli
    )
    assert (undo["mode"], undo["undoes"]) == ("undo", forget["token"]) and forget["undone_by"] == undo[
        "token"
    ]
    assert (store["mode"], store["by"], store["memory_count"]) == ("store", "cli", 1)
    assert store["memories"] == [{"id": node_id, "text": FACT}]
    shown = cli.run("memory", "undo", "--list").stdout
    assert f"forget, by a command, undone since\n    {node_id[:8]} {FACT}" in shown
    assert memory(cli, "runs")["runs"] == [], "a list of consolidations"
    back = cli.run("memory", "undo", undo["token"]).stdout
    assert "user requested" in cli.run("memory", "list", "--deleted").stdout
    assert "; 1 memory forgotten again\n" in back, back
