"""The hub's tables, as numbered migrations, and who may read and write which rows.

Each table's key begins with the project, so that it can be distributed by it (Citus, CockroachDB). A row is
seen by members of its project alone: the database's policies decide that by the login, not our code.
"""

from __future__ import annotations

from typing import Any, Final

from context_graph.errors import ConfigError
from context_graph.model.spaces import SIZES, SPACES
from context_graph.sync.hub.apart import APART
from context_graph.sync.hub.guarded import GUARDED, TIGHTENED

SETTLED: Final = r"""
-- A call does not see what another one, not yet committed, deletes for good or tells. Whoever indexes what
-- was told does so after its commit: the later of the two sees both.
CREATE FUNCTION context_graph.take_out_deleted(of_project uuid, of_machine text, after bigint, upto bigint)
  RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH told AS (
      SELECT DISTINCT subject FROM context_graph.change
      WHERE project = of_project AND machine = of_machine AND seq > after AND seq <= upto
    ), gone AS (
      SELECT subject FROM told WHERE EXISTS (
        SELECT FROM context_graph.change AS c
        WHERE c.project = of_project AND c.subject = told.subject AND 'removed' = ANY (c.fields)
      )
    )
    UPDATE context_graph.change SET line = '', fields = '{}' WHERE project = of_project
      AND subject IN (SELECT subject FROM gone) AND line <> '' AND NOT 'removed' = ANY (fields)
  $$;
REVOKE EXECUTE ON FUNCTION context_graph.take_out_deleted FROM PUBLIC;
DO $$ BEGIN
  EXECUTE replace(
    pg_get_functiondef('context_graph.put_index'::regproc), 'UPDATE context_graph.machine SET indexed',
    'PERFORM context_graph.take_out_deleted(of_project, of_machine, after, upto);
    UPDATE context_graph.machine SET indexed'
  );
END $$;
"""


SCHEMA: Final = "context_graph"
MEMBERS: Final = "context_graph_member"
"""The role that every member's login is in."""

