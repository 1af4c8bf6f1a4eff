"""The hub's tables, as numbered migrations, and who may read which rows; what is written goes by functions.

Each table's key begins with the project, so that it can be distributed by it (Citus, CockroachDB). A row is
seen by members of its project alone: the database's policies decide that by the login, not our code.
"""

from __future__ import annotations

from typing import Any, Final

from context_graph.errors import ConfigError
from context_graph.model.spaces import SIZES, SPACES
from context_graph.sync.change import digest
from context_graph.sync.hub.functions import FUNCTIONS
from context_graph.sync.hub.searching import SEARCHING

SCHEMA: Final = "context_graph"
MEMBERS: Final = "context_graph_member"
"""The role that every member's login is in."""

_TABLES: Final = """
CREATE TABLE context_graph.team (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 64)
);
CREATE TABLE context_graph.project (
  id uuid PRIMARY KEY,
  team uuid NOT NULL REFERENCES context_graph.team,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  quota_bytes bigint NOT NULL DEFAULT 1073741824 CHECK (quota_bytes >= 0),
  remote text NOT NULL DEFAULT '' CHECK (length(remote) <= 64),
  audits bigint NOT NULL DEFAULT 0,
  UNIQUE (team, name)
);
CREATE TABLE context_graph.member (
  project uuid NOT NULL REFERENCES context_graph.project,
  login name NOT NULL,
  role text NOT NULL CHECK (role IN ('reader', 'writer', 'owner')),
  since timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz,
  PRIMARY KEY (project, login)
);
CREATE TABLE context_graph.machine (
  project uuid NOT NULL REFERENCES context_graph.project,
  machine text NOT NULL CHECK (machine ~ '^[0-9a-f]{32}$'),
  login name NOT NULL DEFAULT session_user,
  last bigint NOT NULL DEFAULT 0,
  digest text NOT NULL DEFAULT '',
  bytes bigint NOT NULL DEFAULT 0,
  indexed bigint NOT NULL DEFAULT 0,
  pushed_at timestamptz,
  PRIMARY KEY (project, machine)
);
CREATE TABLE context_graph.change (
  project uuid NOT NULL,
  machine text NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  subject text NOT NULL CHECK (octet_length(subject) <= 4096),
  clock bigint NOT NULL,
  -- Ties between changes go by the bytes of an id, as on each machine; some languages sort "aa" behind "z".
  by text COLLATE "C" NOT NULL CHECK (octet_length(by) <= 64),
  fields text[] NOT NULL,
  line text NOT NULL CHECK (octet_length(line) <= 2097152),
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project, machine, seq),
  FOREIGN KEY (project, machine) REFERENCES context_graph.machine
);
CREATE INDEX change_subject ON context_graph.change (project, subject) WHERE fields <> '{}';
-- Links by the memory that they lead to: what was superseded is found by it.
CREATE INDEX change_target ON context_graph.change (project, split_part(subject, '/', 2))
  WHERE split_part(subject, '/', 2) <> '';
CREATE TABLE context_graph.run (
  project uuid NOT NULL REFERENCES context_graph.project,
  number bigint NOT NULL CHECK (number > 0),
  command uuid NOT NULL,
  login name NOT NULL DEFAULT session_user,
  mode text NOT NULL CHECK (length(mode) BETWEEN 1 AND 16),
  host text NOT NULL DEFAULT '' CHECK (length(host) <= 128),
  process text NOT NULL DEFAULT '' CHECK (length(process) <= 64),
  began_at timestamptz NOT NULL DEFAULT now(),
  lease_until timestamptz NOT NULL,
  ended_at timestamptz,
  outcome text CHECK (outcome IN ('committed', 'failed', 'expired')),
  machine text,
  first bigint,
  last bigint,
  counts jsonb NOT NULL DEFAULT '{}',
  undone_by bigint,
  PRIMARY KEY (project, number)
);
-- One that has not ended, at most: whoever ends a run holds its row, so that of two only one commits.
CREATE UNIQUE INDEX run_open ON context_graph.run (project) WHERE ended_at IS NULL;
-- What takes back a run's changes, until somebody changes the same once more.
CREATE TABLE context_graph.undo (
  project uuid NOT NULL,
  run bigint NOT NULL,
  number bigint NOT NULL,
  subject text NOT NULL,
  fields text[] NOT NULL,
  line text NOT NULL CHECK (octet_length(line) <= 2097152),
  PRIMARY KEY (project, run, number),
  FOREIGN KEY (project, run) REFERENCES context_graph.run ON DELETE CASCADE
);
CREATE INDEX undo_subject ON context_graph.undo (project, subject);
-- By what a member's question finds memories that are not on their machine: the words of each as hashes, and,
-- where the server has pgvector, what it means (_VECTORS). The text stands in the lines alone.
CREATE TABLE context_graph.memory (
  project uuid NOT NULL REFERENCES context_graph.project,
  subject text NOT NULL CHECK (length(subject) = 36),
  provider text NOT NULL CHECK (length(provider) BETWEEN 1 AND 64),
  terms bigint[] NOT NULL CHECK (cardinality(terms) <= 4096),
  PRIMARY KEY (project, subject)
);
CREATE INDEX memory_terms ON context_graph.memory USING gin (terms);
"""

_SEEN: Final = "".join(
    f"""
CREATE POLICY seen ON context_graph.{table} FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{{reader,writer,owner}}')));"""
    for table in ("member", "machine", "change", "run", "memory")
)
"""A row of these is seen by whoever is a member of its project."""
_RIGHTS: Final = """
CREATE TRIGGER compact AFTER INSERT ON context_graph.change
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION context_graph.compact();
CREATE TRIGGER keep_undo AFTER INSERT ON context_graph.change
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION context_graph.keep_undo();
CREATE TRIGGER forget_memory AFTER INSERT ON context_graph.change
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION context_graph.forget_memory();

ALTER TABLE context_graph.team ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.project ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.member ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.machine ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.change ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.run ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.undo ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.memory ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON context_graph.project FOR SELECT
  USING (id IN (SELECT context_graph.projects_of_session('{reader,writer,owner}')));
CREATE POLICY seen ON context_graph.team FOR SELECT
  USING (id IN (SELECT team FROM context_graph.project));
CREATE POLICY owned ON context_graph.undo FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{owner}')));

GRANT USAGE ON SCHEMA context_graph TO context_graph_member;
GRANT SELECT ON ALL TABLES IN SCHEMA context_graph TO context_graph_member;
-- No function is anybody's that is not named here.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA context_graph FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context_graph.projects_of_session, context_graph.tell, context_graph.mend,
  context_graph.begin_run, context_graph.renew_run, context_graph.end_run, context_graph.keep_reversals,
  context_graph.mark_undone, context_graph.to_index, context_graph.put_index, context_graph.ask
  TO context_graph_member;
"""

MIGRATIONS: Final = (_TABLES + FUNCTIONS + SEARCHING + _RIGHTS + _SEEN,)
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

    Raises:
        ConfigError: The hub is of a later version, or of a development version.
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
