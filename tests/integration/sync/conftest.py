"""The hub of these tests: one server a worker, in it a database for each module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from psycopg.conninfo import make_conninfo
from tests.support.exchange.postgres import Postgres, end_all, started


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
