"""Tells whether a client's paths name the same folders here: a container may part it from the owner."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from context_graph.config import store_dir
from context_graph.errors import StoreError

_CURE: Final = (
    "One of the two may run in a container: mount that folder at the same path in both, or give each "
    "a data root of its own (CONTEXT_GRAPH_HOME). After `context-graph-cli owner stop` an owner starts here"
)


def check_root(root: Path, store: Path, project: Path | None) -> None:
    """Raise StoreError if ``store`` is that of ``project`` in a data root that is not ``root``.

    The client has reached us through its data root, so that is ours by another path, where a store of the
    same project would be a second, empty one. A store that was named by hand has another name.
    """
    named = store.parent.parent
    if named == root or project is None or store != store_dir(named, project):
        return
    with contextlib.suppress(OSError):
        if os.path.samefile(named, root):  # through a link
            return
    raise StoreError(f"the owner was started where the data root is {root}; here it is {named}. {_CURE}")
