"""A project with requirements, and a session's hooks and commands in it, through the installed launcher."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.cli import Cli

__all__ = ["EVENTS", "A", "Answer", "B", "GateProject", "Hosts", "an_owner", "no_owner"]

A = "cad0ac4d-3933-45ad-9a1c-14aec05bb940"
B = "b5c0de11-0000-4000-8000-000000000002"

EVENTS = {
    "pre-tool": "PreToolUse",
    "post-tool": "PostToolUse",
    "post-tool-failure": "PostToolUseFailure",
    "prompt-submit": "UserPromptSubmit",
    "prompt-expansion": "UserPromptExpansion",
    "permission-denied": "PermissionDenied",
    "stop": "Stop",
    "subagent-start": "SubagentStart",
    "subagent-stop": "SubagentStop",
    "session-start": "SessionStart",
    "session-end": "SessionEnd",
    "permission-request": "PermissionRequest",
    "pre-compact": "PreCompact",
    "config-change": "ConfigChange",
}
"""The verb of each hook and the client's name for its event."""


@dataclass(frozen=True)
class Answer:
    """What one hook said, as the client reads it."""

    document: dict[str, Any]

    @property
    def own(self) -> dict[str, Any]:
        found = self.document.get("hookSpecificOutput", {})
        assert isinstance(found, dict)
        return found

    @property
    def decision(self) -> str:
        """deny, block or allow."""
        permission = self.own.get("decision", {}).get("behavior")
        return str(
            self.own.get("permissionDecision") or permission or self.document.get("decision") or "allow"
        )

    @property
    def reason(self) -> str:
        return str(self.own.get("permissionDecisionReason") or self.document.get("reason") or "")

    @property
    def context(self) -> str:
        return str(self.own.get("additionalContext", ""))

    @property
    def message(self) -> str:
        return str(self.document.get("systemMessage", ""))

    @property
    def names(self) -> list[str]:
        """The requirements in the escape command that ends a refusal."""
        words = self.reason.rpartition("req satisfy ")[2].split("`")[0].split()
        return sorted(words[: words.index("--session")] if "--session" in words else words)


_UNIX_S = re.compile(r"(?<![\w.\"])1[6-9]\d{8}(\.\d+)?(?![\w\"])")
"""A time of these years, as a number of JSON."""

_HOST = """
import json, subprocess, sys
for line in sys.stdin:
    job = json.loads(line)
    stdin = job.pop("stdin")
    done = subprocess.run(input=stdin, capture_output=True, text=True, **job)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""


class Hosts:
    """One process a session, in the client's place: its hooks' parent, and what it lives as long as."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def run(
        self, session: str, argv: list[str], stdin: str, env: dict[str, str], cwd: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run ``argv`` as a child of the session's process."""
        host = self._processes.get(session)
        if host is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            host = subprocess.Popen([sys.executable, "-I", "-S", "-c", _HOST], text=True, **pipes)  # type: ignore[call-overload]
            self._processes[session] = host
        assert host.stdin is not None and host.stdout is not None
        host.stdin.write(json.dumps({"args": argv, "stdin": stdin, "env": env, "cwd": str(cwd)}) + "\n")
        host.stdin.flush()
        return subprocess.CompletedProcess(argv, *json.loads(host.stdout.readline()))

    def kill(self, session: str) -> None:
        """The client dies without a word."""
        host = self._processes.pop(session)
        host.kill()
        host.communicate()

    def close(self) -> None:
        for session in list(self._processes):
            self.kill(session)


