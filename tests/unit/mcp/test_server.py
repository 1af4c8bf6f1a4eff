"""The server's own parts: versions, names, sessions, arguments, ids that follow from requests."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import pytest

from context_graph.errors import InvalidParamsError
from context_graph.operations.mcp.answers import ToolResult
from context_graph.operations.mcp.endpoint import Endpoint
from context_graph.operations.mcp.rpc import INSTRUCTIONS, VERSIONS, RpcError, negotiate
from context_graph.operations.mcp.sessions import Sessions
from context_graph.operations.mcp.tools import Tool, Toolbox, ToolCall, bare_name
from context_graph.operations.operation import Instant, about, read


class NoHost:
    """A host without a store."""

    store_name = "s"
    project = None
    tells_identity = True

    def session_of(self, tool_use_id: str | None) -> str | None:
        return tool_use_id

    def problems(self) -> list[str]:
        return ["told"]

    def failed(self, operation: str, error: Exception) -> None:
        raise AssertionError(operation) from error


def say(call: ToolCall) -> ToolResult:
    call.log("warning", "careful")
    call.progress(1, 2, "half")
    return ToolResult({"ids": [str(call.new_id()), str(call.new_id())], "session": call.session_id})


SAY = Tool("say", "Says.", {"type": "object"}, say, {"type": "object"}, {"readOnlyHint": True})


class Nowhere:
    """The outlet of messages that are answered at once."""

    clear = True

    def expect(self) -> None:
        raise AssertionError("no answer is late here")

    def late(self, lines: bytes, *, last: bool) -> None:
        raise AssertionError(lines)


def endpoint(*, client: bytes = b"c", plain: bool = False) -> Endpoint:
    return Endpoint(Toolbox([SAY]), NoHost(), Sessions(), client=client, plain=plain)  # type: ignore[arg-type]


def ask(server: Endpoint, method: str, number: int = 1, **params: Any) -> list[Any]:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    told = b"".join(server.receive(json.dumps(message).encode(), Nowhere()))
    return [json.loads(line) for line in told.splitlines()]


def opened(version: str) -> Endpoint:
    server = endpoint()
    assert ask(server, "initialize", protocolVersion=version)[0]["result"]["protocolVersion"] == version
    return server


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_gets_what_it_knows(version: str) -> None:
    """2024-11-05 to 2025-11-25."""
    server = opened(version)
    tool = ask(server, "tools/list")[0]["result"]["tools"][0]
    result = ask(server, "tools/call", name="say")[-1]["result"]
    assert ("annotations" in tool) == (version >= "2025-03-26")
    assert ("outputSchema" in tool) == ("structuredContent" in result) == (version >= "2025-06-18")
    assert json.loads(result["content"][0]["text"])["ids"]
    batch = b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]'
    answer = json.loads(b"".join(server.receive(batch, Nowhere())))
    if version < "2025-06-18":
        assert answer == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    else:
        assert answer["error"]["code"] == -32600


@pytest.mark.parametrize("wanted", ["2026-07-28", "1.0", "", None, 7])
def test_an_unknown_version_is_answered_with_our_latest(wanted: object) -> None:
    assert negotiate(wanted).name == "2025-11-25"


def test_the_instructions_fit_what_the_client_shows() -> None:
    """Contract section 7: cut at some 2,048 characters."""
    assert len(INSTRUCTIONS) <= 2048


def test_initialize_without_a_version_is_refused_and_changes_nothing() -> None:
    server = endpoint()
    assert ask(server, "initialize")[0]["error"]["code"] == -32602
    assert not server.initialized


@pytest.mark.parametrize(
    ("given", "bare"),
    [
        ("store_memory", "store_memory"),
        ("mcp__context-graph__store_memory", "store_memory"),
        ("mcp__plugin_context-graph_context-graph__store_memory", "store_memory"),
        ("mcp__other__store_memory", "mcp__other__store_memory"),
        ("a__b", "a__b"),
    ],
)
def test_prefixed_names_are_read(given: str, bare: str) -> None:
    """D2.7."""
    assert bare_name(given) == bare


def test_a_tool_is_added_once() -> None:
    box = Toolbox([SAY])
    with pytest.raises(ValueError, match="say"):
        box.add(SAY)


def test_ids_follow_from_client_and_request_and_nothing_else() -> None:
    """ADR 0012: the same bytes of the same client make the same; any other makes something else."""

    def ids(client: bytes, number: int) -> list[str]:
        found: list[str] = ask(endpoint(client=client), "tools/call", number, name="say")[-1]["result"][
            "structuredContent"
        ]["ids"]
        return found

    assert ids(b"c", 1) == ids(b"c", 1)
    every = [*ids(b"c", 1), *ids(b"c", 2), *ids(b"d", 1)]
    assert len(set(every)) == len(every)
    assert set(ids(b"", 1)) == {"None"}


def test_notifications_of_a_call_precede_its_answer_and_follow_the_log_level() -> None:
    server = opened("2025-11-25")
    told = ask(server, "tools/call", name="say", _meta={"progressToken": 9})
    assert [one.get("method") for one in told] == ["notifications/message", "notifications/progress", None]
    assert told[1]["params"] == {"progressToken": 9, "progress": 1, "total": 2, "message": "half"}
    assert ask(server, "logging/setLevel", level="error")[0]["result"] == {}
    assert len(ask(server, "tools/call", name="say")) == 1
    assert ask(server, "logging/setLevel", level="loud")[0]["error"]["code"] == -32602


def test_the_tool_use_joins_a_call_to_its_session() -> None:
    """D2.6."""
    answer = ask(endpoint(), "tools/call", name="say", _meta={"claudecode/toolUseId": "toolu_1"})[-1]
    assert answer["result"]["structuredContent"]["session"] == "toolu_1"


def test_plain_clients_find_the_fields_in_the_result_itself() -> None:
    """Seed 002's script reads .result.pruned_count."""
    plain = ask(endpoint(plain=True), "tools/call", name="say")[-1]["result"]
    assert plain["ids"] == plain["structuredContent"]["ids"]
    assert "ids" not in ask(endpoint(), "tools/call", name="say")[-1]["result"]


