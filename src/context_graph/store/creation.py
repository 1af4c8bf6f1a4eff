"""The folder of a new database: made aside and renamed, so that no crash leaves half of one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from context_graph.errors import StoreError
from context_graph.store import seal
from context_graph.store.failures import damaged_database, translate

__all__ = ["prepare_folder"]


def prepare_folder(path: Path, fill: Callable[[Path], None], *, create: bool) -> None:
    """Make the database at ``path``, which has no CURRENT; refuse when it looks like one that had.

    Args:
        fill: Makes a database in an empty folder.

    Raises:
        DatabaseCorruptionError, StoreError: As they say.
    """
    lost = seal.leftovers(path)
    if lost:
        raise damaged_database(
            f"no CURRENT file, but {lost[0]} and {len(lost) - 1} more files of a database", path
        )
    if not create:
        raise StoreError(f"there is no database at {path}")
    # Made aside and renamed: a crash in the middle must not leave a database that lacks column families.
    draft = path.with_name(f"{path.name}.creating-{os.getpid()}")
    try:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        _remove_drafts(path)
        os.mkdir(draft, mode=0o700)
        fill(draft)
        os.rename(draft, path)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if not seal.has_database(path):  # else another process made it first, and that one is as good
            raise translate(error, path) from error
    except StoreError:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _remove_drafts(path: Path) -> None:
    """What processes left that died while they made the database at ``path``, and an own earlier one."""
    for draft in path.parent.glob(f"{path.name}.creating-*"):
        pid = draft.name.rpartition("-")[2]
        if pid == str(os.getpid()) or not os.path.exists(f"/proc/{pid}"):
            shutil.rmtree(draft, ignore_errors=True)
