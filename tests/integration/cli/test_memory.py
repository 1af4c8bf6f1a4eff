"""`memory …` through the installed program: what it prints for people and programs, how it exits."""

from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest
from tests.support.cli import Cli, end_process
from tests.support.sessions import hook, memory, remember

from context_graph.memory.capture import capture_id

FACT = "Staging listens on port 8443, production on 443"


def test_store_prints_the_id_and_recall_finds_it(cli: Cli) -> None:
    """REQ-CORE-014, REQ-CORE-015: for people a table, for programs all fields."""
    done = cli.run("memory", "store", FACT, "--rationale", "needed for deploys", "--tag", "ops", "--pinned")
    assert done.returncode == 0, done.stderr
    node_id = done.stdout.strip()
    found = memory(cli, "recall", "which port does staging use", "--top-k", "3")
    (node,) = found["nodes"]
    assert (node["id"], node["content"], node["tags"], node["pinned"]) == (node_id, FACT, ["ops"], True)
    assert (node["source"], node["project"], found["total"]) == ("cli", str(cli.project), 1)
    assert 0 < node["relevance_score"] <= 1 and set(node["parts"]) >= {"cosine", "terms"}
    assert "embedding" not in node
    table = cli.run("memory", "recall", "which port does staging use").stdout.splitlines()
    assert table[0].split() == ["ID", "SCORE", "AGE", "SOURCE", "CONTENT"]
    assert table[1].startswith(node_id[:8]) and "Staging listens" in table[1]
    assert cli.run("memory", "recall", "xylophone").returncode == 0
    unlikely = "which rare orchid that botanists drew grows on steep cliffs north of the port of Borneo"
    weak = memory(cli, "recall", unlikely)
    assert weak["note"] == "Nothing above the floor; nearest:"
    assert [(one["id"], one["weak"]) for one in weak["nodes"]] == [(node_id, True)]
    assert memory(cli, "recall", unlikely, "--min-relevance", "0.3")["nodes"] == []
    assert " weak " in cli.run("memory", "recall", unlikely).stdout


def test_all_options_of_store_are_kept(cli: Cli) -> None:
    first = remember(cli, FACT)
    second = remember(
        cli,
        "Deploys run from main only",
        *("--importance", "0.9", "--metadata", '{"by": ["me"]}', "--link-to", first[:8]),
        *("--agent-id", "agent-7", "--session-id", "s-9", "--occurred-at", "2026-01-31T09:30:00Z"),
    )
    shown = memory(cli, "show", second)
    assert (shown["importance"], shown["metadata"], shown["agent_id"]) == (0.9, {"by": ["me"]}, "agent-7")
    assert (shown["session_id"], shown["created_at"]) == ("s-9", "2026-01-31T09:30:00.000Z")
    assert [edge["target_id"] for edge in shown["edges"]] == [first]
    assert memory(cli, "list", "--agent-id", "agent-7")["nodes"][0]["id"] == second
    assert memory(cli, "list", "--created-before", "2026-02-01T00:00:00Z")["nodes"][0]["id"] == second
    assert memory(cli, "recall", "deploys", "--session-id", "nobody")["nodes"] == []
    assert memory(cli, "recall", "deploys", "--min-importance", "0.8")["total"] == 1


def test_a_command_inside_a_session_stores_for_that_session(cli: Cli) -> None:
    """The Bash tool has CLAUDE_CODE_SESSION_ID in its environment."""
    done = cli.run(
        "memory", "store", FACT, "--rationale", "needed for deploys", env={"CLAUDE_CODE_SESSION_ID": "s-1"}
    )
    assert memory(cli, "show", done.stdout.strip())["session_id"] == "s-1"


def test_content_comes_from_standard_input_without_its_last_newline(cli: Cli) -> None:
    node_id = remember(cli, "two\nlines\n")
    assert memory(cli, "show", node_id)["content"] == "two\nlines"
    done = cli.run("memory", "store", "-", "--rationale", "needed for deploys", stdin=b"\xff\xfe")
    assert done.returncode == 1 and "not UTF-8" in done.stderr


