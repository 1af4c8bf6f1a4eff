"""The hub on a real PostgreSQL: the contract of transports, and who may read and write what."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import psycopg
import pytest
from tests.integration.sync.test_merge import state, stores
from tests.support.exchange.postgres import Postgres, Team, team
from tests.support.exchange.transports import ONE, TWO, TransportKit, all_of, line, lines
from tests.support.memories import WHY

from context_graph.model.memory import author_of
from context_graph.sync.change import MEMORY, VERSION, Change, encode
from context_graph.sync.exchange import OpenStore
from context_graph.sync.hub import connecting, transport
from context_graph.sync.hub.memories import Indexer
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import exchange
from context_graph.sync.transport import ConflictError, LoggedChange, Transport, TransportError

pytestmark = pytest.mark.hub

TEXT = {"content": "as somebody else sees it"}

_names = (f"member_{number}" for number in itertools.count())


class TestHub(TransportKit):
    @pytest.fixture
    def reach(self, some_team: Team, hub: Callable[..., Hub]) -> Callable[[], Transport]:
        address = some_team.member(next(_names), "writer")
        return lambda: hub(address=address)


def test_stores_agree_over_it(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    with ExitStack() as stack:
        some = stores(tmp_path, 2, stack)
        places = [hub(), hub()]
        node = some[0].store("Staging listens on port 8443", rationale=WHY)
        some[1].store("Releases go out on Tuesdays", rationale=WHY)
        for _ in range(3):
            for one, place in zip(some, places, strict=True):
                exchange(OpenStore(one), place)
        assert state(some[0]) == state(some[1]) and some[1].get(node.id) is not None


def test_a_colleague_s_memory_carries_who_told_it(
    tmp_path: Path, hub: Callable[..., Hub], some_team: Team
) -> None:
    """By what the hub knows: what a member claims of others does not count, and it is not told on."""
    ada, grace = (some_team.member(name, "writer") for name in ("ada.l", "grace.l"))
    with ExitStack() as stack:
        some = stores(tmp_path, 2, stack)
        claimed = {"told_by": {"machine": "0" * 32, "author": "somebody-else"}, "kept": 1}
        node = some[0].store("Staging listens on port 8443", rationale=WHY, metadata=claimed)
        own = some[1].store("Releases go out on Tuesdays", rationale=WHY)
        for _ in range(3):
            for one, address in zip(some, (ada, grace), strict=True):
                exchange(OpenStore(one), hub(address=address))
        told = some[1].get(node.id)
        assert told is not None and author_of(told) == "ada.l" and told.metadata["kept"] == 1
        answer = some[0].get(own.id)
        assert answer is not None and author_of(answer) == "grace.l"
        kept = some[1].get(own.id)
        assert kept is not None and author_of(kept) == ""
        assert state(some[0]) == state(some[1])
        some[1].update([replace(told, tags=("seen",))])
        for one, address in zip(reversed(some), (grace, ada), strict=True):
            exchange(OpenStore(one), hub(address=address))
        again = some[0].get(node.id)
        assert again is not None and again.tags == ("seen",) and author_of(again) == "somebody-else"


def test_a_reader_reads_and_writes_nothing(hub: Callable[..., Hub]) -> None:
    hub().push(ONE, lines(1, 3))
    reader = hub("reader")
    assert all_of(reader, ONE) == lines(1, 3)
    with pytest.raises(TransportError, match="refuses"):
        reader.push(TWO, lines(1, 1, TWO))


def test_a_reader_s_store_hears_and_is_not_told_to_write(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    with ExitStack() as stack:
        some = stores(tmp_path, 2, stack)
        node = some[0].store("Staging listens on port 8443", rationale=WHY)
        own = some[1].store("Only the reader knows this", rationale=WHY)
        for one, place in zip(some, (hub(), hub("reader")), strict=True):
            report = exchange(OpenStore(one), place)
        assert (report.told, report.heard, some[1].get(node.id) is not None) == (0, 1, True)
        exchange(OpenStore(some[0]), hub())
        assert some[0].get(own.id) is None


def test_a_removed_member_s_store_keeps_its_id(
    tmp_path: Path, some_team: Team, hub: Callable[..., Hub]
) -> None:
    """The database hides all rows then: that is no hub that has lost them."""
    address = some_team.member("leaver", "writer")
    with ExitStack() as stack:
        (memex,) = stores(tmp_path, 1, stack)
        memex.store("Staging listens on port 8443", rationale=WHY)
        before = exchange(OpenStore(memex), hub(address=address)).machine
        some_team.remove("leaver")
        with pytest.raises(TransportError, match="no member"):
            exchange(OpenStore(memex), hub(address=address))
        some_team.take_back("leaver")
        report = exchange(OpenStore(memex), hub(address=address))
        assert (report.machine, report.told) == (before, 0)


def test_nobody_writes_into_another_s_log(hub: Callable[..., Hub]) -> None:
    hub().push(ONE, lines(1, 2))
    for wrong in (lines(3, 3), lines(1, 3)):
        with pytest.raises((TransportError, ConflictError)):
            hub().push(ONE, wrong)
    assert len(all_of(hub(), ONE)) == 2


def test_another_team_sees_and_writes_nothing(
    server: Postgres, some_team: Team, hub: Callable[..., Hub]
) -> None:
    hub().push(ONE, lines(1, 2))
    stranger = team(server).member(next(_names), "owner")
    there = Hub(stranger, some_team.project)
    try:
        assert list(there.machines()) == [] and there.head(ONE) is None and not there.pull(ONE, 0).changes
        with pytest.raises(TransportError):
            there.push(TWO, lines(1, 1, TWO))
    finally:
        there.close()
    with psycopg.connect(stranger, autocommit=True) as own:
        for table in ("change", "machine", "member", "project", "team"):
            count = own.execute(f"SELECT count(*) FROM context_graph.{table}").fetchone()
            assert count is not None and count[0] == {"change": 0, "machine": 0}.get(table, 1), table
        for words in ("UPDATE context_graph.member SET role = 'owner'", "DELETE FROM context_graph.change"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(words)


def test_a_member_who_was_removed_reads_and_writes_no_more(some_team: Team, hub: Callable[..., Hub]) -> None:
    name = next(_names)
    place = hub(address=some_team.member(name, "writer"))
    place.push(ONE, lines(1, 2))
    some_team.remove(name)
    assert list(place.machines()) == []
    with pytest.raises(TransportError):
        place.push(ONE, [line(3)])
    assert all_of(hub(), ONE) == lines(1, 2), "what they told stays"


def test_the_quota_ends_in_a_sentence_and_adds_nothing(some_team: Team, hub: Callable[..., Hub]) -> None:
    with some_team.server.admin() as admin:
        admin.execute(
            "UPDATE context_graph.project SET quota_bytes = 2000 WHERE id = %s", (some_team.project,)
        )
    place = hub()
    place.push(ONE, lines(1, 3))
    with pytest.raises(TransportError, match="an administrator can raise its quota_bytes"):
        place.push(ONE, lines(4, 30))
    assert len(all_of(place, ONE)) == 3


def rows_with(some_team: Team, word: str) -> int:
    with some_team.server.admin() as admin:
        row = admin.execute(
            "SELECT count(*) FROM context_graph.change WHERE project = %s AND position(%s in line) > 0",
            (some_team.project, word),
        ).fetchone()
    assert row is not None
    return int(str(row[0]))


def indexed_in(some_team: Team) -> list[str]:
    """The memories by whose words and meaning the project is searched."""
    with some_team.server.admin() as admin:
        rows = admin.execute(
            "SELECT subject FROM context_graph.memory WHERE project = %s", (some_team.project,)
        ).fetchall()
    return [str(row[0]) for row in rows]


def test_deleted_for_good_leaves_the_hub_whoever_wrote_it(
    tmp_path: Path, some_team: Team, hub: Callable[..., Hub]
) -> None:
    """Also what somebody tells of it later who has not heard yet; a newcomer gets the rest."""
    with ExitStack() as stack:
        ada, grace, late, newcomer = stores(tmp_path, 4, stack)
        places = [hub() for _ in range(4)]
        node = ada.store("A word that nobody may keep: xylophonist", rationale=WHY)
        other = ada.store("Releases go out on Tuesdays", rationale=WHY)
        for _ in range(2):
            for one, place in zip((ada, grace, late), places, strict=False):
                exchange(OpenStore(one), place)
        Indexer(places[0]).run()
        there = late.get(node.id)
        assert there is not None and rows_with(some_team, "xylophonist") == 1
        assert str(node.id) in indexed_in(some_team)
        late.update([replace(there, rationale="the xylophonist asked for it again")])
        grace.forget(node.id, soft=False, reason="user_requested")
        exchange(OpenStore(grace), places[1])
        assert rows_with(some_team, "xylophonist") == 0
        assert str(node.id) not in indexed_in(some_team), "nobody has indexed anything since"
        exchange(OpenStore(late), places[2])
        assert rows_with(some_team, "xylophonist") == 0
        for _ in range(2):
            for one, place in zip((ada, grace, late, newcomer), places, strict=True):
                exchange(OpenStore(one), place)
        assert all(one.get(node.id) is None for one in (ada, grace, late, newcomer))
        assert newcomer.get(other.id) is not None
        assert state(ada) == state(grace) == state(late)


@pytest.mark.parametrize("late", ["who tells of it", "who deletes it"])
def test_deleted_for_good_while_another_tells_of_it_leaves_the_hub_too(
    some_team: Team, hub: Callable[..., Hub], late: str
) -> None:
    """Neither call sees the other; whoever commits later puts it right when they index."""
    text = line(1, text="A word that nobody may keep: xylophonist")
    removal = Change(VERSION, TWO, 1, 2 << 16, TWO, MEMORY, text.change.subject, {"removed": True})
    calls = [(hub(), ONE, [text]), (hub(), TWO, [LoggedChange(removal, encode(removal))])]
    (early, machine, lines_of_it), (last, *of_last) = calls if late == "who deletes it" else calls[::-1]
    with last.committing() as connection:
        last.append(connection, *of_last)
        early.push(machine, lines_of_it)
        Indexer(early).run()
    assert rows_with(some_team, "xylophonist") == 1, "they saw each other, so nothing was tried"
    Indexer(last).run()
    assert rows_with(some_team, "xylophonist") == 0


def test_what_was_edited_is_kept_once(tmp_path: Path, some_team: Team, hub: Callable[..., Hub]) -> None:
    with ExitStack() as stack:
        ada, newcomer = stores(tmp_path, 2, stack)
        place = hub()
        node = ada.store("Staging listens on port 8443", rationale=WHY)
        for number in range(3):
            exchange(OpenStore(ada), place)
            there = ada.get(node.id)
            assert there is not None
            ada.update([replace(there, rationale=f"measured for the {number}th time")])
        exchange(OpenStore(ada), place)
        assert [rows_with(some_team, f"the {number}th") for number in range(3)] == [0, 0, 1]
        exchange(OpenStore(newcomer), hub())
        assert state(newcomer) == state(ada)


def test_a_poisoned_row_is_listed_and_what_follows_is_read(some_team: Team, hub: Callable[..., Hub]) -> None:
    """A member who writes with a tool of their own."""
    place = hub()
    place.push(ONE, lines(1, 4))
    with some_team.server.admin() as admin:
        admin.execute(
            "UPDATE context_graph.change SET line = 'no JSON' WHERE seq = 2 AND project = %s",
            (some_team.project,),
        )
        admin.execute("DELETE FROM context_graph.change WHERE seq = 3 AND project = %s", (some_team.project,))
    page = place.pull(ONE, 0)
    assert [one.change.seq for one in page.changes] == [1, 4] and page.upto == 4 and page.missing == [(3, 3)]
    assert [f"{ONE} line 2" in str(one) or "lines 3 to 3" in str(one) for one in page.refused] == [True] * 2


def test_two_pushes_at_once_of_one_machine_make_one_log(some_team: Team, hub: Callable[..., Hub]) -> None:
    """A store that was copied, on two machines: one of them is told that the log is not its own."""
    address = some_team.member(next(_names), "writer")
    failed: list[Exception] = []

    def push(text: str) -> None:
        place = Hub(address, some_team.project)
        try:
            for seq in range(1, 30):
                place.push(ONE, [line(seq, text=f"{text} {seq}")])
        except Exception as error:
            failed.append(error)
        finally:
            place.close()

    both = [threading.Thread(target=push, args=(text,)) for text in ("one", "two")]
    for one in both:
        one.start()
    for one in both:
        one.join()
    found = all_of(hub(), ONE)
    assert [one.change.seq for one in found] == list(range(1, len(found) + 1)) and len(failed) >= 1


def test_two_members_who_delete_the_same_memories_in_opposite_orders_both_get_through(
    some_team: Team, hub: Callable[..., Hub]
) -> None:
    """The server ends one of two transactions that wait for each other; nobody hears of it."""
    count, failed, deadlocks = 300, list[Exception](), list[str]()
    makes_error = transport._error_of

    def counted(error: psycopg.Error) -> Exception:
        made = makes_error(error)
        deadlocks.extend(["one"] if isinstance(made, transport.DeadlockError) else [])
        return made

    def changes(machine: str, first: int, subjects: Iterable[int]) -> list[LoggedChange]:
        """That the memories which ONE told are deleted for good."""
        gone = {"removed": True}
        some = [
            Change(VERSION, machine, seq, (count + seq) << 16, machine, MEMORY, line(of).change.subject, gone)
            for seq, of in enumerate(subjects, first)
        ]
        return [LoggedChange(one, encode(one)) for one in some]

    def push(place: Hub, told: list[LoggedChange]) -> None:
        try:
            place.push(told[0].change.machine, told)
        except Exception as error:
            failed.append(error)

    author, places = hub(), {TWO: hub(), "3" * 32: hub()}
    with patch.object(transport, "_error_of", counted):
        for first in range(1, 40 * count, count):
            author.push(ONE, lines(first, first + count - 1))
            orders = (range(first, first + count), range(first + count - 1, first - 1, -1))
            both = [
                threading.Thread(target=push, args=(place, changes(machine, first, order)))
                for (machine, place), order in zip(places.items(), orders, strict=True)
            ]
            for one in both:
                one.start()
            for one in both:
                one.join()
            if deadlocks:
                break
    assert deadlocks, "none came about, so nothing was tried"
    assert not failed
    for machine in places:
        assert len(all_of(hub(), machine)) == first + count - 1


def test_a_server_that_is_killed_in_the_middle_loses_nothing(
    some_team: Team, hub: Callable[..., Hub]
) -> None:
    place = hub()
    place.push(ONE, lines(1, 2))
    with some_team.server.admin() as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'context-graph'"
        )
    with pytest.raises(TransportError):
        place.push(ONE, [line(3)])
    assert place.push(ONE, [line(3)]).seq == 3 and all_of(place, ONE) == lines(1, 3)


def test_a_server_that_hangs_is_given_up(some_team: Team) -> None:
    """It takes the connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = Hub(f"postgresql://someone@127.0.0.1:{silent.getsockname()[1]}/x", some_team.project)
        began = time.monotonic()
        with (
            patch.object(connecting, "CONNECT_S", 2),
            pytest.raises(TransportError, match="can't be reached"),
        ):
            place.head(ONE)
        assert time.monotonic() - began < 60


def test_a_server_that_stops_answering_is_given_up(some_team: Team, hub: Callable[..., Hub]) -> None:
    place = hub()
    place.push(ONE, lines(1, 1))
    connection = place._open
    assert connection is not None
    with patch.object(transport, "ANSWER_S", 0.5), pytest.raises(TransportError), place.asking() as asking:
        asking.execute("SELECT pg_sleep(30)")
    assert all_of(place, ONE) == lines(1, 1), "the next question makes another connection"


def test_another_line_in_the_place_of_what_was_read_is_noticed(hub: Callable[..., Hub]) -> None:
    """A hub put back to an older backup, in which a machine has gone on since: its number says nothing."""
    place = hub()
    place.push(ONE, lines(1, 3))
    right = str(line(2).change.clock)
    for mark, is_behind in ((right, False), ("12345", True), ("", False)):
        pages = dict(place.news({ONE: 2}, (), {ONE: mark}))
        assert pages[ONE].is_behind is is_behind, mark
