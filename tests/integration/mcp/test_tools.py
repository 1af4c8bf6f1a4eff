"""Seed 003's tools through the official SDK's client, the real bridge, a real owner and store."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.support.cli import Cli, end_process
from tests.support.clients.mcp_client import Peer, connected
from tests.support.sessions import memory

from context_graph import Memex, __version__
from context_graph.config import lock_path
from context_graph.operations.mcp.tools import memory_tools
from context_graph.wire import run_folder

ACTIONS = {"consolidate", "explore", "clarify", "curate", "ready", "epistemic_action", "trigger_dream"}
FACTS = [
    "The parser of dates lives in src/dates.py and takes ISO 8601 only",
    "Deploys run from the main branch on Tuesdays, never from a feature branch",
    "The flaky test test_upload fails when port 8080 is taken by the proxy",
    "Users asked for dark mode in the settings dialog",
    "The database migration 0042 must run before the workers restart",
]


def check_pulse(found: dict[str, Any]) -> None:
    pulse = found["pulse"]
    assert 0.0 <= pulse["entropy"] <= 1.0
    assert 0.0 <= pulse["coherence"] <= 1.0
    assert pulse["suggested_action"] in ACTIONS


def test_the_handshake_says_who_we_are(peer: Peer) -> None:
    assert peer.client.server_info.name == "context-graph"
    assert peer.client.server_info.version == __version__
    assert peer.client.protocol_version == "2025-11-25"
    assert 0 < len(peer.client.instructions or "") <= 2048
    assert peer.client.server_capabilities.tools is not None


def test_a_client_that_probes_for_newer_protocols_finds_us_too(cli: Cli) -> None:
    with connected(cli, mode="auto") as peer:
        check_pulse(peer.ask("get_memetic_status"))


def test_store_memory_returns_id_time_quadrant_and_pulse(peer: Peer) -> None:
    """REQ-CORE-014, TC-CORE-017, AC-CORE-01-01: what the seed's example has."""
    found = peer.ask(
        "store_memory",
        content="Test memory content",
        rationale="Testing store_memory functionality",
        importance=0.8,
    )
    UUID(found["node_id"])
    assert found["created_at"].endswith("Z")
    assert found["johari_quadrant"] in {"open", "blind", "hidden", "unknown"}
    assert set(found) == {"node_id", "created_at", "johari_quadrant", "pulse"}
    assert all(len(f"{found['pulse'][name]}") <= 4 for name in ("entropy", "coherence"))
    check_pulse(found)
    more = peer.ask("store_memory", content="Another", rationale="Testing the levels", verbosity_level=2)
    assert set(more["utl_state"]) == {"delta_s", "delta_c", "w_e", "phi"}


def test_text_and_structure_say_the_same(peer: Peer) -> None:
    """The protocol wants the structured answer as text as well."""
    result = peer.result("get_memetic_status")
    assert json.loads(result.content[0].text) == result.structured_content


def test_every_parameter_of_store_memory_arrives(peer: Peer) -> None:
    """REQ-CORE-014 with session_id, occurred_at, tags and agent_id beside it."""
    first = peer.store(FACTS[0])
    found = peer.ask(
        "store_memory",
        content=FACTS[1],
        rationale="the user said so twice",
        importance=0.9,
        modality="text",
        metadata={"ticket": "X-1", "nested": {"deep": [1, 2.5, None, True]}},
        link_to=[first],
        tags=["deploy", "rule"],
        agent_id="reviewer",
        session_id="s-1",
        occurred_at="2026-01-31T09:30:00+01:00",
    )
    assert found["created_at"] == "2026-01-31T08:30:00.000Z"
    node = peer.ask("get_memory", node_id=found["node_id"], verbosity_level=2)["node"]
    assert node["content"] == FACTS[1]
    assert node["importance"] == 0.9
    wanted: list[dict[str, Any]] = [
        {"min_importance": 0.9},
        {"tags": ["rule", "deploy"]},
        {"agent_id": "reviewer"},
        {"session_id": "s-1"},
        {"created_before": "2026-02-01T00:00:00Z"},
    ]
    for filters in wanted:
        nodes = peer.ask("recall_memory", query="when do deploys run?", filters=filters)["nodes"]
        assert [one["id"] for one in nodes] == [found["node_id"]], filters