def test_an_argument_that_is_not_utf_8_is_stored_with_what_can_be_read_of_it(cli: Cli) -> None:
    done = cli.run(
        "memory", "store", os.fsdecode(b"caf\xe9 na\xc3\xafve"), "--rationale", "needed for deploys"
    )
    assert done.returncode == 0, done.stderr
    assert memory(cli, "show", done.stdout.strip())["content"] == "caf? naïve"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["store", "x", "--rationale", "short"], "Rationale must be at least 10 characters"),
        (["store", "", "--rationale", "because it is so"], "the content is empty"),
        (["store", "-", "--rationale", "because it is so"], "the content on standard input is empty"),
        (["store", "x", "--rationale", "because it is so", "--importance", "nan"], "--importance"),
        (["store", "x", "--rationale", "because it is so", "--metadata", '{"a": NaN}'], "JSON has no NaN"),
        (
            ["store", "x" * 65_537, "--rationale", "because it is so"],
            "Content exceeds maximum length of 65536",
        ),
        (["store", "x", "--rationale", "because it is so", "--importance", "2"], "importance"),
        (["store", "x", "--rationale", "because it is so", "--metadata", "[1]"], "no JSON object"),
        (["store", "x", "--rationale", "because it is so", "--metadata", "[" * 50_000], "is no JSON"),
        (["store", "x", "--rationale", "because it is so", "--link-to", "0000"], "no memory '0000'"),
        (["recall", ""], "the query is empty"),
        (["recall", "x", "--min-importance", "inf"], "--min-importance"),
        (["link", "0000", "1111", "--weight", "nan"], "--weight"),
        (["link", "0000", "1111", "--confidence", "-1"], "--confidence"),
        (["recall", "x", "--quadrant", "nowhere"], "known are open"),
        (["recall", "x", "--created-after", "soon"], "--created-after is 'soon'; give a time such as 7d"),
        (["recall", "x", "--top-k", "many"], "--top-k is 'many'; give a whole number"),
        (["recall", "x", "--top-k", "0"], "--top-k"),
        (["recall", "x", "--cursor", "nonsense"], "cursor"),
        (["inject", "x", "--mode", "poetic"], "poetic"),
        (["list", "--deleted", "--injected"], "two lists"),
        (["show", "zz"], "give a UUID or its first digits"),
        (["show", "5f3c1a2b"], "no memory '5f3c1a2b'"),
        (["restore", "5f3c1a2b"], "no memory '5f3c1a2b'"),
        (["export", "--format", "markdown"], "--output"),
        (["import", "/nowhere/x.jsonl"], "/nowhere/x.jsonl"),
        (["import"], "nothing to import"),
        (["reindex", "--provider", "nobody"], "no embedding provider 'nobody'"),
    ],
)
def test_a_wrong_argument_is_named_with_its_cure(shared_cli: Cli, words: list[str], said: str) -> None:
    """EC-CORE-001..006 in a command's words; 1 is what is right as it stands, and is not there."""
    done = shared_cli.run("memory", *words)
    absent = said.startswith(
        ("no memory", "/nowhere", "nothing to import", "give a UUID", "cursor", "no embed")
    )
    assert done.returncode == (1 if absent else 2) and said in done.stderr, done
    assert "Traceback" not in done.stderr and done.stdout == ""


def with_ids(cli: Cli, *ids: str, pinned: bool = False) -> None:
    """Memories of these very ids, as an import brings them."""
    line = {"type": "memory", "rationale": "kept by a test", "pinned": pinned, "created_at_ms": 1}
    lines = [json.dumps({"format": "context-graph/memories", "version": 1})]
    lines += [json.dumps({**line, "id": one, "content": f"note {one[-2:]}"}) for one in ids]
    lines += [json.dumps({"type": "end", "memories": len(ids), "links": 0, "tombstones": 0})]
    cli_answer = cli.run("memory", "import", stdin="\n".join(lines) + "\n")
    assert cli_answer.returncode == 0, cli_answer.stderr


NEAR = ("5f3c1a2b-0000-4000-8000-000000000001", "5f3c1a2b-0000-4000-8000-000000000002")


@pytest.mark.parametrize("verb", ["show", "forget", "restore", "history"])
def test_an_id_may_be_cut_but_not_be_ambiguous(cli: Cli, verb: str) -> None:
    """D1.5's rule for aliases: refused with the list. One letter fits some memory by chance."""
    with_ids(cli, *NEAR, "77777777-0000-4000-8000-000000000003")
    for start in ("7", "777", "5"):
        done = cli.run("memory", verb, start)
        assert done.returncode == 1 and "too short" in done.stderr and "at least 4" in done.stderr, done
    done = cli.run("memory", verb, "5f3c1a")
    assert done.returncode == 1 and all(f'{one} "note {one[-2:]}"' in done.stderr for one in NEAR), done
    assert len(memory(cli, "list")["nodes"]) == 3, "nothing was forgotten"
    for start in ("7777", "77777777000040", "7777-7777", NEAR[0].replace("-", "").upper()):
        assert cli.run("memory", "show", start).returncode == 0