_FIRST: Final = """
CREATE TABLE context_graph.team (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 64)
);
CREATE TABLE context_graph.project (
  id uuid PRIMARY KEY,
  team uuid NOT NULL REFERENCES context_graph.team,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  quota_bytes bigint NOT NULL DEFAULT 1073741824 CHECK (quota_bytes >= 0),
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
  pushed_at timestamptz,
  PRIMARY KEY (project, machine)
);
CREATE TABLE context_graph.change (
  project uuid NOT NULL,
  machine text NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  subject text NOT NULL CHECK (octet_length(subject) <= 4096),
  clock bigint NOT NULL,
  by text NOT NULL CHECK (octet_length(by) <= 64),
  fields text[] NOT NULL,
  line text NOT NULL CHECK (octet_length(line) <= 2097152),
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project, machine, seq),
  FOREIGN KEY (project, machine) REFERENCES context_graph.machine
);
CREATE INDEX change_subject ON context_graph.change (project, subject);

-- What later lines set is taken out of earlier ones, and all that was deleted for good out of every line, so
-- that a text that nobody has any more is not here either. The lines stay, as numbers of their logs.
CREATE FUNCTION context_graph.without(line text, names text[]) RETURNS text
  LANGUAGE sql STABLE SET search_path = ''
  AS $$
    SELECT json_build_object(
      'v', line::json -> 'v', 'machine', line::json -> 'machine', 'seq', line::json -> 'seq',
      'clock', line::json -> 'clock', 'by', line::json -> 'by', 'kind', line::json -> 'kind',
      'subject', line::json -> 'subject', 'uses', line::json -> 'uses',
      'fields', (
        SELECT coalesce(json_object_agg(key, value), '{}') FROM json_each(line::json -> 'fields')
        WHERE key <> ALL (names)
      )
    )::text
  $$;
CREATE FUNCTION context_graph.compact() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = ''
  AS $$
  BEGIN
    UPDATE context_graph.change AS held SET line = '', fields = '{}'
      FROM fresh WHERE 'removed' = ANY (fresh.fields) AND held.project = fresh.project
      AND held.subject = fresh.subject AND held.line <> '' AND NOT 'removed' = ANY (held.fields);
    UPDATE context_graph.change AS late SET line = '', fields = '{}'
      FROM fresh WHERE late.project = fresh.project AND late.machine = fresh.machine AND late.seq = fresh.seq
      AND NOT 'removed' = ANY (fresh.fields) AND EXISTS (
        SELECT FROM context_graph.change AS gone WHERE gone.project = fresh.project
        AND gone.subject = fresh.subject AND 'removed' = ANY (gone.fields)
      );
    UPDATE context_graph.change AS held SET
        line = context_graph.without(held.line, later.fields),
        fields = ARRAY(SELECT unnest(held.fields) EXCEPT SELECT unnest(later.fields))
      FROM (
        SELECT older.project, older.machine, older.seq, array_agg(DISTINCT name) AS fields
        FROM fresh CROSS JOIN unnest(fresh.fields) AS name
        JOIN context_graph.change AS older ON older.project = fresh.project AND older.subject = fresh.subject
          AND (older.clock, older.by) < (fresh.clock, fresh.by) AND older.fields @> ARRAY[name]
        WHERE fresh.clock >> 16 <= extract(epoch FROM now()) * 1000 + 600000
        GROUP BY older.project, older.machine, older.seq
      ) AS later
      WHERE held.project = later.project AND held.machine = later.machine AND held.seq = later.seq
      AND held.line <> '';
    RETURN NULL;
  END $$;
CREATE TRIGGER compact AFTER INSERT ON context_graph.change
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION context_graph.compact();

CREATE FUNCTION context_graph.projects_of_session(roles text[]) RETURNS SETOF uuid
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ''
  AS $$
    SELECT project FROM context_graph.member
    WHERE login = session_user AND removed_at IS NULL AND role = ANY (roles)
  $$;

ALTER TABLE context_graph.team ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.project ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.member ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.machine ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.change ENABLE ROW LEVEL SECURITY;

CREATE POLICY seen ON context_graph.project FOR SELECT
  USING (id IN (SELECT context_graph.projects_of_session('{reader,writer,owner}')));
CREATE POLICY seen ON context_graph.team FOR SELECT
  USING (id IN (SELECT team FROM context_graph.project));
CREATE POLICY seen ON context_graph.member FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{reader,writer,owner}')));
CREATE POLICY seen ON context_graph.machine FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{reader,writer,owner}')));
CREATE POLICY begun ON context_graph.machine FOR INSERT
  WITH CHECK (
    login = session_user AND project IN (SELECT context_graph.projects_of_session('{writer,owner}'))
  );
CREATE POLICY moved ON context_graph.machine FOR UPDATE
  USING (login = session_user AND project IN (SELECT context_graph.projects_of_session('{writer,owner}')))
  WITH CHECK (login = session_user);
CREATE POLICY seen ON context_graph.change FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{reader,writer,owner}')));
CREATE POLICY told ON context_graph.change FOR INSERT
  WITH CHECK (
    project IN (SELECT context_graph.projects_of_session('{writer,owner}'))
    AND EXISTS (
      SELECT FROM context_graph.machine AS own
      WHERE own.project = change.project AND own.machine = change.machine AND own.login = session_user
    )
  );

GRANT USAGE ON SCHEMA context_graph TO context_graph_member;
GRANT SELECT ON context_graph.team, context_graph.project, context_graph.member, context_graph.machine,
  context_graph.change, context_graph.migration TO context_graph_member;
GRANT INSERT, UPDATE ON context_graph.machine TO context_graph_member;
GRANT INSERT ON context_graph.change TO context_graph_member;
"""

_RUNS: Final = """
CREATE TABLE context_graph.run (
  project uuid NOT NULL REFERENCES context_graph.project,
  number bigint NOT NULL CHECK (number > 0),
  command uuid NOT NULL,
  login name NOT NULL DEFAULT session_user,
  mode text NOT NULL CHECK (length(mode) BETWEEN 1 AND 16),
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

CREATE FUNCTION context_graph.keep_undo() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' AS $$
  BEGIN
    DELETE FROM context_graph.undo AS kept USING fresh
      WHERE kept.project = fresh.project AND kept.subject = fresh.subject
      AND (kept.fields && fresh.fields OR 'removed' = ANY (fresh.fields));
    RETURN NULL;
  END $$;
CREATE TRIGGER keep_undo AFTER INSERT ON context_graph.change
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION context_graph.keep_undo();

ALTER TABLE context_graph.run ENABLE ROW LEVEL SECURITY;
ALTER TABLE context_graph.undo ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON context_graph.run FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{reader,writer,owner}')));
CREATE POLICY begun ON context_graph.run FOR INSERT
  WITH CHECK (login = session_user AND project IN (SELECT context_graph.projects_of_session('{owner}')));
CREATE POLICY moved ON context_graph.run FOR UPDATE
  USING (project IN (SELECT context_graph.projects_of_session('{owner}')));
CREATE POLICY owned ON context_graph.undo FOR ALL
  USING (project IN (SELECT context_graph.projects_of_session('{owner}')));
GRANT SELECT, INSERT ON context_graph.run TO context_graph_member;
GRANT UPDATE (lease_until, ended_at, outcome, machine, first, last, counts, undone_by)
  ON context_graph.run TO context_graph_member;
GRANT SELECT, INSERT, DELETE ON context_graph.undo TO context_graph_member;
"""