def test_binary_content_is_kept_and_text_in_base64_is_text(peer: Peer) -> None:
    """REQ-CORE-014: content_base64 instead of content."""
    text = base64.b64encode("Größe der Warteschlange: 64 entries".encode()).decode()
    found = peer.ask("store_memory", content_base64=text, rationale="sent as base64")
    assert peer.ask("get_memory", node_id=found["node_id"])["node"]["content"].startswith("Größe")
    picture = base64.b64encode(bytes(range(256))).decode()
    found = peer.ask(
        "store_memory",
        content_base64=picture,
        modality="image",
        rationale="diagram of the ingestion pipeline",
    )
    assert peer.ask("get_memory", node_id=found["node_id"])["node"]["content"] == picture
    nodes = peer.ask("recall_memory", query="ingestion pipeline diagram", top_k=1)["nodes"]
    assert nodes[0]["id"] == found["node_id"]


def test_recall_memory_ranks_scores_and_pages(peer: Peer) -> None:
    """REQ-CORE-015, TC-CORE-019, AC-CORE-02-01."""
    ids = [peer.store(fact) for fact in FACTS]
    found = peer.ask("recall_memory", query="which branch do we deploy from", top_k=3)
    assert found["nodes"][0]["id"] == ids[1]
    assert {"id", "content", "importance", "relevance_score"} <= set(found["nodes"][0])
    scores = [node["relevance_score"] for node in found["nodes"]]
    assert scores == sorted(scores, reverse=True)
    check_pulse(found)
    seen, cursor = [], None
    while True:
        page = peer.ask("recall_memory", query="the test of deploys and parsers", top_k=2, cursor=cursor)
        seen += [node["id"] for node in page["nodes"]]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    assert len(seen) == len(set(seen))
    assert set(seen) <= set(ids)


def test_recall_memory_respects_min_importance(peer: Peer) -> None:
    """TC-CORE-020, AC-CORE-02-02."""
    by_importance = {value: peer.store(f"test fact {value}", importance=value) for value in (0.2, 0.5, 0.8)}
    nodes = peer.ask("recall_memory", query="test", filters={"min_importance": 0.6})["nodes"]
    assert [node["id"] for node in nodes] == [by_importance[0.8]]


def test_an_empty_recall_is_a_success_that_says_explore(peer: Peer) -> None:
    """EC-CORE-004, AC-CORE-02-03."""
    found = peer.ask("recall_memory", query="anything at all")
    assert found["nodes"] == []
    assert found["pulse"]["suggested_action"] == "explore"
    assert peer.ask("inject_context", query="anything")["pulse"]["suggested_action"] == "explore"


def test_search_graph_and_prefixed_names_are_the_same_tools(peer: Peer) -> None:
    """D2.7: bare names, the client's own prefix and a plugin's."""
    node = peer.store(FACTS[2])
    for name in (
        "search_graph",
        "mcp__context-graph__recall_memory",
        "mcp__context-graph__search_graph",
        "mcp__plugin_context-graph_context-graph__recall_memory",
    ):
        assert peer.ask(name, query="flaky upload test")["nodes"][0]["id"] == node
    assert peer.fail("mcp__other__recall_memory", query="x").code == -32602
    assert peer.fail("no_such_tool").code == -32602


def test_inject_context_condenses_within_its_budget(peer: Peer) -> None:
    """REQ-CORE-016, TC-CORE-021, AC-CORE-03-01, AC-CORE-03-02."""
    for number in range(30):
        peer.store(f"{FACTS[number % 5]}; note {number} about deploys, tests and parsers in service {number}")
    found = peer.ask("inject_context", query="deploys and tests", max_tokens=200, distillation_mode="auto")
    assert found["tokens_used"] <= 200
    assert found["tokens_before_distillation"] > 200
    assert 0.0 < found["compression_ratio"] <= 1.0
    assert found["distillation_applied"]
    assert found["context"]
    assert set(found["utl_metrics"]) >= {"entropy", "coherence", "learning_score"}
    check_pulse(found)
    for node in found["nodes_retrieved"]:
        UUID(node)