def test_sessions_are_made_by_use_and_expire_for_good() -> None:
    """REQ-CORE-023, EC-CORE-015."""
    now = [0.0]
    sessions = Sessions(lifetime_s=10, clock=lambda: now[0])
    first = sessions.use("store", "a")
    now[0] = 9.0
    assert sessions.use("store", "a") is first
    assert sessions.use("other", "a") is not first
    now[0] = 19.5
    for _ in range(2):
        with pytest.raises(RpcError) as caught:
            sessions.use("store", "a")
        assert (caught.value.code, caught.value.message) == (-32000, "Session expired or not found")
    sessions.use("store", "b")


def test_sessions_are_bounded() -> None:
    """Invariant 9."""
    sessions = Sessions()
    for number in range(5000):
        sessions.use("store", str(number))
    assert len(sessions) == 4096


class Some(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of a tool of the tests' own."""

    known: Annotated[int, about("A number.", ge=0, le=9)] = 0
    at: Annotated[Instant, about("A time.")] | None = None


def test_arguments_that_nobody_reads_are_an_error_that_names_the_known_ones() -> None:
    assert read(Some, {"known": 1.0, "absent": None}, "tool").known == 1
    with pytest.raises(InvalidParamsError, match="unknown - is not a parameter of tool; it has at, known"):
        read(Some, {"known": 1, "unknown": 2, "absent": None}, "tool")


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T01:00:01+01:00", 1000),
        ("1970-01-01 00:00:01.5", 1500),
        ("1970-01-02", 86_400_000),
        (5, 5),
    ],
)
def test_times_are_iso_8601_or_unix_milliseconds(value: object, ms: int) -> None:
    assert read(Some, {"at": value}, "t").at == ms


@pytest.mark.parametrize("value", ["", "soon", "1969-02-30", "24:00", 1.5, True])
def test_other_times_are_refused(value: object) -> None:
    with pytest.raises(InvalidParamsError, match="at - "):
        read(Some, {"at": value}, "t")


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_both_eras_are_served_on_one_connection() -> None:
    """2026-07-28: each request names its version; 2025-11-25 goes on beside it, as it was opened."""
    server = endpoint()
    (found,) = ask(server, "server/discover", _meta=META)
    assert found["result"]["supportedVersions"] == ["2026-07-28"]
    assert found["result"]["instructions"] == INSTRUCTIONS
    assert found["result"]["ttlMs"] > 0
    assert not server.initialized
    ask(server, "initialize", protocolVersion="2025-11-25")
    for _ in range(2):
        new = ask(server, "tools/list", _meta=META)[-1]["result"]
        old = ask(server, "tools/list")[-1]["result"]
        assert new["tools"] == old["tools"]
        assert (new["resultType"], new["cacheScope"], set(old)) == ("complete", "private", {"tools"})
        assert new["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "context-graph"
    new = ask(server, "tools/call", name="say", _meta=META)
    assert len(new) == 1, "no log unless the request asks for one"
    assert new[0]["result"]["resultType"] == "complete"
    assert "ttlMs" not in new[0]["result"]
    wordy = {**META, "io.modelcontextprotocol/logLevel": "info"}
    assert len(ask(server, "tools/call", name="say", _meta=wordy)) == 2
    assert "resultType" not in ask(server, "tools/call", name="say")[-1]["result"]


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "initialize", "subscriptions/listen"])
def test_what_the_stateless_protocol_has_not_is_no_method(method: str) -> None:
    assert ask(endpoint(), method, _meta=META)[0]["error"]["code"] == -32601


@pytest.mark.parametrize("left", META)
def test_a_stateless_request_without_what_it_must_name_is_refused(left: str) -> None:
    meta = {name: value for name, value in META.items() if name != left}
    assert ask(endpoint(), "server/discover", _meta=meta)[0]["error"]["code"] == -32602
    assert ask(endpoint(), "server/discover")[0]["error"]["code"] == -32602


def test_an_unknown_stateless_version_is_refused_with_those_that_are_known() -> None:
    other = {**META, "io.modelcontextprotocol/protocolVersion": "v999.0.0"}
    (told,) = ask(endpoint(), "tools/list", _meta=other)
    assert told["error"]["code"] == -32022
    assert told["error"]["data"] == {"supported": ["2026-07-28"], "requested": "v999.0.0"}
