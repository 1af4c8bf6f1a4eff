"""consolidate_memories and discover_goals: official client, real bridge, owner, process beside it, store."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.mcp_client import Peer, connected
from tests.support.owner.harness import wait_until
from tests.support.sessions import memory

from context_graph import Memex
from context_graph.config import lock_path, socket_path
from context_graph.consolidation.messages import leftovers
from context_graph.wire import run_folder

OLD = "2025-01-31T09:30:00Z"
FACTS = [
    "The parser of dates lives in src/dates.py and takes ISO 8601 only",
    "Deploys run from the main branch on Tuesdays, never from a feature branch",
    "The flaky test of uploads fails when the proxy has taken its port",
    "Users asked for dark mode in the settings dialog",
]
SEED_FIELDS = {
    "mode": str,
    "pruned_count": int,
    "merged_count": int,
    "clusters_discovered": int,
    "new_patterns": list,
    "final_memory_count": int,
    "duration_ms": int,
    "dry_run": bool,
    "consciousness": dict,
}
CONTEXT_FIELDS = {
    "measured",
    "integration_score",
    "reflection_depth",
    "differentiation_index",
    "consciousness_level",
    "dream_state",
}


def fill(peer: Peer) -> dict[str, str]:
    """Four facts, each twice, long ago; ids by content."""
    texts = [*FACTS, *(f"{fact.replace(', ', ',  ')}." for fact in FACTS)]
    return {text: peer.store(text, occurred_at=OLD) for text in texts}


def changed(result: dict[str, Any]) -> dict[str, Any]:
    """What a run changes, without its circumstances."""
    circumstances = ("duration_ms", "dry_run", "undo_token", "pulse", "consciousness")
    return {name: value for name, value in result.items() if name not in circumstances}


def test_a_dry_run_says_what_the_real_run_does_and_undo_takes_it_back(peer: Peer, cli: Cli) -> None:
    """Seed 002: the result's fields, dry_run, PascalCase states; D5.3."""
    fill(peer)
    before = cli.run("memory", "export").stdout
    dry = peer.ask("consolidate_memories", dry_run=True, session_id="one")
    assert {name: type(dry[name]) for name in SEED_FIELDS} == SEED_FIELDS
    assert set(dry["consciousness"]) == CONTEXT_FIELDS
    assert dry["consciousness"]["dream_state"] in {"Awake", "Drowsy", "Dreaming", "DeepSleep", None}
    assert (dry["mode"], dry["requested_mode"], dry["dry_run"]) == ("light", "light", True)
    assert dry["merged_count"] == len(FACTS)
    assert "undo_token" not in dry
    assert dry["pulse"]["suggested_action"]
    assert cli.run("memory", "export").stdout == before
    done = peer.ask("consolidate_memories", session_id="two")
    assert changed(done) == changed(dry)
    assert len(memory(cli, "list")["nodes"]) == done["final_memory_count"]
    for merge in done["merged"]:
        for loser in merge["losers"]:
            shown = memory(cli, "show", loser)
            assert merge["survivor"] in shown["tombstone"]["reason"]
    again = peer.ask("consolidate_memories", session_id="three")
    assert again["merged_count"] == 0
    assert "undo_token" not in again
    assert any("nothing to do" in note for note in again["notes"])
    memory(cli, "undo", done["undo_token"])
    assert content(cli.run("memory", "export").stdout) == content(before)


def content(export: str) -> list[dict[str, Any]]:
    """An export's memories and links in order, without the line that says when it was made."""
    lines = [json.loads(line) for line in export.splitlines()]
    return sorted((line for line in lines if "id" in line), key=lambda line: str(line["id"]))


def test_a_session_has_one_request_a_minute(peer: Peer) -> None:
    """SEC-03, D4.6: -32004 with retry_after_ms and limit; a refused parameter costs nothing."""
    assert peer.fail("consolidate_memories", mode="coma").code == -32602
    assert peer.ask("consolidate_memories", dry_run=True)["dry_run"] is True
    error = peer.fail("consolidate_memories", dry_run=True)
    assert (error.code, error.message) == (-32004, "Rate limit exceeded")
    assert error.data["limit"] == "1 req/min/session"
    assert 0 < error.data["retry_after_ms"] <= 60_000
    assert peer.ask("consolidate_memories", session_id="another")["dry_run"] is False
    assert peer.fail("consolidate_memories", session_id="another").code == -32004


