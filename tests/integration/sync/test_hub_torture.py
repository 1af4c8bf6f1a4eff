"""A hub under everything that goes wrong: in the end the same state everywhere, and nothing lost."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.integration.sync.test_merge import state, stores
from tests.support.exchange.network import Cable
from tests.support.exchange.postgres import Postgres, Team, started, team, with_passwords
from tests.support.exchange.transports import ONE, line
from tests.support.memories import WHY, open_memex

from context_graph.memory.memex import Memex
from context_graph.sync.exchange import OpenStore
from context_graph.sync.hub.membership import Membership, join
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import exchange
from context_graph.sync.transport import TransportError

pytestmark = [pytest.mark.hub, pytest.mark.timeout(300)]

Hubs = Callable[..., list[Hub]]
ROUNDS = 30
SEED = 20261124


@pytest.fixture
def server() -> Postgres:
    """One for each test: it is killed."""
    return started()


@pytest.fixture
def hubs() -> Iterator[Callable[..., list[Hub]]]:
    """So many new members' views of a project, through a cable or not."""
    opened: list[Hub] = []

    def made(own: Team, count: int, cable: Cable | None = None) -> list[Hub]:
        for _ in range(count):
            address = own.member(f"torture_{own.project.hex[:8]}_{len(opened)}", "writer")
            opened.append(Hub(address if cable is None else cable.through(address), own.project))
        return opened[-count:]

    yield made
    for one in opened:
        one.close()


def texts(memex: Memex) -> set[str]:
    return {one.node.content for one in memex.stored_after() if not one.deleted}


def settle(some: list[Memex], places: list[Hub]) -> None:
    """Exchange until nobody hears anything new; the first try may find a dead connection."""
    for _ in range(10):
        news = 0
        for one, place in zip(some, places, strict=True):
            report = exchange(OpenStore(one), place)
            news += report.heard + report.told
        if not news:
            return
    raise AssertionError("they never agree")


def test_cut_killed_and_slow_nothing_is_lost_and_all_agree(
    tmp_path: Path, server: Postgres, hubs: Hubs
) -> None:
    """The network is cut at any moment, the server killed and started again, queries take long."""
    chosen, cable, own = random.Random(SEED), Cable(server.address).plug(), team(server)
    places, expected = hubs(own, 3, cable), set[str]()
    with ExitStack() as stack:
        some = stores(tmp_path, 3, stack)
        with _trouble(cable, server, random.Random(SEED + 1)) as failures:
            for number in range(ROUNDS):
                at = chosen.randrange(3)
                text = f"finding {number} of machine {at}, in a sentence of its own"
                node = some[at].store(text, rationale=WHY, tags=("kept",))
                if chosen.random() < 0.3:
                    some[at].update([replace(node, importance=round(chosen.random(), 2))])
                if chosen.random() < 0.2:
                    some[at].forget(node.id, reason="user_requested", soft=chosen.random() < 0.5)
                else:
                    expected.add(text)
                try:
                    exchange(OpenStore(some[at]), places[at])
                except TransportError as error:
                    failures.append(str(error))
        for one in places:
            one.close()
        assert failures, "nothing went wrong, so nothing was proved"
        settle(some, places)
        assert state(some[0]) == state(some[1]) == state(some[2])
        assert texts(some[0]) == expected
    cable.unplug()


@contextmanager
def _trouble(cable: Cable, server: Postgres, chosen: random.Random) -> Iterator[list[str]]:
    failures, end = list[str](), threading.Event()

    def make() -> None:
        kills = 2
        while not end.wait(chosen.uniform(0.02, 0.2)):
            cable.delay_s = chosen.choice((0.0, 0.0, 0.02))
            cable.cut()
            if kills and chosen.random() < 0.1:
                kills -= 1
                server.kill()
                server.start_again()

    thread = threading.Thread(target=make)
    thread.start()
    try:
        yield failures
    finally:
        end.set()
        thread.join()
        cable.delay_s = 0.0
        _up_again(server)
        cable.cut()  # connections of before the last kill


def _up_again(server: Postgres) -> None:
    for _ in range(100):
        with suppress(psycopg.Error), server.admin():
            return
        time.sleep(0.1)
    raise AssertionError("the server does not come up again")


