-- With an empty search_path the types of a session's pg_temp come first; what they check ran with our rights.
CREATE FUNCTION context_graph.projects_of_session(roles text[]) RETURNS SETOF uuid
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT project FROM context_graph.member
    WHERE login = session_user AND removed_at IS NULL AND role = ANY (roles)
  $$;
-- The administrator whose tables these are may do what owners may.
CREATE FUNCTION context_graph.must(of_project uuid, roles text[]) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
CREATE FUNCTION context_graph.channel_of(of_project uuid) RETURNS text LANGUAGE sql IMMUTABLE
  SET search_path = pg_catalog, pg_temp
  AS $$ SELECT 'context_graph_' || replace(of_project::text, '-', '') $$;
-- Whoever listens and does not read lets the server's queue of notifications fill up; then nobody could tell
-- anything. Members look by themselves, too.
CREATE FUNCTION context_graph.notify(of_project uuid) RETURNS void LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    IF pg_notification_queue_usage() < 0.5 THEN
      PERFORM pg_notify(context_graph.channel_of(of_project), '');
    END IF;
  END $$;
-- A NUL can't be read as text, so a line that has one, or speaks of one, stays as it was told: what is
-- superseded in it loses to the later line wherever both are read.
CREATE FUNCTION context_graph.without(line text, names text[]) RETURNS text
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
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
-- A line takes out what its own log said before, and nothing of another's: whether a value can be taken is
-- decided where it is read, so a value that nobody takes must not be all that is left. What was deleted for
-- good is taken out of every line, so that a text that nobody has any more is not here either. The lines
-- stay, as numbers of their logs. Of one memory each log has as many lines with fields as there are fields;
-- only these are looked up, each by an index: one statement for all, planned while the table was young, read
-- all of a project for each line.
CREATE FUNCTION context_graph.compact() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
  DECLARE
    new_line record;
    other record;
    own text[];
  BEGIN
    FOR new_line IN SELECT f.*, f.by AS author FROM fresh AS f WHERE f.fields <> '{}' LOOP
      IF 'removed' = ANY (new_line.fields) THEN
        UPDATE context_graph.change SET line = '', fields = '{}' WHERE project = new_line.project
          AND subject = new_line.subject AND fields <> '{}' AND NOT 'removed' = ANY (fields);
        CONTINUE;
      END IF;
      own := new_line.fields;
      FOR other IN SELECT seq, fields, (clock, by) < (new_line.clock, new_line.author) AS is_older
        FROM context_graph.change WHERE project = new_line.project AND subject = new_line.subject
        AND fields <> '{}' AND (
          machine = new_line.machine AND seq <> new_line.seq AND fields && new_line.fields
          OR 'removed' = ANY (fields)
        )
      LOOP
        IF 'removed' = ANY (other.fields) THEN
          UPDATE context_graph.change SET line = '', fields = '{}' WHERE project = new_line.project
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
CREATE FUNCTION context_graph.keep_undo() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    DELETE FROM context_graph.undo AS kept USING fresh
      WHERE kept.project = fresh.project AND kept.subject = fresh.subject
      AND (kept.fields && fresh.fields OR 'removed' = ANY (fresh.fields));
    RETURN NULL;
  END $$;
-- What deletes for good has one form, so that no reader refuses what took the others' lines out here.
CREATE FUNCTION context_graph.is_removal(
  line text, of_machine text, at bigint, of_clock bigint, of_by text, of_subject text
) RETURNS boolean LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT line = format(
      '{"by":"%s","clock":%s,"fields":{"removed":true},"kind":"memory","machine":"%s","seq":%s,'
      '"subject":"%s","uses":{},"v":1}', of_by, of_clock, of_machine, at, of_subject
    )
  $$;
-- What lines say of themselves; NULL where that can't be. A NUL, which PostgreSQL's text can't hold, is no
-- part of any of it. Of a name that stands twice the last counts, here as for whoever reads the line.
CREATE FUNCTION context_graph.read_lines(told text, of_machine text, first bigint) RETURNS TABLE (
  of_at bigint, of_line text, of_subject text, of_clock bigint, of_by text, of_fields text[]
) LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT t.at, t.line, CASE WHEN
      octet_length(t.line) <= 2097152 AND r.v >= 1 AND r.machine = of_machine AND r.seq = first + t.at - 1
      AND r.clock >= 0 AND r."by" ~ '^[0-9a-f]{32}$'
      AND cardinality(f.names) <= 32 AND length(array_to_string(f.names, '')) <= 1024
      AND CASE r.kind
        WHEN 'memory' THEN r.subject ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        WHEN 'link' THEN r.subject ~ '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/){2}[^/]{1,80}$'
      END
    AND (
          NOT 'removed' = ANY (f.names)
          OR context_graph.is_removal(t.line, of_machine, r.seq, r.clock, r."by", r.subject)
        )
        THEN r.subject END, r.clock, r."by", f.names
  FROM unnest(string_to_array(told, E'\n')) WITH ORDINALITY AS t (line, at)
  CROSS JOIN LATERAL json_to_record(replace(t.line, '\u0000', '\ufffd')::json) AS r (
    v bigint, machine text, seq bigint, clock bigint, "by" text, kind text, subject text, fields json
  )
  CROSS JOIN LATERAL (SELECT ARRAY(SELECT json_object_keys(r.fields)) AS names) AS f