_MEMORIES: Final = """
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
ALTER TABLE context_graph.machine ADD COLUMN indexed bigint NOT NULL DEFAULT 0;
-- Links by the memory that they lead to: what was superseded is found by it.
CREATE INDEX change_target ON context_graph.change (project, split_part(subject, '/', 2))
  WHERE split_part(subject, '/', 2) <> '';

CREATE FUNCTION context_graph.forget_memory() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' AS $$
  BEGIN
    DELETE FROM context_graph.memory AS held USING fresh
      WHERE 'removed' = ANY (fresh.fields) AND held.project = fresh.project AND held.subject = fresh.subject;
    RETURN NULL;
  END $$;
CREATE TRIGGER forget_memory AFTER INSERT ON context_graph.change
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION context_graph.forget_memory();
-- Whoever may write may index any log of the project: the machine that wrote it may never come again.
CREATE FUNCTION context_graph.note_indexed(of_project uuid, of_machine text, upto bigint) RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = ''
  AS $$
    UPDATE context_graph.machine SET indexed = greatest(indexed, least(upto, last))
    WHERE project = of_project AND machine = of_machine
    AND project IN (SELECT context_graph.projects_of_session('{writer,owner}'))
  $$;

-- What holds all of the words, or the weightiest part of them. Set after set is looked up until there is
-- enough, or time is over, so nothing is read that has one common word alone. Of equals the nearest is first.
CREATE FUNCTION context_graph.worded(
  may uuid[], of_provider text, words bigint[], weights float8[], distance text, vector text, most int
) RETURNS TABLE (of_project uuid, of_subject text)
  LANGUAGE plpgsql SET search_path = '' SET enable_seqscan = off SET gin_fuzzy_search_limit = 50000
  AS $$
  DECLARE
    until timestamptz := clock_timestamp() + interval '60 ms';
    projects uuid[] := '{}';
    subjects text[] := '{}';
    ranks float8[] := '{}';
    distances float8[] := '{}';
    part record;
    found record;
  BEGIN
    FOR part IN
      SELECT array_agg(w.word) AS words, sum(w.weight) AS weight
      FROM generate_series(1, (1 << cardinality(words)) - 1) AS mask
      JOIN unnest(words, weights) WITH ORDINALITY AS w (word, weight, at) ON mask >> (w.at - 1)::int & 1 = 1
      GROUP BY mask ORDER BY 2 DESC LIMIT 200
    LOOP
      EXIT WHEN cardinality(subjects) >= most OR clock_timestamp() > until;
      EXECUTE 'SELECT array_agg(project) AS projects, array_agg(subject) AS subjects,
          array_agg(distance) AS distances FROM (
        SELECT project, subject, (' || distance || ')::float8 AS distance FROM context_graph.memory
        WHERE terms OPERATOR(pg_catalog.@>) $1 AND project = ANY ($2) AND provider = $3
        AND subject <> ALL ($4) LIMIT 1000
      ) AS held' INTO found USING part.words, may, of_provider, subjects, vector;
      CONTINUE WHEN found.subjects IS NULL;
      projects := projects || found.projects;
      subjects := subjects || found.subjects;
      distances := distances || found.distances;
      ranks := ranks || array_fill(part.weight, ARRAY[cardinality(found.subjects)]);
    END LOOP;
    RETURN QUERY SELECT u.p, u.s FROM unnest(projects, subjects, ranks, distances) AS u (p, s, rank, distance)
      ORDER BY u.rank DESC, u.distance LIMIT most;
  END $$;
-- Candidates for a question by meaning and by words, all that is told of each, and links that supersede it.
-- Under policies no index of words could be used, for their operators may tell what they see: so the function
-- looks with its owner's rights, in the projects of whoever asks and in no others.
CREATE FUNCTION context_graph.ask(
  among uuid[], of_provider text, words bigint[], weights float8[], vector text, exact boolean, breadth int,
  nearest int, most int, superseding text[]
) RETURNS TABLE (of_project uuid, of_subject text, of_login name, of_line text)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET enable_seqscan = off
  AS $$
  DECLARE
    may uuid[] := ARRAY(
      SELECT p FROM context_graph.projects_of_session('{reader,writer,owner}') AS p WHERE p = ANY (among)
    );
    near text := '';
    distance text := '0';
    place name;
  BEGIN
    SELECT n.nspname INTO place FROM pg_catalog.pg_attribute AS a
      JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
      WHERE a.attrelid = 'context_graph.memory'::regclass AND a.attname = 'embedding' AND NOT a.attisdropped;
    IF place IS NOT NULL AND vector <> '' THEN
      PERFORM set_config('hnsw.ef_search', breadth::text, true);
      PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
      distance := format('embedding OPERATOR(%I.<#>) $5::%I.halfvec', place, place);
      near := format(
        '(SELECT project, subject FROM context_graph.memory '
        'WHERE project = ANY ($1) AND provider = $2 AND embedding IS NOT NULL '
        'ORDER BY (%s) %s LIMIT $6) UNION ',
        distance, CASE WHEN exact THEN '+ 0' ELSE '' END
      );
    END IF;
    RETURN QUERY EXECUTE '
      WITH wanted AS MATERIALIZED (' || near || '(
        SELECT of_project AS project, of_subject AS subject
        FROM context_graph.worded($1, $2, $3, $4, $9, $5, $7)
      ))
      SELECT c.project, c.subject, m.login, c.line FROM wanted AS w
      JOIN context_graph.change AS c ON c.project = w.project AND c.subject = w.subject
      JOIN context_graph.machine AS m ON m.project = c.project AND m.machine = c.machine
      WHERE c.line <> ''''
      UNION ALL
      SELECT c.project, c.subject, m.login, c.line FROM wanted AS w
      JOIN context_graph.change AS c
        ON c.project = w.project AND split_part(c.subject, ''/'', 2) = w.subject
      JOIN context_graph.machine AS m ON m.project = c.project AND m.machine = c.machine
      WHERE split_part(c.subject, ''/'', 2) <> '''' AND split_part(c.subject, ''/'', 3) = ANY ($8)
      AND c.line <> '''''
      USING may, of_provider, words, weights, vector, nearest, most, superseding, distance;
  END $$;

ALTER TABLE context_graph.memory ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON context_graph.memory FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{reader,writer,owner}')));
CREATE POLICY written ON context_graph.memory FOR ALL
  USING (project IN (SELECT context_graph.projects_of_session('{writer,owner}')));
GRANT SELECT, INSERT, UPDATE, DELETE ON context_graph.memory TO context_graph_member;
"""

