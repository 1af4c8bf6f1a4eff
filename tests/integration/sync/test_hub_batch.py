"""`hub consolidate`: runs of a team's projects in the hub, by real workers on a real PostgreSQL."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster
from tests.integration.sync.test_merge import state, stores
from tests.support.cli import Cli
from tests.support.exchange.postgres import Postgres, Team, team
from tests.support.memories import WHY, fill

from context_graph.consolidation.finders import closeness
from context_graph.consolidation.progress import silent
from context_graph.errors import StoreBusyError
from context_graph.memory.memex import Memex
from context_graph.sync.batch.project import PART_ROWS, spread_search
from context_graph.sync.exchange import OpenStore
from context_graph.sync.hub import runs
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import exchange
from context_graph.sync.transport import TransportError

# real: it kills workers, which it finds by who has started them
pytestmark = [pytest.mark.hub, pytest.mark.real, pytest.mark.timeout(300)]

_names = (f"batch_{number}" for number in itertools.count())
SAME = ("Staging listens on port 8443", "Staging listens on the port 8443.")


@pytest.fixture
def own(server: Postgres) -> Team:
    return team(server, f"team {uuid4()}")


@pytest.fixture
def hub(own: Team) -> Iterator[Callable[..., Hub]]:
    opened: list[Hub] = []

    def made(role: str = "owner", of: Team = own) -> Hub:
        opened.append(Hub(of.member(next(_names), role), of.project))
        return opened[-1]

    yield made
    for one in opened:
        one.close()


@pytest.fixture
def consolidate(cli: Cli, server: Postgres) -> Callable[..., dict[str, Any]]:
    """The command as an administrator gives it; what it printed, with its exit code."""

    def run(*words: str, address: str = server.address) -> dict[str, Any]:
        env = {"CONTEXT_GRAPH_HUB_ADMIN_URL": address}
        done = cli.run("hub", "consolidate", *words, "--json", env=env, timeout=240)
        found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
        return {**found, "code": done.returncode, "error": done.stderr}

    return run


def name_of(own: Team) -> str:
    with own.server.admin() as admin:
        row = admin.execute(
            "SELECT t.name FROM context_graph.team AS t JOIN context_graph.project AS p ON p.team = t.id "
            "WHERE p.id = %s",
            (own.project,),
        ).fetchone()
    assert row is not None
    return str(row[0])


def contents(memex: Memex) -> list[str]:
    return sorted(one.node.content for one in memex.stored_after() if not one.deleted)


def settle(some: list[Memex], places: list[Hub]) -> None:
    for _ in range(3):
        for one, place in zip(some, places, strict=True):
            exchange(OpenStore(one), place)


@pytest.fixture
def two(tmp_path: Path, hub: Callable[..., Hub]) -> Iterator[tuple[list[Memex], list[Hub]]]:
    """Two members' stores. What both found out is in the hub twice."""
    with ExitStack() as stack:
        some, places = stores(tmp_path, 2, stack), [hub("writer"), hub("writer")]
        for memex, text in zip(some, SAME, strict=True):
            memex.store(text, rationale=WHY, importance=0.8)
            memex.store(f"Release {len(text)} went out late", rationale=WHY, importance=0.8)
        settle(some, places)
        yield some, places


def test_what_a_run_merges_every_member_hears_and_undoing_brings_it_back(
    two: tuple[list[Memex], list[Hub]], own: Team, consolidate: Callable[..., dict[str, Any]]
) -> None:
    some, places = two
    before = [contents(one) for one in some]
    tried = consolidate("--team", name_of(own), "--dry-run")
    assert tried["code"] == 0, tried
    assert (tried["projects"][0]["merged"], tried["projects"][0]["run"]) == (1, 0)
    settle(some, places)
    assert [contents(one) for one in some] == before
    done = consolidate("--team", name_of(own), "--workers", "2")
    (project,) = done["projects"]
    assert (project["memories"], project["merged"], project["failed"]) == (4, 1, ""), done
    settle(some, places)
    assert len(contents(some[0])) == 3 and state(some[0]) == state(some[1])
    again = consolidate("--team", name_of(own))
    assert again["projects"][0]["merged"] == 0
    undone = consolidate("--team", name_of(own), "--project", "gateway", "--undo", str(project["run"]))
    assert undone["code"] == 0 and undone["changes"] > 0, undone["error"]
    settle(some, places)
    assert [contents(one) for one in some] == before and state(some[0]) == state(some[1])
    twice = consolidate("--team", name_of(own), "--project", "gateway", "--undo", str(project["run"]))
    assert twice["code"] == 1 and "nothing of run" in twice["error"]


