"""The hub's fourth and fifth migrations: members write through functions, which derive what they can.

A member has a login, so they can send any SQL. What these functions take is checked in the server; what they
say of a line (its subject, clock, author, fields) is read from the line itself.
"""

from __future__ import annotations

from typing import Final

CONFLICT: Final = "CG001"
"""SQLSTATE: the lines don't continue this log, or it is somebody else's."""
QUOTA: Final = "CG002"
AHEAD: Final = "CG003"
"""The clock of a line is ahead of the hub's."""
UNFIT: Final = "CG004"
MOST_BYTES: Final = 8 << 20
"""Bytes of one call of `tell`."""

GUARDED: Final = r"""
ALTER TABLE context_graph.project
  ADD COLUMN remote text NOT NULL DEFAULT '' CHECK (length(remote) <= 64),
  ADD COLUMN audits bigint NOT NULL DEFAULT 0;
ALTER TABLE context_graph.run
  ADD COLUMN host text NOT NULL DEFAULT '' CHECK (length(host) <= 128),
  ADD COLUMN process text NOT NULL DEFAULT '' CHECK (length(process) <= 64);

REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA context_graph FROM context_graph_member;
DROP POLICY begun ON context_graph.machine;
DROP POLICY moved ON context_graph.machine;
DROP POLICY told ON context_graph.change;
DROP POLICY begun ON context_graph.run;
DROP POLICY moved ON context_graph.run;
DROP POLICY owned ON context_graph.undo;
DROP POLICY written ON context_graph.memory;
CREATE POLICY owned ON context_graph.undo FOR SELECT
  USING (project IN (SELECT context_graph.projects_of_session('{owner}')));

-- The administrator whose tables these are may do what owners may.
CREATE FUNCTION context_graph.must(of_project uuid, roles text[]) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  BEGIN
    -- Of one login and project one call at a time, so that a quota is not passed by many at once.
    PERFORM FROM context_graph.member WHERE project = of_project AND login = session_user
      AND removed_at IS NULL AND role = ANY (roles) FOR UPDATE;
    IF NOT FOUND AND NOT pg_has_role(
      session_user, (SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = 'context_graph'), 'member'
    ) THEN
      RAISE insufficient_privilege USING MESSAGE = 'you may not do that in this project';
    END IF;
  END $$;

-- What lines say of themselves; NULL where that can't be. A NUL, which PostgreSQL's text can't hold, is no
-- part of any of it. Of a name that stands twice the last counts, here as for whoever reads the line.
CREATE FUNCTION context_graph.read_lines(told text, of_machine text, first bigint) RETURNS TABLE (
  of_at bigint, of_line text, of_subject text, of_clock bigint, of_by text, of_fields text[]
) LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT t.at, t.line, CASE WHEN
      octet_length(t.line) <= 2097152 AND r.v >= 1 AND r.machine = of_machine AND r.seq = first + t.at - 1
      AND r.clock >= 0 AND r."by" ~ '^[0-9a-f]{32}$'
      AND cardinality(f.names) <= 32 AND length(array_to_string(f.names, '')) <= 1024
      AND CASE r.kind
        WHEN 'memory' THEN r.subject ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        WHEN 'link' THEN r.subject ~ '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/){2}[^/]{1,80}$'
      END
    THEN r.subject END, r.clock, r."by", f.names
  FROM unnest(string_to_array(told, E'\n')) WITH ORDINALITY AS t (line, at)
  CROSS JOIN LATERAL json_to_record(replace(t.line, '\u0000', '\ufffd')::json) AS r (
    v bigint, machine text, seq bigint, clock bigint, "by" text, kind text, subject text, fields json
  )
  CROSS JOIN LATERAL (SELECT ARRAY(SELECT json_object_keys(r.fields)) AS names) AS f
$$;

CREATE FUNCTION context_graph.channel_of(of_project uuid) RETURNS text LANGUAGE sql IMMUTABLE
  SET search_path = '' AS $$ SELECT 'context_graph_' || replace(of_project::text, '-', '') $$;

-- Append lines, one a row of `told`, to the log of one of the caller's machines: all or none.
CREATE FUNCTION context_graph.tell(of_project uuid, of_machine text, told text, first bigint, end_digest text)
  RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  DECLARE
    log context_graph.machine;
    size bigint := octet_length(told);
    quota bigint;
    used bigint;
    lines bigint;
    newest bigint;
  BEGIN
    PERFORM context_graph.must(of_project, '{writer,owner}');
    IF size > 8388608 OR size = 0 OR end_digest !~ '^[0-9a-f]{32}$' THEN
      RAISE EXCEPTION USING ERRCODE = 'CG004', MESSAGE = 'a call takes 1 to 8388608 bytes and a digest';
    END IF;
    INSERT INTO context_graph.machine (project, machine) VALUES (of_project, of_machine)
      ON CONFLICT DO NOTHING;
    SELECT * INTO log FROM context_graph.machine
      WHERE project = of_project AND machine = of_machine FOR UPDATE;
    IF log.login <> session_user OR log.last + 1 <> first THEN
      RAISE EXCEPTION USING ERRCODE = 'CG001',
        MESSAGE = format('line %s does not continue the log of %s', first, of_machine);
    END IF;
    SELECT quota_bytes INTO quota FROM context_graph.project WHERE id = of_project;
    SELECT sum(bytes) INTO used FROM context_graph.machine WHERE project = of_project;
    IF used + size > quota THEN  -- some of what was told may have been taken out since
      SELECT coalesce(sum(octet_length(line)), 0) INTO used FROM context_graph.change
        WHERE project = of_project;
    END IF;
    IF used + size > quota THEN
      RAISE EXCEPTION USING ERRCODE = 'CG002', MESSAGE = format(
        'the project''s %s bytes in the hub are used up (%s); an owner can raise the quota', quota, used
      );
    END IF;
    WITH fresh AS (
      INSERT INTO context_graph.change (project, machine, seq, subject, clock, by, fields, line)
      SELECT of_project, of_machine, log.last + of_at, of_subject, of_clock, of_by, of_fields, of_line
      FROM context_graph.read_lines(told, of_machine, first) RETURNING clock
    ) SELECT count(*), max(clock) INTO lines, newest FROM fresh;
    IF newest >> 16 > extract(epoch FROM clock_timestamp()) * 1000 + 600000 THEN
      RAISE EXCEPTION USING ERRCODE = 'CG003', MESSAGE = format(
        'this machine''s clock says %s, the hub''s %s: one of them is wrong',
        to_char(to_timestamp((newest >> 16) / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'),
        to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')
      );
    END IF;
    UPDATE context_graph.machine
      SET last = log.last + lines, digest = end_digest, bytes = log.bytes + size, pushed_at = now()
      WHERE project = of_project AND machine = of_machine;
    PERFORM pg_notify(context_graph.channel_of(of_project), '');
  EXCEPTION WHEN not_null_violation OR data_exception THEN
    RAISE EXCEPTION USING ERRCODE = 'CG004', MESSAGE = format('a line of %s is no change', of_machine);
  END $$;

-- Lines that an administrator or a restore has lost get their numbers back, empty, and members hand on what
-- they know of them (`audits`). Any member may say so, for it is looked up.
CREATE FUNCTION context_graph.mend(of_project uuid, of_machine text) RETURNS bigint
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  DECLARE
    log context_graph.machine;
    lines bigint;
  BEGIN
    PERFORM context_graph.must(of_project, '{reader,writer,owner}');
    SELECT * INTO log FROM context_graph.machine
      WHERE project = of_project AND machine = of_machine FOR UPDATE;
    INSERT INTO context_graph.change (project, machine, seq, subject, clock, by, fields, line)
      SELECT of_project, of_machine, s.seq, '', 0, '', '{}', '' FROM generate_series(1, log.last) AS s (seq)
      WHERE NOT EXISTS (
        SELECT FROM context_graph.change AS c
        WHERE c.project = of_project AND c.machine = of_machine AND c.seq = s.seq
      );
    GET DIAGNOSTICS lines = ROW_COUNT;
    IF lines > 0 THEN
      UPDATE context_graph.project SET audits = audits + 1 WHERE id = of_project;
      PERFORM pg_notify(context_graph.channel_of(of_project), '');
    END IF;
    RETURN lines;
  END $$;

-- A line that can't be read, whoever wrote it, stops nobody: it is looked for only after it has been met, for
-- each guarded call takes as long as twenty others.
CREATE OR REPLACE FUNCTION context_graph.without(line text, names text[]) RETURNS text
  LANGUAGE sql STABLE SET search_path = '' AS $$
    SELECT json_build_object(
      'v', read -> 'v', 'machine', read -> 'machine', 'seq', read -> 'seq', 'clock', read -> 'clock',
      'by', read -> 'by', 'kind', read -> 'kind', 'subject', read -> 'subject', 'uses', read -> 'uses',
      'fields', (
        SELECT coalesce(json_object_agg(key, value), '{}') FROM json_each(read -> 'fields')
        WHERE key <> ALL (names)
      )
    )::text FROM (SELECT replace(line, '\u0000', '\ufffd')::json AS read) AS r
  $$;
CREATE FUNCTION context_graph.without_or_nothing(line text, names text[]) RETURNS text
  LANGUAGE plpgsql STABLE SET search_path = '' AS $$
  BEGIN
    RETURN context_graph.without(line, names);
  EXCEPTION WHEN data_exception THEN RETURN '';
  END $$;
-- A line at a time, each found by an index: one statement for all, planned while the table was young, read
-- all of a project for each line.
CREATE OR REPLACE FUNCTION context_graph.compact() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' AS $$
  DECLARE
    careful boolean := false;
    new_line record;
    older record;
  BEGIN
    LOOP
      BEGIN
        FOR new_line IN SELECT f.*, f.by AS author FROM fresh AS f LOOP
          IF 'removed' = ANY (new_line.fields) THEN
            UPDATE context_graph.change SET line = '', fields = '{}' WHERE project = new_line.project
              AND subject = new_line.subject AND line <> '' AND NOT 'removed' = ANY (fields);
            CONTINUE;
          END IF;
          PERFORM FROM context_graph.change WHERE project = new_line.project
            AND subject = new_line.subject AND 'removed' = ANY (fields);
          IF FOUND THEN
            UPDATE context_graph.change SET line = '', fields = '{}' WHERE project = new_line.project
              AND machine = new_line.machine AND seq = new_line.seq;
            CONTINUE;
          END IF;
          FOR older IN SELECT machine, seq FROM context_graph.change
            WHERE project = new_line.project AND subject = new_line.subject AND line <> ''
            AND fields && new_line.fields AND (clock, by) < (new_line.clock, new_line.author)
          LOOP
            UPDATE context_graph.change SET
                line = CASE WHEN careful THEN context_graph.without_or_nothing(line, new_line.fields)
                  ELSE context_graph.without(line, new_line.fields) END,
                fields = ARRAY(SELECT unnest(fields) EXCEPT SELECT unnest(new_line.fields))
              WHERE project = new_line.project AND machine = older.machine AND seq = older.seq;
          END LOOP;
        END LOOP;
        RETURN NULL;
      EXCEPTION WHEN data_exception THEN
        IF careful THEN
          RAISE;
        END IF;
        careful := true;
      END;
    END LOOP;
  END $$;

-- Runs of work on a whole project (`sync/hub/runs.py`).
CREATE FUNCTION context_graph.begin_run(
  of_project uuid, of_command uuid, of_mode text, of_host text, of_process text, lease_s float8
) RETURNS TABLE (of_number bigint, of_login name)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    UPDATE context_graph.run SET ended_at = now(), outcome = 'expired'
      WHERE project = of_project AND ended_at IS NULL AND (lease_until < now() OR command = of_command);
    DELETE FROM context_graph.undo AS kept USING context_graph.run AS old
      WHERE kept.project = of_project AND old.project = kept.project AND old.number = kept.run
      AND old.ended_at < now() - interval '30 days';
    RETURN QUERY INSERT INTO context_graph.run (project, number, command, mode, host, process, lease_until)
      SELECT of_project, coalesce(max(number), 0) + 1, of_command, of_mode, of_host, of_process,
        now() + make_interval(secs => least(lease_s, 3600))
      FROM context_graph.run WHERE project = of_project RETURNING number, login;
  END $$;
CREATE FUNCTION context_graph.renew_run(of_project uuid, of_number bigint, lease_s float8) RETURNS boolean
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    UPDATE context_graph.run SET lease_until = now() + make_interval(secs => least(lease_s, 3600))
      WHERE project = of_project AND number = of_number AND ended_at IS NULL;
    RETURN FOUND;
  END $$;
CREATE FUNCTION context_graph.end_run(
  of_project uuid, of_number bigint, of_outcome text, of_machine text, of_first bigint, of_last bigint,
  of_counts jsonb
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    UPDATE context_graph.run SET ended_at = now(), outcome = of_outcome, machine = of_machine,
      first = of_first, last = of_last, counts = of_counts
      WHERE project = of_project AND number = of_number AND ended_at IS NULL;
    RETURN FOUND;
  END $$;
CREATE FUNCTION context_graph.keep_reversals(of_project uuid, of_run bigint, of_machine text, told text)
  RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    INSERT INTO context_graph.undo (project, run, number, subject, fields, line)
      SELECT of_project, of_run, of_at, of_subject, of_fields, of_line
      FROM context_graph.read_lines(told, of_machine, 1);
  END $$;
CREATE FUNCTION context_graph.mark_undone(of_project uuid, of_number bigint, by_number bigint) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    UPDATE context_graph.run SET undone_by = by_number WHERE project = of_project AND number = of_number;
  END $$;

-- What a project is searched by. Members index what their own machines told, owners what anybody did: nobody
-- else's words are put in somebody's place.
DROP FUNCTION context_graph.note_indexed(uuid, text, bigint);
CREATE FUNCTION context_graph.to_index(of_project uuid) RETURNS TABLE (log text, done bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
    SELECT machine, indexed FROM context_graph.machine WHERE project = of_project AND indexed < last
    AND (
      login = session_user AND project IN (SELECT context_graph.projects_of_session('{writer}'))
      OR project IN (SELECT context_graph.projects_of_session('{owner}'))
    ) ORDER BY machine LIMIT 1
  $$;
CREATE FUNCTION context_graph.put_index(
  of_project uuid, of_machine text, after bigint, upto bigint, rows jsonb, gone text[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  DECLARE
    log context_graph.machine;
    place name;
  BEGIN
    SELECT m.* INTO log FROM context_graph.machine AS m, context_graph.to_index(of_project) AS next
      WHERE m.project = of_project AND m.machine = of_machine AND m.machine = next.log
      FOR UPDATE OF m SKIP LOCKED;
    IF NOT FOUND OR log.indexed <> after THEN
      RETURN false;  -- somebody else is at it, or has done it
    END IF;
    DELETE FROM context_graph.memory WHERE project = of_project AND subject = ANY (gone) AND subject IN (
      SELECT subject FROM context_graph.change
      WHERE project = of_project AND machine = of_machine AND seq > after AND seq <= upto
    );
    INSERT INTO context_graph.memory (project, subject, provider, terms)
      SELECT of_project, r.subject, r.provider, r.terms
      FROM jsonb_to_recordset(rows) AS r (subject text, provider text, terms bigint[])
      WHERE r.subject IN (
        SELECT subject FROM context_graph.change
        WHERE project = of_project AND machine = of_machine AND seq > after AND seq <= upto
      )
      ON CONFLICT (project, subject) DO UPDATE SET provider = excluded.provider, terms = excluded.terms;
    SELECT n.nspname INTO place FROM pg_catalog.pg_attribute AS a
      JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
      WHERE a.attrelid = 'context_graph.memory'::regclass AND a.attname = 'embedding' AND NOT a.attisdropped;
    IF place IS NOT NULL THEN
      EXECUTE format(
        'UPDATE context_graph.memory AS m SET embedding = r.embedding::%I.halfvec
        FROM jsonb_to_recordset($1) AS r (subject text, embedding text)
        WHERE m.project = $2 AND m.subject = r.subject AND r.subject IN (
          SELECT subject FROM context_graph.change
          WHERE project = $2 AND machine = $3 AND seq > $4 AND seq <= $5
        )', place
      ) USING rows, of_project, of_machine, after, upto;
    END IF;
    UPDATE context_graph.machine SET indexed = least(upto, log.last)
      WHERE project = of_project AND machine = of_machine;
    RETURN true;
  END $$;

-- What earlier builds let members write is made good: of each line only what it says itself, no numbers
-- without lines, nothing from the future.
UPDATE context_graph.change SET line = '', fields = '{}' WHERE line <> '' AND (
  clock >> 16 > extract(epoch FROM now()) * 1000 + 600000 OR context_graph.without_or_nothing(line, '{}') = ''
);
UPDATE context_graph.change SET fields = CASE WHEN line = '' THEN '{}' ELSE
  ARRAY(SELECT json_object_keys(replace(line, '\u0000', '\ufffd')::json -> 'fields')) END;
UPDATE context_graph.change SET line = '', fields = '{}'
  WHERE line <> '' AND replace(line, '\u0000', '\ufffd')::json ->> 'subject' IS DISTINCT FROM subject;
DELETE FROM context_graph.change AS c USING (
  SELECT project, machine FROM context_graph.change GROUP BY 1, 2 HAVING max(seq) > count(*) + 1000000
) AS torn WHERE c.project = torn.project AND c.machine = torn.machine;
UPDATE context_graph.machine AS m SET
  last = coalesce(own.last, 0), bytes = coalesce(own.bytes, 0),
  indexed = least(m.indexed, coalesce(own.last, 0)),
  digest = CASE WHEN own.last = m.last THEN m.digest ELSE '' END
  FROM context_graph.machine AS named LEFT JOIN (
    SELECT project, machine, max(seq) AS last, sum(octet_length(line)) AS bytes
    FROM context_graph.change GROUP BY 1, 2
  ) AS own USING (project, machine)
  WHERE m.project = named.project AND m.machine = named.machine;
DELETE FROM context_graph.machine WHERE last = 0;
SELECT context_graph.mend(project, machine) FROM context_graph.machine;

-- No function is anybody's that is not named here.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA context_graph FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA context_graph REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER FUNCTION context_graph.ask(uuid[], text, bigint[], float8[], text, boolean, int, int, int, text[])
  RENAME TO ask_freely;
CREATE FUNCTION context_graph.ask(
  among uuid[], of_provider text, words bigint[], weights float8[], vector text, exact boolean, breadth int,
  nearest int, most int, superseding text[]
) RETURNS TABLE (of_project uuid, of_subject text, of_login name, of_line text)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  BEGIN
    IF (
      cardinality(words) <= 8 AND cardinality(weights) = cardinality(words) AND cardinality(superseding) <= 8
      AND breadth BETWEEN 1 AND 1000 AND nearest BETWEEN 1 AND 1000 AND most BETWEEN 1 AND 1000
      AND length(vector) <= 65536
    ) IS NOT TRUE THEN
      RAISE EXCEPTION USING ERRCODE = 'CG004', MESSAGE = 'a question has at most 8 words and 1000 candidates';
    END IF;
    RETURN QUERY SELECT * FROM context_graph.ask_freely(
      among, of_provider, words, weights, vector, exact, breadth, nearest, most, superseding
    );
  END $$;
REVOKE EXECUTE ON FUNCTION context_graph.ask FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context_graph.projects_of_session, context_graph.tell, context_graph.mend,
  context_graph.begin_run, context_graph.renew_run, context_graph.end_run, context_graph.keep_reversals,
  context_graph.mark_undone, context_graph.to_index, context_graph.put_index, context_graph.ask
  TO context_graph_member;
"""


