"""Finds paths and reads settings; the only package that reads the environment. Start reading at ``places``.

Names are loaded when first used: a hook that runs in Python asks ``places`` alone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.config.paths import (
        Location,
        Repository,
        checkout_top,
        client_dir,
        data_root,
        find_repository,
        fnv1a64,
        locate,
        lock_path,
        log_dir,
        project_dir,
        project_store,
        project_top,
        socket_path,
        store_dir,
        store_key,
        working_dir,
    )
    from context_graph.config.settings import Settings, load_settings

__all__ = [
    "Location",
    "Repository",
    "Settings",
    "checkout_top",
    "client_dir",
    "data_root",
    "find_repository",
    "fnv1a64",
    "load_settings",
    "locate",
    "lock_path",
    "log_dir",
    "project_dir",
    "project_store",
    "project_top",
    "socket_path",
    "store_dir",
    "store_key",
    "working_dir",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "settings" if name in ("Settings", "load_settings") else "paths"
    return getattr(import_module(f"{__name__}.{home}"), name)
