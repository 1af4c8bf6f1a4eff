"""What a client, and an owner without stores, must never load: each costs every command its start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {
    *("numpy", "numba", "rocksdict", "typer", "click", "msgspec", "orjson", "re2", "mcp", "pydantic"),
    *("detect_secrets", "jsonschema", "requests", "asyncio", "ssl", "argparse", "subprocess", "shutil"),
}
OURS = {"client", "config", "errors", "model", "wire"}


def _modules_after(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_the_client_loads_the_standard_library_and_the_wire_only() -> None:
    loaded = _modules_after("import context_graph.client")
    assert not HEAVY & {name.split(".")[0] for name in loaded}
    ours = {name.split(".")[1] for name in loaded if name.startswith("context_graph.")}
    assert ours <= OURS


def test_the_owner_s_process_loads_no_engine_before_it_has_the_lock() -> None:
    loaded = {name.split(".")[0] for name in _modules_after("import context_graph.owner.__main__")}
    assert not (HEAVY - {"subprocess"}) & loaded


def test_a_gate_s_decision_loads_nothing_that_a_hook_would_pay_for(tmp_path: Path) -> None:
    """The slow path starts a bare interpreter for each hook; `re` alone costs half of one."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/x\n")
    (tmp_path / ".claude").mkdir()
    entries = "plan: {enabled: true, trigger_tools: [Write]}, s: {enabled: true, stop_only: true}"
    (tmp_path / ".claude" / "requirements.yaml").write_text(f"requirements: {{{entries}}}")
    ask = (
        "from context_graph.requirements.event import GateEvent; "
        "from context_graph.requirements.hooks import decide; "
        f"answers = [decide(GateEvent(name, session_id='a', cwd={str(tmp_path)!r}, home='/nobody', "
        f"tool_name=tool, at=1e9, cache_dir={str(tmp_path / 'cache')!r})).decision "
        "for name, tool in (('PreToolUse', 'Read'), ('PreToolUse', 'Edit'), ('PreToolUse', 'Write'), "
        "('Stop', ''))]; "
        "assert answers == ['', '', 'deny', 'block'], answers"
    )
    while not list(tmp_path.glob("cache/*.json")):  # a file of this very moment is not compiled for keeps
        _modules_after(ask)
    loaded = {name.split(".")[0] for name in _modules_after(ask)}
    assert not loaded & (
        HEAVY | {"re", "json", "typing", "dataclasses", "pathlib", "enum", "collections", "yaml"}
    )
