"""The hub's sixth migration: what two calls at once could not see of each other is made good by the next."""

from __future__ import annotations

from typing import Final

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
