"""What one member tells neither erases, nor holds up, nor signs what another told."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from msgspec import structs
from tests.integration.sync.test_hub_adversary import REFUSED, Scene, _names, claim, scene
from tests.integration.sync.test_merge import state, stores
from tests.support.exchange.network import Cable
from tests.support.exchange.postgres import started, team
from tests.support.exchange.transports import ONE, TWO, all_of, line, lines
from tests.support.memories import WHY

from context_graph.sync.change import MAX_USERS, Origin, Register, encode
from context_graph.sync.exchange import OpenStore
from context_graph.sync.hub import runs, schema, teams
from context_graph.sync.hub.connecting import connect
from context_graph.sync.hub.memories import Indexer, changes, composed
from context_graph.sync.hub.schema import MOST_LOGS
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import exchange
from context_graph.sync.transport import LoggedChange

__all__ = ["scene"]
pytestmark = pytest.mark.hub

UNREADABLE: dict[str, dict[str, Any]] = {
    "a later version": {"v": 99, "fields": {"content": "x", "rationale": "y", "created_at_ms": 1}},
    "no text": {"fields": {"content": 12}},
    "a field that none has": {"fields": {"content": "x", "mood": 1}},
    "a deletion that is none": {"fields": {"removed": False}},
    "a deletion and more": {"fields": {"removed": True, "content": 12}},
    "a deletion of another version": {"v": "1", "fields": {"removed": True}},
    "a deletion with uses": {"fields": {"removed": True}, "uses": 5},
    "a deletion with a word more": {"fields": {"removed": True}, "more": 5},
}


def now() -> int:
    """The first clock value of this millisecond."""
    return (time.time_ns() // 1_000_000) << 16


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_no_reader_takes_erases_nothing(tmp_path: Path, scene: Scene, what: str) -> None:
    """Else who comes later would have neither the old value nor the new."""
    with ExitStack() as stack:
        ada, grace = stores(tmp_path, 2, stack)
        node = ada.store("Staging listens on port 8443", rationale=WHY)
        exchange(OpenStore(ada), scene.ada)
        with suppress(psycopg.Error):
            scene.tell(claim(subject=str(node.id), clock=now(), **UNREADABLE[what]))
        place = Hub(scene.own.member(next(_names), "writer"), scene.own.project)
        exchange(OpenStore(grace), place)
        exchange(OpenStore(ada), scene.ada)
        place.close()
        assert grace.get(node.id) is not None and state(ada) == state(grace)


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_thousands_of_lines_about_one_memory_are_looked_up_by_nobody(scene: Scene, step: int) -> None:
    """Whether each is older than the one before, newer or alike, one is left that says something."""
    subject, first = line(1).change.subject, now() - 10_000
    told = (claim(seq=seq, subject=subject, clock=first + step * seq) for seq in range(1, 1001))
    scene.tell("\n".join(told))
    live = scene.rows(
        "SELECT machine FROM context_graph.change WHERE project = %s AND subject = %s AND fields <> '{}'",
        *(scene.own.project, subject),
    )
    assert sorted(live) == [(ONE,), (TWO,)]
    newest = structs.replace(line(4, subject=1).change, clock=now())
    scene.ada.push(ONE, [LoggedChange(newest, encode(newest))])
    assert all_of(scene.ada, ONE)[-1].change == newest


def test_uses_by_any_number_of_machines_stop_nobody(tmp_path: Path, scene: Scene) -> None:
    with ExitStack() as stack:
        ada, grace = stores(tmp_path, 2, stack)
        node = ada.store("Staging listens on port 8443", rationale=WHY)
        exchange(OpenStore(ada), scene.ada)
        place = Hub(scene.own.member(next(_names), "writer"), scene.own.project)
        exchange(OpenStore(grace), place)
        told = (
            claim(seq=seq, subject=str(node.id), fields={}, uses={uuid4().hex: [1, 1] for _ in range(1024)})
            for seq in range(1, 33)
        )
        scene.tell("\n".join(told))
        other = ada.store("Releases go out on Tuesdays", rationale=WHY)
        for _ in range(2):
            for memex, hub in ((ada, scene.ada), (grace, place)):
                exchange(OpenStore(memex), hub)
        place.close()
        assert grace.get(other.id) is not None and state(ada) == state(grace)


def test_which_machines_uses_are_kept_depends_on_no_order() -> None:
    machines = [uuid4().hex for _ in range(3 * MAX_USERS)]
    kept = []
    for some in (machines, machines[::-1], sorted(machines), machines + machines):
        register = Register("memory", line(1).change.subject)
        for number, machine in enumerate(some, 1):
            register.used(machine, (1, 1), Origin(number, ""))
        assert register.uses.keys() == register.use_origins.keys()
        kept.append(register.uses)
    assert kept == [dict.fromkeys(sorted(machines)[:MAX_USERS], (1, 1))] * 4


def test_a_login_has_no_more_machines_than_colleagues_can_ask_for(scene: Scene) -> None:
    login = scene.mallory.split("user=")[1].split()[0]
    with scene.own.server.admin() as admin:
        admin.execute(
            "INSERT INTO context_graph.machine (project, machine, login) "
            "SELECT %s, lpad(to_hex(n), 32, '0'), %s FROM generate_series(1, %s) AS n",
            (scene.own.project, login, MOST_LOGS - 1),
        )
    scene.tell(claim())
    third = "3" * 32
    with pytest.raises(REFUSED, match="invite you by another name"):
        scene.tell(claim(machine=third, by=third), machine=third)
    scene.tell(claim(seq=2), first=2)
    scene.ada.push("4" * 32, [line(1, "4" * 32)])


def test_nobody_else_says_what_a_run_did_and_what_takes_it_back(scene: Scene) -> None:
    """Whoever undoes a run tells in their own name what was kept for that."""
    ada = Hub(scene.own.member(next(_names), "owner"), scene.own.project)
    scene.mallory = scene.own.member(next(_names), "owner")
    run = runs.begin(ada, uuid4(), "deep")
    evil = claim(machine=run.machine, by=run.machine, fields={"content": "evil"})
    keep = ("SELECT context_graph.keep_reversals(%s, %s, %s, %s)", scene.own.project, run.number, run.machine)
    change = structs.replace(line(1, run.machine).change, by=run.machine)
    back = runs.Reversal(change.kind, change.subject, {"content": "as before"})
    end = "SELECT context_graph.end_run(%s, %s, 'committed', %s, 1, 1, '{\"merged\": 1000000}')"
    try:
        for _ in range(2):  # before the run has ended, and after
            with pytest.raises(REFUSED, match="may not say"):
                scene.run(*keep, evil)
            with pytest.raises(REFUSED, match="may not say"):
                scene.run(end, scene.own.project, run.number, run.machine)
            with suppress(runs.FencedError):
                runs.commit(ada, run, [LoggedChange(change, encode(change))], [back], {"merged": 1})
        runs.undo(ada, run.number, uuid4())
        told = [one.change.fields for one in all_of(ada, run.machine)]
        assert told[-1] == {"content": "as before"}
        other = runs.begin(ada, uuid4(), "deep")
        assert scene.run(
            "SELECT context_graph.end_run(%s, %s, 'expired', NULL, NULL, NULL, '{}')",
            *(scene.own.project, other.number),
        ) == [(True,)]
    finally:
        ada.close()


@pytest.mark.parametrize("through", ["", "a pooler"])
def test_an_operator_of_a_member_s_own_runs_in_nobody_else_s_session(scene: Scene, through: str) -> None:
    """Before PostgreSQL 15 everybody makes some in `public`; one that fits better than the system's wins."""
    with scene.own.server.admin() as admin:
        admin.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        admin.execute("CREATE TABLE IF NOT EXISTS public.caught (login name)")
        admin.execute("GRANT INSERT ON public.caught TO PUBLIC")
    for statement in (
        "CREATE FUNCTION public.times(numeric, int) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO public.caught VALUES (session_user); RETURN $1 OPERATOR(pg_catalog.*) $2; END $$",
        "CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = int, FUNCTION = public.times)",
    ):
        scene.run(statement)
    cable = Cable(scene.own.server.address, refuses=b"options" if through else b"").plug()
    place = Hub(cable.through(scene.own.member(next(_names), "writer")), scene.own.project)
    try:
        with place.asking() as connection:
            assert teams.status(connection, place.project)["machines"]
        with connect(cable.through(scene.own.server.address)) as admin:
            admin.execute("SELECT extract(epoch FROM now()) * 1000")
        assert scene.rows("SELECT * FROM public.caught") == []
    finally:
        place.close()
        cable.unplug()
        with scene.own.server.admin() as admin:
            admin.execute("DROP FUNCTION public.times CASCADE")


