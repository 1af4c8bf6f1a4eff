"""Every test gets a home of its own: nothing here may touch the user's files."""

from __future__ import annotations

import gc
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests.faults.report import pytest_terminal_summary  # noqa: F401  # the table of the fault tests
from tests.support.cli import Cli
from tests.support.forkserver import interpreter

if TYPE_CHECKING:
    from tests.support.clients.mcp_client import Peer

_INHERITED = ("CLAUDE_", "CLAUDECODE", "CONTEXT_GRAPH_", "XDG_")

_QUICK = ("contract", "kernels", "unit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all",
        action="store_true",
        help="also tests marked `thorough`, and all rounds and seeds of the others",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The same inputs at each run: a change is judged by what it changes. `make fuzz` looks for new ones."""
    settings.register_profile("quarter", derandomize=True, deadline=None, max_examples=25)
    settings.register_profile("same", derandomize=True, deadline=None)
    settings.register_profile("new", deadline=None)
    every = "same" if config.getoption("all") else "quarter"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", every))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Python would look through all tests again and again for what can be freed, and find nothing."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is long and what only root can do. Quick tests come last and fill what is left."""
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="only root can act as somebody else: make test-root"))
    if not config.getoption("all"):
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: _kind(item) in _QUICK)


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """Of so many rounds or seeds those that are run: one, or with `--all` each."""
    return lambda count: count if request.config.getoption("all") else 1


@pytest.fixture(scope="session")
def forked_python() -> Iterator[Path]:
    """The interpreter of commands and owners: forks of a preloaded process (tests/support/forkserver)."""
    with interpreter() as path:
        yield path


@pytest.fixture(autouse=True)
def isolated_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """HOME, the client's config folder and our data root point into a temp folder."""
    # Not by the factory's own numbers: for each it lists all folders that there are.
    home = Path(tempfile.mkdtemp(prefix="home-", dir=tmp_path_factory.getbasetemp()))
    for name in list(os.environ):
        if name.startswith(_INHERITED):
            monkeypatch.delenv(name)
    # Without bytecode each program of ours that a test starts compiles our source first, half of its start.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    for name, value in _places(home).items():
        monkeypatch.setenv(name, value)
    if _runs_commands(request.node):
        monkeypatch.setenv("CONTEXT_GRAPH_PYTHON", str(request.getfixturevalue("forked_python")))
    yield home
    shutil.rmtree(home, ignore_errors=True)


def _runs_commands(item: pytest.Item) -> bool:
    """Whether a test may start programs of ours, and does not ask for real interpreters."""
    return _kind(item) not in _QUICK and item.get_closest_marker("real") is None


def _kind(item: pytest.Item) -> str:
    here = Path(__file__).parent
    return item.path.relative_to(here).parts[0] if item.path.is_relative_to(here) else ""


def _places(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CONTEXT_GRAPH_HOME": str(home / "cg"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "HOLD_RUNS": str(home / "hold-runs"),  # tests/support/owner/consolidations
    }


@pytest.fixture
def cli(isolated_home: Path, tmp_path: Path) -> Iterator[Cli]:
    """The launcher with a fresh data root and project; its owner is stopped at the end."""
    made = _installed(tmp_path / "project", os.environ)
    yield made
    made.stop_owner()


@pytest.fixture(scope="module")
def shared_cli(tmp_path_factory: pytest.TempPathFactory, forked_python: Path) -> Iterator[Cli]:
    """As ``cli``, one for a module: for tests that change nothing, whose owner would be their cost."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_INHERITED)}
    places = _places(tmp_path_factory.mktemp("home"))
    env = inherited | places | {"CONTEXT_GRAPH_PYTHON": str(forked_python)}
    made = _installed(tmp_path_factory.mktemp("shared") / "project", env)
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
