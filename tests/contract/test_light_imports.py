"""What a client, and an owner without stores, must never load: each costs every command its start."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {
    *("numpy", "numba", "rocksdict", "typer", "click", "msgspec", "orjson", "re2", "mcp", "pydantic"),
    *("detect_secrets", "jsonschema", "requests", "asyncio", "ssl", "argparse", "subprocess", "shutil"),
}
OURS = {"client", "config", "errors", "model", "system", "wire"}


def _modules_after(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_the_client_loads_the_standard_library_and_the_wire_only() -> None:
    loaded = _modules_after("import context_graph.wire.client.request")
    assert not {"ctypes", "tempfile", "fcntl", "mmap"} & loaded, (
        "of what starts an owner, or asks why it is silent"
    )
    assert not HEAVY & {name.split(".")[0] for name in loaded}
    ours = {name.split(".")[1] for name in loaded if name.startswith("context_graph.")}
    assert ours <= OURS


def test_the_owner_s_process_loads_no_engine_before_it_has_the_lock() -> None:
    loaded = {name.split(".")[0] for name in _modules_after("import context_graph.owner.__main__")}
    assert not (HEAVY - {"subprocess"}) & loaded


def test_a_command_that_only_asks_the_owner_loads_little() -> None:
    """`status` also where no hooks are set up: it looks for them in each host's files."""
    loaded = _modules_after(
        "import os; from pathlib import Path; from context_graph.cli import status; "
        "from context_graph.cli.memory import actions; "
        "os.environ['HOME'] = os.environ['CLAUDE_CONFIG_DIR'] = '/nowhere'; "
        "assert not status._hooks_set_up(Path('/nowhere'))"
    )
    assert not (HEAVY | {"ctypes", "tempfile", "difflib", "decimal", "tomllib"}) & {
        name.split(".")[0] for name in loaded
    }