def test_get_memetic_status_reports_what_is_computed(peer: Peer) -> None:
    """REQ-CORE-017, TC-CORE-022, AC-CORE-04-01."""
    empty = peer.ask("get_memetic_status")
    for fact in FACTS:
        peer.store(fact)
    found = peer.ask("get_memetic_status", session_id=str(uuid4()))
    assert set(found) >= {
        "coherence_score",
        "entropy_level",
        "top_active_concepts",
        "suggested_action",
        "dream_available",
        "curation_tasks",
    }
    assert (empty["coherence_score"], found["coherence_score"]) == (0.0, 0.0)
    nodes = peer.ask("recall_memory", query=FACTS[0])["nodes"]
    peer.ask("get_memory", node_id=nodes[0]["id"])
    assert peer.ask("get_memetic_status")["coherence_score"] == pytest.approx(1 / len(nodes), abs=1e-4)
    assert len(found["top_active_concepts"]) <= 5
    check_pulse(found)


def test_duplicates_show_up_as_curation_tasks(peer: Peer) -> None:
    """AC-CORE-04-02."""
    twins = {peer.store(FACTS[0]), peer.store(f"{FACTS[0]}!")}
    tasks = peer.ask("get_memetic_status")["curation_tasks"]
    assert any(set(task["target_nodes"]) == twins for task in tasks)
    assert {"task_type", "target_nodes", "priority"} <= set(tasks[0])


def test_set_verbosity_holds_for_its_session_and_a_call_overrides_it(peer: Peer) -> None:
    """REQ-CORE-018, REQ-CORE-023, TC-CORE-023, AC-CORE-05-04."""
    peer.store(FACTS[0])
    session = str(uuid4())
    first = peer.ask("set_verbosity", level=2, session_id=session)
    assert (first["previous_level"], first["new_level"]) == (1, 2)
    again = peer.ask("set_verbosity", level=0, session_id=session)
    assert (again["previous_level"], again["new_level"]) == (2, 0)
    check_pulse(again)

    def node(**more: Any) -> dict[str, Any]:
        found: dict[str, Any] = peer.ask("recall_memory", query="where is the parser of dates", **more)[
            "nodes"
        ][0]
        return found

    assert "content" not in node(session_id=session)
    assert "content" in node(session_id=session, verbosity_level=1)
    assert "content" in node(session_id=str(uuid4()))
    assert "content" in node()
    peer.ask("set_verbosity", level=0)
    assert "content" not in node()


def test_every_tool_has_the_pulse(peer: Peer) -> None:
    """REQ-CORE-019, TC-CORE-024, AC-CORE-08-01 to 03, AC-CORE-03-03."""
    one, two = peer.store(FACTS[0]), peer.store(FACTS[1])
    calls: list[tuple[str, dict[str, Any]]] = [
        ("store_memory", {"content": "x y z", "rationale": "to see its pulse"}),
        ("recall_memory", {"query": "x"}),
        ("inject_context", {"query": "x"}),
        ("get_memetic_status", {}),
        ("set_verbosity", {"level": 1}),
        ("link_memories", {"source_id": one, "target_id": two, "relationship_type": "causes"}),
        ("get_memory", {"node_id": one}),
        ("forget_memory", {"node_id": one}),
        ("restore_memory", {"node_id": one}),
    ]
    for name, arguments in calls:
        check_pulse(peer.ask(name, **arguments))


def test_a_forgotten_memory_is_gone_until_it_is_restored(peer: Peer) -> None:
    """EC-CORE-011, REQ-CORE-013 over MCP."""
    node = peer.store(FACTS[3])
    found = peer.ask("forget_memory", node_id=node, reason="no longer wanted")
    assert (found["node_id"], found["soft_delete"]) == (node, True)
    assert peer.ask("forget_memory", node_id=node)["soft_delete"] is True  # once more does no harm
    assert peer.fail("get_memory", node_id=node).code == -32001
    assert peer.ask("recall_memory", query=FACTS[3])["nodes"] == []
    peer.ask("restore_memory", node_id=node)
    assert peer.ask("recall_memory", query=FACTS[3])["nodes"][0]["id"] == node
    peer.ask("forget_memory", node_id=node, soft_delete=False, reason="user_requested")
    assert peer.fail("restore_memory", node_id=node).code == -32001


def test_linked_memories_show_their_links_at_level_two(peer: Peer) -> None:
    """REQ-CORE-022, AC-CORE-05-03: causal links only where they are asked for."""
    cause, effect = peer.store(FACTS[4]), peer.store(FACTS[2])
    edge = peer.ask(
        "link_memories", source_id=cause, target_id=effect, relationship_type="causes", weight=0.9
    )
    UUID(edge["edge_id"])
    full = peer.ask("get_memory", node_id=cause, verbosity_level=2)
    assert effect in json.dumps(full)
    assert effect not in json.dumps(peer.ask("get_memory", node_id=cause, verbosity_level=1))


