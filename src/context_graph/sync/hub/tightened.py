"""The hub's fifth migration: what a member with SQL of their own, or a server's locale, could still bend."""

from __future__ import annotations

from typing import Final

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
