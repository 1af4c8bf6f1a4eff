"""What a member can do with a login and SQL of their own: nothing that a member may not tell."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from msgspec import structs
from psycopg.conninfo import make_conninfo
from tests.integration.sync.test_merge import state, stores
from tests.support.exchange.in_memory import InMemory
from tests.support.exchange.postgres import Postgres, Team, team
from tests.support.exchange.transports import ONE, TWO, all_of, line, lines
from tests.support.memories import WHY

from context_graph.sync.change import decode, digest, encode
from context_graph.sync.exchange import OpenStore
from context_graph.sync.hub.memories import Indexer
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import exchange
from context_graph.sync.transport import LoggedChange, TransportError

pytestmark = pytest.mark.hub

_names = (f"adversary_{number}" for number in itertools.count())
REFUSED = (psycopg.Error,)


@dataclass
class Scene:
    """Ada works in a team; Mallory has a login in it, or in another."""

    own: Team
    ada: Hub
    mallory: str
    """The address with which Mallory comes in."""

    def run(self, statement: str, *given: Any) -> list[Any]:
        """One statement of Mallory's."""
        with psycopg.connect(self.mallory, autocommit=True) as connection:
            done = connection.execute(statement, given)
            return done.fetchall() if done.description else []

    def rows(self, statement: str, *given: Any) -> list[Any]:
        """What an administrator sees."""
        with self.own.server.admin() as admin:
            return admin.execute(statement, given).fetchall()

    def tell(self, text: str, *, machine: str = TWO, first: int = 1, project: UUID | None = None) -> None:
        self.run(
            "SELECT context_graph.tell(%s, %s, %s, %s, %s)",
            *(project or self.own.project, machine, text, first, digest(text.encode())),
        )


@pytest.fixture
def scene(server: Postgres) -> Iterator[Scene]:
    own = team(server)
    ada = Hub(own.member(next(_names), "writer"), own.project)
    ada.push(ONE, lines(1, 3))
    yield Scene(own, ada, own.member(next(_names), "writer"))
    ada.close()


def logs(scene: Scene) -> list[str]:
    return [
        row[0]
        for row in scene.rows(
            "SELECT machine FROM context_graph.machine WHERE project = %s", scene.own.project
        )
    ]


def claim(**other: Any) -> str:
    """A line that is right but for ``other``."""
    return json.dumps({**json.loads(line(1, TWO).line), **other})


WRITES = {
    "a line under another's memory": "INSERT INTO context_graph.change (project, machine, "
    "seq, subject, clock, by, fields, line) SELECT project, machine, 99, subject, 1, by, "
    "'{importance}', 'this is no json' "
    "FROM context_graph.change LIMIT 1",
    "machines without lines": "INSERT INTO context_graph.machine (project, machine, last) "
    "SELECT project, repeat('0', 32), 1000000 FROM context_graph.machine LIMIT 1",
    "a machine into another project": "UPDATE context_graph.machine SET project = gen_random_uuid()",
    "bytes below nothing": "UPDATE context_graph.machine SET bytes = -1000000000000000",
    "another's line": "UPDATE context_graph.change SET line = ''",
    "deleted lines": "DELETE FROM context_graph.change",
    "a role": "UPDATE context_graph.member SET role = 'owner'",
    "a member": "INSERT INTO context_graph.member (project, login, role) "
    "SELECT id, 'x', 'owner' FROM context_graph.project",
    "a quota": "UPDATE context_graph.project SET quota_bytes = 1 << 50",
    "the search": "DELETE FROM context_graph.memory",
    "the search's words": "UPDATE context_graph.memory SET terms = '{}'",
    "a run": "INSERT INTO context_graph.run (project, number, command, mode, lease_until) "
    "SELECT id, 1, gen_random_uuid(), 'deep', now() + interval '1 year' FROM context_graph.project",
    "a run's end": "UPDATE context_graph.run SET lease_until = now()",
    "what undoes a run": "DELETE FROM context_graph.undo",
    "a migration": "INSERT INTO context_graph.migration (number, digest) VALUES (999, '')",
    "a locked table": "LOCK TABLE context_graph.machine IN ACCESS EXCLUSIVE MODE",
    "a table locked for writing": "LOCK TABLE context_graph.run IN SHARE ROW EXCLUSIVE MODE",
    "locked rows": "SELECT FROM context_graph.machine FOR UPDATE",
    "rows locked for reading": "SELECT FROM context_graph.change FOR KEY SHARE",
    "all taken out": "TRUNCATE context_graph.memory",
    "a trigger": "CREATE TRIGGER x AFTER INSERT ON context_graph.change "
    "EXECUTE FUNCTION context_graph.compact()",
    "the tables": "DROP SCHEMA context_graph CASCADE",
    "a table of their own": "CREATE TABLE context_graph.mine (x int)",
    "a function of their own": "CREATE FUNCTION context_graph.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "another's role": "SET ROLE context_graph_admin",
    "what a line says, asked freely": "SELECT context_graph.without('{}', '{}')",
    "search without a limit": "SELECT context_graph.worded('{}', '', '{}', '{}', '0', '', 1)",
}


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("role", ["reader", "writer", "owner"])
def test_no_statement_writes_or_locks_past_the_functions(scene: Scene, what: str, role: str) -> None:
    before = scene.rows("SELECT c::text FROM context_graph.change AS c ORDER BY 1")
    scene.mallory = scene.own.member(next(_names), role)
    with pytest.raises(REFUSED):
        scene.run(WRITES[what])
    assert scene.rows("SELECT c::text FROM context_graph.change AS c ORDER BY 1") == before
    scene.ada.push(ONE, [line(4)])
    assert len(all_of(scene.ada, ONE)) == 4


