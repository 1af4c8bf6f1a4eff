"""Consolidates a store: merges duplicates, deletes trivial memories, finds clusters, patterns and drift.

Start reading at ``run``. What works with arrays (`snapshot`, `finders`, `run`) needs NumPy and runs in a
process beside the owner. What the owner calls (`plan`, `request`, `messages`, `commit`) does not.
"""
