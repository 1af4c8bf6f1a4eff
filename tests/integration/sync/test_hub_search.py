"""Asking a team's hub for what is not on this machine: what is found, by whom, and how it is labelled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest
from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected
from tests.support.exchange.postgres import Postgres, started, with_passwords
from tests.support.exchange.postgres import team as team_of
from tests.support.memories import open_memex
from tests.support.sessions import memory

from context_graph.sync.change import MEMORY, VERSION, Change, encode
from context_graph.sync.hub import place_name, schema, teams
from context_graph.sync.hub.answering import Question, Search
from context_graph.sync.hub.memories import Indexer
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import last_exchanges
from context_graph.sync.transport import LoggedChange

pytestmark = pytest.mark.hub

WAIT_S = 30.0
QUEUE = "The payment queue redelivers a message after ninety seconds without an acknowledgement"
PORT = "Staging of the gateway listens on port 8443"


@pytest.fixture(scope="module")
def server(server: Postgres) -> Postgres:
    return with_passwords(server)


_NUMBERS = count(1)


@pytest.fixture
def team() -> str:
    """A name that no other test has, and that fits a login."""
    return f"t{next(_NUMBERS)}"


Joined = Callable[..., Cli]


@pytest.fixture
def member(cli: Cli, server: Postgres, team: str, tmp_path: Path) -> Iterator[Joined]:
    """A colleague's machine in one project of the team, in which they are a member."""
    made: list[Cli] = []
    env = {"CONTEXT_GRAPH_HUB_ADMIN_URL": server.address}

    def join(login: str, project: str, *words: str, of: str = "") -> Cli:
        folder = tmp_path / login / project
        (folder / ".git").mkdir(parents=True)
        one = Cli(cli.launcher, folder, {**cli.env, "CONTEXT_GRAPH_HOME": str(tmp_path / login / "data")})
        where = ("--team", of or team, "--project", project)
        assert cli.run("hub", "init", *where, env=env, timeout=60).returncode == 0
        token = cli.run("hub", "invite", login, *where, *words, env=env).stdout
        done = one.run("hub", "join", "-", stdin=token)
        assert done.returncode == 0, done.stderr
        made.append(one)
        return one

    yield join
    for one in made:
        one.stop_owner()


def also_in(cli: Cli, server: Postgres, one: Cli, login: str, project: str, team: str) -> None:
    """They are a member of that project too."""
    env = {"CONTEXT_GRAPH_HUB_ADMIN_URL": server.address}
    done = cli.run("hub", "invite", login, "--team", team, "--project", project, env=env)
    assert done.returncode == 0, done.stderr


def found(one: Cli, query: str, *words: str) -> dict[str, Any]:
    return memory(one, "recall", query, "--scope", "team", *words)


def until(what: Callable[[], Any], why: str) -> Any:
    began = time.monotonic()
    while not (value := what()):
        assert time.monotonic() - began < WAIT_S, why
        time.sleep(0.05)
    return value


def indexed(server: Postgres, project: str, team: str) -> int:
    with server.admin() as admin:
        row = admin.execute(
            "SELECT count(*) FROM context_graph.memory AS m JOIN context_graph.project AS p "
            "ON p.id = m.project JOIN context_graph.team AS t ON t.id = p.team "
            "WHERE p.name = %s AND t.name = %s",
            (project, team),
        ).fetchone()
    return int(str(row[0])) if row else 0


@pytest.fixture
def pair(cli: Cli, server: Postgres, team: str, member: Joined) -> tuple[Cli, Cli]:
    """Ada in gateway, and Grace in billing, whose memory Ada may read; what Grace stored is in the hub."""
    ada, grace = member("ada-" + team, "gateway"), member("grace-" + team, "billing")
    also_in(cli, server, ada, "ada-" + team, "billing", team)
    memory(grace, "store", QUEUE, "--tag", "ops")
    memory(ada, "store", PORT)
    until(lambda: indexed(server, "billing", team), "it was not indexed")
    return ada, grace


def test_what_another_project_of_the_team_knows_is_found_and_labelled(
    pair: tuple[Cli, Cli], team: str
) -> None:
    """By meaning and words; its own memories come along, and a plain recall asks nobody."""
    ada, _ = pair
    told = found(ada, "when is a payment message redelivered")
    first = told["nodes"][0]
    assert first["content"] == QUEUE
    assert first["from"] == {
        "project": "billing",
        "author": "grace-" + team,
        "machine": first["from"]["machine"],
    }
    assert "not on this machine" in told["hub"]
    assert found(ada, "which port does staging of the gateway listen on")["nodes"][0]["content"] == PORT
    assert QUEUE not in json.dumps(memory(ada, "recall", "when is a payment message redelivered"))
    text = ada.run("memory", "recall", "payment message redelivered", "--scope", "team").stdout
    assert "billing, grace-" in text and "The payment queue redelivers" in text
    assert found(ada, "payment message redelivered", "--tag", "nothing")["nodes"] == []


