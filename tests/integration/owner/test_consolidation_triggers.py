"""What makes an owner consolidate by itself, and what keeps it from it: real hooks, clients and processes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli, end_process, stopped
from tests.support.owner.consolidations import Owner, twins, until
from tests.support.sessions import hook

from context_graph.model import SessionIdentitySnapshot
from context_graph.store.sessions.sessions import SessionStore

pytestmark = pytest.mark.timeout(300)

TWINS = 4
_QUIET = {"CONTEXT_GRAPH_DREAM_IDLE": "off", "CONTEXT_GRAPH_DREAM_SESSION_END": "off"}


def _owner(cli: Cli, facts: int = 40, **settings: object) -> Owner:
    """A project with so many memories, 4 of them twice, whose owner will run with these settings."""
    env = {**cli.env, **_QUIET}
    env.update({f"CONTEXT_GRAPH_{name.upper()}": str(value) for name, value in settings.items()})
    owner = Owner.of(Cli(cli.launcher, cli.project, env))
    with owner.memex() as memex:
        twins(memex, facts, min(facts, TWINS))
    return owner


def _queued(owner: Owner) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = owner.ask("consciousness.status")["dreams_pending"]
    return found


def _last(owner: Owner) -> dict[str, Any]:
    """The notes of the store's last run, waited for."""
    found: dict[str, Any] = until(lambda: owner.stats()["last"], "a run of the owner's own")
    return found


def _crisis(owner: Owner) -> None:
    """Leave a request in the queue as a crisis does, while no owner runs."""
    store = SessionStore.open(owner.location.store / "db")
    store.save_snapshot(SessionIdentitySnapshot(session_id="s-1", last_ic=0.2))
    store.dream_queue.queue({"session_id": "s-1", "ic": 0.2, "at_ms": 1_700_000_000_000})
    store.close()


def test_a_queued_crisis_has_a_light_run_and_is_answered(cli: Cli) -> None:
    owner = _owner(cli)
    _crisis(owner)
    assert len(_queued(owner)) == 1, "and whoever asks sees it"
    (scheduled,) = owner.stats()["scheduled"]
    assert (scheduled["trigger"], scheduled["mode"]) == ("crisis", "light")
    last = _last(owner)
    assert (last["trigger"], last["mode"], last["merged_count"]) == ("crisis", "light", TWINS)
    assert _queued(owner) == [] and owner.stats()["scheduled"] == []
    (run,) = owner.ask("memory.runs")["runs"]
    assert run["details"]["trigger"] == "crisis" and run["details"]["session_id"] == "s-1"


@pytest.mark.thorough
def test_a_query_ends_the_owner_s_own_run_which_comes_back(cli: Cli) -> None:
    """No run of its own stays while a query is answered, and none is lost by it."""
    owner = _owner(cli)
    owner.hold_next()
    _crisis(owner)
    assert _queued(owner)
    pid = owner.held()
    with stopped(pid):
        assert owner.ask("memory.recall", query="where does the bucket keep its settings?")["nodes"]
        until(lambda: not Path(f"/proc/{pid}").exists(), "the process's end")
    assert owner.running() is None
    (scheduled,) = owner.stats()["scheduled"]
    assert (scheduled["trigger"], scheduled["aborted"]) == ("crisis", 1)
    assert _last(owner)["merged_count"] == TWINS
    assert "gave way" in owner.log()


@pytest.mark.thorough
def test_who_asks_goes_before_the_owner_s_own_run(cli: Cli) -> None:
    owner = _owner(cli)
    owner.hold_next()
    _crisis(owner)
    assert _queued(owner)
    pid = owner.held()
    with stopped(pid):
        asked = owner.start(mode="light")
        assert asked.result()["merged_count"] == TWINS
    assert _last(owner)["trigger"] == "asked"
    until(lambda: not _queued(owner), "the crisis to be answered by it")
    assert owner.stats()["scheduled"] == []


def test_a_store_that_was_changed_and_is_idle_is_consolidated_once(cli: Cli) -> None:
    owner = _owner(cli, dream_idle="light", dream_idle_s=1, dream_cooldown_s=0)
    assert owner.ask("memory.stats")["memory"]["nodes"] == 44
    last = _last(owner)
    assert (last["trigger"], last["merged_count"]) == ("idle", TWINS)
    assert owner.stats()["scheduled"] == [], "nothing has changed since"
    owner.ask("memory.store", content="A thing that nobody knew before", rationale="kept by a test")
    until(lambda: (owner.stats()["last"] or {}).get("seq", 0) > last["seq"], "another run")


def test_the_next_start_says_once_what_a_run_did_that_nobody_asked_for(cli: Cli) -> None:
    """By an owner, also where the last one left what a start is told: this is for the user."""
    owner = _owner(cli, dream_idle="light", dream_idle_s=1)
    assert owner.ask("memory.stats")["memory"]["nodes"] == 44
    token = _last(owner)["undo_token"]
    assert owner.cli.run("owner", "stop").returncode == 0
    first, second = (hook(owner.cli, "session-start", name, source="startup") for name in ("s-1", "s-2"))
    assert f"{TWINS} merged" in first["systemMessage"]
    assert f"context-graph-cli memory undo {token[:8]}" in first["systemMessage"]
    assert "merged" not in second.get("systemMessage", "")
    assert owner.start().result()["merged_count"] == 0
    third = hook(owner.cli, "session-start", "s-3", source="startup")
    assert "tidied" not in third.get("systemMessage", ""), "whoever asked knows"


