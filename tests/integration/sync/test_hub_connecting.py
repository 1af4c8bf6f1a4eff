"""How a hub's server is reached: by which addresses, with which limits, and of which version it is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.support.exchange.network import Cable
from tests.support.exchange.postgres import Postgres, Team
from tests.support.exchange.transports import ONE, all_of, line, lines

from context_graph.errors import ConfigError
from context_graph.sync.hub import connecting, membership, schema, teams
from context_graph.sync.hub.connecting import checked_url
from context_graph.sync.hub.transport import Hub
from context_graph.sync.transport import TransportError

pytestmark = pytest.mark.hub

_names = (f"connected_{number}" for number in itertools.count())


FAR = "postgresql://a@localhost/x?hostaddr=203.0.113.5"
NEAR = "postgresql://a@127.0.0.1/x"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://a@db.example.org/x?sslmode=disable", "verify-full"),
        ("postgresql://a@db.example.org/x?sslmode=require", "verify-full"),
        ("postgresql://a@localhost,db.example.org/x?sslmode=prefer", "verify-full"),
        (f"{FAR}&sslmode=disable", "verify-full"),
        ("host=localhost,localhost hostaddr=127.0.0.1,203.0.113.5 sslmode=allow", "verify-full"),
        ("host=localhost hostaddr=localhost sslmode=disable", "verify-full"),
        ("host=@abstract sslmode=disable", "verify-full"),
        ("postgresql://a@localhost/x?service=elsewhere", "service"),
        ("mysql://x", "no address"),
    ],
)
def test_an_address_without_tls_is_refused_off_this_machine(url: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        checked_url(url)


def test_every_address_that_libpq_would_use_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of the environment and of a file that it names; a file of passwords leads nowhere."""
    assert "sslmode=verify-full" in checked_url(FAR) and "gssencmode=disable" in checked_url(FAR)
    assert "sslmode" not in checked_url(f"{NEAR}?hostaddr=127.0.0.1&passfile=/tmp/x")
    monkeypatch.setenv("PGHOSTADDR", "203.0.113.5")
    assert "sslmode=verify-full" in checked_url(NEAR)
    monkeypatch.delenv("PGHOSTADDR")
    (tmp_path / "services").write_text("[far]\nhostaddr=203.0.113.5\nsslmode=disable\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGSERVICE", "far")
    assert "sslmode=verify-full" in checked_url(NEAR)


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_is_not_utf8_is_refused_with_the_cure(server: Postgres, encoding: str) -> None:
    name = f"not_utf8_{encoding.lower()}"
    with server.admin() as admin:
        admin.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
    with pytest.raises(ConfigError, match="ENCODING 'UTF8'"):
        connecting.connect(make_conninfo(server.address, dbname=name))


