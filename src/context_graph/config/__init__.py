"""Finds paths and reads settings; the only package that reads the environment. Start reading at ``paths``."""

from __future__ import annotations

from context_graph.config.paths import (
    Location,
    checkout_top,
    client_dir,
    data_root,
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
from context_graph.config.repository import Repository, find_repository
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