@pytest.mark.thorough
def test_an_owner_whose_hooks_wait_for_nothing_is_not_idle(cli: Cli) -> None:
    owner = _owner(cli, dream_idle="light", dream_idle_s=2, dream_cooldown_s=0)
    hook(owner.cli, "session-start", "s-1", source="startup")
    assert owner.ask("memory.stats")["memory"]["nodes"] == 44
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        hook(
            owner.cli, "post-tool", "s-1", tool_name="Read", tool_input={"file_path": "/a"}, tool_response={}
        )
        time.sleep(0.2)
    assert "dream wanted" not in owner.log()
    assert _last(owner)["trigger"] == "idle", "and once nobody works any more"


def test_a_store_whose_memories_were_all_deleted_leaves_its_owner_in_peace(cli: Cli) -> None:
    """What changed has nothing left in it to consolidate: that run must not come again and again."""
    owner = _owner(cli, facts=1, dream_idle="light", dream_idle_s=1)
    for node in owner.ask("memory.list")["nodes"]:
        owner.ask("memory.forget", id=node["id"], permanent=True, reason="user_requested")
    assert owner.ask("memory.stats")["memory"]["nodes"] == 0
    assert owner.stats()["scheduled"] == [], "nothing is left to consolidate"
    owner.ask("memory.store", content="A thing that nobody knew before", rationale="kept by a test")
    (scheduled,) = owner.stats()["scheduled"]
    assert scheduled["trigger"] == "idle", "and as soon as there is something, it is due again"


@pytest.mark.thorough
def test_entropy_that_stays_high_asks_for_a_run(cli: Cli) -> None:
    owner = _owner(cli, 0, dream_idle="light", dream_idle_s=3600, dream_entropy_s=1)
    file = cli.project / "limits.py"
    file.write_text("LIMIT = 100\n")
    with owner.memex() as memex:
        evidence = memex.evidence.named(str(cli.project), [file.name])
        facts = [f"The limit of gate {n} is in limits.py" for n in range(20)]
        nodes = [memex.store(fact, rationale="kept by a test", evidence=evidence) for fact in facts]
        file.write_text("LIMIT = 200\n")  # what all of them rest on
        memex.tell([node.id for node in nodes], str(cli.project))
        assert memex.pulse().entropy > 0.7
    assert owner.ask("memory.recall", query="gate 7")["nodes"]
    last = _last(owner)
    assert last["trigger"] == "entropy"


def test_the_switch_keeps_the_owner_from_all_of_it(cli: Cli) -> None:
    owner = _owner(cli, dream="false", dream_idle="light", dream_idle_s=1, dream_session_end="light")
    _crisis(owner)
    hook(owner.cli, "session-start", "s-2", source="startup")
    hook(owner.cli, "session-end", "s-2", reason="other")
    stats = owner.stats()
    assert stats["automatic"] is False and stats["scheduled"] == [] and stats["requests"] == 1
    assert owner.dreams() == {"running": None, "waiting": 0, "scheduled": []}
    assert owner.start().result()["merged_count"] == TWINS, "whoever asks is served"


_CLIENT = """
import json, subprocess, sys
given = {"session_id": "s-9", "hook_event_name": "SessionEnd", "reason": "other", "cwd": sys.argv[2]}
words = [sys.argv[1], "hooks", "session-end", "--format", "claude"]
done = subprocess.run(words, input=json.dumps(given).encode())
print(done.returncode, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def client(cli: Cli) -> Iterator[subprocess.Popen[bytes]]:
    """A client whose session's end hook has run, and that is still there; its end is the test's."""
    owner = _owner(cli, dream_session_end="light", idle_s=1)
    words = [sys.executable, "-c", _CLIENT, str(cli.launcher), str(cli.project)]
    hook(owner.cli, "session-start", "s-9", source="startup")
    process = subprocess.Popen(
        words, cwd=cli.project, env=dict(owner.cli.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"0\n"
    yield process
    process.kill()
    process.wait()
    assert process.stdin is not None
    process.stdin.close()
    process.stdout.close()


@pytest.mark.thorough
def test_a_session_s_end_is_followed_by_a_run_when_its_client_is_gone(
    cli: Cli, client: subprocess.Popen[bytes]
) -> None:
    """The owner outstays its idle time for it, and the run is none of the client's time."""
    owner = Owner.of(cli)
    until(lambda: [row["in_s"] <= 55.0 for row in owner.stats()["scheduled"]] == [True], "a quiet time")
    assert owner.running() is None and owner.stats()["last"] is None
    assert client.stdin is not None
    client.stdin.close()
    client.wait()
    last = _last(owner)
    assert (last["trigger"], last["mode"], last["merged_count"]) == ("session_end", "light", TWINS)
    assert owner.stats()["requests"] == 0


def test_a_request_outlives_its_owner(cli: Cli) -> None:
    """An owner that must leave before the quiet time loses no session's request."""
    owner = _owner(cli, dream_session_end="light")
    hook(owner.cli, "session-start", "s-3", source="startup")
    hook(owner.cli, "session-end", "s-3", reason="other")
    until(lambda: owner.stats()["requests"] == 1, "the request")
    end_process(owner.pid())
    assert _last(owner)["trigger"] == "session_end"
