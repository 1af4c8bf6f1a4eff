"""The hub's seventh migration: what one member tells neither takes out nor holds up what another told."""

from __future__ import annotations

from typing import Final

MOST_LOGS: Final = 1000
"""Machines of one login in one project: whoever reads the project asks for each of them."""

APART: Final = rf"""
-- A line takes out what its own log said before, and nothing of another's: whether a value can be taken is
-- decided where it is read, so a value that nobody takes must not be all that is left. Of one memory each log
-- has as many lines with fields as there are fields; only these are looked up.
DROP INDEX context_graph.change_subject;
CREATE INDEX change_subject ON context_graph.change (project, subject) WHERE fields <> '{{}}';
CREATE OR REPLACE FUNCTION context_graph.compact() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
  DECLARE
    new_line record;
    other record;
    own text[];
  BEGIN
    FOR new_line IN SELECT f.*, f.by AS author FROM fresh AS f WHERE f.fields <> '{{}}' LOOP
      IF 'removed' = ANY (new_line.fields) THEN
        UPDATE context_graph.change SET line = '', fields = '{{}}' WHERE project = new_line.project
          AND subject = new_line.subject AND fields <> '{{}}' AND NOT 'removed' = ANY (fields);
        CONTINUE;
      END IF;
      own := new_line.fields;
      FOR other IN SELECT seq, fields, (clock, by) < (new_line.clock, new_line.author) AS is_older
        FROM context_graph.change WHERE project = new_line.project AND subject = new_line.subject
        AND fields <> '{{}}' AND (
          machine = new_line.machine AND seq <> new_line.seq AND fields && new_line.fields
          OR 'removed' = ANY (fields)
        )
      LOOP
        IF 'removed' = ANY (other.fields) THEN
          UPDATE context_graph.change SET line = '', fields = '{{}}' WHERE project = new_line.project
            AND machine = new_line.machine AND seq = new_line.seq;
          own := NULL;
          EXIT;
        ELSIF other.is_older THEN
          UPDATE context_graph.change SET line = context_graph.without(line, new_line.fields),
              fields = ARRAY(SELECT unnest(fields) EXCEPT SELECT unnest(new_line.fields))
            WHERE project = new_line.project AND machine = new_line.machine AND seq = other.seq;
        ELSE
          own := ARRAY(SELECT unnest(own) EXCEPT SELECT unnest(other.fields));
        END IF;
      END LOOP;
      IF cardinality(own) < cardinality(new_line.fields) THEN  -- it came later than what is newer, or alike
        UPDATE context_graph.change SET fields = own, line = context_graph.without(
            line, ARRAY(SELECT unnest(new_line.fields) EXCEPT SELECT unnest(own))
          ) WHERE project = new_line.project AND machine = new_line.machine AND seq = new_line.seq;
      END IF;
    END LOOP;
    RETURN NULL;
  END $$;
DROP FUNCTION context_graph.without_or_nothing;

-- What deletes for good has one form, so that no reader refuses what took the others' lines out here.
CREATE FUNCTION context_graph.is_removal(
  line text, of_machine text, at bigint, of_clock bigint, of_by text, of_subject text
) RETURNS boolean LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT line = format(
      '{{"by":"%s","clock":%s,"fields":{{"removed":true}},"kind":"memory","machine":"%s","seq":%s,'
      '"subject":"%s","uses":{{}},"v":1}}', of_by, of_clock, of_machine, at, of_subject
    )
  $$;

-- Whoever listens and does not read lets the server's queue of notifications fill up; then nobody could tell
-- anything. Members look by themselves, too.
CREATE FUNCTION context_graph.notify(of_project uuid) RETURNS void LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    IF pg_notification_queue_usage() < 0.5 THEN
      PERFORM pg_notify(context_graph.channel_of(of_project), '');
    END IF;
  END $$;

-- Another's run can be ended, and no more: what it did, and what takes that back, is its own to say, in the
-- call that ends it.
CREATE FUNCTION context_graph.is_own_run(of_project uuid, of_number bigint, of_machine text) RETURNS boolean
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
      SELECT FROM context_graph.run WHERE project = of_project AND number = of_number
      AND login = session_user AND machine = of_machine AND ended_at = now() AND outcome = 'committed'
    )
  $$;

DO $$
  DECLARE
    part record;
    old text;
  BEGIN
    FOR part IN SELECT * FROM (VALUES
      ('read_lines', 'THEN r.subject END,', 'AND (
          NOT ''removed'' = ANY (f.names)
          OR context_graph.is_removal(t.line, of_machine, r.seq, r.clock, r."by", r.subject)
        )
        THEN r.subject END,'),
      ('tell', 'ON CONFLICT DO NOTHING;', 'ON CONFLICT DO NOTHING;
    IF FOUND AND {MOST_LOGS} < (
      SELECT count(*) FROM context_graph.machine WHERE project = of_project AND login = session_user
    ) THEN
      RAISE EXCEPTION USING ERRCODE = ''CG002'', MESSAGE =
        ''you have {MOST_LOGS} machines in this project; an administrator can invite you by another name'';
    END IF;'),
      ('tell', 'pg_notify(context_graph.channel_of(of_project), '''')', 'context_graph.notify(of_project)'),
      ('mend', 'pg_notify(context_graph.channel_of(of_project), '''')', 'context_graph.notify(of_project)'),
      ('ask_freely', 'c.line <> ''''''''', 'c.fields <> ''''{{}}'''''),
      ('take_out_deleted', 'line <> ''''', 'fields <> ''{{}}'''),
      ('end_run', '    UPDATE context_graph.run', '    IF of_outcome = ''expired'' THEN
      of_machine := NULL; of_first := NULL; of_last := NULL; of_counts := ''{{}}'';
    ELSIF octet_length(of_counts::text) > 4096 OR of_machine !~ ''^[0-9a-f]{{32}}$'' OR NOT EXISTS (
      SELECT FROM context_graph.run WHERE project = of_project AND number = of_number AND login = session_user
    ) THEN
      RAISE insufficient_privilege USING MESSAGE = ''you may not say what this run did'';
    END IF;
    UPDATE context_graph.run'),
      ('keep_reversals', 'INSERT INTO', 'IF NOT context_graph.is_own_run(of_project, of_run, of_machine) THEN
      RAISE insufficient_privilege USING MESSAGE = ''you may not say what takes this run back'';
    END IF;
    INSERT INTO')
    ) AS v (name, before, after) LOOP
      old := pg_get_functiondef(('context_graph.' || part.name)::regproc);
      IF strpos(old, part.before) = 0 THEN
        RAISE EXCEPTION 'context_graph.% is not as expected', part.name;
      END IF;
      EXECUTE replace(old, part.before, part.after);
    END LOOP;
  END $$;
REVOKE EXECUTE ON FUNCTION context_graph.is_removal, context_graph.notify, context_graph.is_own_run
  FROM PUBLIC;
"""
