"""Consolidates a store: finds duplicates, trivial memories, clusters, patterns and drift, and changes it.

Start reading at ``run``. What works with arrays (`snapshot`, `finders`, `run`) needs NumPy and runs in a
process beside the owner. What the owner itself calls (`plan`, `request`, `messages`, `commit`) needs none.
"""