CLAIMS = {
    "no JSON": "this is no json",
    "half of it": claim()[:40],
    "a list": "[]",
    "nothing": "",
    "two lines in one": claim() + claim(),
    "another's log": claim(machine=ONE),
    "another number": claim(seq=7),
    "no number": claim(seq="one"),
    "a huge number": claim(seq=10**30),
    "a subject of no kind": claim(subject="../../etc/passwd"),
    "a link as a memory": claim(kind="link"),
    "no kind": claim(kind="machine"),
    "no author": claim(by="ada"),
    "no fields": claim(fields=[1]),
    "many fields": claim(fields={f"f{n}": n for n in range(33)}),
    "long fields": claim(fields={"x" * 1_025: 1}),
    "a clock of next year": claim(clock=(1 << 62)),
    "a clock before all": claim(clock=-1),
    "too long": claim(fields={"content": "x" * (2 << 20)}),
}


TWICE = {
    "subject": claim()[:-1] + ',"subject":"00000009-0000-4000-8000-111111111111"}',
    "field": claim().replace('"fields": {', '"fields": {"removed": true}, "fields": {'),
}


@pytest.mark.parametrize("what", TWICE)
def test_what_is_said_twice_is_read_alike_here_and_there(scene: Scene, what: str) -> None:
    """Else the server would take texts out that no reader takes out."""
    scene.tell(TWICE[what])
    ((subject, fields),) = scene.rows(
        "SELECT subject, fields FROM context_graph.change WHERE project = %s AND machine = %s",
        *(scene.own.project, TWO),
    )
    told = decode(TWICE[what].encode())
    assert (subject, fields) == (told.subject, list(told.fields))


@pytest.mark.parametrize("what", CLAIMS)
def test_a_line_that_is_no_change_is_refused_whole(scene: Scene, what: str) -> None:
    with pytest.raises(REFUSED):
        scene.tell(CLAIMS[what])
    assert logs(scene) == [ONE]
    scene.tell(claim())
    with pytest.raises(REFUSED, match="does not continue"):
        scene.tell(claim(seq=3), first=3)
    assert [one.change.seq for one in all_of(scene.ada, TWO)] == [1]


def test_what_a_line_is_about_is_read_from_the_line(scene: Scene) -> None:
    scene.tell(claim())
    ((subject, clock, by, fields, login),) = scene.rows(
        "SELECT subject, clock, by, fields, login FROM context_graph.change JOIN context_graph.machine "
        "USING (project, machine) WHERE project = %s AND machine = %s",
        *(scene.own.project, TWO),
    )
    told = line(1, TWO).change
    assert (subject, clock, by, fields) == (told.subject, told.clock, told.by, ["content"])
    assert login == scene.mallory.split("user=")[1].split()[0]


