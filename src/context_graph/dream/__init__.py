"""Consolidation: finds duplicates, what says little, clusters, patterns and drift, and changes the store so.

What works with arrays (`snapshot`, the finders, `run`) needs NumPy and runs in a process of its own, beside
the owner. What the owner itself calls (`plan`, `modes`, `prepared`, `commit`, `undo`) needs none.
"""