def test_long_lists_are_cut_for_the_model_and_whole_when_asked_for(peer: Peer) -> None:
    """A client shows its model some 30,000 characters; counts are always of all."""
    for number in range(110):
        words = " ".join(f"{part}{number}" for part in ("alder", "birch", "cedar", "elm", "fir"))
        for end in ("", "."):
            peer.store(f"The trees named {words} stand in the park{end}", occurred_at=OLD)
    short = peer.ask("consolidate_memories", dry_run=True, session_id="one")
    peer.ask("set_verbosity", level=2, session_id="two")
    whole = peer.ask("consolidate_memories", dry_run=True, session_id="two")
    assert short["merged_count"] == whole["merged_count"] == 110
    assert len(short["merged"]) < len(whole["merged"]) == 100
    assert whole["merged"][: len(short["merged"])] == short["merged"]
    assert len(json.dumps(short)) < 30_000
    assert any("Lists are cut" in note for note in short["notes"])
    assert not any("Lists are cut" in note for note in whole["notes"])


def test_two_clients_are_two_sessions(cli: Cli) -> None:
    for _ in range(2):
        with connected(cli) as peer:
            peer.ask("consolidate_memories", dry_run=True)


def test_without_hooks_every_mode_is_allowed(peer: Peer) -> None:
    """D5.1: no session has been measured here: C is unknown, which is not C = 0."""
    found = peer.ask("consolidate_memories", mode="rem", session_id="one")
    assert (found["mode"], found["requested_mode"]) == ("rem", "rem")
    assert found["consciousness"]["measured"] is False
    assert found["consciousness"]["consciousness_level"] is found["consciousness"]["dream_state"] is None
    assert peer.ask("consolidate_memories", mode="deep", strict=True, session_id="two")["mode"] == "deep"


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("consolidate_memories", {"mode": "Light"}, "mode"),
    ("consolidate_memories", {"mode": 1}, "mode"),
    ("consolidate_memories", {"salience_threshold": 1.1}, "salience_threshold"),
    ("consolidate_memories", {"salience_threshold": "0.3"}, "salience_threshold"),
    ("consolidate_memories", {"max_memories": -1}, "max_memories"),
    ("consolidate_memories", {"max_memories": 1.5}, "max_memories"),
    ("consolidate_memories", {"dry_run": "yes"}, "dry_run"),
    ("consolidate_memories", {"strict": 1}, "strict"),
    ("consolidate_memories", {"any_state": True}, "any_state"),
    ("discover_goals", {"min_confidence": -0.1}, "min_confidence"),
    ("discover_goals", {"max_goals": 0}, "max_goals"),
    ("discover_goals", {"max_goals": 51}, "max_goals"),
    ("discover_goals", {"goals": 3}, "goals"),
]


def test_every_wrong_parameter_is_named(peer: Peer) -> None:
    """As with the other tools."""
    for tool, arguments, parameter in WRONG:
        error = peer.fail(tool, **arguments)
        assert (error.code, error.data["parameter"]) == (-32602, parameter), (tool, arguments, error)


def test_an_empty_store_has_nothing_to_do(peer: Peer) -> None:
    """D5.4: a run with nothing to do says so."""
    found = peer.ask("consolidate_memories", mode="rem")
    assert (found["merged_count"], found["pruned_count"], found["final_memory_count"]) == (0, 0, 0)
    assert any("no memories" in note for note in found["notes"])
    assert peer.ask("discover_goals")["goals"] == []


def test_progress_is_told_while_it_works(peer: Peer) -> None:
    fill(peer)
    told: list[tuple[float, float | None, str | None]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async def call() -> Any:
        return await peer.client.call_tool("consolidate_memories", {}, progress_callback=hear)

    result = peer.run(call)
    assert result.structured_content["merged_count"] == len(FACTS)
    wait_until(lambda: told, "the SDK to hand on what it was told")
    assert all(total == 1000 for _, total, _ in told)
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told}), "it only grows"


def test_other_calls_of_the_connection_are_served_meanwhile(peer: Peer) -> None:
    fill(peer)
    order: list[str] = []

    def work() -> None:
        peer.ask("consolidate_memories")
        order.append("consolidated")

    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(3):
        peer.ask("recall_memory", query="dates")
        order.append("recalled")
    worker.join()
    assert order[0] == "recalled"


def test_goals_are_told_with_all_their_parts(peer: Peer) -> None:
    for subject in ("release pipeline of the mobile client", "billing export for the finance team"):
        for step in range(8):
            verb = ("plan", "build", "test", "ship")[step % 4]
            peer.store(
                f"We {verb} the {subject}, part {('one', 'two', 'three', 'four')[step // 2]}", occurred_at=OLD
            )
    found = peer.ask("discover_goals", min_confidence=0.0, max_goals=5)
    assert len(found["goals"]) <= 5
    for goal in found["goals"]:
        assert goal["level"] in {"NorthStar", "Strategic", "Tactical", "Operational"}
        assert 0 <= goal["confidence"] <= 1
        assert goal["description"] and goal["members"]
        assert goal["member_count"] >= len(goal["members"])
    assert found["pulse"]


# Raw clients


