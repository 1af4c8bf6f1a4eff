"""Many processes on one branch at once: nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.gates.in_process import Gate

from context_graph.gates.commands import commands, upkeep
from context_graph.gates.state import journal

_CHILD = """
import os, sys
from context_graph.gates.rules import GateCache
from context_graph.gates.commands import commands
from context_graph.claude.hooks.hook_input import HookInput
from context_graph.model import EventKind
from context_graph.gates.event import GateEvent
from context_graph.gates.decide.hooks import decide
from context_graph.gates.commands.command_context import CommandContext

number, repo, home, clock = int(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
session = f"{number:08x}-5b1c-4f0e-8d2a-7f6a1c2b3d4e"
sys.stdin.readline()
if number % 2:
    place = CommandContext(repo, {"HOME": home}, cache_dir=home + "/cache", now=clock)
    commands.satisfy(place, [f"r{number % 4}", "t"], session=session)
else:
    for _ in range(2):
        hook = HookInput(EventKind.PRE_TOOL, tool_name="Write", tool_input={"file_path": "x"})
        event = GateEvent(hook, {"HOME": home}, session_id=session, cwd=repo, at=clock,
                          cache_dir=home + "/cache")
        result = decide(event, GateCache())
        assert result.decision == "" and not result.system_message, (result.reason, result.system_message)
"""


def test_many_processes_on_one_branch_lose_nothing(tmp_path: Path, rounds: Callable[[int], int]) -> None:
    """16 parallel gate calls and satisfies on one branch, or 32; nothing lost."""
    processes = 16 * rounds(2)
    gate = Gate(tmp_path)
    requirements = {f"r{n}": {"trigger_tools": ["Edit"]} for n in range(4)}
    gate.config(
        {
            **requirements,
            "t": {"trigger_tools": ["Edit"], "scope": "branch"},
            "stop": {"stop_only": True, "trigger_tools": ["Write"]},
        }
    )
    command = [sys.executable, "-c", _CHILD]
    children = [
        subprocess.Popen(
            [*command, str(number), str(gate.repo), str(gate.home), str(gate.clock)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    failures = [text for child in children if (text := child.communicate(timeout=100)[1])]
    assert not failures, failures[0]
    state = gate.place().files.load("feature/auth", gate.clock)
    satisfied = {int(key[:8], 16) for n in range(4) for key in state.sessions(f"r{n}")}
    assert satisfied == set(range(1, processes, 2)) and state.entry("t")["satisfied"] is True
    armed = {int(key[:8], 16) for key, one in state.sessions("stop").items() if one["triggered"] is True}
    assert armed == set(range(0, processes, 2))
    assert len(journal.read(str(gate.common))) == processes // 2
    assert {int(one["session_id"][:8], 16) for one in upkeep.sessions(gate.place())} <= armed
    assert [path.name for path in gate.state_folder.iterdir() if path.name.endswith(".tmp")] == []
    commands.satisfy(gate.place(), ["t"], branch="feature/auth")
    document = json.loads((gate.state_folder / "feature-auth.json").read_text())
    assert len(document["requirements"]["stop"]["sessions"]) == processes // 2, (
        "what waited is in the file now"
    )
