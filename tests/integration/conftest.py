"""Fixtures of the owner's and the store's integration tests."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.report import Row
from tests.faults.world import SEED
from tests.support.forkserver import python
from tests.support.memories import open_memex
from tests.support.owner.harness import PROGRAM, OwnerHarness

from context_graph.memory.memex import Memex
from context_graph.redact import Redactor
from context_graph.store.engine.engine import Engine
from context_graph.store.schema import open_database
from context_graph.store.sessions.sessions import SessionStore


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnerHarness]:
    """A data root with a short path (sockets have 107 bytes) and its harness.

    Whatever starts an owner by itself in this test starts the echo owner too.
    """
    folder = Path(tempfile.mkdtemp(prefix="cg-"))
    wrapper, command = folder / "python", python(str(PROGRAM))
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CONTEXT_GRAPH_HOME", str(folder / "root"))
    monkeypatch.setenv("CONTEXT_GRAPH_PYTHON", str(wrapper))
    harness = OwnerHarness(folder / "root", dict(os.environ), command)
    try:
        yield harness
    finally:
        try:
            harness.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Where a test's database goes."""
    return tmp_path / "db"


@pytest.fixture
def engine(db: Path) -> Iterator[Engine]:
    """An open, empty engine."""
    opened = open_database(db)
    yield opened
    opened.close()


@pytest.fixture
def store(engine: Engine) -> SessionStore:
    """A session store over ``engine``."""
    return SessionStore(engine)


@pytest.fixture
def memex(tmp_path: Path) -> Iterator[Memex]:
    """An open, empty memory."""
    with open_memex(tmp_path / "store") as opened:
        yield opened


@pytest.fixture(scope="session")
def redactor() -> Redactor:
    """With the imported rules, which are read once, not once a test."""
    return Redactor()


@pytest.fixture
def fault_row(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Row]:
    """A row of the fault suite's table, named after the test."""
    row = Row(request.node.name.removeprefix("test_"), SEED)
    yield row
    row.hand_in(record_property)