def test_no_lock_that_is_anybody_s_holds_an_administrator_up(scene: Scene) -> None:
    with psycopg.connect(scene.mallory) as held:
        held.execute("SELECT pg_advisory_lock(%s), count(*) FROM context_graph.migration", (0x6367687562,))
        with scene.own.server.admin() as admin:
            admin.execute("SET lock_timeout = '1s'")
            assert schema.migrate(admin) == 0


def test_who_listens_and_reads_nothing_keeps_nobody_from_telling() -> None:
    """A server ends whoever would notify when its queue is full; this one's holds 512 KiB."""
    server = started()
    with server.admin() as admin:
        admin.execute("ALTER SYSTEM SET max_notify_queue_pages = 64")
    server.kill()
    server.start_again()
    own = team(server)
    mallory = own.member(next(_names), "reader")
    ada = Hub(own.member(next(_names), "writer"), own.project)
    with psycopg.connect(mallory, autocommit=True) as deaf, psycopg.connect(mallory) as loud:
        deaf.execute("LISTEN x")
        deaf.execute("BEGIN")
        deaf.execute("SELECT 1")
        with pytest.raises(psycopg.Error, match="too many notifications"):
            for number in range(1000):
                loud.execute("SELECT pg_notify('x', %s)", (f"{number} {'x' * 7900}",))
                loud.commit()
        ada.push(ONE, lines(1, 3))
    ada.close()