TIGHTENED: Final = r"""
-- Ties between changes go by the bytes of an id, as on each machine; some languages sort "aa" behind "z".
ALTER TABLE context_graph.change ALTER COLUMN by TYPE text COLLATE "C";

-- A NUL can't be read as text, so a line that has one, or speaks of one, stays as it was told: what is
-- superseded in it loses to the later line wherever both are read.
CREATE OR REPLACE FUNCTION context_graph.without(line text, names text[]) RETURNS text
  LANGUAGE sql STABLE SET search_path = '' AS $$
    SELECT CASE WHEN strpos(line, '\u0000') > 0 AND replace(line, '\u0000', '\ufffd')::json IS NOT NULL
      THEN line
      ELSE (
        SELECT json_build_object(
          'v', read -> 'v', 'machine', read -> 'machine', 'seq', read -> 'seq', 'clock', read -> 'clock',
          'by', read -> 'by', 'kind', read -> 'kind', 'subject', read -> 'subject', 'uses', read -> 'uses',
          'fields', (
            SELECT coalesce(json_object_agg(key, value), '{}') FROM json_each(read -> 'fields')
            WHERE key <> ALL (names)
          )
        )::text FROM (SELECT line::json AS read) AS r
      ) END
  $$;

-- A log's row is locked only where lines are missing: any member may ask, and hold their transaction open.
CREATE OR REPLACE FUNCTION context_graph.mend(of_project uuid, of_machine text) RETURNS bigint
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  DECLARE
    log context_graph.machine;
    lines bigint;
  BEGIN
    PERFORM context_graph.must(of_project, '{reader,writer,owner}');
    SELECT * INTO log FROM context_graph.machine WHERE project = of_project AND machine = of_machine;
    SELECT count(*) INTO lines FROM context_graph.change
      WHERE project = of_project AND machine = of_machine AND seq <= log.last;
    IF log.last IS NULL OR lines = log.last THEN
      RETURN 0;
    END IF;
    SELECT * INTO log FROM context_graph.machine
      WHERE project = of_project AND machine = of_machine FOR UPDATE;
    INSERT INTO context_graph.change (project, machine, seq, subject, clock, by, fields, line)
      SELECT of_project, of_machine, s.seq, '', 0, '', '{}', '' FROM generate_series(1, log.last) AS s (seq)
      WHERE NOT EXISTS (
        SELECT FROM context_graph.change AS c
        WHERE c.project = of_project AND c.machine = of_machine AND c.seq = s.seq
      );
    GET DIAGNOSTICS lines = ROW_COUNT;
    IF lines > 0 THEN
      UPDATE context_graph.project SET audits = audits + 1 WHERE id = of_project;
      PERFORM pg_notify(context_graph.channel_of(of_project), '');
    END IF;
    RETURN lines;
  END $$;

DO $$ DECLARE own regprocedure; BEGIN
  FOR own IN SELECT oid FROM pg_proc WHERE pronamespace = 'context_graph'::regnamespace LOOP
    -- A line that is nested so deep that it can't be read is one that can't be read.
    EXECUTE replace(
      pg_get_functiondef(own), 'data_exception THEN', 'data_exception OR statement_too_complex THEN'
    );
    -- With an empty path the types of a session's pg_temp come first; what they check ran with our rights.
    EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', own);
  END LOOP;
END $$;
"""
