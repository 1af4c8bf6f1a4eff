"""The hub's tables, as numbered migrations, and who may read which rows; what is written goes by functions.

Each table's key begins with the project, so that it can be distributed by it (Citus, CockroachDB). A row is
seen by members of its project alone: the database's policies decide that by the login, not our code.

A member has a login, so they can send any SQL. `functions.sql` has the functions by which they write: what
these take is checked in the server, and what they say of a line is read from the line itself. `searching.sql`
has those by which they search what is not on their machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from context_graph.errors import ConfigError
from context_graph.model.spaces import SIZES, SPACES
from context_graph.sync.change import digest

SCHEMA: Final = "context_graph"
MEMBERS: Final = "context_graph_member"
"""The role that every member's login is in."""

CONFLICT: Final = "CG001"
"""SQLSTATE: the lines don't continue this log, or it is somebody else's."""
QUOTA: Final = "CG002"
AHEAD: Final = "CG003"
"""The clock of a line is ahead of the hub's."""
UNFIT: Final = "CG004"
MOST_BYTES: Final = 8 << 20
"""Bytes of one call of `tell`."""
MOST_LOGS: Final = 1000
"""Machines of one login in one project: whoever reads the project asks for each of them."""


def _sql(name: str) -> str:
    """Return a file beside this one; the line's end in front is part of the digest that hubs keep."""
    return "\n" + Path(__file__).with_name(name).read_text(encoding="utf-8")


_SEEN: Final = "".join(
    f"""
CREATE POLICY seen ON context_graph.{table} FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{{reader,writer,owner}}')));"""
    for table in ("member", "machine", "change", "run", "memory")
)
"""A row of these is seen by whoever is a member of its project."""
_FUNCTIONS: Final = (
    _sql("functions.sql").replace("{MOST_LOGS}", str(MOST_LOGS)).replace("{MOST_BYTES}", str(MOST_BYTES))
)
MIGRATIONS: Final = (_sql("tables.sql") + _FUNCTIONS + _sql("searching.sql") + _sql("rights.sql") + _SEEN,)
"""Never changed once a hub may have them; a new one is added at the end. A hub keeps the digest of each."""
_DIGESTS: Final = tuple(digest(migration.encode()) for migration in MIGRATIONS)

_BASE: Final = f"""
DO $$ BEGIN
  CREATE ROLE {MEMBERS} NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$ BEGIN
  IF to_regclass('{SCHEMA}.migration') IS NULL THEN
    CREATE SCHEMA IF NOT EXISTS {SCHEMA};
    REVOKE ALL ON SCHEMA {SCHEMA} FROM PUBLIC;
    CREATE TABLE {SCHEMA}.migration (
      number int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), digest text NOT NULL
    );
  END IF;
EXCEPTION WHEN duplicate_schema OR duplicate_table OR unique_violation THEN NULL;  -- another's, just now
END $$;
"""
_VECTORS: Final = """
DO $$ DECLARE place name; BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_available_extensions
    WHERE name = 'vector' AND string_to_array(default_version, '.')::int[] >= '{0,8}'
  ) OR EXISTS (
    SELECT FROM pg_attribute
    WHERE attrelid = 'context_graph.memory'::regclass AND attname = 'embedding' AND NOT attisdropped
  ) THEN RETURN; END IF;
  CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
  SELECT nspname INTO place FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace
    WHERE extname = 'vector';
  EXECUTE format('ALTER TABLE context_graph.memory ADD COLUMN embedding %%I.halfvec(%(dim)s)', place);
  EXECUTE format(
    'CREATE INDEX memory_embedding ON context_graph.memory USING hnsw (embedding %%I.halfvec_ip_ops)', place
  );
  UPDATE context_graph.machine SET indexed = 0 WHERE indexed > 0;
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$;
"""
_LOCK: Final = f"LOCK TABLE {SCHEMA}.migration IN SHARE ROW EXCLUSIVE MODE"
"""Migrations run one administrator at a time. An advisory lock is anybody's to take."""


def version_of(connection: Any) -> int:
    """Return the number of the hub's last migration; 0 without any.

    Raises ConfigError where one of them was another than this build's: nothing turns such tables into these.
    """
    row = connection.execute("SELECT to_regclass('context_graph.migration') IS NOT NULL AS there").fetchone()
    if not row[0]:
        return 0
    done = connection.execute(  # builds before this one kept no digest
        "SELECT number, to_jsonb(m) ->> 'digest' FROM context_graph.migration AS m ORDER BY number"
    ).fetchall()
    if any(kept != own for (_, kept), own in zip(done, _DIGESTS, strict=False)):
        raise ConfigError(
            "the hub's tables were made by a development version of context-graph, and can't be brought up "
            "to date; an administrator makes the hub anew: `hub init` in a new database, new tokens, then "
            "one `sync` by each member, whose machine has the memories"
        )
    return int(done[-1][0]) if done else 0


def migrate(connection: Any) -> int:
    """Bring the hub's tables to this build's version, each migration in a transaction; how many were run.
    Raises ConfigError if the hub is of a later version, or of a development version.
    """
    done = 0
    for number, migration in enumerate(MIGRATIONS, 1):
        with connection.transaction():
            connection.execute("SET LOCAL statement_timeout = 0")
            connection.execute(_BASE)
            connection.execute(_LOCK)
            there = version_of(connection)
            check_version(there)
            if there >= number:
                continue
            connection.execute(migration)
            connection.execute(
                "INSERT INTO context_graph.migration (number, digest) VALUES (%s, %s)",
                (number, _DIGESTS[number - 1]),
            )
            done += 1
    _add_vectors(connection)
    return done


def _add_vectors(connection: Any) -> None:
    """Have the hub search by meaning too, where its server has pgvector 0.8 or newer.

    Nothing changes where it does already. Logs that were indexed without are indexed once more.
    """
    with connection.transaction():
        connection.execute(_LOCK)
        connection.execute(_VECTORS % {"dim": SIZES[SPACES.index("Semantic")]})


def check_version(there: int, *, exactly: bool = False) -> None:
    """Raises ConfigError if the hub is of a later version than this build, with ``exactly`` of any other."""
    if exactly and there < len(MIGRATIONS):
        raise ConfigError(
            f"the hub's tables are of version {there}, this build needs {len(MIGRATIONS)}; "
            "an administrator runs `hub init` of this build"
        )
    if there > len(MIGRATIONS):
        raise ConfigError(
            f"the hub's tables are of version {there}, this build knows {len(MIGRATIONS)}; "
            "update context-graph"
        )
