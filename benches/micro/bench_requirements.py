"""One decision of the gates in process, as the owner makes it, with its cache and with an empty one."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_graph.claude.hooks.hook_input import HookInput
from context_graph.gates.commands import commands
from context_graph.gates.commands.command_context import CommandContext
from context_graph.gates.decide.hooks import decide
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import GateCache
from context_graph.model import EventKind

SESSION = "cad0ac4d-3933-45ad-9a1c-14aec05bb940"
CONFIG = """
requirements:
  plan: {enabled: true}
  adr: {enabled: true}
  tdd: {enabled: true}
  ticket: {enabled: true, scope: branch}
  protected: {enabled: true, type: guard, guard_type: protected_branch}
  verified: {enabled: true, stop_only: true}
  review: {enabled: true, scope: single_use, trigger_tools: [{tool: Bash, command_pattern: 'git\\s+commit'}]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """Seven requirements, six of which an Edit triggers; all met and armed."""
    repo = tmp_path / "home" / "code" / "project"
    (repo / ".claude").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "feature/auth", str(repo)], check=True)
    (repo / ".claude" / "requirements.yaml").write_text(CONFIG)
    time.sleep(0.05)  # a file of this very moment is compiled anew each time
    place = CommandContext(str(repo), {"HOME": str(tmp_path / "home")}, cache_dir=str(tmp_path / "cache"))
    commands.satisfy(place, ["plan", "adr", "tdd", "ticket"], session=SESSION)
    decide(_event(repo, "Edit"), GateCache())
    time.sleep(0.05)
    yield repo


def _event(repo: Path, tool: str, kind: EventKind = EventKind.PRE_TOOL) -> GateEvent:
    home, tool_input = repo.parents[1], {"file_path": str(repo / "src" / "a.py"), "command": "ls -la"}
    return GateEvent(
        HookInput(kind, tool_name=tool, tool_input=tool_input),
        {"HOME": str(home), "CLAUDE_PROJECT_DIR": str(repo)},
        session_id=SESSION,
        cwd=str(repo),
        at=time.time(),
        parent_pid=os.getpid(),
        cache_dir=str(home.parent / "cache"),
    )


CASES = {
    "edit-6-met": ("Edit", EventKind.PRE_TOOL, True),
    "untriggered": ("Read", EventKind.PRE_TOOL, True),
    "bash-no-match": ("Bash", EventKind.PRE_TOOL, True),
    "stop-blocked-once": ("", EventKind.STOP, False),
}


@pytest.mark.parametrize("cached", [True, False], ids=["cached", "first"])
@pytest.mark.parametrize("case", CASES)
def test_decide(benchmark, project: Path, case: str, cached: bool) -> None:  # type: ignore[no-untyped-def]
    tool, kind, passes = CASES[case]
    event, cache = _event(project, tool, kind), GateCache()
    result = benchmark(lambda: decide(event, cache if cached else GateCache()))
    assert bool(result.decision) is not passes and not result.system_message


def test_a_project_without_a_file(benchmark, project: Path) -> None:  # type: ignore[no-untyped-def]
    (project / ".claude" / "requirements.yaml").unlink()
    assert benchmark(decide, _event(project, "Edit"), GateCache()).decision == ""