def test_a_colleague_s_push_is_stopped_by_nobody(tmp_path: Path, scene: Scene) -> None:
    """Not by what lies under their memory's id since before the hub was guarded, either."""
    with ExitStack() as stack:
        ada, grace = stores(tmp_path, 2, stack)
        node = ada.store("Staging listens on port 8443", rationale=WHY)
        exchange(OpenStore(ada), scene.ada)
        with scene.own.server.admin() as admin:
            admin.execute(
                "INSERT INTO context_graph.machine (project, machine, login, last) "
                "VALUES (%s, %s, 'mallory', 1)",
                (scene.own.project, TWO),
            )
            admin.execute(
                "INSERT INTO context_graph.change (project, machine, seq, subject, clock, by, fields, line) "
                "VALUES (%s, %s, 1, %s, 1, %s, '{importance}', 'this is no json')",
                (scene.own.project, TWO, str(node.id), TWO),
            )
        ada.update([replace(node, importance=0.9)])
        other = ada.store("Releases go out on Tuesdays", rationale=WHY)
        exchange(OpenStore(ada), scene.ada)
        place = Hub(scene.own.member(next(_names), "writer"), scene.own.project)
        report = exchange(OpenStore(grace), place)
        assert grace.get(other.id) is not None, report.refused
        for _ in range(2):
            for one, hub in ((ada, scene.ada), (grace, place)):
                exchange(OpenStore(one), hub)
        place.close()
        assert state(ada) == state(grace)


def test_the_quota_is_the_server_s(scene: Scene) -> None:
    with scene.own.server.admin() as admin:
        admin.execute(
            "UPDATE context_graph.project SET quota_bytes = 100000 WHERE id = %s", (scene.own.project,)
        )
    with pytest.raises(REFUSED, match="an administrator can raise its quota_bytes"):
        scene.tell(claim(fields={"content": "x" * 200_000}))
    for number in range(1, 200):
        text = claim(seq=number, fields={"content": "x" * 5_000})
        try:
            scene.tell(text, first=number)
        except psycopg.Error as error:
            assert "quota" in str(error)
            break
    used = scene.rows(
        "SELECT sum(octet_length(line)) FROM context_graph.change WHERE project = %s", scene.own.project
    )
    assert 50_000 < used[0][0] <= 100_000


def test_two_at_once_do_not_pass_the_quota_together(scene: Scene) -> None:
    with scene.own.server.admin() as admin:
        admin.execute(
            "UPDATE context_graph.project SET quota_bytes = 100000 WHERE id = %s", (scene.own.project,)
        )
    text = claim(fields={"content": "x" * 60_000})
    with psycopg.connect(scene.mallory) as first, psycopg.connect(scene.mallory) as second:
        call = "SELECT context_graph.tell(%s, %s, %s, 1, %s)"
        first.execute(call, (scene.own.project, TWO, text, digest(b"")))
        second.execute("SET lock_timeout = '300ms'")
        third = "3" * 32
        with pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute(call, (scene.own.project, third, text.replace(TWO, third), digest(b"")))


def test_no_log_of_another_is_written_nor_another_project(scene: Scene, server: Postgres) -> None:
    with pytest.raises(REFUSED, match="does not continue"):
        scene.tell(line(4).line.decode(), machine=ONE, first=4)
    other = team(server)
    with pytest.raises(REFUSED, match="may not"):
        scene.tell(claim(), project=other.project)
    for call in (
        "mend(%s, 'x')",
        "begin_run(%s, gen_random_uuid(), 'deep', '', '', 1)",
        "renew_run(%s, 1, 1)",
    ):
        with pytest.raises(REFUSED, match="may not"):
            scene.run(f"SELECT context_graph.{call}", other.project)
    assert scene.rows("SELECT FROM context_graph.machine WHERE project = %s", other.project) == []


def test_a_machine_s_id_that_somebody_took_first_is_given_up(tmp_path: Path, scene: Scene) -> None:
    """Mallory knows Ada's id from another project, and is in this one before her."""
    with ExitStack() as stack:
        (ada,) = stores(tmp_path, 1, stack)
        node = ada.store("Staging listens on port 8443", rationale=WHY)
        taken = exchange(OpenStore(ada), InMemory()).machine
        assert OpenStore(ada).machine() == taken, "it is kept, and was told"
        scene.tell(claim(machine=taken), machine=taken)
        report = exchange(OpenStore(ada), scene.ada)
        assert (
            report.told == 1
            and report.machine != taken
            and str(node.id) in str([one.change.subject for one in all_of(scene.ada, report.machine)])
        )


