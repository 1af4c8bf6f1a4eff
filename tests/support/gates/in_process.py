"""A git repository with requirements, and events for the gate, as the tests of the gates use them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from context_graph.claude.events import EVENT_OF_VERB
from context_graph.claude.hooks.hook_input import HookInput
from context_graph.gates.commands.command_context import CommandContext
from context_graph.gates.decide.hooks import decide
from context_graph.gates.event import GateEvent, GateResult
from context_graph.gates.rules import GateCache
from context_graph.model import EventKind

__all__ = ["A", "B", "Gate", "gate_event", "git", "named"]

A = "cad0ac4d-3933-45ad-9a1c-14aec05bb940"
B = "08345d22-5b1c-4f0e-8d2a-7f6a1c2b3d4e"

_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *args: str, check: bool = True) -> str:
    """Run git in ``folder``; its output without the last newline."""
    done = subprocess.run(
        ["git", *args],
        cwd=folder,
        env={**os.environ, **_GIT},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def named(result: GateResult) -> set[str]:
    """The requirements in the commands of the reason: the words after `req satisfy `, options left out."""
    found: set[str] = set()
    for line in result.reason.splitlines():
        if "req satisfy " in line:
            words = line.split("req satisfy ", 1)[1].split("`")[0].split(" --")[0].split()
            found.update(words)
    return found


_SETTINGS = {"home": "HOME", "config_dir": "CLAUDE_CONFIG_DIR", "project_dir": "CLAUDE_PROJECT_DIR"}


def gate_event(name: str, *, pid: int = 0, env: Mapping[str, str] | None = None, **fields: Any) -> GateEvent:
    """The gate's event of that name from fields of its input, its environment and its caller alike."""
    settings = {variable: fields.pop(key, "") for key, variable in _SETTINGS.items()}
    own = {key: fields.pop(key) for key in ("session_id", "cwd", "at", "cache_dir") if key in fields}
    kind = next(EventKind(verb) for verb, event in EVENT_OF_VERB.items() if event == name)
    made = GateEvent(HookInput(kind, **fields), {**settings, **(env or {})}, **own)
    made.client = pid
    return made


class Gate:
    """One repository and home. ``clock`` moves with ``later``; every event asks ``decide`` for real."""

    def __init__(self, base: Path, *, branch: str = "feature/auth", repo: bool = True) -> None:
        self.home, self.repo = base / "home", base / "repo"
        self.claude = self.home / ".claude"
        self.claude.mkdir(parents=True)
        (self.repo / "src").mkdir(parents=True)
        (self.repo / "src" / "a.py").write_text("a\n")
        self.clock = time.time()
        self.cache = GateCache()
        if repo:
            git(self.repo, "init", "-q", "-b", "main")
            git(self.repo, "add", "-A")
            git(self.repo, "commit", "-q", "-m", "init")
            if branch != "main":
                git(self.repo, "checkout", "-q", "-b", branch)

    @property
    def common(self) -> Path:
        return self.repo / ".git"

    @property
    def state_folder(self) -> Path:
        return self.common / "requirements"

    def later(self, seconds: float) -> None:
        self.clock += seconds

    def config(self, requirements: Mapping[str, Any] | str, **top: Any) -> None:
        """Write the project's file: requirements (each enabled unless it says otherwise), or text."""
        path = self.repo / ".claude" / "requirements.yaml"
        path.parent.mkdir(exist_ok=True)
        if isinstance(requirements, str):
            path.write_text(requirements)
            return
        entries = {name: {"enabled": True, **entry} for name, entry in requirements.items()}
        content = {"version": "1.0", "inherit": False, **top, "requirements": entries}
        path.write_text(yaml.safe_dump(content, sort_keys=False))

    def local(self, content: Mapping[str, Any]) -> None:
        (self.repo / ".claude" / "requirements.local.yaml").write_text(yaml.safe_dump(dict(content)))

    def everywhere(self, content: Mapping[str, Any]) -> None:
        (self.claude / "requirements.yaml").write_text(yaml.safe_dump(dict(content)))

    def event(self, name: str, session: str = A, **fields: Any) -> GateResult:
        """Ask the gate. ``at`` and ``cwd`` default to the clock and the repository."""
        fields.setdefault("cwd", str(self.repo))
        fields.setdefault("project_dir", str(self.repo))
        given = {"home": str(self.home), "config_dir": str(self.claude), "at": self.clock}
        given.update({"pid": os.getpid(), "cache_dir": str(self.home / "cache"), **fields})
        event = gate_event(name, session_id=session, **given)
        return decide(event, self.cache)

    def edit(self, session: str = A, path: str = "src/a.py", **fields: Any) -> GateResult:
        """PreToolUse of Edit of a file below the working folder."""
        fields.setdefault("tool_name", "Edit")
        cwd = str(fields.get("cwd", ""))
        folder = Path(cwd) if cwd.startswith("/") and "\0" not in cwd else self.repo
        return self.event("PreToolUse", session, tool_input={"file_path": str(folder / path)}, **fields)

    def bash(self, command: str, session: str = A, **fields: Any) -> GateResult:
        return self.event("PreToolUse", session, tool_name="Bash", tool_input={"command": command}, **fields)

    def after(self, tool: str, tool_input: object, session: str = A, **fields: Any) -> GateResult:
        return self.event("PostToolUse", session, tool_name=tool, tool_input=tool_input, **fields)

    def stop(self, session: str = A, **fields: Any) -> GateResult:
        return self.event("Stop", session, **fields)

    def place(
        self, *, cwd: Path | None = None, terminal: bool = False, pid: int = 0, **env: str
    ) -> CommandContext:
        """What a command works with, as if given by a person in the repository."""
        given = {"HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.claude), **env}
        return CommandContext(
            str(cwd or self.repo),
            given,
            cache_dir=str(self.home / "cache"),
            pid=pid,
            terminal=terminal,
            now=self.clock,
        )


@contextmanager
def clients() -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts processes that stand for clients, and ends them."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(
            subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