@pytest.mark.thorough
def test_a_full_disk_at_the_hub_is_told_and_the_rest_follows_later(tmp_path: Path, hubs: Hubs) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (17 << 20, hard))  # the log's files have 16 MiB and are there
    try:
        server = started()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (place,) = hubs(team(server), 1)
    text = "a finding that takes some room " * 40
    page = [line(seq, text=f"{seq} {text}") for seq in range(1, 12_001)]
    place.push(ONE, page[:500])
    with pytest.raises(TransportError, match="could not extend"):
        place.push(ONE, page[500:])
    head = place.head(ONE)
    assert head is not None and head.seq == 500
    server.kill()
    server.start_again()
    place.close()
    place.push(ONE, page[500:])
    head = place.head(ONE)
    assert head is not None and head.seq == len(page)


def test_a_hub_from_an_older_backup_is_told_again_what_it_lacks(
    tmp_path: Path, server: Postgres, hubs: Hubs
) -> None:
    with server.admin() as admin:
        admin.execute("CREATE DATABASE live")
    own = team(replace(server, address=make_conninfo(server.address, dbname="live")))
    with ExitStack() as stack:
        some, places = stores(tmp_path, 2, stack), hubs(own, 2)
        for number in range(5):
            some[number % 2].store(f"finding {number} before the backup", rationale=WHY)
        settle(some, places)
        _between(server, places, "CREATE DATABASE backup TEMPLATE live")
        gone = some[0].store("something that is deleted after the backup", rationale=WHY)
        for number in range(5, 10):
            some[number % 2].store(f"finding {number} after the backup", rationale=WHY)
        settle(some, places)
        some[0].forget(gone.id, soft=False, reason="user_requested")
        settle(some, places)
        _between(server, places, "ALTER DATABASE live RENAME TO lost", "ALTER DATABASE backup RENAME TO live")
        settle(some, places)
        assert state(some[0]) == state(some[1]) and len(texts(some[0])) == 10
        (third,) = stores(tmp_path / "new", 1, stack)
        settle([*some, third], [*places, *hubs(own, 1)])
        assert state(third) == state(some[0]) and texts(third) == texts(some[0])


@pytest.mark.parametrize("gone", ["author", "deleter"])
def test_a_hub_from_an_older_backup_gets_back_what_only_a_colleague_of_the_departed_knows(
    tmp_path: Path, server: Postgres, hubs: Hubs, gone: str
) -> None:
    """Whoever told it, or deleted it for good, never comes again; neither is a newcomer told otherwise."""
    with server.admin() as admin:
        admin.execute("CREATE DATABASE live")
    own = team(replace(server, address=make_conninfo(server.address, dbname="live")))
    with ExitStack() as stack:
        (departed, colleague, newcomer), places = stores(tmp_path, 3, stack), hubs(own, 3)
        secret = colleague.store("the secret plan", rationale=WHY)
        settle([departed, colleague], places[:2])
        _between(server, places, "CREATE DATABASE backup TEMPLATE live")
        if gone == "author":
            for number in range(3):
                departed.store(f"finding {number} after the backup", rationale=WHY)
        departed.forget(secret.id, soft=False, reason="user_requested")
        settle([departed, colleague], places[:2])
        _between(server, places, "ALTER DATABASE live RENAME TO lost", "ALTER DATABASE backup RENAME TO live")
        settle([colleague, newcomer], places[1:])
        assert state(newcomer) == state(colleague) and texts(newcomer) == texts(colleague)
        assert len(texts(newcomer)) == (3 if gone == "author" else 0)
        assert newcomer.get(secret.id) is None and not held(own, "secret plan")


def held(own: Team, word: str) -> bool:
    with own.server.admin() as admin:
        rows = admin.execute(
            "SELECT FROM context_graph.change WHERE project = %s AND position(%s in line) > 0",
            (own.project, word),
        ).fetchall()
    return bool(rows)