$$;
-- Append lines, one a row of `told`, to the log of one of the caller's machines: all or none.
CREATE FUNCTION context_graph.tell(of_project uuid, of_machine text, told text, first bigint, end_digest text)
  RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DECLARE
    log context_graph.machine;
    size bigint := octet_length(told);
    quota bigint;
    used bigint;
    lines bigint;
    newest bigint;
  BEGIN
    PERFORM context_graph.must(of_project, '{writer,owner}');
    IF size > {MOST_BYTES} OR size = 0 OR end_digest !~ '^[0-9a-f]{32}$' THEN
      RAISE EXCEPTION USING ERRCODE = 'CG004', MESSAGE = 'a call takes 1 to {MOST_BYTES} bytes and a digest';
    END IF;
    INSERT INTO context_graph.machine (project, machine) VALUES (of_project, of_machine)
      ON CONFLICT DO NOTHING;
    IF FOUND AND {MOST_LOGS} < (
      SELECT count(*) FROM context_graph.machine WHERE project = of_project AND login = session_user
    ) THEN
      RAISE EXCEPTION USING ERRCODE = 'CG002', MESSAGE =
        'you have {MOST_LOGS} machines in this project; an administrator can invite you by another name';
    END IF;
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
        'the project''s %s bytes in the hub are used up (%s); an administrator can raise its quota_bytes',
        quota, used
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
    PERFORM context_graph.notify(of_project);
  -- A line that is nested so deep that it can't be read is one that can't be read.
  EXCEPTION WHEN not_null_violation OR data_exception OR statement_too_complex THEN
    RAISE EXCEPTION USING ERRCODE = 'CG004', MESSAGE = format('a line of %s is no change', of_machine);
  END $$;
-- A log's row is locked only where lines are missing: any member may ask, and hold their transaction open.
CREATE FUNCTION context_graph.mend(of_project uuid, of_machine text) RETURNS bigint
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
      PERFORM context_graph.notify(of_project);
    END IF;
    RETURN lines;
  END $$;
-- Runs of work on a whole project (`sync/hub/runs.py`).
CREATE FUNCTION context_graph.begin_run(
  of_project uuid, of_command uuid, of_mode text, of_host text, of_process text, lease_s float8
) RETURNS TABLE (of_number bigint, of_login name)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    UPDATE context_graph.run SET lease_until = now() + make_interval(secs => least(lease_s, 3600))
      WHERE project = of_project AND number = of_number AND ended_at IS NULL AND login = session_user;
    RETURN FOUND;
  END $$;
CREATE FUNCTION context_graph.end_run(
  of_project uuid, of_number bigint, of_outcome text, of_machine text, of_first bigint, of_last bigint,
  of_counts jsonb
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    IF of_outcome = 'expired' THEN
      of_machine := NULL; of_first := NULL; of_last := NULL; of_counts := '{}';
    ELSIF octet_length(of_counts::text) > 4096 OR of_machine !~ '^[0-9a-f]{32}$' OR NOT EXISTS (
      SELECT FROM context_graph.run WHERE project = of_project AND number = of_number AND login = session_user
    ) THEN
      RAISE insufficient_privilege USING MESSAGE = 'you may not say what this run did';
    END IF;
    UPDATE context_graph.run SET ended_at = now(), outcome = of_outcome, machine = of_machine,
      first = of_first, last = of_last, counts = of_counts
      WHERE project = of_project AND number = of_number AND ended_at IS NULL;
    RETURN FOUND;
  END $$;
-- Another's run can be ended, and no more: what it did, what takes that back and what it took back itself is
-- its own to say, in the call that ends it.
CREATE FUNCTION context_graph.is_own_run(of_project uuid, of_number bigint, of_machine text) RETURNS boolean
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
      SELECT FROM context_graph.run WHERE project = of_project AND number = of_number
      AND login = session_user AND machine = of_machine AND ended_at = now() AND outcome = 'committed'
    )
  $$;
CREATE FUNCTION context_graph.keep_reversals(of_project uuid, of_run bigint, of_machine text, told text)
  RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    IF NOT context_graph.is_own_run(of_project, of_run, of_machine) THEN
      RAISE insufficient_privilege USING MESSAGE = 'you may not say what takes this run back';
    END IF;
    INSERT INTO context_graph.undo (project, run, number, subject, fields, line)
      SELECT of_project, of_run, of_at, of_subject, of_fields, of_line
      FROM context_graph.read_lines(told, of_machine, 1);
  END $$;
CREATE FUNCTION context_graph.mark_undone(of_project uuid, of_number bigint, by_number bigint) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    PERFORM context_graph.must(of_project, '{owner}');
    IF NOT context_graph.is_own_run(of_project, by_number, (
      SELECT machine FROM context_graph.run WHERE project = of_project AND number = by_number
    )) THEN
      RAISE insufficient_privilege USING MESSAGE = 'you may not say what this run took back';
    END IF;
    UPDATE context_graph.run SET undone_by = by_number WHERE project = of_project AND number = of_number;
  END $$;
