CREATE FUNCTION context_graph.forget_memory() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    DELETE FROM context_graph.memory AS held USING fresh
      WHERE 'removed' = ANY (fresh.fields) AND held.project = fresh.project AND held.subject = fresh.subject;
    RETURN NULL;
  END $$;
-- What holds all of the words, or the weightiest part of them. Set after set is looked up until there is
-- enough, or time is over, so nothing is read that has one common word alone. Of equals the nearest is first.
CREATE FUNCTION context_graph.worded(
  may uuid[], of_provider text, words bigint[], weights float8[], distance text, vector text, most int
) RETURNS TABLE (of_project uuid, of_subject text)
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
  SET gin_fuzzy_search_limit = 50000 AS $$
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
-- The schema of pgvector's types; NULL while the hub searches by words alone.
CREATE FUNCTION context_graph.place_of_vectors() RETURNS name
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT n.nspname FROM pg_catalog.pg_attribute AS a
    JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
    WHERE a.attrelid = 'context_graph.memory'::regclass AND a.attname = 'embedding' AND NOT a.attisdropped
  $$;
-- Candidates for a question by meaning and by words, all that is told of each, and links that supersede it.
-- Under policies no index of words could be used, for their operators may tell what they see: so the function
-- looks with its owner's rights, in the projects of whoever asks and in no others.
CREATE FUNCTION context_graph.ask(
  among uuid[], of_provider text, words bigint[], weights float8[], vector text, exact boolean, breadth int,
  nearest int, most int, superseding text[]
) RETURNS TABLE (of_project uuid, of_subject text, of_login name, of_line text)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
  DECLARE
    may uuid[] := ARRAY(
      SELECT p FROM context_graph.projects_of_session('{reader,writer,owner}') AS p WHERE p = ANY (among)
    );
    near text := '';
    distance text := '0';
    place name;
  BEGIN
    IF (
      cardinality(words) <= 8 AND cardinality(weights) = cardinality(words) AND cardinality(superseding) <= 8
      AND breadth BETWEEN 1 AND 1000 AND nearest BETWEEN 1 AND 1000 AND most BETWEEN 1 AND 1000
      AND length(vector) <= 65536
    ) IS NOT TRUE THEN
      RAISE EXCEPTION USING ERRCODE = 'CG004', MESSAGE = 'a question has at most 8 words and 1000 candidates';
    END IF;
    place := context_graph.place_of_vectors();
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
      WHERE c.fields <> ''{}''
      UNION ALL
      SELECT c.project, c.subject, m.login, c.line FROM wanted AS w
      JOIN context_graph.change AS c
        ON c.project = w.project AND split_part(c.subject, ''/'', 2) = w.subject
      JOIN context_graph.machine AS m ON m.project = c.project AND m.machine = c.machine
      WHERE split_part(c.subject, ''/'', 2) <> '''' AND split_part(c.subject, ''/'', 3) = ANY ($8)
      AND c.fields <> ''{}'''
      USING may, of_provider, words, weights, vector, nearest, most, superseding, distance;
  END $$;
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
      AND subject IN (SELECT subject FROM gone) AND fields <> '{}' AND NOT 'removed' = ANY (fields)
  $$;
-- What a project is searched by. Members index what their own machines told, owners what anybody did: nobody
-- else's words are put in somebody's place. To have used a memory tells nothing of its words.
CREATE FUNCTION context_graph.to_index(of_project uuid) RETURNS TABLE (log text, done bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT machine, indexed FROM context_graph.machine WHERE project = of_project AND indexed < last
    AND (
      login = session_user AND project IN (SELECT context_graph.projects_of_session('{writer}'))
      OR project IN (SELECT context_graph.projects_of_session('{owner}'))
    ) ORDER BY machine LIMIT 1
  $$;
CREATE FUNCTION context_graph.put_index(
  of_project uuid, of_machine text, after bigint, upto bigint, rows jsonb, gone text[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
        AND fields <> '{}'
    );
    INSERT INTO context_graph.memory (project, subject, provider, terms)
      SELECT of_project, r.subject, r.provider, r.terms
      FROM jsonb_to_recordset(rows) AS r (subject text, provider text, terms bigint[])
      WHERE r.subject IN (
        SELECT subject FROM context_graph.change
        WHERE project = of_project AND machine = of_machine AND seq > after AND seq <= upto
          AND fields <> '{}'
      )
      ON CONFLICT (project, subject) DO UPDATE SET provider = excluded.provider, terms = excluded.terms;
    place := context_graph.place_of_vectors();
    IF place IS NOT NULL THEN
      EXECUTE format(
        'UPDATE context_graph.memory AS m SET embedding = r.embedding::%I.halfvec
        FROM jsonb_to_recordset($1) AS r (subject text, embedding text)
        WHERE m.project = $2 AND m.subject = r.subject AND r.subject IN (
          SELECT subject FROM context_graph.change
          WHERE project = $2 AND machine = $3 AND seq > $4 AND seq <= $5
            AND fields <> ''{}''
        )', place
      ) USING rows, of_project, of_machine, after, upto;
    END IF;
    PERFORM context_graph.take_out_deleted(of_project, of_machine, after, upto);
    UPDATE context_graph.machine SET indexed = least(upto, log.last)
      WHERE project = of_project AND machine = of_machine;
    RETURN true;
  END $$;
