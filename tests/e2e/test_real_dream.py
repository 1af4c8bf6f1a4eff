"""A real client's session whose end is followed by a consolidation, and what that costs the client: nothing.

Skipped with a word where the client and its driver are not there (tests/support/clients/real_client.py).
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, needs_client
from tests.support.owner.consolidations import Owner, twins, until
from tests.support.sessions import memory

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

TWINS = 5
TURNS: list[Any] = [
    {"tool": "Bash", "input": {"command": "echo deployed"}},
    "Deployed.",
]


def _log_times(owner: Owner, what: str) -> list[float]:
    """Unix seconds of the owner's log lines that match."""
    found = []
    for path in sorted((owner.location.root / "log").iterdir()):
        for line in path.read_text().splitlines():
            if re.search(what, line):
                stamp = line.split()[0].replace("Z", "+00:00")
                found.append(datetime.fromisoformat(stamp).timestamp())
    return found


@needs_client
def test_a_session_s_end_is_followed_by_a_consolidation(cli: Cli, tmp_path: Path) -> None:
    """It begins when the client is gone, in the owner, and can be seen and undone."""
    owner = Owner.of(cli)
    with owner.memex() as memex:
        twins(memex, 40, TWINS)
    assert cli.run("hooks", "generate-config").returncode == 0
    summary = drive(cli, tmp_path / "run", TURNS, "deploy it")
    assert {one["exit_code"] for one in summary["hooks"]} == {0}
    last = until(lambda: memory(cli, "stats")["dreams"]["last"], "the run's notes")
    assert (last["trigger"], last["mode"], last["merged_count"]) == ("session_end", "light", TWINS)
    assert len(_log_times(owner, r"dream [0-9a-f]{8} begins .*trigger=session_end")) == 1
    (run,) = owner.ask("memory.runs")["runs"]
    assert run["details"]["session_id"] == summary["session_id"]
    assert json.loads(cli.run("memory", "undo", "--json").stdout)["restored"] == TWINS
