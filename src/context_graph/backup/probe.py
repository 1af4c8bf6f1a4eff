"""Whether a copied database opens and what is in it, asked of a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from context_graph.errors import StoreError, error_for_code

__all__ = ["probe"]

# A front end may not import the store, and RocksDB should crash, if at all, somewhere else.
_LOOK: Final = """
import json, sys
from context_graph.errors import ContextGraphError
from context_graph.store.graph import GraphStore
from context_graph.store.sessions import SessionStore
try:
    store = GraphStore.read_only(sys.argv[1])
    found = {"memories": store.counters.nodes, "sessions": SessionStore(store.engine).count()}
    found["last_commit"] = store.counters.seq
    store.close()
except ContextGraphError as error:
    found = {"code": error.code, "error": str(error)}
print(json.dumps(found))
"""


def probe(database: Path) -> dict[str, int]:
    """Open the database folder ``database`` read-only: its memories, sessions and last_commit.

    RocksDB leaves a log file of its own in it.

    Raises:
        StoreError: It does not open; its subclass says why.
    """
    command = [sys.executable, "-P", "-c", _LOOK, str(database)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        found: dict[str, int] = json.loads(done.stdout)
    except ValueError as error:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise StoreError(f"opening {database} ended with {done.returncode}: {last or 'no word'}") from error
    if "error" in found:
        kind = error_for_code(str(found["code"]))
        # Never 2 here: that code says that a session start met corruption.
        raise (kind if kind.exit_code != 2 else StoreError)(str(found["error"]))
    return found
