"""Two builds of one version: the owner of the earlier one makes way for the other's clients."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.owner.harness import wait_until

import context_graph
from context_graph.config import lock_path
from context_graph.wire import run_folder

EARLIER, LATER, LATEST = 1_600_000_000, 1_700_000_000, 1_750_000_000
PROGRAMS = {
    "context-graph-owner": "context_graph.owner.__main__",
    "context-graph-py": "context_graph.cli.__main__",
}

pytestmark = pytest.mark.real


def dated(folder: Path, seconds: int) -> None:
    """As if all of it had been installed then."""
    for path in folder.rglob("*"):
        os.utime(path, (seconds, seconds), follow_symlinks=False)


@pytest.fixture
def install(cli: Cli, tmp_path: Path) -> Iterator[Callable[[str, int], Cli]]:
    """Installs this package in a folder of its own, at some time; the program there, for one data root."""
    made: list[Cli] = []

    def install(name: str, seconds: int) -> Cli:
        place = tmp_path / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
        (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
        shutil.copytree(
            Path(context_graph.__file__).parent, packages / "context_graph", copy_function=os.symlink,
            ignore=shutil.ignore_patterns("__pycache__"),
        )  # fmt: skip
        for script, module in PROGRAMS.items():
            path = place / "bin" / script
            path.write_text(
                f"#!{place / 'bin' / 'python'}\nimport sys\nfrom {module} import main\nsys.exit(main())\n"
            )
            path.chmod(0o755)
        launcher = Path(shutil.copy(cli.launcher, place / "bin" / "context-graph-cli"))
        dated(place, seconds)
        env = {key: value for key, value in cli.env.items() if key != "CONTEXT_GRAPH_PYTHON"}
        made.append(Cli(launcher, cli.project, {**env, "PATH": "/usr/bin:/bin"}))
        return made[-1]

    yield install
    made[0].stop_owner()


def owner_of(cli: Cli) -> tuple[int, str]:
    """The pid and the build that the lock names."""
    holder = run_folder.read_holder(lock_path(cli.root))
    return (holder.pid, holder.version) if holder is not None else (0, "")


def build(seconds: int) -> str:
    return f"{context_graph.__version__}+build.{seconds}"


def begin_session(cli: Cli, session: str) -> None:
    body = json.dumps({"session_id": session, "hook_event_name": "SessionStart", "source": "startup"})
    done = cli.run("hooks", "session-start", "--format", "claude", "--stdin", stdin=body)
    assert done.returncode == 0, done.stderr


def test_a_hook_of_a_later_build_has_the_earlier_owner_replaced(install: Callable[[str, int], Cli]) -> None:
    old, new = install("old", EARLIER), install("new", LATER)
    assert old.run("owner", "start").returncode == 0
    assert owner_of(old)[1] == build(EARLIER)
    begin_session(new, "of-the-later")
    # The hook itself may have waited long enough before that.
    wait_until(lambda: owner_of(new)[1] == build(LATER), "the later build's owner")
    log = (new.root / "log" / "owner.log").read_text()
    assert f"client {build(LATER)} is newer than this owner, {build(EARLIER)}" in log


def test_a_command_of_a_later_build_has_it_replaced_and_an_earlier_one_is_served(
    install: Callable[[str, int], Cli],
) -> None:
    old, new = install("old", EARLIER), install("new", LATER)
    assert old.run("memory", "store", "Kept by the earlier build").returncode == 0
    assert "Kept by the earlier" in new.run("memory", "list").stdout
    later = owner_of(new)
    assert later[1] == build(LATER)
    for _ in range(3):
        begin_session(old, "of-the-earlier")
        assert "Kept by the earlier" in old.run("memory", "list").stdout
    assert owner_of(old) == later, "two installations that are used in turn must not end each other's owner"


def test_what_was_installed_over_a_running_owner_is_seen_when_a_session_begins(
    install: Callable[[str, int], Cli],
) -> None:
    """A checkout that was pulled, an upgrade of the package alone: launcher and scripts stay as they are."""
    cli = install("one", EARLIER)
    assert cli.run("owner", "start").returncode == 0
    before = owner_of(cli)
    begin_session(cli, "before")
    assert owner_of(cli) == before
    (replaced,) = cli.launcher.parent.parent.rglob("context_graph/errors.py")
    os.utime(replaced, (LATEST, LATEST), follow_symlinks=False)

    def is_replaced() -> bool:
        begin_session(cli, "after")  # one may have waited long enough before the new owner is there
        return owner_of(cli)[1] == build(LATEST)

    wait_until(is_replaced, "the owner of what is installed")
    log = (cli.root / "log" / "owner.log").read_text()
    assert f"{build(LATEST)} is installed, and this owner is {build(EARLIER)}" in log


@pytest.mark.thorough
def test_doctor_says_which_of_the_two_is_older(install: Callable[[str, int], Cli]) -> None:
    old, new = install("old", EARLIER), install("new", LATER)
    assert old.run("owner", "start").returncode == 0
    said = new.run("doctor", "--json").stdout
    assert f"the owner that ran was {build(EARLIER)}; it makes way for {build(LATER)}" in said
    said = old.run("doctor", "--json").stdout
    assert f"the owner runs {build(LATER)}, and this program is older, {build(EARLIER)}" in said
