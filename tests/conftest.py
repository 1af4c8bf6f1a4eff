"""Every test gets a home of its own: nothing here may touch the user's files."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests.faults.report import pytest_terminal_summary  # noqa: F401  # the table of the fault tests
from tests.support.cli import Cli

if TYPE_CHECKING:
    from tests.support.clients.mcp_client import Peer

# The same inputs at each run, so that a change is judged by what it changes; `make fuzz` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

_INHERITED = ("CLAUDE_", "CLAUDECODE", "CONTEXT_GRAPH_", "XDG_")

_QUICK = ("contract", "kernels", "unit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests come first: at the end no worker waits for another one's."""
    here = Path(__file__).parent
    items.sort(key=lambda item: item.path.relative_to(here).parts[0] in _QUICK)


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HOME, the client's config folder and our data root point into a temp folder."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(_INHERITED):
            monkeypatch.delenv(name)
    for name, value in _places(home).items():
        monkeypatch.setenv(name, value)
    return home


def _places(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CONTEXT_GRAPH_HOME": str(home / "cg"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
    }


@pytest.fixture
def cli(isolated_home: Path, tmp_path: Path) -> Iterator[Cli]:
    """The launcher with a fresh data root and project; its owner is stopped at the end."""
    made = _installed(tmp_path / "project", os.environ)
    yield made
    made.stop_owner()


@pytest.fixture(scope="module")
def shared_cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """As ``cli``, one for a module: for tests that change nothing, whose owner would be their cost."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_INHERITED)}
    made = _installed(
        tmp_path_factory.mktemp("shared") / "project", inherited | _places(tmp_path_factory.mktemp("home"))
    )
    yield made
    made.stop_owner()


def _installed(project: Path, env: Mapping[str, str]) -> Cli:
    launcher = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
    assert launcher.exists(), f"no launcher at {launcher}: run `make build`"
    (project / ".git").mkdir(parents=True)
    return Cli(launcher, project, dict(env))


@pytest.fixture
def peer(cli: Cli) -> Iterator[Peer]:
    """A client of the memory tools in ``cli``'s project."""
    from tests.support.clients.mcp_client import (
        connected,  # the SDK takes its time to import, and few tests want it
    )

    with connected(cli) as made:
        yield made