def test_memories_outlive_the_owner(cli: Cli) -> None:
    """AC-CORE-01-02: the server restarts, the memory is there with all its fields."""
    with connected(cli) as peer:
        node = peer.store(FACTS[0], importance=0.7, metadata={"k": "v"})
        before = peer.ask("get_memory", node_id=node, verbosity_level=1)["node"]
        assert cli.run("owner", "restart").returncode == 0
        after = peer.ask("get_memory", node_id=node, verbosity_level=1)["node"]
        used = {"access_count", "last_accessed"}
        assert {name: value for name, value in before.items() if name not in used} == {
            name: value for name, value in after.items() if name not in used
        }
        assert after["access_count"] == before["access_count"] + 1


def test_owners_killed_while_a_client_stores_lose_nothing_and_store_nothing_twice(cli: Cli) -> None:
    """AC-CORE-06-01, invariant 5, ADR 0012: kill -9 of owner after owner; the client notices nothing."""
    root = Path(cli.env["CONTEXT_GRAPH_HOME"])

    def kill() -> None:
        holder = run_folder.read_holder(lock_path(root))
        assert holder is not None
        end_process(holder.pid)

    with connected(cli) as peer:
        ids = [peer.store("the first one")]
        for _ in range(4):
            killer = threading.Timer(0.03, kill)  # some store is under way then, in whatever state
            killer.start()
            while killer.is_alive():
                ids.append(peer.store(f"fact number {len(ids)} about deploys"))
            ids.append(peer.store(f"fact number {len(ids)}, the owner having gone"))
    assert len(set(ids)) == len(ids)
    assert cli.run("owner", "stop").returncode == 0
    (store,) = (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "stores").iterdir()
    with Memex.open(store) as memex:
        texts = [record.node.content for record in memex.stored_after()]
    assert len(texts) == len(set(texts)) == len(ids)