@pytest.mark.thorough
def test_undoing_leaves_out_what_was_changed_or_deleted_since(
    two: tuple[list[Memex], list[Hub]], own: Team, consolidate: Callable[..., dict[str, Any]]
) -> None:
    some, places = two
    run = consolidate("--team", name_of(own))["projects"][0]["run"]
    settle(some, places)
    (kept,) = [one.node for one in some[0].stored_after() if not one.deleted and "8443" in one.node.content]
    (gone,) = [one.node for one in some[0].stored_after() if one.deleted]

    def undoing() -> list[Any]:
        with own.server.admin() as admin:
            return admin.execute(
                "SELECT subject, line FROM context_graph.undo WHERE project = %s AND run = %s",
                (own.project, run),
            ).fetchall()

    assert [row for row in undoing() if str(gone.id) in str(row)]
    some[0].forget(gone.id, soft=False, reason="user_requested")
    settle(some, places)
    assert not [row for row in undoing() if str(gone.id) in str(row)]
    some[0].update([replace(kept, importance=0.31)])
    settle(some, places)
    consolidate("--team", name_of(own), "--project", "gateway", "--undo", str(run))
    settle(some, places)
    there = some[1].get(kept.id)
    assert there is not None and there.importance == pytest.approx(0.31)
    assert some[1].get(gone.id) is None and state(some[0]) == state(some[1])


def test_only_owners_may_and_a_run_is_seen_by_members(
    two: tuple[list[Memex], list[Hub]], own: Team, hub: Callable[..., Hub], server: Postgres
) -> None:
    for role in ("reader", "writer"):
        with pytest.raises(TransportError, match="refuses"):
            runs.begin(hub(role), uuid4(), "deep")
    run = runs.begin(hub("owner"), uuid4(), "deep")
    with hub("reader").committing() as connection:
        row = connection.execute("SELECT number FROM context_graph.run").fetchone()
        assert row == (run.number,)
        assert connection.execute("SELECT count(*) FROM context_graph.undo").fetchone() == (0,)
    other = team(server)
    with hub("owner", other).committing() as connection:
        assert connection.execute("SELECT count(*) FROM context_graph.run").fetchone() == (0,)


def test_of_two_runs_one_commits(
    two: tuple[list[Memex], list[Hub]], own: Team, hub: Callable[..., Hub]
) -> None:
    """The second waits for the lease; when that has ended, the first can't commit any more."""
    first, second = hub(), hub()
    run = runs.begin(first, uuid4(), "deep")
    with pytest.raises(StoreBusyError, match="goes on"):
        runs.begin(second, uuid4(), "deep")
    runs.renew(first, run)
    with own.server.admin() as admin:
        admin.execute("UPDATE context_graph.run SET lease_until = now() - interval '1 second'")
    later = runs.begin(second, uuid4(), "deep")
    assert later.number == run.number + 1
    with pytest.raises(runs.FencedError):
        runs.commit(first, run, [], [], {})
    with pytest.raises(runs.FencedError):
        runs.renew(first, run)
    runs.commit(second, later, [], [], {})


_DIES = """
import os, sys
from uuid import uuid4
from context_graph.sync.hub import runs
from context_graph.sync.hub.transport import Hub

runs.begin(Hub(sys.argv[1], sys.argv[2]), uuid4(), "deep")
os._exit(9)
"""


def test_a_run_whose_process_died_here_is_taken_over_at_once(own: Team, hub: Callable[..., Hub]) -> None:
    """One that lives is waited for, and named; one on another machine has its lease."""
    address = own.member(next(_names), "owner")
    words = [sys.executable, "-c", _DIES, address, str(own.project)]
    assert subprocess.run(words, check=False, timeout=60).returncode == 9
    first, second = hub(), hub()
    run = runs.begin(first, uuid4(), "deep")
    assert run.number == 2
    with pytest.raises(StoreBusyError, match=rf"on {os.uname().nodename} \(process {os.getpid()}\)"):
        runs.begin(second, uuid4(), "deep")
    with own.server.admin() as admin:
        admin.execute(
            "UPDATE context_graph.run SET host = 'elsewhere', process = '1 1' WHERE outcome IS NULL"
        )
    with pytest.raises(StoreBusyError, match="on elsewhere"):
        runs.begin(second, uuid4(), "deep")


