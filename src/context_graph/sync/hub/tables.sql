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
