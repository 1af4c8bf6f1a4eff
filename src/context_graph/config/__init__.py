"""Finds paths and reads settings; the only package that reads the environment. Start reading at ``paths``.

Settings are loaded when first used: clients, and gates without an owner, start faster without TOML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_graph.config.paths import (
    Location,
    account_of,
    checkout_top,
    client_dir,
    data_root,
    find_repository,
    fnv1a64,
    locate,
    lock_path,
    log_dir,
    project_dir,
    project_top,
    socket_path,
    store_dir,
    store_key,
    waker_path,
    working_dir,
)

if TYPE_CHECKING:
    from context_graph.config.settings import Settings, load_settings

__all__ = [
    "Location",
    "Settings",
    "account_of",
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
    "project_top",
    "socket_path",
    "store_dir",
    "store_key",
    "waker_path",
    "working_dir",
]


def __getattr__(name: str) -> Any:
    if name not in ("Settings", "load_settings"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from context_graph.config import settings

    return getattr(settings, name)