@pytest.mark.thorough
def test_a_project_that_fails_stops_no_other(
    server: Postgres, own: Team, hub: Callable[..., Hub], consolidate: Callable[..., dict[str, Any]]
) -> None:
    with server.admin() as admin:
        admin.execute(
            "INSERT INTO context_graph.project (id, team, name) "
            "SELECT %s, team, 'second' FROM context_graph.project WHERE id = %s",
            (uuid4(), own.project),
        )
    holder = hub()
    held = runs.begin(holder, uuid4(), "deep")
    done = consolidate("--team", name_of(own), "--workers", "2")
    failed = {one["name"]: one["failed"] for one in done["projects"]}
    assert done["code"] == 1 and done["failed"] == 1
    assert "goes on" in failed["gateway"] and failed["second"] == ""
    runs.fail(holder, held)
    assert consolidate("--team", name_of(own))["code"] == 0


@pytest.mark.thorough
def test_a_worker_that_is_killed_leaves_nothing_half_done(
    tmp_path: Path, own: Team, hub: Callable[..., Hub], server: Postgres, cli: Cli
) -> None:
    """Dask gives its task to the next one, which ends the dead one's run."""
    with ExitStack() as stack:
        (memex,) = stores(tmp_path, 1, stack)
        fill(memex, 3000, importance=0.8)
        for text in SAME:
            memex.store(text, rationale=WHY, importance=0.8)
        place = hub("writer")
        exchange(OpenStore(memex), place)
        env = {**cli.env, "CONTEXT_GRAPH_HUB_ADMIN_URL": server.address}
        words = [str(cli.launcher), "hub", "consolidate", "--team", name_of(own), "--json"]
        with server.admin() as admin:
            # So that it is in the middle of its work, however busy the machine is.
            with server.admin() as other, other.transaction():
                other.execute("LOCK TABLE context_graph.change IN SHARE MODE")
                process = subprocess.Popen(
                    words, env=env, cwd=cli.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
                begun = "SELECT count(*) FROM context_graph.run WHERE project = %s"
                _until(lambda: admin.execute(begun, (own.project,)).fetchone() == (1,))
                os.kill(_youngest(process.pid), signal.SIGKILL)
            out, error = process.communicate(timeout=240)
            outcomes = admin.execute(
                "SELECT outcome FROM context_graph.run WHERE project = %s ORDER BY number", (own.project,)
            ).fetchall()
        (project,) = json.loads(out)["projects"]
        assert project["failed"] == "" and project["merged"] > 0, error
        assert [row[0] for row in outcomes] == ["expired", "committed"]


def test_work_ends_with_whoever_started_it() -> None:
    """Else a command that was killed would commit what nobody waits for, and keep the next from beginning."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        env = {**os.environ, "CONTEXT_GRAPH_HUB_ADMIN_URL": f"host=127.0.0.1 port={silent.getsockname()[1]}"}
        words = [sys.executable, "-P", "-m", "context_graph.sync.batch"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env) as process:
            assert process.stdin is not None
            task = {"project": str(uuid4()), "name": "gateway", "mode": "deep", "command": str(uuid4())}
            process.stdin.write(json.dumps({"tasks": [task] * 30}).encode() + b"\n")
            process.stdin.flush()
            silent.settimeout(100)
            silent.accept()[0].close()  # a worker is at it
            workers = psutil.Process(process.pid).children(recursive=True)
            process.stdin.close()
            assert process.wait(60) == 1
            assert workers and psutil.wait_procs(workers, 60)[1] == []


def _youngest(pid: int) -> int:
    """The worker: the last process that came of it and computes."""
    children = psutil.Process(pid).children(recursive=True)
    found = [one for one in children if "dask worker" in " ".join(one.cmdline())]  # by setproctitle
    return max(found, key=lambda one: one.create_time()).pid


def _until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _labels(rows: Any, split_from: int) -> list[int]:
    return list(closeness.groups(rows, 0.9, search=spread_search(split_from)).tolist())


@pytest.mark.thorough
def test_pairs_of_a_huge_project_are_the_same_over_all_workers(client: Client) -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(2 * PART_ROWS + 100, 32)).astype(np.float32)
    rows[PART_ROWS + 5] = rows[7]
    rows[-1] = rows[7]
    rows[100] = rows[101]
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    here = closeness.groups(rows, 0.9, progress=silent).tolist()
    assert here[-1] == here[PART_ROWS + 5] == 7 and here[101] == 100
    for split_from in (0, len(rows) + 1):
        assert client.submit(_labels, rows, split_from).result() == here


def test_without_dask_it_says_what_brings_it(cli: Cli, own: Team, server: Postgres) -> None:
    hidden = (
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'distributed' else real(name, *more)\n"
        f"sys.argv = ['x', 'hub', 'consolidate', '--team', {name_of(own)!r}]\n"
        "from context_graph.cli.main import main; main()"
    )
    env = {**cli.env, "CONTEXT_GRAPH_HUB_ADMIN_URL": server.address}
    done = subprocess.run(
        [sys.executable, "-c", hidden], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "context-graph-cli[batch]" in done.stderr
