#!/usr/bin/env python3
"""Count the package's files that an owner runs code of for one request: how many a reader must open.

    python research/files_touched.py [--list]

Watches a real owner process with sys.setprofile, once all is imported and warm, for a PostToolUse, a prompt
that recalls a memory, and store_memory over MCP. Compiled kernels are not counted; the data root is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

CLI: Final = Path(sys.executable).with_name("context-graph-cli")
BEGIN, END = signal.SIGRTMIN, signal.SIGRTMIN + 1
WAIT_S: Final = 30.0
SETTLED_S: Final = 0.1
"""What follows an answer at once is counted; what waits for a quiet moment (0.25 s) is not."""
FACT: Final = "The deployment of the billing service runs through the blue gateway in Frankfurt."
QUESTION: Final = "How does the deployment of the billing service run, through which gateway?"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="name the files")
    parser.add_argument("--owner", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.owner is not None:
        return watched_owner(given.owner)
    watch = Watch(Path(tempfile.mkdtemp(prefix="cg-")))
    try:
        for name, files in watch.all().items():
            print(f"{name}: {len(files)} files")
            if given.list:
                print("".join(f"    {path}\n" for path in files), end="")
    finally:
        watch.close()
    return 0


def watched_owner(folder: Path) -> int:
    """Be the owner; between BEGIN and END note each file of ours that a function is called of."""
    import context_graph
    from context_graph.owner.__main__ import main as owner_main

    package = os.path.dirname(context_graph.__file__) + "/"
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            seen.add(frame.f_code.co_filename.removeprefix(package))

    def begin(_number: int, _frame: FrameType | None) -> None:
        seen.clear()
        (folder / "began").touch()
        sys.setprofile(note)

    def end(_number: int, _frame: FrameType | None) -> None:
        sys.setprofile(None)
        (folder / "files.new").write_text(json.dumps(sorted(seen)))
        (folder / "files.new").rename(folder / "files")

    signal.signal(BEGIN, begin)
    signal.signal(END, end)
    return owner_main(["--root", str(folder / "root"), "--foreground"])


class Watch:
    """A watched owner, and what is asked of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._project = folder / "project"
        self._project.mkdir()
        home = {name: str(folder) for name in ("HOME", "CLAUDE_CONFIG_DIR")}
        self._env = {**os.environ, **home, "CONTEXT_GRAPH_HOME": str(folder / "root")}
        command = [sys.executable, __file__, "--owner", str(folder)]
        self._owner = subprocess.Popen(command, env=self._env, stderr=subprocess.DEVNULL)
        self._bridge: subprocess.Popen[bytes] | None = None
        self._number = 0

    def all(self) -> dict[str, list[str]]:
        wait_until(lambda: any((self._folder / "root").rglob("owner.sock")))
        self._bridge = subprocess.Popen(
            [CLI, "mcp"], env=self._env, cwd=self._project, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
        self._hook("session-start", "SessionStart", source="startup")
        return {
            "a PostToolUse": self._touched(self._post_tool),
            "store_memory over MCP": self._touched(self._store),
            "a prompt with recall": self._touched(self._prompt),
        }

    def close(self) -> None:
        for process in (self._bridge, self._owner):
            if process is not None:
                process.terminate()
                process.wait(WAIT_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _touched(self, request: Callable[[], object]) -> list[str]:
        """The files of the third such request: by then everything is imported."""
        request()
        request()
        time.sleep(1.0)  # so that what waits for a quiet moment is done
        for name in ("began", "files"):
            (self._folder / name).unlink(missing_ok=True)
        self._owner.send_signal(BEGIN)
        wait_until((self._folder / "began").exists)
        request()
        time.sleep(SETTLED_S)
        self._owner.send_signal(END)
        wait_until((self._folder / "files").exists)
        found: list[str] = json.loads((self._folder / "files").read_bytes())
        return found

    def _post_tool(self) -> None:
        self._number += 1
        self._hook(
            *("post-tool", "PostToolUse"),
            tool_name="Bash",
            tool_use_id=f"toolu_{self._number}",
            tool_input={"command": f"pytest tests/test_{self._number}.py"},
            tool_response={"stdout": "3 passed"},
        )

    def _prompt(self) -> None:
        self._number += 1
        told = self._hook(
            *("prompt-submit", "UserPromptSubmit"),
            session=f"session-{self._number}",  # one that has not been shown the memory yet
            prompt=QUESTION,
        )
        assert b"blue gateway" in told, told

    def _store(self) -> None:
        self._number += 1
        rationale = "Whoever deploys must know the way."
        content = f"{FACT} Its number is {self._number}."
        told = self._ask(
            "tools/call", name="store_memory", arguments={"content": content, "rationale": rationale}
        )
        assert b"node_id" in told, told

    def _hook(self, verb: str, event: str, session: str = "session-0", **fields: object) -> bytes:
        given = {"session_id": session, "hook_event_name": event, "cwd": str(self._project), **fields}
        return subprocess.run(
            [CLI, "hooks", verb, "--format", "claude"],
            input=json.dumps(given).encode(),
            env=self._env,
            cwd=self._project,
            capture_output=True,
            check=True,
        ).stdout

    def _ask(self, method: str, **params: object) -> bytes:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self._bridge is not None and self._bridge.stdin is not None and self._bridge.stdout is not None
        self._bridge.stdin.write(json.dumps(message).encode() + b"\n")
        self._bridge.stdin.flush()
        return self._bridge.stdout.readline()


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("the owner did not get ready, or did not answer")
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
