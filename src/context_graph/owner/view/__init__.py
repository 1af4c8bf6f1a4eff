"""Fills in the rows that people look at (`context_graph.view.rows`) from an open store."""