def test_whoever_is_removed_is_out_of_the_server(scene: Scene) -> None:
    from context_graph.sync.hub import teams

    login = scene.mallory.split("user=")[1].split()[0]
    held = psycopg.connect(scene.mallory, autocommit=True)
    name, project = scene.rows(
        "SELECT t.name, p.name FROM context_graph.project AS p JOIN context_graph.team AS t ON t.id = p.team "
        "WHERE p.id = %s",
        scene.own.project,
    )[0]
    with scene.own.server.admin() as admin:
        assert teams.remove(admin, name, project, login)
    with pytest.raises(psycopg.Error):
        held.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        psycopg.connect(scene.mallory)
    with pytest.raises(TransportError, match="no member"):
        Hub(scene.mallory, scene.own.project).head(ONE)
    with scene.own.server.admin() as admin:
        teams.invite(admin, scene.own.server.address, name, project, login, "reader")
    assert scene.run("SELECT 1") == [(1,)]


def test_nobody_hears_that_another_project_was_told_something(scene: Scene, server: Postgres) -> None:
    other = team(server)
    with psycopg.connect(other.member(next(_names), "writer"), autocommit=True) as stranger:
        stranger.execute("LISTEN context_graph")
        scene.ada.push(ONE, [line(4)])
        assert list(stranger.notifies(timeout=0.3)) == []


def test_a_question_has_a_limit_on_the_server(scene: Scene) -> None:
    call = "SELECT * FROM context_graph.ask(%s, 'p', %s, %s, '', true, %s, 10, 10, '{}')"
    with pytest.raises(REFUSED, match="at most 8 words"):
        scene.run(call, [scene.own.project], list(range(24)), [1.0] * 24, 10)
    with pytest.raises(REFUSED, match="at most 8 words"):
        scene.run(call, [scene.own.project], [1], [1.0], 10**9)
    assert scene.run(call, [scene.own.project], [1], [1.0], 10) == []


def test_words_of_one_are_not_put_in_the_place_of_another(scene: Scene) -> None:
    """Only who told a line, or an owner, says by which words it is found."""
    rows = json.dumps([{"subject": line(1).change.subject, "provider": "p", "terms": [1], "embedding": None}])
    scene.run("SELECT context_graph.put_index(%s, %s, 0, 3, %s, '{}')", scene.own.project, ONE, rows)
    assert scene.rows("SELECT FROM context_graph.memory WHERE project = %s", scene.own.project) == []
    scene.tell(claim())
    scene.run("SELECT context_graph.put_index(%s, %s, 0, 3, %s, '{}')", scene.own.project, TWO, rows)
    assert scene.rows("SELECT FROM context_graph.memory WHERE project = %s", scene.own.project) == []
    assert Indexer(scene.ada).run() == 3