@pytest.mark.parametrize("is_author_there", [True, False])
@pytest.mark.parametrize(
    "first",
    [pytest.param(1, marks=pytest.mark.thorough), 3, pytest.param(5, marks=pytest.mark.thorough)],
)
def test_a_hole_in_a_log_is_named_and_filled(
    tmp_path: Path, server: Postgres, hubs: Hubs, is_author_there: bool, first: int
) -> None:
    """A restore that was not whole, or an administrator's DELETE: at the beginning, amid, and at the end."""
    own = team(server)
    with ExitStack() as stack:
        (author, colleague, newcomer), places = stores(tmp_path, 3, stack), hubs(own, 3)
        for number in range(6):
            author.store(f"finding {number} in a sentence of its own", rationale=WHY)
            settle([author, colleague], places[:2])
        machine = OpenStore(author).machine()
        with server.admin() as admin:
            admin.execute(
                "DELETE FROM context_graph.change WHERE project = %s AND machine = %s "
                "AND seq BETWEEN %s AND %s",
                (own.project, machine, first, first + 1),
            )
        report = exchange(OpenStore(newcomer), places[2])
        assert "are missing in the hub" in str(report.refused) and machine in str(report.refused)
        assert len(texts(newcomer)) == 4, "what follows is read"
        both = [author if is_author_there else colleague, newcomer]
        settle(both, [places[0 if is_author_there else 1], places[2]])
        assert state(newcomer) == state(both[0]) and len(texts(newcomer)) == 6
        (late,) = stores(tmp_path / "late", 1, stack)
        report = exchange(OpenStore(late), *hubs(own, 1))
        assert len(texts(late)) == 6 and not report.refused


def _between(server: Postgres, places: list[Hub], *statements: str) -> None:
    for place in places:
        place.close()
    with server.admin() as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN ('live', 'backup')"
        )
        for one in statements:
            admin.execute(one)


def test_a_machine_from_an_older_backup_goes_on_as_another(
    tmp_path: Path, server: Postgres, hubs: Hubs
) -> None:
    own = team(server)
    places = hubs(own, 2)
    with ExitStack() as stack:
        (other,) = stores(tmp_path / "other", 1, stack)
        one = open_memex(tmp_path / "one")
        one.store("known before the backup", rationale=WHY)
        exchange(OpenStore(one), places[0])
        one.close()
        shutil.copytree(tmp_path / "one", tmp_path / "backup")
        one = open_memex(tmp_path / "one")
        one.store("known after the backup, and told", rationale=WHY)
        exchange(OpenStore(one), places[0])
        one.close()
        shutil.rmtree(tmp_path / "one")
        shutil.copytree(tmp_path / "backup", tmp_path / "one")
        one = open_memex(tmp_path / "one")
        stack.callback(one.close)
        one.store("known after the restore", rationale=WHY)
        settle([one, other], places)
        assert state(one) == state(other) and len(texts(one)) == 3


_FULL = """
import resource, signal, sys
from pathlib import Path
from tests.support.memories import open_memex
from context_graph.sync.exchange import OpenStore
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import exchange

memex = open_memex(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
exchange(OpenStore(memex), Hub(sys.argv[2], sys.argv[3]))
"""


def test_a_full_disk_at_the_store_loses_nothing(tmp_path: Path, server: Postgres, hubs: Hubs) -> None:
    """The reader's machine has no room for what it hears; later it has."""
    own = team(server)
    places = hubs(own, 1)
    with ExitStack() as stack:
        (one,) = stores(tmp_path / "one", 1, stack)
        for number in range(200):
            one.store(f"finding {number} {'of some length ' * 60}", rationale=WHY)
        exchange(OpenStore(one), places[0])
        address = own.member("torture_full", "writer")
        full = subprocess.run(
            [sys.executable, "-c", _FULL, str(tmp_path / "full"), address, str(own.project)],
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert full.returncode != 0 and "Error" in full.stderr, full.stderr
        other = open_memex(tmp_path / "full")
        stack.callback(other.close)
        place = Hub(address, own.project)
        settle([one, other], [places[0], place])
        place.close()
        assert state(one) == state(other) and len(texts(other)) == 200


_STRANGER = """
import os, sys
import psycopg

os.setgid(65534)
os.setuid(65534)
try:
    print("read", open(sys.argv[1]).read())
except PermissionError:
    print("refused")
try:
    print("in", psycopg.connect(sys.argv[2]))
except psycopg.Error as error:
    print("no:", error)
"""


@pytest.mark.root
def test_another_user_of_the_machine_reads_nothing(tmp_path: Path, server: Postgres) -> None:
    """Neither the member's files nor, without a password, the hub."""
    own = team(with_passwords(server))
    address = own.member("torture_ada", "owner")
    store = tmp_path / "data" / "store"
    join(store, Membership(f"{address} password=secret", str(own.project), "team", "project"))
    for folder in (tmp_path, *tmp_path.parents):
        with suppress(OSError):
            if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
                folder.chmod(folder.stat().st_mode | 0o011)
    server.folder.parent.chmod(0o711)
    words = [sys.executable, "-c", _STRANGER, str(store / "hub.json"), address]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    first, second = done.stdout.splitlines()[:2]
    assert first == "refused" and second.startswith("no:"), done.stdout + done.stderr
