"""The rows of seed 003's EC-CORE and ERR-CORE tables that a client can meet, met by the SDK's client."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from mcp.types import ErrorData
from tests.support.cli import Cli
from tests.support.clients.mcp_client import Peer, connected
from tests.support.rights import plain_of

from context_graph.store.layout import NODES, wrap
from context_graph.store.schema import open_database

WHY = "a rationale of enough characters"
NODE = "00000000-0000-4000-8000-000000000000"


def check(error: ErrorData, code: int, message: str, row: str, detail: str = "") -> None:
    """An error object as REQ-CORE-026 wants it."""
    assert (error.code, error.message) == (code, message)
    assert error.data["error"] == row
    assert error.data["detail"] == (detail or message)
    assert error.data["recovery"]


EC_ROWS: dict[str, tuple[str, dict[str, Any], str, str, str]] = {
    "EC-CORE-001": (
        "store_memory",
        {"content": "x" * 65_537, "rationale": WHY},
        "Content exceeds maximum length of 65536 characters",
        "ERR-CORE-006",
        "Invalid params: content exceeds maximum length of 65536 characters (received: 65537)",
    ),
    "EC-CORE-002": (
        "store_memory",
        {"content": "Test memory", "importance": 0.5},
        "Rationale is required (10-500 characters)",
        "ERR-CORE-005",
        "Invalid params: rationale is required (10-500 characters)",
    ),
    "EC-CORE-003": (
        "store_memory",
        {"content": "Test memory", "rationale": "too short"},
        "Rationale must be at least 10 characters",
        "ERR-CORE-005",
        "Invalid params: rationale is required (10-500 characters)",
    ),
    "EC-CORE-005": (
        "recall_memory",
        {"query": "x", "top_k": 0},
        "top_k must be between 1 and 100",
        "ERR-CORE-004",
        "Invalid params: top_k - must be between 1 and 100 (received: 0)",
    ),
    "EC-CORE-006": (
        "inject_context",
        {"query": "x", "max_tokens": 99},
        "max_tokens must be between 100 and 8192",
        "ERR-CORE-004",
        "Invalid params: max_tokens - must be between 100 and 8192 (received: 99)",
    ),
    "EC-CORE-012": (
        "forget_memory",
        {"node_id": "NODE", "soft_delete": False, "reason": "obsolete"},
        "Permanent deletion requires reason='user_requested'",
        "ERR-CORE-007",
        "Invalid params: Permanent deletion requires reason='user_requested'",
    ),
    "EC-CORE-016": (
        "set_verbosity",
        {"level": 3},
        "Verbosity level must be 0, 1, or 2",
        "ERR-CORE-004",
        "Invalid params: level - Verbosity level must be 0, 1, or 2",
    ),
    "EC-CORE-017": (
        "store_memory",
        {"content": "x", "content_base64": "eA==", "rationale": WHY},
        "Provide either content or content_base64, not both",
        "ERR-CORE-004",
        "Invalid params: content - Provide either content or content_base64, not both",
    ),
}


@pytest.fixture(scope="module")
def shared_peer(shared_cli: Cli) -> Iterator[Peer]:
    """For calls that are refused, and change nothing."""
    with connected(shared_cli) as made:
        yield made


@pytest.mark.parametrize("row", EC_ROWS)
def test_each_edge_case_has_its_code_and_its_exact_message(shared_peer: Peer, row: str) -> None:
    """EC-CORE-001, EC-CORE-002, EC-CORE-003, EC-CORE-005, EC-CORE-006, EC-CORE-012, EC-CORE-016, EC-CORE-017;
    ERR-CORE-004 to ERR-CORE-007; TC-CORE-016, TC-CORE-018, AC-CORE-01-03."""
    tool, arguments, message, error_row, detail = EC_ROWS[row]
    if arguments.get("node_id") == "NODE":
        arguments = {**arguments, "node_id": shared_peer.store("something to delete")}
    check(shared_peer.fail(tool, **arguments), -32602, message, error_row, detail)


LIMITS: list[tuple[str, dict[str, Any]]] = [
    ("store_memory", {"content": "x" * 65_536, "rationale": WHY}),
    ("store_memory", {"content": "🙂" * 65_536, "rationale": WHY}),
    ("store_memory", {"content": "x", "rationale": "x" * 10}),
    ("store_memory", {"content": "x", "rationale": "x" * 500}),
    ("recall_memory", {"query": "x" * 4096, "top_k": 100}),
    ("recall_memory", {"query": "x", "top_k": 1}),
    ("inject_context", {"query": "x", "max_tokens": 100}),
    ("inject_context", {"query": "x", "max_tokens": 8192}),
]


def test_what_is_exactly_at_its_limit_is_accepted(peer: Peer) -> None:
    """The other side of EC-CORE-001, 003, 005, 006."""
    for tool, arguments in LIMITS:
        peer.ask(tool, **arguments)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("store_memory", {"rationale": WHY}, "content"),
    ("store_memory", {"content": 5, "rationale": WHY}, "content"),
    ("store_memory", {"content": "", "rationale": WHY}, "content"),
    ("store_memory", {"content": "x", "rationale": 12345678901}, "rationale"),
    ("store_memory", {"content": "x", "rationale": "x" * 501}, "rationale"),
    ("store_memory", {"content": "x", "rationale": WHY, "importance": 1.5}, "importance"),
    ("store_memory", {"content": "x", "rationale": WHY, "importance": True}, "importance"),
    ("store_memory", {"content": "x", "rationale": WHY, "modality": "smell"}, "modality"),
    ("store_memory", {"content": "x", "rationale": WHY, "metadata": []}, "metadata"),
    ("store_memory", {"content": "x", "rationale": WHY, "link_to": ["nope"]}, "link_to"),
    ("store_memory", {"content": "x", "rationale": WHY, "link_to": NODE}, "link_to"),
    ("store_memory", {"content": "x", "rationale": WHY, "tags": [1]}, "tags"),
    ("store_memory", {"content": "x", "rationale": WHY, "occurred_at": "yesterday"}, "occurred_at"),
    ("store_memory", {"content": "x", "rationale": WHY, "importence": 1}, "importence"),
    ("store_memory", {"content_base64": "***", "rationale": WHY}, "content_base64"),
    ("store_memory", {"content_base64": "/w==", "rationale": WHY}, "content_base64"),
    ("recall_memory", {}, "query"),
    ("recall_memory", {"query": ""}, "query"),
    ("recall_memory", {"query": "x" * 4097}, "query"),
    ("recall_memory", {"query": "x", "top_k": 101}, "top_k"),
    ("recall_memory", {"query": "x", "top_k": "many"}, "top_k"),
    ("recall_memory", {"query": "x", "cursor": "nonsense"}, "cursor"),
    ("recall_memory", {"query": "x", "filters": {"min_importance": 2}}, "filters.min_importance"),
    ("recall_memory", {"query": "x", "filters": {"created_after": "soon"}}, "filters.created_after"),
    ("recall_memory", {"query": "x", "filters": {"johari_quadrants": ["odd"]}}, "filters.johari_quadrants"),
    ("recall_memory", {"query": "x", "filters": {"colour": "red"}}, "filters.colour"),
    ("inject_context", {"query": "x", "max_tokens": 8193}, "max_tokens"),
    ("inject_context", {"query": "x", "priority": "asap"}, "priority"),
    ("inject_context", {"query": "x", "distillation_mode": "poetic"}, "distillation_mode"),
    ("inject_context", {"query": "x", "include_metadata": ["gossip"]}, "include_metadata"),
    ("set_verbosity", {}, "level"),
    ("set_verbosity", {"level": 1, "session_id": ""}, "session_id"),
    ("get_memetic_status", {"session_id": 7}, "session_id"),
    ("get_memory", {"node_id": "x"}, "node_id"),
    ("forget_memory", {"node_id": NODE, "soft_delete": "yes"}, "soft_delete"),
    ("link_memories", {"source_id": NODE}, "target_id"),
    ("link_memories", {"source_id": NODE, "target_id": NODE, "domain": "magic"}, "domain"),
    ("link_memories", {"source_id": NODE, "target_id": NODE, "weight": -0.1}, "weight"),
]


def test_every_wrong_parameter_is_named(peer: Peer) -> None:
    """ERR-CORE-004: the parameter, what is wrong with it, the cure."""
    for tool, arguments, parameter in WRONG:
        error = peer.fail(tool, **arguments)
        assert error.code == -32602, (tool, arguments, error)
        assert error.data["parameter"] == parameter, (tool, arguments, error)
        assert error.data["recovery"], (tool, arguments)
        if error.data["error"] == "ERR-CORE-004" and parameter not in ("top_k", "max_tokens"):
            assert error.message.startswith(f"Invalid params: {parameter} - "), error.message


def test_a_verbosity_that_is_none_counts_as_the_default(peer: Peer) -> None:
    """REQ-CORE-005: From<u8>."""
    peer.store("the parser of dates")
    for level in (7, 255, -1):
        assert "content" in peer.ask("recall_memory", query="parser", verbosity_level=level)["nodes"][0]


def test_a_call_s_verbosity_overrides_its_session_s_for_that_call_alone(peer: Peer) -> None:
    """REQ-CORE-005: a session keeps its level, another session has its own."""
    peer.store("the parser of dates")
    peer.ask("set_verbosity", level=0, session_id="s-short")

    def keys(**more: object) -> set[str]:
        return set(peer.ask("recall_memory", query="parser", **more)["nodes"][0])

    short = keys(session_id="s-short")
    assert short == {"id"} == keys(session_id="s-other", verbosity_level=0)
    assert (
        keys(session_id="s-short", verbosity_level=2) > keys(session_id="s-short", verbosity_level=1) > short
    )
    assert keys(session_id="s-short") == short, "the session's own level stays"
    assert "content" in keys(session_id="s-other")


def test_an_expired_session_is_refused_from_then_on(cli: Cli) -> None:
    """EC-CORE-015, ERR-CORE-003, REQ-CORE-023: sessions live in memory and expire."""
    with connected(cli, env={"CONTEXT_GRAPH_MCP_SESSION_S": "0.05"}) as peer:
        peer.ask("set_verbosity", level=2, session_id="s-old")
        time.sleep(0.1)
        for tool, arguments in (("get_memetic_status", {}), ("recall_memory", {"query": "x"})):
            error = peer.fail(tool, session_id="s-old", **arguments)
            check(
                error,
                -32000,
                "Session expired or not found",
                "ERR-CORE-003",
                "Session not found or expired: s-old",
            )
        peer.ask("get_memetic_status")  # anonymous
        assert peer.ask("set_verbosity", level=0, session_id="s-new")["previous_level"] == 1


def test_a_memory_that_is_not_there_is_a_graph_query_error(peer: Peer) -> None:
    """REQ-CORE-026: -32001."""
    here = peer.store("something")
    for tool, arguments in (
        ("get_memory", {"node_id": NODE}),
        ("forget_memory", {"node_id": NODE}),
        ("restore_memory", {"node_id": NODE}),
        ("link_memories", {"source_id": here, "target_id": NODE}),
        ("store_memory", {"content": "x", "rationale": WHY, "link_to": [NODE]}),
    ):
        error = peer.fail(tool, **arguments)
        assert error.code == -32001, (tool, error)
        assert NODE in error.message
        assert error.data["detail"] == error.message and error.data["recovery"]
        assert "error" not in error.data, "seed 003 has no row for it; ERR-CORE-004 is another code"


@pytest.mark.parametrize("at", [253_402_300_800_000, (1 << 63) - 1, 1 << 63, -1, "0001-01-01", 1.5])
def test_a_time_that_no_answer_could_tell_is_refused_before_it_is_stored(peer: Peer, at: object) -> None:
    """ERR-CORE-004: a memory of the year 10000 would break every answer that it is in."""
    error = peer.fail("store_memory", content="gizmo", rationale=WHY, occurred_at=at)
    assert error.code == -32602 and error.data["parameter"] == "occurred_at"
    assert "253402300799999" in error.message
    assert peer.ask("recall_memory", query="gizmo")["nodes"] == []
    last = peer.store("gizmo", occurred_at=253_402_300_799_999)
    (node,) = peer.ask("recall_memory", query="gizmo")["nodes"]
    assert (node["id"], node["created_at"]) == (last, "9999-12-31T23:59:59.999Z")


@pytest.mark.parametrize(
    ("tags", "limit"),
    [(["x" * 65], "1 to 64 characters"), ([f"t{number}" for number in range(33)], "at most 32 are allowed")],
)
def test_a_tag_too_long_or_too_many_meet_one_limit(peer: Peer, tags: list[str], limit: str) -> None:
    error = peer.fail("store_memory", content="x", rationale=WHY, tags=tags)
    assert error.data["parameter"] == "tags" and limit in error.message
    peer.store("x", tags=["x" * 64, *(f"t{number}" for number in range(31))])


def test_a_link_from_a_memory_to_itself_names_the_parameter(peer: Peer) -> None:
    here = peer.store("something")
    error = peer.fail("link_memories", source_id=here, target_id=here)
    assert error.code == -32602 and error.data["parameter"] == "target_id" and "source_id" in error.message


def test_text_in_base64_may_be_as_long_as_other_text(peer: Peer) -> None:
    """The limit holds for what it stands for, in characters."""
    longest = "é" * 65_536
    node = peer.ask(
        "store_memory", content_base64=base64.b64encode(longest.encode()).decode(), rationale=WHY
    )["node_id"]
    assert peer.ask("get_memory", node_id=node)["node"]["content"] == longest
    more = base64.b64encode(b"x" * 65_537).decode()
    error = peer.fail("store_memory", content_base64=more, rationale=WHY)
    assert error.message == "Content exceeds maximum length of 65536 characters"
    image = peer.fail("store_memory", content_base64=more, rationale=WHY, modality="image")
    assert image.data["parameter"] == "content_base64" and "at most 65536" in image.message


def test_a_damaged_database_says_so_and_says_what_to_do(cli: Cli) -> None:
    """EC-CORE-007, ERR-CORE-001: the exact words, no path in them; the log has the details."""
    with connected(cli) as peer:
        for number in range(50):
            peer.store(f"fact {number} " + "x" * 500)
    cli.run("owner", "stop")
    (database,) = (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "stores").glob("*/db")
    for manifest in database.glob("MANIFEST-*"):
        manifest.write_bytes(manifest.read_bytes()[:20])
    with connected(cli) as peer:
        error = peer.fail("recall_memory", query="fact")
    assert (error.code, error.message) == (-32002, "Database integrity check failed. Recovery required.")
    assert error.data["error"] == "ERR-CORE-001"
    assert error.data["detail"].startswith("Storage error: ")
    assert cli.env["CONTEXT_GRAPH_HOME"] not in json.dumps(error.model_dump())
    log = (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "log" / "owner.log").read_text()
    assert "ERROR recall_memory: " in log
    assert str(database) in log


def test_a_full_disk_loses_nothing_that_was_acknowledged_and_half_stores_nothing(cli: Cli) -> None:
    """EC-CORE-009: -32002, the transaction rolled back; with room again the next store works."""
    # Not below pytest's own folders: should it stay mounted, they could not be cleared away.
    home = Path(tempfile.mkdtemp(prefix="cg-"))
    cli = Cli(cli.launcher, cli.project, {**cli.env, "CONTEXT_GRAPH_HOME": str(home)})
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "none", str(home)], capture_output=True
    )
    if mounted.returncode:
        home.rmdir()
        pytest.skip("may not mount a file system here")
    try:
        with connected(cli) as peer:
            kept = peer.store("stored while there was room")
            with open(home / "filler", "ab", buffering=0) as sink, pytest.raises(OSError, match="No space"):
                while True:
                    sink.write(bytes(65536))
            error = peer.fail("store_memory", content="y" * 60_000, rationale=WHY)
            assert (error.code, error.message) == (-32002, "Insufficient disk space")
            assert error.data["error"] == "ERR-CORE-001"
            assert peer.ask("get_memory", node_id=kept)["node"]["content"] == "stored while there was room"
            (home / "filler").unlink()
            after = peer.store("stored when there was room again")
            nodes = peer.ask("recall_memory", query="stored while there was room", top_k=10)["nodes"]
            assert {node["id"] for node in nodes} == {kept, after}
    finally:
        cli.run("owner", "stop")
        subprocess.run(["umount", "-l", str(home)], check=True)
        home.rmdir()


def stored_and_stopped(cli: Cli) -> tuple[str, Path]:
    """A store with one memory and no owner: the memory's id, the store's folder."""
    with connected(cli) as peer:
        node = peer.store("the parser of dates")
    assert cli.run("owner", "stop").returncode == 0
    (store,) = (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "stores").iterdir()
    return node, store


def change_record(store: Path, node: str, change: Callable[[bytes], bytes]) -> None:
    engine = open_database(store / "db")
    key = UUID(node).bytes
    engine.put(NODES, key, change(engine.get(NODES, key) or b""))
    engine.close()


def test_a_record_that_cannot_be_read_back_is_named(cli: Cli) -> None:
    """ERR-CORE-008: -32603 with the row's words and the memory's id."""
    node, store = stored_and_stopped(cli)
    change_record(store, node, lambda record: record[:-1] + bytes([record[-1] ^ 1]))
    with connected(cli) as peer:
        error = peer.fail("get_memory", node_id=node)
        check(error, -32603, "Internal error: Data serialization failed", "ERR-CORE-008")
        assert error.data["node_id"] == node


def test_a_record_of_a_later_version_names_node_and_version(cli: Cli) -> None:
    """EC-CORE-018."""
    node, store = stored_and_stopped(cli)
    change_record(store, node, lambda record: wrap(UUID(node).bytes, 7, b"of tomorrow"))
    with connected(cli) as peer:
        error = peer.fail("get_memory", node_id=node)
    check(error, -32603, "Internal error: Data serialization failed", "ERR-CORE-008")
    assert (error.data["node_id"], error.data["format_version"]) == (node, 7)


def test_a_store_that_another_process_holds_is_a_lock_contention(cli: Cli) -> None:
    """ERR-CORE-009."""
    node, store = stored_and_stopped(cli)
    engine = open_database(store / "db")
    try:
        with connected(cli) as peer:
            error = peer.fail("get_memory", node_id=node)
            message = "Storage error: Operation timed out due to lock contention"
            check(error, -32002, message, "ERR-CORE-009")
            engine.close()
            assert peer.ask("get_memory", node_id=node)["node"]["id"] == node
    finally:
        engine.close()


def test_a_store_that_may_not_be_written_names_the_permission(cli: Cli, tmp_path: Path) -> None:
    """EC-CORE-008 as a client sees it; the owner's own start is test_owner_lock's."""
    cli = plain_of(cli, tmp_path)
    with connected(cli) as peer:
        peer.store("something")
    cli.run("owner", "stop")
    (store,) = (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "stores").iterdir()
    (store / "db").chmod(0o500)
    try:
        with connected(cli) as peer:
            assert peer.fail("store_memory", content="x", rationale=WHY).code == -32002
    finally:
        (store / "db").chmod(0o700)


def test_protocol_errors_have_their_own_codes(peer: Peer) -> None:
    """JSON-RPC: unknown methods; the SDK's client asks for prompts, which this server has none of."""
    from mcp import MCPError

    with pytest.raises(MCPError) as caught:
        peer.run(peer.client.list_prompts)
    assert caught.value.code == -32601
