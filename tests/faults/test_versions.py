"""Upgrade and downgrade while sessions run: an older owner gives way, a newer one serves, nothing is lost."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.world import LONG, World
from tests.support.cli import Cli, only_for_owners
from tests.support.clients.mcp_client import connected
from tests.support.owner.harness import wait_until

from context_graph import __version__
from context_graph.config import lock_path
from context_graph.store.layout import FORMAT_KEY, SYSTEM
from context_graph.wire import run_folder

SESSIONS = ("version-0", "version-1", "version-2")
PROGRAM = Path(__file__).with_name("owner_of.py")


def as_version(cli: Cli, version: str, folder: Path) -> Cli:
    """The program whose owner, if it starts one, is of that version."""
    program = f'"{sys.executable}" -P "{PROGRAM}" {version}'
    others = Path(cli.env["CONTEXT_GRAPH_PYTHON"])
    wrapper = only_for_owners(folder / f"python-{version}", program, others)
    return Cli(cli.launcher, cli.project, {**cli.env, "CONTEXT_GRAPH_PYTHON": str(wrapper)})


def owner_version(world: World) -> str:
    holder = run_folder.read_holder(lock_path(world.root))
    return holder.version.partition("+")[0] if holder is not None else ""


def _upgrade(world: World, old: Cli, new: Cli, rounds: int) -> None:
    """Sessions begun with an older owner go on, with an MCP client attached, as the package is replaced."""
    rng = random.Random(world.row.seed)
    for number in range(rounds):
        world.cli = old
        assert old.run("owner", "start", timeout=60).returncode in (0, 1)
        wait_until(lambda: owner_version(world) == "0.0.1", "the older owner", 10)
        world.fault("older owner")
        world.cli = new
        with connected(new) as peer:
            before = peer.store(f"Stored before or at the upgrade {number}")
            for session in SESSIONS:
                world.start(session)
            world.burst(rng, SESSIONS, number)
            after = peer.store(f"Stored after the upgrade {number}")
            found = {one["id"] for one in peer.ask("recall_memory", query="upgrade", top_k=100)["nodes"]}
            assert {before, after} <= found
        assert owner_version(world) == __version__
        assert world.remember(f"With the newer owner {number}") is not None
        assert new.run("owner", "stop").returncode == 0
    world.judge()


def _downgrade(world: World, newer: Cli, own: Cli, rounds: int) -> None:
    """Hooks of this version are served by an owner of a later one; its owner's end leaves room for ours."""
    rng = random.Random(world.row.seed)
    for number in range(rounds):
        world.cli = newer
        assert newer.run("owner", "start", timeout=60).returncode == 0
        assert owner_version(world) == "99.0.0"
        world.fault("newer owner")
        world.cli = own
        for session in SESSIONS:
            world.start(session)
        world.burst(rng, SESSIONS, number)
        assert owner_version(world) == "99.0.0", "a newer owner gave way to an older client"
        assert own.run("owner", "restart", timeout=60).returncode == 0
        assert owner_version(world) == __version__
        world.burst(rng, SESSIONS, 1000 + number)
        assert own.run("owner", "stop").returncode == 0
    world.judge()


def test_a_store_of_a_later_format_is_left_alone_and_events_wait(world: World) -> None:
    """A downgrade across a change of format: said by name, nothing written to it, events in the log."""
    for session in SESSIONS:
        world.start(session)
    world.burst(random.Random(world.row.seed), SESSIONS, 0)
    assert world.cli.run("owner", "stop").returncode == 0
    was = _set_format(world, b"9999")
    world.fault("later format")
    world.burst(random.Random(world.row.seed), SESSIONS, 1)
    shown = world.cli.run("session", "show", "--session-id", SESSIONS[0], "--json")
    assert shown.returncode != 0
    assert "version" in shown.stderr, shown.stderr
    assert world.cli.run("owner", "stop").returncode == 0
    assert _set_format(world, was) == b"9999"
    world.judge()
    waiting = json.dumps(sorted(world.sent))
    assert all(session in waiting for session in SESSIONS)


def _set_format(world: World, value: bytes) -> bytes:
    """Write the store's format marker past all checks; what it was."""
    from rocksdict import Options, Rdict

    path = str(world.store / "db")
    families = {name: Options(raw_mode=True) for name in Rdict.list_cf(path, Options(raw_mode=True))}
    database = Rdict(path, Options(raw_mode=True), column_families=families)
    try:
        system = database.get_column_family(SYSTEM)
        before = system[FORMAT_KEY]
        system[FORMAT_KEY] = value
    finally:
        database.close()
    seal = world.store / "db" / "seal.json"
    seal.unlink(missing_ok=True)  # it is the marker that is to be judged, not the MANIFEST
    return bytes(before)


@pytest.mark.timeout(900)
def test_upgrade_short(cli: Cli, make_world: Callable[..., World], tmp_path: Path) -> None:
    """Invariant 3, once."""
    _upgrade(make_world(), as_version(cli, "0.0.1", tmp_path), cli, 1)


@pytest.mark.timeout(900)
def test_downgrade_short(cli: Cli, make_world: Callable[..., World], tmp_path: Path) -> None:
    """Invariant 3, once."""
    _downgrade(make_world(), as_version(cli, "99.0.0", tmp_path), cli, 1)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_upgrade(cli: Cli, make_world: Callable[..., World], tmp_path: Path) -> None:
    """The long run."""
    _upgrade(make_world(), as_version(cli, "0.0.1", tmp_path), cli, LONG)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_downgrade(cli: Cli, make_world: Callable[..., World], tmp_path: Path) -> None:
    """The long run."""
    _downgrade(make_world(), as_version(cli, "99.0.0", tmp_path), cli, LONG)