def test_who_tells_a_text_under_another_s_stamp_signs_it_themselves() -> None:
    own = line(1).change
    other = structs.replace(own, machine=TWO, fields={"content": "zzz"})
    full = {"rationale": WHY, "created_at_ms": 1}
    rows = [
        [one.subject, login, encode(structs.replace(one, fields={**full, **one.fields})).decode()]
        for login, one in (("ada", own), ("mallory", other))
    ]
    for order in (rows, rows[::-1]):
        (memory,) = composed(changes(order)).values()
        author = {own.fields["content"]: "ada", "zzz": "mallory"}[memory.values["content"]]
        assert memory.author == author


def test_nobody_else_keeps_a_run_open_or_says_that_it_is_undone(scene: Scene) -> None:
    """A run that died would hold up all others, and one that nobody took back would count as undone."""
    ada = Hub(scene.own.member(next(_names), "owner"), scene.own.project)
    scene.mallory = scene.own.member(next(_names), "owner")
    run = runs.begin(ada, uuid4(), "deep")
    renew = "SELECT context_graph.renew_run(%s, %s, 3600)"
    mark = "SELECT context_graph.mark_undone(%s, %s, %s)"
    change = structs.replace(line(1, run.machine).change, by=run.machine)
    try:
        assert scene.run(renew, scene.own.project, run.number) == [(False,)]
        runs.renew(ada, run)
        back = runs.Reversal(change.kind, change.subject, {"content": "as before"})
        runs.commit(ada, run, [LoggedChange(change, encode(change))], [back], {"merged": 1})
        for by in (run.number, run.number + 1):
            with pytest.raises(REFUSED, match="may not say"):
                scene.run(mark, scene.own.project, run.number, by)
        done = "SELECT undone_by FROM context_graph.run WHERE project = %s AND number = %s"
        assert scene.rows(done, scene.own.project, run.number) == [(None,)]
        taker, count = runs.undo(ada, run.number, uuid4())
        assert count == 1 and scene.rows(done, scene.own.project, run.number) == [(taker.number,)]
    finally:
        ada.close()


def test_by_which_words_a_memory_is_found_is_not_said_by_who_only_used_it(scene: Scene) -> None:
    """Of that, no reader would see a sign in the memory."""
    subject = line(1).change.subject
    Indexer(scene.ada).run()
    found = "SELECT terms FROM context_graph.memory WHERE project = %s AND subject = %s"
    with scene.own.server.admin() as admin:
        admin.execute(
            "INSERT INTO context_graph.memory (project, subject, provider, terms) "
            "VALUES (%s, %s, 'p', '{7}')",
            (scene.own.project, subject),
        )
    scene.tell(claim(subject=subject, fields={}, uses={TWO: [1, 1]}))
    rows = json.dumps([{"subject": subject, "provider": "p", "terms": [1], "embedding": None}])
    for some, gone in ((rows, "{}"), ("[]", f"{{{subject}}}")):
        scene.run("SELECT context_graph.put_index(%s, %s, 0, 1, %s, %s)", scene.own.project, TWO, some, gone)
        scene.rows("UPDATE context_graph.machine SET indexed = 0 WHERE machine = %s RETURNING 1", TWO)
        assert scene.rows(found, scene.own.project, subject) == [([7],)]