MIGRATIONS: Final = (_FIRST, _RUNS, _MEMORIES, GUARDED, TIGHTENED, SETTLED, APART)
"""Never changed once a hub may have them; a new one is added at the end."""

_BASE: Final = f"""
DO $$ BEGIN
  CREATE ROLE {MEMBERS} NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$ BEGIN
  IF to_regclass('{SCHEMA}.migration') IS NULL THEN
    CREATE SCHEMA IF NOT EXISTS {SCHEMA};
    REVOKE ALL ON SCHEMA {SCHEMA} FROM PUBLIC;
    CREATE TABLE {SCHEMA}.migration (number int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
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
    """Return the number of the hub's last migration; 0 without any."""
    row = connection.execute("SELECT to_regclass('context_graph.migration') IS NOT NULL AS there").fetchone()
    if not row[0]:
        return 0
    return int(
        connection.execute("SELECT coalesce(max(number), 0) FROM context_graph.migration").fetchone()[0]
    )


def migrate(connection: Any, upto: int = len(MIGRATIONS)) -> int:
    """Bring the hub's tables to this build's version, each migration in a transaction; how many were run.

    Raises:
        ConfigError: The hub is of a later version.
    """
    done = 0
    for number in range(1, upto + 1):
        with connection.transaction():
            connection.execute("SET LOCAL statement_timeout = 0")
            connection.execute(_BASE)
            connection.execute(_LOCK)
            there = version_of(connection)
            check_version(there)
            if there >= number:
                continue
            connection.execute(MIGRATIONS[number - 1])
            connection.execute("INSERT INTO context_graph.migration (number) VALUES (%s)", (number,))
            done += 1
    if upto == len(MIGRATIONS):
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
