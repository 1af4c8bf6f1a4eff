"""The folder in which one run is computed: a checkpoint of the store's database, and what comes of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from context_graph.dream.messages import DATABASE
from context_graph.store.failures import translate
from context_graph.store.graph import GraphStore

__all__ = ["discard", "leftovers", "run_folder", "take"]

FOLDER: Final = "dream"
"""Beside a store's database, so that a checkpoint's files can be hard links."""


def run_folder(store: Path, name: str) -> Path:
    """Where the run of that name is computed, in the store folder ``store``."""
    return store / FOLDER / name


def take(store: GraphStore, folder: Path) -> None:
    """Make ``folder`` (0700) with a checkpoint of ``store`` in it, which may then change freely.

    Raises:
        StoreError: It can't be made; nothing is left of it then.

    Cost: some 5 ms; up to 50 ms if much was written lately, which is flushed first.
    """
    try:
        os.makedirs(folder.parent, mode=0o700, exist_ok=True)
        os.mkdir(folder, mode=0o700)
    except OSError as error:
        raise translate(error, folder) from error
    try:
        store.checkpoint(folder / DATABASE)
    except BaseException:
        discard(folder)
        raise


def discard(folder: Path) -> None:
    """Remove a run's folder, and the one above it if it was the last there. Never fails: what can't be
    removed is a leftover that is tried again."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.parent.rmdir()
    except OSError:
        return


def leftovers(store: Path) -> list[Path]:
    """Folders of runs in the store folder ``store``: those of dead processes, if none is running."""
    try:
        return sorted(path for path in (store / FOLDER).iterdir() if path.is_dir())
    except OSError:
        return []