def test_over_mcp_the_answer_is_a_quote_with_a_pulse(pair: tuple[Cli, Cli]) -> None:
    ada, _ = pair
    with connected(ada) as peer:
        told = peer.ask("recall_memory", query="when is a payment message redelivered", scope="team")
        assert told["trust"] == "untrusted data" and told["pulse"]
        assert told["nodes"][0]["content"] == QUEUE and told["nodes"][0]["from"]["project"] == "billing"


def test_who_is_no_member_of_a_project_finds_nothing_of_it(
    cli: Cli, server: Postgres, team: str, member: Joined
) -> None:
    """Of the same team, of another team, and after they were removed."""
    env = {"CONTEXT_GRAPH_HUB_ADMIN_URL": server.address}
    ada, grace = member("ada-" + team, "gateway"), member("grace-" + team, "billing")
    mallory = member("mallory-" + team, "billing", of=team + "-other")
    memory(grace, "store", QUEUE)
    for one in (ada, mallory):
        memory(one, "store", PORT)
    until(lambda: indexed(server, "billing", team), "it was not indexed")
    for one in (ada, mallory):
        assert QUEUE not in json.dumps(found(one, "payment message redelivered"))
    also_in(cli, server, ada, "ada-" + team, "billing", team)
    until(lambda: QUEUE in json.dumps(found(ada, "payment message redelivered")), "not found as a member")
    done = cli.run("hub", "remove", "ada-" + team, "--team", team, "--project", "billing", env=env)
    assert done.returncode == 0, done.stderr
    assert QUEUE not in json.dumps(found(ada, "payment message redelivered"))


def test_what_was_forgotten_or_deleted_for_good_is_found_no_more(
    pair: tuple[Cli, Cli], server: Postgres, team: str
) -> None:
    """The index of the hub has nothing of it either, not even hashes of its words."""
    ada, grace = pair
    second = memory(grace, "store", "Refunds of the payment queue go to the ledger team")["id"]
    first = next(node["id"] for node in memory(grace, "list")["nodes"] if node["content"] == QUEUE)
    until(lambda: indexed(server, "billing", team) == 2, "it was not indexed")
    memory(grace, "forget", first)
    until(lambda: indexed(server, "billing", team) == 1, "forgotten, and still in the index")
    assert QUEUE not in json.dumps(found(ada, "payment message redelivered"))
    memory(grace, "restore", first)
    until(lambda: QUEUE in json.dumps(found(ada, "payment message redelivered")), "restored, and not found")
    for one in (first, second):
        memory(grace, "forget", one, "--permanent", "--yes")
    until(lambda: indexed(server, "billing", team) == 0, "deleted for good, and still in the index")
    assert "from" not in json.dumps(found(ada, "payment queue refunds redelivered")["nodes"])


def test_what_was_superseded_says_so_and_comes_last(
    pair: tuple[Cli, Cli], server: Postgres, team: str
) -> None:
    ada, grace = pair
    first = next(node["id"] for node in memory(grace, "list")["nodes"] if node["content"] == QUEUE)
    newer = "The payment queue redelivers a message after two minutes without an acknowledgement"
    second = memory(grace, "store", newer, "--supersedes", first)["id"]
    until(lambda: indexed(server, "billing", team) == 2, "it was not indexed")

    def standing() -> Any:
        told = found(ada, "when is a payment message redelivered")["nodes"]
        return [(node["content"], node.get("standing")) for node in told if "from" in node]

    said = until(lambda: len(standing()) == 2 and standing(), "one is missing")
    assert [text for text, _ in said] == [newer, QUEUE]
    assert said[0][1] is None and second[:8] in said[1][1]


@pytest.mark.thorough
def test_a_hub_that_hangs_is_given_up_and_what_is_here_is_told(
    pair: tuple[Cli, Cli], server: Postgres
) -> None:
    """Hooks and other commands wait for nothing meanwhile; the next question is answered again."""
    ada, _ = pair
    found(ada, "payment")
    first = psutil.Process(server.server.get_pid())
    # The first one first: on a busy machine it may have been asked anew, and would make another that answers.
    whole = [one.pid for one in (first, *first.children())]
    for pid in whole:
        os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        told = found(ada, "which port does staging of the gateway listen on")
        assert time.monotonic() - began < WAIT_S
        assert told["nodes"][0]["content"] == PORT
        assert "did not answer" in told["hub"] or "can't be reached" in told["hub"]
    finally:
        for pid in whole:
            os.kill(pid, signal.SIGCONT)
    until(lambda: QUEUE in json.dumps(found(ada, "payment message redelivered")), "it was not asked again")


def test_the_process_that_asks_may_be_killed(pair: tuple[Cli, Cli]) -> None:
    ada, _ = pair
    assert QUEUE in json.dumps(found(ada, "payment message redelivered"))
    for pid in asking(ada):
        os.kill(pid, signal.SIGKILL)
    until(lambda: QUEUE in json.dumps(found(ada, "payment message redelivered")), "it was not asked again")
    ada.stop_owner()
    until(lambda: not asking(ada), "it outlived its owner")