def test_a_link_s_ends_are_named_by_the_same_rule(cli: Cli) -> None:
    with_ids(cli, *NEAR, "77777777-0000-4000-8000-000000000003")
    assert "too short" in cli.run("memory", "link", "7777", "5").stderr
    assert "fits several" in cli.run("memory", "link", "5f3c", "7777").stderr
    assert cli.run("memory", "link", "7777", NEAR[0]).returncode == 0


def test_a_pinned_memory_is_forgotten_by_nobody_s_accident(cli: Cli) -> None:
    """Its text is shown; without a terminal it takes a word that says that it is meant."""
    with_ids(cli, NEAR[0], pinned=True)
    done = cli.run("memory", "forget", NEAR[0])
    assert done.returncode == 1 and "pinned" in done.stderr and "note 01" in done.stderr, done
    assert "--pinned" in done.stderr and memory(cli, "list")["nodes"][0]["id"] == NEAR[0]
    for_good = cli.run("memory", "forget", NEAR[0], "--permanent", "--yes")
    assert for_good.returncode == 1 and "pinned" in for_good.stderr
    done = cli.run("memory", "forget", NEAR[0], "--pinned")
    assert done.returncode == 0 and "note 01" in done.stdout and memory(cli, "list")["nodes"] == []
    assert cli.run("memory", "forget", NEAR[0]).returncode == 0, "once more changes nothing"


