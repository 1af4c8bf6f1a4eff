"""The terminal view over a real owner and a store that the program filled."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.owner.harness import wait_until
from tests.support.view.store import SESSION, TEXTS, fill
from tests.support.view.terminal import WIDE, Driver

from context_graph.cli.console.moments import moment
from context_graph.cli.view import OwnerSource
from context_graph.view.terminal.app import ViewApp


@pytest.fixture
def filled(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A filled store; this process is in its project."""
    fill(cli)
    monkeypatch.chdir(cli.project)
    return cli


def look(scenario: Callable[[Driver], Awaitable[None]], size: tuple[int, int] = WIDE) -> None:
    """Play ``scenario`` on a view of this folder's project."""

    async def play() -> None:
        source = OwnerSource()
        app = ViewApp(source, partial(moment, "the time"))
        async with app.run_test(size=size) as pilot:
            await scenario(Driver(source, pilot, app))

    asyncio.run(play())


def test_each_screen_shows_what_happened(filled: Cli) -> None:
    async def scenario(view: Driver) -> None:
        await view.sees("No hooks are set up here, but an event came")
        await view.press("2")
        await view.sees(
            "Rate limits count per API key", "decided in review", "[red]x[/red] \\x1b[31mThe build"
        )
        await view.press("3")
        await view.sees("Rate limits count per API key", "prompt")
        await view.press("4")
        await view.sees(SESSION[:8], "Should the rate limiter", "Identity continuity")
        await view.press("5")
        await view.sees("No consolidation ran yet.")
        await view.press("6")
        await view.sees("commit_plan", "denied", "Edit")
        await view.press("7")
        await view.sees("Nothing yet. A session that changed something")

    look(scenario)


def test_search_finds_by_meaning_and_forget_and_undo_reach_the_store(filled: Cli) -> None:
    def kept() -> list[str]:
        return [one["content"] for one in json.loads(filled.run("memory", "list", "--json").stdout)["nodes"]]

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("Rate limits count per API key")
        await view.press("slash", *"which port in staging", "enter")
        await view.sees("port 8443 in staging", "like that")
        await view.answer("f")
        await view.until(lambda: not any("8443" in one for one in kept()), "the store has forgotten it")
        await view.sees("(z: restore it)")
        await view.answer("z")
        await view.until(lambda: any("8443" in one for one in kept()), "the store has it again")

    look(scenario)


def test_a_dry_run_changes_nothing_and_a_run_can_be_undone(filled: Cli) -> None:
    def runs() -> list[str]:
        return [one["mode"] for one in json.loads(filled.run("memory", "runs", "--json").stdout)["runs"]]

    filled.run("memory", "store", TEXTS[1].replace("The gateway", "The  gateway").removesuffix("."))

    async def scenario(view: Driver) -> None:
        await view.press("5")
        await view.sees("No consolidation ran yet.")
        await view.press("d", "l")
        await view.sees("A light consolidation would do this.")
        assert not runs()
        await view.answer("g")
        await view.until(runs, "it ran")
        await view.sees("(z: undo that run)")
        await view.answer("z")
        await view.until(lambda: "undo" in runs(), "it is undone")

    look(scenario)


def test_what_another_process_does_comes_by_itself(filled: Cli) -> None:
    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("port 8443")
        await asyncio.to_thread(filled.run, "memory", "store", "Releases go out on Tuesdays.")
        await view.sees("Releases go out on Tuesdays.")

    look(scenario)


def test_the_owner_is_killed_under_it_and_the_next_command_brings_it_back(filled: Cli) -> None:
    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("port 8443", "History of the last 30 days")
        await view.rests()
        os.kill(await asyncio.to_thread(filled.owner_pid), signal.SIGKILL)
        await view.sees("The owner has gone", "port 8443")
        await asyncio.to_thread(filled.run, "memory", "store", "Told by the next owner.")
        await view.sees("Told by the next owner.")
        await view.sees_no("The owner has gone")
        await view.rests()
        os.kill(await asyncio.to_thread(filled.owner_pid), signal.SIGKILL)
        await view.sees("The owner has gone")
        await view.press("f5")
        await view.sees_no("The owner has gone")

    look(scenario)


class Tmux:
    """The installed command in a real terminal of tmux."""

    def __init__(self, cli: Cli, folder: Path, size: tuple[int, int]) -> None:
        self._socket = folder / "tmux"
        self._env = {**cli.env, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        columns, lines = map(str, size)
        self.run(
            *("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", lines, "-c", str(cli.project)),
            *(f"'{cli.launcher}' view; echo ended with $?; exec cat",),
        )

    def run(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            env=self._env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        """Keys at a person's pace: an escape and a key at once are Alt and that key."""
        for key in keys:
            self.run("send-keys", key)
            time.sleep(0.25)

    def sees(self, *words: str) -> None:
        try:
            wait_until(lambda: all(one in self.shown() for one in words), f"{words} in the terminal", 30)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.shown()}") from None

    def shown(self) -> str:
        return self.run("capture-pane", "-p")


@pytest.fixture
def tmux(filled: Cli, tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("no tmux here: apt-get install tmux")
    made = Tmux(filled, tmp_path, (80, 24))
    try:
        yield made
    finally:
        made.run("kill-server")


@pytest.mark.thorough
def test_the_command_in_a_real_terminal(tmux: Tmux, filled: Cli) -> None:
    tmux.sees("No hooks are set up here", "1 Health", "q Quit")
    tmux.press("2")
    tmux.sees("port 8443", "AGE")
    tmux.press("/")
    tmux.sees("Search memories")
    tmux.press("API key")
    tmux.sees("like that")
    tmux.press("Enter", "Enter")
    tmux.sees("Rate limits count per API key", "decided in review", "About it")
    filled.run("memory", "store", "Releases go out on Tuesdays.")
    tmux.press("Escape")
    tmux.sees("AGE", "like that")
    tmux.press("Escape")
    tmux.sees("Releases go out on Tuesdays.", "4 of 4 memories")
    tmux.press("1")
    tmux.sees("No hooks are set up here")
    tmux.press("q")
    tmux.sees("ended with 0")


def test_without_a_terminal_it_says_what_to_do(cli: Cli) -> None:
    done = cli.run("view")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "needs a terminal" in done.stderr and "status" in done.stderr


WITHOUT = """
import sys
import time
sys.modules["textual"] = sys.modules["jinja2"] = None
from context_graph.cli.main import main
main(sys.argv[1:])
"""


def test_without_the_extra_it_says_how_to_get_it_and_the_rest_works(cli: Cli) -> None:
    def run(*words: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-P", "-c", WITHOUT, *words]
        process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(cli.env), cwd=cli.project
        )
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        return process.wait(30), said.decode()

    code, said = run("view")
    assert code == 1 and "Traceback" not in said and "'context-graph-cli[view]'" in said
    assert run("memory", "store", "The port is 8443.")[0] == 0
    code, said = run("status")
    assert code == 0 and "1" in said
    code, said = run("memory", "list")
    assert code == 0 and "The port is 8443." in said