class Plain:
    """A client that sends JSON to the owner's socket and reads what comes, as `nc -U` does."""

    def __init__(self, cli: Cli) -> None:
        self.path = socket_path(Path(cli.env["CONTEXT_GRAPH_HOME"]))

    def ask(self, text: str) -> Any:
        with closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.settimeout(60)
            connection.connect(os.fspath(self.path))
            connection.sendall(text.encode() + b"\n")
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        return json.loads(b"".join(parts))


def seed_request(number: int, **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {"name": "mcp__context-graph__consolidate_memories", "arguments": arguments},
        "id": f"session-end-{number}",
    }


def test_seed_002s_request_is_answered_over_the_socket(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line or many; the fields stand in .result, where its script looks."""
    with connected(cli) as peer:
        fill(peer)
    monkeypatch.chdir(cli.project)
    plain = Plain(cli)
    request = seed_request(1, mode="light", salience_threshold=0.3, dry_run=True, session_id="a")
    answers = [plain.ask(json.dumps(request, indent=2))]
    request = seed_request(2, mode="light", salience_threshold=0.3, dry_run=False, session_id="b")
    answers.append(plain.ask(json.dumps(request)))
    for number, answer in enumerate(answers, 1):
        assert answer["id"] == f"session-end-{number}"
        assert answer["result"]["merged_count"] == len(FACTS)
        assert answer["result"]["consciousness"]["measured"] is False
    refused = plain.ask(json.dumps(seed_request(3, session_id="b")))
    assert refused["error"]["code"] == -32004
    assert refused["error"]["data"]["limit"] == "1 req/min/session"


@pytest.mark.parametrize("ending", ["notification", "hang-up"])
def test_a_cancelled_run_leaves_no_trace(cli: Cli, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """Cancellable at any point with nothing half-applied; also by closing the connection."""
    monkeypatch.chdir(cli.project)
    with connected(cli) as peer:
        fill(peer)
    before = memory(cli, "list")
    store = Path(memory(cli, "stats")["store"])
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(60)
        connection.connect(os.fspath(Plain(cli).path))
        opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        connection.sendall(json.dumps(opening).encode() + b"\n")
        assert json.loads(connection.recv(65536))["id"] == 0
        connection.sendall(json.dumps({**seed_request(1), "id": 1}).encode() + b"\n")
        wait_until(lambda: leftovers(store), "the run to begin")
        if ending == "notification":
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            connection.sendall(json.dumps(cancelled).encode() + b"\n" + json.dumps(ping).encode() + b"\n")
            assert json.loads(connection.recv(65536))["id"] == 2, "no answer to what was cancelled"
    wait_until(lambda: not leftovers(store), "the run's folder to go")
    assert memory(cli, "list") == before
    assert memory(cli, "runs")["runs"] == []


def test_an_owner_that_dies_in_a_run_costs_the_client_nothing(cli: Cli) -> None:
    """Kill -9: the store is as before, the bridge asks the next owner, no process is left over."""
    with connected(cli) as peer:
        fill(peer)
        store = Path(memory(cli, "stats")["store"])
        found: list[dict[str, Any]] = []
        worker = threading.Thread(target=lambda: found.append(peer.ask("consolidate_memories")))
        worker.start()
        wait_until(lambda: leftovers(store), "the run to begin")
        holder = run_folder.read_holder(lock_path(Path(cli.env["CONTEXT_GRAPH_HOME"])))
        assert holder is not None
        os.kill(holder.pid, signal.SIGKILL)
        worker.join(60)
        assert [one["merged_count"] for one in found] == [len(FACTS)]
        assert len(memory(cli, "list")["nodes"]) == len(FACTS)
        assert len(memory(cli, "runs")["runs"]) == 1
        wait_until(lambda: not leftovers(store), "both runs' folders to go")


def test_two_clients_that_ask_at_once_are_served_one_after_the_other(cli: Cli) -> None:
    with connected(cli) as one, connected(cli) as other:
        fill(one)
        found: list[dict[str, Any]] = []
        workers = [
            threading.Thread(target=lambda peer=peer: found.append(peer.ask("consolidate_memories")))
            for peer in (one, other)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    assert sorted(result["merged_count"] for result in found) == [0, len(FACTS)]
    assert len(memory(cli, "runs")["runs"]) == 1


def test_the_library_reads_what_a_run_left(cli: Cli) -> None:
    with connected(cli) as peer:
        fill(peer)
        done = peer.ask("consolidate_memories")
    store = Path(memory(cli, "stats")["store"])
    assert cli.run("owner", "stop").returncode == 0
    with Memex.open(store, create=False) as memex:
        (run,) = memex.runs()
        assert str(run.token) == done["undo_token"]
        assert memex.count() == done["final_memory_count"]
        memex.undo()
        assert memex.count() == 2 * len(FACTS)
