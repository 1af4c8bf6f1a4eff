"""Consolidates a store: merges duplicates, deletes trivial memories, finds clusters, patterns and drift.

Start reading at ``run``. What works with arrays (`snapshot`, `finders`, `run`) needs NumPy and runs in a
process beside the owner. What the owner calls (`plan`, `messages`, `commit`) does not.
"""

from typing import Final

FOLDER: Final = "dream"
"""Beside a store's database, so that a checkpoint's files can be hard links: holds the runs' folders."""
