"""The hub of these tests: one server a worker, in it a database for each module."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from psycopg.conninfo import make_conninfo
from tests.support.exchange.postgres import Postgres, Team, end_all, started, team

from context_graph.sync.hub.transport import Hub

_names = (f"seen_{number}" for number in itertools.count())


@pytest.fixture(scope="session", autouse=True)
def servers_end() -> Iterator[None]:
    """No server outlives the tests."""
    yield
    end_all()


@pytest.fixture(scope="session")
def shared_server() -> Postgres:
    """For tests that don't stop it."""
    return started()


@pytest.fixture(scope="module")
def server(shared_server: Postgres) -> Postgres:
    """An empty database."""
    name = f"hub_{uuid4().hex}"
    with shared_server.admin() as admin:
        admin.execute(f"CREATE DATABASE {name}")
    return replace(shared_server, address=make_conninfo(shared_server.address, dbname=name))


@pytest.fixture
def some_team(server: Postgres) -> Team:
    return team(server)


@pytest.fixture
def hub(some_team: Team) -> Iterator[Callable[..., Hub]]:
    """Each call is another member's view; the same one's for the same address."""
    opened: list[Hub] = []

    def made(role: str = "writer", address: str = "") -> Hub:
        opened.append(Hub(address or some_team.member(next(_names), role), some_team.project))
        return opened[-1]

    yield made
    for one in opened:
        one.close()
