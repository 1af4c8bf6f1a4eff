"""Keeps memories and their links: records, vectors, history, runs and their undoing.

Start reading at `graph`; `edits` makes changes, `reader` reads, `records` and `node_records` encode.
"""
