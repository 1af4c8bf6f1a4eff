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