def test_a_type_of_their_own_runs_nothing_with_the_hub_s_rights(scene: Scene) -> None:
    """Names of types are looked up in a session's pg_temp first, if a function's path does not name it."""
    with psycopg.connect(scene.mallory, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION pg_temp.take(pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
            "UPDATE context_graph.member SET role = 'owner' WHERE login = session_user; RETURN true; "
            "EXCEPTION WHEN OTHERS THEN RETURN true; END $$"
        )
        for name in ("text", "uuid", "name", "float8", "int8", "jsonb", "record", "bool", "regclass"):
            with suppress(psycopg.Error):
                connection.execute(
                    f"CREATE DOMAIN pg_temp.{name} AS pg_catalog.{name} "
                    "CHECK (pg_temp.take(VALUE::pg_catalog.text))"
                )
        for call, given in (
            ("tell(%s, %s, %s, 1, %s)", (TWO, claim(), digest(claim().encode()))),
            ("mend(%s, %s)", (ONE,)),
            ("ask(ARRAY[%s], 'p', '{1}', '{1}', '', true, 10, 10, 10, '{}')", ()),
            ("to_index(%s)", ()),
            ("put_index(%s, %s, 0, 1, '[]', '{}')", (TWO,)),
            ("begin_run(%s, gen_random_uuid(), 'deep', '', '', 1)", ()),
        ):
            with suppress(psycopg.Error):
                connection.execute(f"SELECT context_graph.{call}", (str(scene.own.project), *given))
    login = scene.mallory.split("user=")[1].split()[0]
    assert scene.rows("SELECT role FROM context_graph.member WHERE login = %s", login) == [("writer",)]


def test_no_depth_of_a_line_stops_a_colleague(scene: Scene) -> None:
    """A line can be read just so in a short call, and no more in a longer one."""
    subject, low, high = line(1).change.subject, 1, 400_000
    with psycopg.connect(scene.mallory, autocommit=True) as connection:
        seq = 0
        while high - low > 1:  # the deepest that is taken
            depth = (low + high) // 2
            text = claim(seq=seq + 1, clock=1 << 40, subject=subject, fields={"content": "DEEP"})
            text = text.replace('"DEEP"', "[" * depth + "]" * depth)
            try:
                connection.execute(
                    "SELECT context_graph.tell(%s, %s, %s, %s, %s)",
                    (scene.own.project, TWO, text, seq + 1, digest(text.encode())),
                )
                low, seq = depth, seq + 1
            except psycopg.Error as error:
                assert error.sqlstate == "CG004", error
                high = depth
    assert seq > 3
    newest = structs.replace(line(4, subject=1).change, clock=1 << 41)
    scene.ada.push(ONE, [LoggedChange(newest, encode(newest))])
    assert all_of(scene.ada, ONE)[-1].change == newest


@pytest.mark.parametrize("text", ["PostgreSQL refuses \\u0000 in jsonb", "a NUL \0 in a text"])
def test_a_text_about_a_nul_is_the_same_for_who_comes_later(tmp_path: Path, scene: Scene, text: str) -> None:
    with ExitStack() as stack:
        ada, grace = stores(tmp_path, 2, stack)
        node = ada.store(text, rationale=WHY)
        exchange(OpenStore(ada), scene.ada)
        ada.update([replace(node, importance=0.9)])
        exchange(OpenStore(ada), scene.ada)
        place = Hub(scene.own.member(next(_names), "writer"), scene.own.project)
        exchange(OpenStore(grace), place)
        place.close()
        heard = grace.get(node.id)
        assert heard is not None and heard.content == node.content
        assert state(ada) == state(grace)


def test_who_holds_a_transaction_open_keeps_no_log_from_growing(scene: Scene) -> None:
    """`mend` is any member's, a reader's too; what it looks at stays free."""
    reader = scene.own.member(next(_names), "reader")
    with psycopg.connect(reader) as held:
        held.execute("SELECT context_graph.mend(%s, %s)", (scene.own.project, ONE))
        scene.ada.push(ONE, [line(4)])
    assert len(all_of(scene.ada, ONE)) == 4


def test_a_tie_goes_by_bytes_whatever_the_server_s_language(server: Postgres) -> None:
    """In Danish "aa" stands behind "z"; in the hub, as on each machine, it stands before "b"."""
    name = "adversary_danish"
    language = "LOCALE_PROVIDER icu ICU_LOCALE 'da'"
    with server.admin() as admin:
        try:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {language}")
        except psycopg.errors.FeatureNotSupported:  # a server without ICU knows no other order than its own
            admin.execute(f"CREATE DATABASE {name}")
    danish = replace(server, address=make_conninfo(server.address, dbname=name))
    own = team(danish)
    place = Hub(own.member(f"{name}_ada", "writer"), own.project)
    try:
        for seq, by in enumerate(("aa" * 16, "b" * 32), 1):
            change = structs.replace(line(seq, subject=1).change, clock=1, by=by)
            place.push(ONE, [LoggedChange(change, encode(change))])
        assert [{*one.change.fields} for one in all_of(place, ONE)] == [set(), {"content"}], (
            "the second is newer"
        )
        with danish.admin() as admin:
            rows = admin.execute("SELECT DISTINCT pg_collation_for(by) FROM context_graph.change").fetchall()
        assert rows == [('"C"',)]
    finally:
        place.close()


def test_who_comes_again_and_again_is_removed_all_the_same(scene: Scene) -> None:
    from context_graph.sync.hub import teams

    login = scene.mallory.split("user=")[1].split()[0]
    name, project = scene.rows(
        "SELECT t.name, p.name FROM context_graph.project AS p JOIN context_graph.team AS t ON t.id = p.team "
        "WHERE p.id = %s",
        scene.own.project,
    )[0]
    is_over = threading.Event()

    def hold() -> None:
        while not is_over.is_set():
            with suppress(psycopg.Error), psycopg.connect(scene.mallory) as held:
                held.execute("SELECT context_graph.mend(%s, %s)", (scene.own.project, ONE))
                held.execute("SELECT pg_sleep(60)")

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for one in threads:
        one.start()
    try:
        time.sleep(1)
        with scene.own.server.admin() as admin:
            admin.execute("SET lock_timeout = '1s'")
            assert teams.remove(admin, name, project, login)
    finally:
        is_over.set()
        for one in threads:
            one.join()