@pytest.mark.parametrize(("said", "left"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_a_person_is_asked_before_a_pinned_memory_goes(cli: Cli, said: str, left: int) -> None:
    with_ids(cli, NEAR[0], pinned=True)
    ours, theirs = pty.openpty()
    try:
        os.write(ours, said.encode())
        words = [str(cli.launcher), "memory", "forget", "5f3c1a2b"]
        done = subprocess.run(
            words,
            cwd=cli.project,
            env=cli.env,
            stdin=theirs,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert "note 01" in done.stdout and "pinned" in done.stdout, done
    assert done.returncode == left and len(memory(cli, "list")["nodes"]) == left


def test_forget_restore_and_for_good(cli: Cli) -> None:
    """REQ-CORE-013: 30 days to think again; what is deleted for good is gone, its tombstone stays."""
    first, second = remember(cli, "soon forgotten"), remember(cli, "gone for good")
    done = cli.run("memory", "forget", first[:10], "--reason", "was wrong")
    assert "soon forgotten" in done.stdout
    assert f"context-graph-cli memory restore {first[:8]}" in done.stdout
    assert memory(cli, "recall", "soon forgotten")["total"] == 1
    assert memory(cli, "show", first)["tombstone"]["reason"] == "was wrong"
    assert "was wrong" in cli.run("memory", "list", "--deleted").stdout
    assert memory(cli, "restore", first)["id"] == first
    assert memory(cli, "list", "--deleted")["tombstones"] == []
    stone = memory(cli, "forget", second, "--permanent", "--yes")
    assert (stone["soft"], stone["reason"]) == (False, "user_requested")
    assert cli.run("memory", "show", second).returncode == 1
    assert [one["id"] for one in memory(cli, "list", "--deleted")["tombstones"]] == [second]
    refused = cli.run("memory", "forget", first, "--permanent", "--yes", "--reason", "tidying up")
    assert refused.returncode == 1 and "user_requested" in refused.stderr


def test_pages_go_on_where_the_cursor_says(cli: Cli) -> None:
    ids = {remember(cli, f"note number {number} about ports") for number in range(7)}
    for words in (["list", "--limit", "3"], ["recall", "note about ports", "--top-k", "3"]):
        seen: list[str] = []
        cursor: list[str] = []
        for _ in range(3):
            page = memory(cli, *words, *cursor)
            seen += [node["id"] for node in page["nodes"]]
            cursor = ["--cursor", page["next_cursor"] or ""]
        assert len(seen) == len(set(seen)) == 7 and set(seen) == ids
    assert "more: --cursor " in cli.run("memory", "list", "--limit", "3").stdout


def test_inject_prints_the_context_within_its_budget(cli: Cli) -> None:
    """REQ-CORE-016 by command."""
    from context_graph.memory.embed import default_provider

    for number in range(20):
        remember(
            cli, f"Service {number} listens on port {8000 + number} and is deployed by team {number % 3}."
        )
    found = memory(cli, "inject", "which ports do the services use", "--max-tokens", "120", "--mode", "raw")
    assert 0 < found["tokens_used"] <= 120
    assert found["tokens_used"] == default_provider().count_tokens(found["context"])
    assert found["tokens_before_distillation"] > 120 and found["nodes_retrieved"]
    plain = cli.run("memory", "inject", "which ports do the services use", "--max-tokens", "120").stdout
    assert "listens on port" in plain
    assert (
        "Nothing above the floor"
        in Cli(cli.launcher, cli.project.parent, cli.env).run("memory", "inject", "x").stdout
    )


def test_stats_show_counts_cache_index_provider_and_ledger_and_speak_prometheus(cli: Cli) -> None:
    """REQ-CORE-009..011; the same figures for people, programs and a scraper."""
    remember(cli, FACT)
    cli.run("memory", "recall", "port")
    found = memory(cli, "stats")
    assert found["memory"]["nodes"] == 1 and found["index"]["live"] == 1
    assert found["embedding"]["name"] == "static" and found["injections"]["injections"] == 0
    assert found["operations"]["recall"]["count"] == 1
    assert {"cache", "bloom"} <= set(found)
    text = cli.run("memory", "stats").stdout
    assert "1 kept, 0 forgotten, 0 links" in text and "embedding static, 1536 numbers" in text
    assert "nothing yet: no session was brought a memory" in text
    assert not {"bloom", "memtable", "None", "True", "{"} & set(text.split())
    scraped = cli.run("memory", "stats", "--prometheus")
    assert scraped.returncode == 0 and "context_graph_memory_nodes{" in scraped.stdout
    status = json.loads(cli.run("owner", "status", "--json").stdout)
    assert status["memory"]["memories"] == 1
    assert "1 kept; none shown yet" in cli.run("owner", "status").stdout


def test_reindex_with_the_provider_that_is_there_changes_nothing(cli: Cli) -> None:
    remember(cli, FACT)
    assert cli.run("memory", "reindex").stdout == "0 embeddings computed anew with static\n"
    done = cli.run("memory", "reindex", "--json")
    assert done.returncode == 0 and json.loads(done.stdout) == {"provider": "static", "memories": 0}


def test_a_user_without_memories_is_told_so(cli: Cli) -> None:
    assert "0 kept" in cli.run("memory", "stats").stdout
    for words, said in (
        (["list"], "no memories here"),
        (["list", "--deleted"], "nothing was forgotten"),
        (["list", "--injected"], "nothing was injected yet"),
        (["recall", "x"], "Nothing above the floor, and nothing near it."),
    ):
        done = cli.run("memory", *words)
        assert (done.returncode, done.stdout.strip()) == (0, said)
    assert json.loads(cli.run("memory", "export").stdout.splitlines()[-1])["memories"] == 0


def test_what_was_stored_survives_a_kill_of_the_owner(cli: Cli) -> None:
    """Invariant 5, by command."""
    node_id = remember(cli, FACT)
    end_process(cli.owner_pid())
    assert memory(cli, "show", node_id)["content"] == FACT


def test_the_id_of_a_session_s_summary_is_what_show_takes(cli: Cli) -> None:
    """`memory show` of the session that just ended: the id is derived from the session's."""
    hook(cli, "prompt-submit", "s-1", prompt="make the parser tolerate comments", prompt_id="1")
    hook(
        cli,
        "post-tool",
        "s-1",
        tool_name="Edit",
        tool_input={"file_path": "p.py"},
        tool_response={"filePath": "p.py"},
    )
    hook(cli, "session-end", "s-1", reason="other")
    assert memory(cli, "show", str(capture_id("s-1")))["source"] == "capture"


@pytest.mark.parametrize(
    ("traversals", "reward", "valuable"), [(10, 0.5, True), (5, 0.5, False), (10, 0.3, False)]
)
def test_show_says_which_link_is_a_valuable_shortcut(
    cli: Cli, traversals: int, reward: float, valuable: bool
) -> None:
    """TC-CORE-032: more than 5 traversals and a reward above 0.3, as seed 003 has it; text and JSON."""
    ids = [
        cli.run("memory", "store", text, "--rationale", "kept by a test").stdout.strip()
        for text in ("one plain note", "another plain note")
    ]
    assert cli.run("memory", "link", *ids).returncode == 0
    lines = [json.loads(line) for line in cli.run("memory", "export").stdout.splitlines()]
    (link,) = (line for line in lines if line.get("type") == "link")
    link |= {"is_amortized_shortcut": True, "traversal_count": traversals, "steering_reward": reward}
    done = cli.run("memory", "import", "--overwrite", stdin=json.dumps(link) + "\n")
    assert done.returncode == 0, done.stderr
    shown = json.loads(cli.run("memory", "show", ids[0], "--format", "json").stdout)
    assert [edge["is_valuable_shortcut"] for edge in shown["edges"]] == [valuable]
    assert ("a valuable shortcut" in cli.run("memory", "show", ids[0]).stdout) is valuable
