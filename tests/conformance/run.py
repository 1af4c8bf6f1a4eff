#!/usr/bin/env python3
"""The protocol's official conformance suites against our stdio server, behind the HTTP of bridge.py.

    python tests/conformance/run.py [--folder artifacts/conformance]

Node 22 and the suites come from npm, at fixed versions, into the folder: the old one, and the one that also
knows 2026-07-28, run with what each revision requires. Exit code 0: every scenario passes that is not in
expected.yml, and none passes that is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from context_graph.config import socket_path

HERE: Final = Path(__file__).resolve().parent
NODE: Final = "node@22.23.3"
SUITES: Final = {
    "0.1.16": [["--suite", "all"]],
    "0.2.0-alpha.12": [["--requirements", "2025-11-25"], ["--requirements", "2026-07-28"]],
}
"""Versions of @modelcontextprotocol/conformance, and what each is run with."""
SUITE: Final = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
UP_S: Final = 20.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("artifacts/conformance"))
    folder = parser.parse_args().folder.resolve()
    runs = [(folder / version, given) for version, each in SUITES.items() for given in each]
    for version in SUITES:
        install(folder / version, NODE, f"@modelcontextprotocol/conformance@{version}")
    return max([run(place, given) for place, given in runs])


def run(folder: Path, given: list[str]) -> int:
    """One run of the suite that is installed in ``folder``, against an owner of its own; its exit code."""
    print(f"\n{folder.name} {' '.join(given)}", flush=True)
    port = free_port()
    scratch = Path(tempfile.mkdtemp(prefix="cg-"))
    (scratch / "project").mkdir()
    env = {**os.environ, "HOME": str(scratch), "CONTEXT_GRAPH_HOME": str(scratch / "root")}
    started = [start(scratch, env, "server.py", str(scratch / "root"))]
    try:
        wait_for(lambda: socket_path(scratch / "root").exists(), started)
        started.append(start(scratch, env, "bridge.py", str(port)))
        wait_for(lambda: listens(port), started)
        command = [folder / "node_modules/node/bin/node", folder / SUITE, "server"]
        command += ["--url", f"http://127.0.0.1:{port}/mcp", *given]
        command += ["--expected-failures", HERE / "expected.yml", "-o", folder / "results"]
        return subprocess.run(list(map(str, command)), cwd=folder, check=False).returncode
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(timeout=10)
        shutil.rmtree(scratch, ignore_errors=True)


def start(scratch: Path, env: dict[str, str], program: str, argument: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / program), argument]
    return subprocess.Popen(command, env=env, cwd=scratch / "project")


def install(folder: Path, *packages: str) -> None:
    """Node and the suite, unless they are there."""
    stamp = folder / "installed"
    wanted = " ".join(packages)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    subprocess.run(["npm", "install", "--silent", "--no-fund", *packages], cwd=folder, check=True)
    stamp.write_text(wanted)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition: Callable[[], bool], started: list[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + UP_S
    while not condition():
        if any(process.poll() is not None for process in started) or time.monotonic() > end:
            raise SystemExit("the server or its bridge did not start; see above")
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
