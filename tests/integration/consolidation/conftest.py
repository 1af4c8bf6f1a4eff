"""What starts processes of consolidations starts forks, unless a test is marked `real`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def forks(request: pytest.FixtureRequest, forked_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that keep their priority: a real one gives way, on a busy machine for minutes."""
    if request.node.get_closest_marker("real") is None:
        monkeypatch.setattr(sys, "executable", str(forked_python))
