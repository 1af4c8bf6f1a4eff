#!/usr/bin/env python3
"""Installs the wheels of a folder as a user would, and uses them.

A fact that one session learned has to be told in the next. Nothing is compiled (pip takes wheels only) and
nothing of this checkout is used; HOME and all data are in a folder that goes at the end. Prints how long each
step takes. Usage: python tools/try_wheels.py FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

FACT = "Staging listens on port 8443"
QUESTION = "which port does staging listen on?"


class Newcomer:
    """A home, a project and the commands that are run there."""

    def __init__(self, home: Path) -> None:
        self.project = home / "project"
        self.project.mkdir()
        self.venv = home / "venv"
        kept = {name: os.environ[name] for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE") if name in os.environ}
        self.env = {
            **kept,
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "CONTEXT_GRAPH_HOME": str(home / "data"),
            "PATH": f"{self.venv / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        }

    def run(self, *words: str, told: str = "", input_text: str = "") -> str:
        """Run a command, say how long it took, return its output; a failure ends the try."""
        began = time.perf_counter()
        done = subprocess.run(
            words,
            input=input_text,
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.project,
            check=False,
        )
        print(f"{time.perf_counter() - began:7.2f} s  {told or ' '.join(words)}", flush=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)} gave {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def hook(self, verb: str, event: str, session: str, **fields: str) -> str:
        """Run one hook as Claude Code does; the document that it prints."""
        body = {"session_id": session, "cwd": str(self.project), "hook_event_name": event, **fields}
        words = ("context-graph-cli", "hooks", verb, "--format", "claude")
        return self.run(*words, told=f"hooks {verb}", input_text=json.dumps(body))


def main() -> None:
    """Install, set up, remember, be told."""
    wheels = Path(sys.argv[1]).resolve()
    home = Path(tempfile.mkdtemp(prefix="context-graph-try-")).resolve()  # a link on macOS
    new = Newcomer(home)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(new.venv)], check=True)
        pip = (str(new.venv / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check")
        new.run(
            *pip,
            "--only-binary",
            ":all:",
            "--find-links",
            str(wheels),
            "context-graph-cli",
            told="pip install",
        )
        if not (new.venv / "share/man/man1/context-graph-cli.1").is_file():
            sys.exit("the wheel has no man page")
        new.run("git", "init", "--quiet")
        print(new.run("context-graph-cli", "--version").strip())
        print(new.run("context-graph-cli", "setup", "--yes"))
        first, second = str(uuid.uuid4()), str(uuid.uuid4())
        new.hook("session-start", "SessionStart", first, source="startup")
        new.run("context-graph-cli", "memory", "store", FACT, "--rationale", "told by the person who runs it")
        new.hook("session-end", "SessionEnd", first, reason="other")
        new.hook("session-start", "SessionStart", second, source="startup")
        told = new.hook("prompt-submit", "UserPromptSubmit", second, prompt=QUESTION)
        print(told)
        if FACT not in told:
            sys.exit("the second session was not told what the first one learned")
        print(new.run("context-graph-cli", "doctor"))
    finally:
        subprocess.run(
            [str(new.venv / "bin" / "context-graph-cli"), "owner", "stop"],
            env=new.env,
            capture_output=True,
            check=False,
        )
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