def asking(cli: Cli) -> list[int]:
    """Processes that ask for this machine."""
    return [
        one.pid
        for one in psutil.process_iter(["cmdline"])
        if "context_graph.sync.hub.answering" in (words := one.info["cmdline"] or [])
        and any(word.startswith(str(cli.root)) for word in words)
    ]


def test_without_a_hub_or_with_a_cursor_it_says_what_to_do(cli: Cli, pair: tuple[Cli, Cli]) -> None:
    ada, _ = pair
    memory(cli, "store", PORT)
    done = cli.run("memory", "recall", "port", "--scope", "team")
    assert done.returncode == 1 and "--scope is team, but this project has joined no hub" in done.stderr
    done = ada.run("memory", "recall", "port", "--scope", "team", "--recency", "0.5")
    assert done.returncode == 1 and "--recency" in done.stderr
    done = ada.run("memory", "recall", "port", "--scope", "galaxy")
    assert done.returncode == 2 and "galaxy" in done.stderr


def test_what_is_told_but_not_heard_yet_of_the_own_project_is_found(
    cli: Cli, server: Postgres, team: str, member: Joined
) -> None:
    """With `sync = false` a machine hears only when asked to; its questions reach the hub all the same."""
    ada, grace = member("ada-" + team, "gateway"), member("grace-" + team, "gateway")
    (ada.project / ".claude").mkdir(exist_ok=True)
    (ada.project / ".claude" / "context-graph.toml").write_text("sync = false\n")
    memory(ada, "store", PORT)
    memory(grace, "store", QUEUE)
    until(lambda: indexed(server, "gateway", team), "it was not indexed")
    told = found(ada, "payment message redelivered")
    assert told["nodes"][0]["content"] == QUEUE and told["nodes"][0]["from"]["project"] == "gateway"
    assert ada.run("sync", timeout=60).returncode == 0
    again = found(ada, "payment message redelivered")["nodes"]
    assert [node["content"] for node in again].count(QUEUE) == 1 and "from" not in again[0], "it is here now"
    store = next(path.parent for path in ada.root.rglob("hub.json"))
    assert any(name.startswith(place_name("")) for name in last_exchanges(store))


def test_without_pgvector_words_find_it_and_with_it_later_meaning_too(tmp_path: Path) -> None:
    """What was told before is indexed once more when the server has learnt it."""
    own = team_of(started())
    with own.server.admin() as admin:
        admin.execute("ALTER TABLE context_graph.memory DROP COLUMN embedding")
    hub = Hub(own.member("ada", "writer"), own.project)
    fields = {"content": QUEUE, "rationale": "a test needs it", "created_at_ms": 1}
    change = Change(VERSION, "a" * 32, 1, 1 << 16, "a" * 32, MEMORY, str(UUID(int=5)), fields)
    hub.push("a" * 32, [LoggedChange(change, encode(change))])
    assert Indexer(hub).run() == 1 and Indexer(hub).run() == 0
    with open_memex(tmp_path / "store") as memex:
        words, meaning = memex.sought("payment queue"), memex.sought("an unconfirmed transaction repeats")
    search = Search(hub)
    try:
        assert [one.values["content"] for one in search.find(Question(*words), own=True)] == [QUEUE]
        assert search.find(Question(*meaning), own=True) == []
        with own.server.admin() as admin:
            assert schema.migrate(admin) == 0
        assert Indexer(hub).run() == 1
        assert [one.values["content"] for one in search.find(Question(*meaning), own=True)] == [QUEUE]
        other = Question("another provider", *words[1:])
        assert search.find(other, own=True) == [], "vectors and words of two kinds don't mix"
        with own.server.admin() as admin:
            team, project = admin.execute(
                "SELECT t.name, p.name FROM context_graph.project AS p JOIN context_graph.team AS t "
                "ON t.id = p.team"
            ).fetchone() or ("", "")
            teams.prepare(admin, str(team), str(project))
        assert Indexer(hub).run() == 1, "`hub init` of a newer build has it indexed anew"
    finally:
        hub.close()


def test_questions_that_come_together_are_all_answered(tmp_path: Path) -> None:
    """One read may bring two of them."""
    asked = {"provider": "p", "terms": [1], "weights": [1.0], "vector": [0.0]}
    lines = b"".join(json.dumps({"number": n, **asked}).encode() + b"\n" for n in (1, 2, 3))
    words = [sys.executable, "-P", "-m", "context_graph.sync.hub.answering", str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines)
        process.stdin.flush()
        told = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.stdin.close()
        assert process.wait(WAIT_S) == 0, "it ends with its owner"
    assert [one["number"] for one in told] == [1, 2, 3]
    assert all("joined no hub" in one["failed"] for one in told)