def test_two_projects_never_see_each_others_memories(
    cli: Cli, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """D1.3: one store a project."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / ".git").mkdir()
    other = Cli(cli.launcher, elsewhere, cli.env)
    with connected(cli) as ours, connected(other) as theirs:
        node = ours.store(FACTS[0])
        assert theirs.ask("recall_memory", query=FACTS[0])["nodes"] == []
        assert theirs.fail("get_memory", node_id=node).code == -32001


def test_many_clients_at_once_are_all_served(cli: Cli) -> None:
    """Several sessions of one project share the owner."""
    with connected(cli) as one, connected(cli) as two:
        ids = [
            peer.store(f"fact {n} of {name}") for n in range(20) for name, peer in (("a", one), ("b", two))
        ]
        assert len(set(ids)) == 40
        assert one.ask("get_memory", node_id=ids[-1])["node"]["content"] == "fact 19 of b"


def test_get_identity_tells_the_numbers_of_the_running_session(cli: Cli) -> None:
    """D2.6: joined to the hooks by the tool use's id, else by the environment."""
    session = "0ae11111-2222-4333-8444-555555555557"
    base = {"session_id": session, "cwd": str(cli.project)}

    def hook(verb: str, **event: Any) -> None:
        body = json.dumps({**base, **event})
        assert cli.run("hooks", verb, "--format", "claude", stdin=body).returncode == 0

    cli.run("owner", "start")
    hook("session-start", hook_event_name="SessionStart", source="startup")
    for number in range(3):
        hook(
            "post-tool",
            hook_event_name="PostToolUse",
            tool_name="Bash",
            tool_input={"command": f"pytest tests/test_{number}.py"},
            tool_response={"stdout": "1 passed"},
            tool_use_id=f"toolu_{number}",
        )
    tool = "mcp__context-graph__get_identity"
    hook("pre-tool", hook_event_name="PreToolUse", tool_name=tool, tool_input={}, tool_use_id="toolu_x")
    with connected(cli) as peer:
        meta = {"claudecode/toolUseId": "toolu_x"}
        found = peer.portal.call(lambda: peer.client.call_tool("get_identity", {}, meta=meta))
        numbers = found.structured_content
        assert numbers["session_id"] == session
        assert 0.0 <= numbers["identity_continuity"] <= 1.0
        assert numbers["events_applied"] >= 4
        assert {"consciousness", "integration", "state"} <= set(numbers)
        stored = peer.portal.call(
            lambda: peer.client.call_tool(
                "store_memory", {"content": FACTS[0], "rationale": "joined by tool use"}, meta=meta
            )
        )
        nodes = peer.ask("recall_memory", query=FACTS[0], filters={"session_id": session})["nodes"]
        assert [node["id"] for node in nodes] == [stored.structured_content["node_id"]]
        assert peer.ask("get_identity")["session_id"] == session
        assert peer.fail("get_identity", session_id="nobody").code == -32000


def test_get_identity_without_any_session_tells_what_the_store_knows(peer: Peer) -> None:
    """MCP alone: nobody did anything wrong, and the tool answers."""
    peer.store(FACTS[0], session_id="talk-1")
    for given in ({}, {"session_id": "my own"}):
        found = peer.ask("get_identity", **given)
        assert found["session_id"] == given.get("session_id")
        assert found["measured"] is False and found["identity_continuity"] is None
        assert "no hook" in found["note"]
        assert (found["memories"], found["last_memory_session_id"]) == (1, "talk-1")
        check_pulse(found)


def test_an_orphan_ends_by_the_tool_that_it_names(peer: Peer) -> None:
    node = peer.store(FACTS[0])
    assert peer.ask("get_memory", node_id=node)["node"]["metadata"] == {}
    found = peer.ask("get_memory", node_id=node, accept=True)["node"]
    assert found["metadata"] == {"accepted": True}
    assert peer.ask("recall_memory", query=FACTS[0])["nodes"][0]["id"] == node


def test_a_tool_use_id_that_two_sessions_have_is_the_callers_own(cli: Cli) -> None:
    """Where a gateway numbers them: a call is its own session's, not that of whoever used the number last."""
    cli.run("owner", "start")
    for session in ("mine", "theirs"):
        event = {"session_id": session, "tool_name": "mcp__context-graph__get_identity", "tool_use_id": "1"}
        cli.run("hooks", "pre-tool", "--format", "claude", stdin=json.dumps(event))
    meta = {"claudecode/toolUseId": "1"}
    for own, expected in (("mine", "mine"), ("theirs", "theirs"), ("left by /clear", "theirs")):
        with connected(cli, env={"CLAUDE_CODE_SESSION_ID": own}) as peer:
            call = partial(peer.client.call_tool, "get_identity", {}, meta=meta)
            assert peer.portal.call(call).structured_content["session_id"] == expected


def test_a_call_that_was_told_late_is_not_taken_for_the_newest(cli: Cli) -> None:
    """A hook's event that the owner could not take in time comes twice, the second time after later ones."""
    cli.run("owner", "start")
    pid = cli.owner_pid()
    called = {"tool_name": "mcp__context-graph__get_identity", "tool_use_id": "1"}
    os.kill(pid, signal.SIGSTOP)
    try:
        for session in ("first", "second"):
            event = {"session_id": session, **called}
            cli.run("hooks", "pre-tool", "--format", "claude", stdin=json.dumps(event))
    finally:
        os.kill(pid, signal.SIGCONT)
    with connected(cli, env={"CLAUDE_CODE_SESSION_ID": "left by /clear"}) as peer:
        ask = partial(peer.client.call_tool, "get_identity", {}, meta={"claudecode/toolUseId": "1"})
        assert peer.portal.call(ask).structured_content["session_id"] == "second"


def test_a_stateless_client_needs_no_initialize_and_outlives_its_owner(cli: Cli) -> None:
    """2026-07-28 through the real bridge: each request stands alone, also for a new owner."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    bridge = subprocess.Popen(
        [cli.launcher, "mcp"], env=cli.env, cwd=cli.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert bridge.stdin and bridge.stdout

    def ask(method: str, **params: Any) -> dict[str, Any]:
        given = {"jsonrpc": "2.0", "id": method, "method": method, "params": {**params, "_meta": meta}}
        bridge.stdin.write(json.dumps(given).encode() + b"\n")
        bridge.stdin.flush()
        answer = json.loads(bridge.stdout.readline())
        assert answer["id"] == method and answer["result"]["resultType"] == "complete"
        return dict(answer["result"])

    try:
        assert ask("server/discover")["supportedVersions"] == ["2026-07-28"]
        stored = {"content": FACTS[1], "rationale": "needed by a test"}
        kept = ask("tools/call", name="store_memory", arguments=stored)["structuredContent"]
        end_process(cli.owner_pid())
        asked = {"query": "when do deploys run?"}
        found = ask("tools/call", name="recall_memory", arguments=asked)["structuredContent"]
        assert [one["id"] for one in found["nodes"]] == [kept["node_id"]]
    finally:
        bridge.stdin.close()
        bridge.stdout.close()
        assert bridge.wait(10) == 0


def test_settings_that_were_dropped_are_told_in_the_clients_log(cli: Cli) -> None:
    told: list[Any] = []

    async def on_log(params: Any) -> None:
        told.append(params)

    with connected(cli, env={"CONTEXT_GRAPH_IDLE_S": "soon"}, logging_callback=on_log) as peer:
        peer.ask("get_memetic_status")
        end = time.monotonic() + 5
        while not told and time.monotonic() < end:
            time.sleep(0.01)
    assert "CONTEXT_GRAPH_IDLE_S" in str(told[0].data)
    assert told[0].level == "warning"


def test_a_memory_can_be_named_as_a_context_names_it(peer: Peer) -> None:
    """REQ-CORE-016: the short ids of inject_context's lines are taken wherever an id is."""
    node_id = peer.ask("store_memory", content=FACTS[0], rationale="needed by a test")["node_id"]
    context = peer.ask("inject_context", query="parser of dates")["context"]
    short = context.split("]")[0].lstrip("[")
    assert short == f"node_{node_id[:8]}"
    assert peer.ask("get_memory", node_id=short)["node"]["id"] == node_id
    assert peer.ask("get_memory", node_id=node_id[:8])["node"]["content"] == FACTS[0]
    assert peer.ask("forget_memory", node_id=short)["node_id"] == node_id
    for start, said in ((node_id[:3], "too short"), ("node_", "too short"), ("nobody", "give a UUID")):
        assert said in peer.fail("get_memory", node_id=start).message


def test_a_pinned_memory_is_forgotten_with_the_user_s_word_alone(peer: Peer, cli: Cli) -> None:
    words = ("store", "Tabs, never spaces", "--rationale", "the user's own rule", "--pinned")
    node_id = memory(cli, *words)["id"]
    assert "pinned" in peer.fail("forget_memory", node_id=node_id).message
    assert peer.ask("get_memory", node_id=node_id)["node"]["pinned"] is True
    assert peer.ask("forget_memory", node_id=node_id, pinned=True)["node_id"] == node_id


def test_a_tool_that_says_it_only_reads_changes_nothing(peer: Peer, cli: Cli) -> None:
    """Uses are written: whoever answers with a memory says so in its hints."""
    node_id = peer.ask("store_memory", content=FACTS[0], rationale="needed by a test")["node_id"]
    given: dict[str, dict[str, Any]] = {
        "recall_memory": {"query": "parser of dates"},
        "search_graph": {"query": "parser of dates"},
        "inject_context": {"query": "parser of dates"},
        "get_memory": {"node_id": node_id},
        "get_memetic_status": {},
        "discover_goals": {},
    }

    def kept() -> dict[str, Any]:
        shown: dict[str, Any] = memory(cli, "show", node_id)
        return shown

    hints = {tool.name: tool.hints for tool in memory_tools()}
    for name, arguments in given.items():
        before = kept()
        peer.ask(name, **arguments)
        assert (kept() == before) is bool(hints[name].get("readOnlyHint")), name


def test_recall_memory_is_empty_and_says_explore_where_nothing_fits(peer: Peer) -> None:
    """EC-CORE-004; what is only near comes marked as weak."""
    for fact in FACTS:
        peer.store(fact)
    for query in ("!!!", "xqzvk wpfjt", "How do alpacas keep warm on a glacier?"):
        found = peer.ask("recall_memory", query=query)
        assert found["nodes"] == [] and found["note"]
        assert found["pulse"]["suggested_action"] == "explore"
    query = "how many violinists of the orchestra premiered the concerto in the main hall of Helsinki"
    weak = peer.ask("recall_memory", query=query)
    assert weak["note"] == "Nothing above the floor; nearest:"
    assert weak["pulse"]["suggested_action"] == "explore"
    assert weak["nodes"] and all(one["weak"] for one in weak["nodes"])