@dataclass
class GateProject:
    """A git repository and the launcher in it; with ``hosts`` each session has a client of its own."""

    cli: Cli
    calls: int = 0
    env: dict[str, str] = field(default_factory=dict)
    hosts: Hosts | None = None

    @classmethod
    def make(cls, cli: Cli, requirements: str) -> GateProject:
        """``cli``'s project as a new repository on feature/x with that requirements file."""
        shutil.rmtree(cli.project / ".git")
        made = cls(cli)
        made.git("init", "-q", "-b", "feature/x")
        made.configure(requirements)
        return made

    @property
    def root(self) -> Path:
        return self.cli.project

    @property
    def data(self) -> Path:
        return Path(self.cli.env["CONTEXT_GRAPH_HOME"])

    def git(self, *args: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@t")
        done = subprocess.run(
            ["git", *identity, *args], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def configure(self, text: str) -> None:
        """Write the project's requirements file."""
        (self.root / ".claude").mkdir(exist_ok=True)
        (self.root / ".claude" / "requirements.yaml").write_text(text)

    def hook(self, verb: str, session: str = A, *, cwd: Path | None = None, **given: Any) -> Answer:
        """One hook of the client to its end: exit 0, and nothing or one document of its event on stdout."""
        self.calls += 1
        body = {
            "session_id": session,
            "transcript_path": "/nowhere/t.jsonl",
            "cwd": str(cwd or self.root),
            "hook_event_name": EVENTS[verb],
            **given,
        }
        if "tool" in verb:
            body.setdefault("tool_use_id", f"toolu_{self.calls}")
        env = {"CLAUDE_PROJECT_DIR": str(self.root), "CLAUDE_CODE_SESSION_ID": session, **self.env}
        argv = ["hooks", verb, "--format", "claude"]
        if self.hosts is None:
            done = self.cli.run(*argv, stdin=json.dumps(body), env=env, cwd=cwd or self.root)
        else:
            argv = [str(self.cli.launcher), *argv]
            whole = {**self.cli.env, **env}
            done = self.hosts.run(session, argv, json.dumps(body), whole, cwd or self.root)
        assert done.returncode == 0, done.stderr
        if not done.stdout:
            return Answer({})
        document = json.loads(done.stdout)
        assert (
            document.get("hookSpecificOutput", {"hookEventName": EVENTS[verb]})["hookEventName"]
            == EVENTS[verb]
        )
        return Answer(document)

    def edit(self, session: str = A, **given: Any) -> Answer:
        """PreToolUse of Edit."""
        body = {"tool_name": "Edit", "tool_input": {"file_path": str(self.root / "src/a.py")}, **given}
        return self.hook("pre-tool", session, **body)

    def bash(self, command: str, session: str = A, verb: str = "pre-tool") -> Answer:
        """A Bash call, before or after it ran."""
        return self.hook(verb, session, tool_name="Bash", tool_input={"command": command})

    def stop(self, session: str = A, *, active: bool = False) -> Answer:
        return self.hook("stop", session, stop_hook_active=active)

    def req(self, *args: str, code: int = 0, **env: str) -> str:
        """`context-graph-cli req …`; its standard output."""
        done = self.cli.run("req", *args, env={**self.env, **env})
        assert done.returncode == code, (args, done.stdout, done.stderr)
        return done.stdout + (done.stderr if code else "")

    def later(self, seconds: int) -> None:
        """As if so much time had passed: files of the project and noted times are that much older."""
        for path in self.root.rglob("*"):
            if ".git" not in path.parts and path.is_file():
                then = path.stat().st_mtime - seconds
                os.utime(path, (then, then))
        noted = [*self.root.glob(".git/requirements/**/*"), *self.data.glob("cache/**/*")]
        for path in [*noted, Path(self.cli.env["CLAUDE_CONFIG_DIR"], "sessions.json")]:
            if path.is_file():
                text = _UNIX_S.sub(lambda match: str(float(match[0]) - seconds), path.read_text())
                path.write_text(text)

    def log(self) -> list[dict[str, Any]]:
        """The store's log, oldest first."""
        document = json.loads(self.req("log", "--json", "--limit", "1000"))
        assert document["source"] == "store"
        entries = document["entries"]
        assert isinstance(entries, list)
        return entries[::-1]

    def logged(self) -> list[dict[str, Any]]:
        """What waits in the store's event log."""
        records = []
        for path in sorted(self.data.glob("stores/*/events/*-*.log")):
            lines = path.read_bytes().split(b"\n")
            records += [json.loads(line.split(b" ", 4)[4]) for line in lines if line]
        return records


@contextmanager
def no_owner(cli: Cli) -> Iterator[None]:
    """While it lasts no owner runs or can be started: somebody holds its lock, and nobody listens."""
    cli.stop_owner()
    root = Path(cli.env["CONTEXT_GRAPH_HOME"])
    (root / "run").mkdir(parents=True, exist_ok=True)
    handle = os.open(root / "run/owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def an_owner(cli: Cli) -> Iterator[None]:
    """While it lasts an owner runs."""
    cli.start_owner()
    try:
        yield
    finally:
        cli.stop_owner()