def test_whatever_the_environment_asks_for_texts_travel_as_utf8(
    monkeypatch: pytest.MonkeyPatch, hub: Callable[..., Hub]
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    told = [line(1, text="naïve 漢字 \U0001f600")]
    hub().push(ONE, told)
    assert all_of(hub(), ONE) == told


@pytest.mark.parametrize("how", ["refuses", "drops"])
def test_behind_a_pooler_that_takes_no_options_limits_hold_in_each_transaction(
    some_team: Team, server: Postgres, how: str
) -> None:
    """Another client may get the connection after each transaction."""
    cable = Cable(server.address, **{how: b"options"}).plug()
    place = Hub(cable.through(some_team.member(next(_names), "writer")), some_team.project)
    try:
        place.push(ONE, lines(1, 2))
        for seq in range(3, 12):  # a statement that was prepared would be another connection's
            place.push(ONE, [line(seq)])
        assert len(all_of(place, ONE)) == 11
        with place.committing() as connection:
            assert connection.execute("SHOW lock_timeout").fetchone() == ("5s",)
        with place.asking() as connection:
            assert connection.execute("SHOW lock_timeout").fetchone() == ("5s",)
            assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
    finally:
        place.close()
        cable.unplug()


@pytest.mark.parametrize("how", ["", "refuses", "drops"])
def test_whoever_connects_has_all_limits_in_every_statement(server: Postgres, how: str) -> None:
    """Administrators too, also with a pooler, and whatever else the database itself has set."""
    name, limits = conninfo_to_dict(server.address)["dbname"], connecting._LIMITS
    cable = Cable(server.address, **({how: b"options"} if how else {})).plug()
    with server.admin() as admin:
        admin.execute(f"ALTER DATABASE {name} SET lock_timeout = '5s'".encode())
    try:
        with connecting.connect(cable.through(server.address)) as connection:
            for _ in range(2):
                assert [connection.execute(f"SHOW {each}".encode()).fetchone() for each in limits] == [
                    (value,) for value in limits.values()
                ]
            with connection.transaction():
                connection.execute("SET LOCAL statement_timeout = 0")
                with connection.transaction():
                    assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
                    assert connection.execute("SHOW search_path").fetchone() == ("pg_catalog",)
    finally:
        cable.unplug()
        with server.admin() as admin:
            admin.execute(f"ALTER DATABASE {name} RESET lock_timeout".encode())


def test_an_administrator_s_commands_work_through_a_pooler(server: Postgres) -> None:
    cable = Cable(server.address, refuses=b"options").plug()
    try:
        with connecting.connect(url := cable.through(server.address)) as admin:
            name = next(_names)
            teams.prepare(admin, "pooled", "gateway")
            token = teams.invite(admin, url, "pooled", "gateway", name, "writer")
            there = membership.membership_in(token)
            place = Hub(there.url, there.project)
            place.push(ONE, lines(1, 1))
            assert teams.remove(admin, "pooled", "gateway", name)
            with pytest.raises(TransportError):
                place.push(ONE, lines(2, 1))
            place.close()
    finally:
        cable.unplug()


def test_the_hub_is_reached_through_one_function_alone() -> None:
    """So nothing that is added later can leave the limits out."""
    source = Path(connecting.__file__).parents[2]
    callers = {path.name for path in source.rglob("*.py") if "psycopg.connect(" in path.read_text()}
    assert callers == {"connecting.py"}


def test_tls_with_a_checked_certificate_is_the_default() -> None:
    assert "sslmode=verify-full" in checked_url("postgresql://a@db.example.org/x")
    assert "sslmode" not in checked_url("postgresql://a@127.0.0.1/x")


def test_a_team_s_own_certificate_may_stand_in_libpq_s_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLROOTCERT", "/etc/team/ca.pem")
    monkeypatch.setenv("PGSSLMODE", "disable")
    address = checked_url("postgresql://a@db.example.org/x")
    assert "sslrootcert=/etc/team/ca.pem" in address and "sslmode=verify-full" in address


def test_migrations_run_once_and_another_hub_is_refused(server: Postgres, hub: Callable[..., Hub]) -> None:
    with server.admin() as admin:
        assert schema.migrate(admin) == 0 and schema.version_of(admin) == len(schema.MIGRATIONS)
        admin.execute("INSERT INTO context_graph.migration (number, digest) VALUES (999, '')")
        try:
            with pytest.raises(ConfigError, match="update context-graph"):
                schema.migrate(admin)
            with pytest.raises(ConfigError, match="update context-graph"):
                hub().head(ONE)
        finally:
            admin.execute("DELETE FROM context_graph.migration WHERE number = 999")
        there = admin.execute("DELETE FROM context_graph.migration RETURNING number, digest").fetchall()
        try:
            with pytest.raises(ConfigError, match="hub init"):
                hub().head(ONE)
        finally:
            for row in there:
                admin.execute("INSERT INTO context_graph.migration (number, digest) VALUES (%s, %s)", row)


@pytest.mark.parametrize("how", ["no digest, as the first builds left it", "another digest"])
def test_a_hub_of_a_development_version_is_told_from_one_of_a_later_version(
    server: Postgres, hub: Callable[..., Hub], how: str
) -> None:
    """To update context-graph would change nothing there."""
    place, name = hub(), f"developed_{next(_names)}"
    with server.admin() as admin:
        admin.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0".encode())
    url = make_conninfo(server.address, dbname=name)
    with psycopg.connect(url, autocommit=True) as admin:
        if how == "another digest":
            schema.migrate(admin)
            admin.execute("UPDATE context_graph.migration SET digest = 'another'")
        else:
            admin.execute("CREATE SCHEMA context_graph")
            admin.execute("CREATE TABLE context_graph.migration (number int PRIMARY KEY, at timestamptz)")
            admin.execute("INSERT INTO context_graph.migration SELECT generate_series(1, 7)")
        with pytest.raises(ConfigError, match=r"development version.*anew: `hub init`") as caught:
            schema.migrate(admin)
        assert "update context-graph" not in str(caught.value)
    developed = Hub(url, place.project)
    with pytest.raises(ConfigError, match="makes the hub anew"):
        developed.head(ONE)
    developed.close()
