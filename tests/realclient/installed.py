"""The Claude Code client that the tests drive: which version, where it lies, and why there is none.

``python tests/realclient/installed.py [SECONDS]`` (``make realclient``) installs it by npm, within that time,
and says in one line what came of it; exit code 1: it can't be driven here. Standard library only.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["FOLDER", "NAMESPACES", "VERSION", "install", "program", "why_not"]

VERSION = "2.1.332"
"""The one place that names it. A new version may have changed its contract: run all of tests/e2e."""
PACKAGE = "@anthropic-ai/claude-code"
_HERE = Path(__file__).resolve().parents[2] / ".make" / "realclient"
FOLDER = Path(os.environ.get("REALCLIENT_DIR") or _HERE)
NAMESPACES = (
    "unshare",
    *([] if os.geteuid() == 0 else ["--map-root-user"]),
    *("--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"),
)
"""Before a command: a network with nothing but an unset loopback, and an end for all that it leaves."""
_INSTALL_S = 600.0
_NO_WAITING = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=30000")
"""npm's own patience with a network that is not there is many minutes."""


def program() -> Path | None:
    """The installed client, None if it is not there."""
    packages = FOLDER / "node_modules" / PACKAGE.split("/")[0]
    native = sorted(packages.glob("claude-code-*/claude"))
    script = packages / "claude-code" / "cli.js"
    return native[0] if native else script if script.exists() else None


@functools.cache
def why_not() -> str:
    """Why the client can't be driven here, in one line; empty if it can."""
    found = program()
    if found is None:
        need = (
            "`make realclient` installs it" if shutil.which("npm") else "npm, which installs it, is missing"
        )
        return f"no real client {VERSION} in {FOLDER}: {need}"
    version = _output([str(found), "--version"]).split(" ")[0]
    if version != VERSION:
        return f"the real client in {FOLDER} is {version or 'broken'}, not {VERSION}: run `make realclient`"
    if shutil.which("unshare") is None:
        return "the real client needs `unshare` (util-linux), which is missing"
    done = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split())
        return f"no namespace for the real client (run as root, or allow user namespaces): {said}"
    return ""


def install(within_s: float = _INSTALL_S) -> str:
    """Install it unless it is there; why that failed, in one line, empty if it did not."""
    found = program()
    if found is not None and _output([str(found), "--version"]).startswith(f"{VERSION} "):
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return f"npm is missing: the real client {VERSION} can't be installed"
    FOLDER.mkdir(parents=True, exist_ok=True)
    options = ["--loglevel=error", "--no-audit", "--no-fund", "--prefix", str(FOLDER), *_NO_WAITING]
    try:
        done = subprocess.run(
            [npm, "install", *options, f"{PACKAGE}@{VERSION}"],
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"npm did not bring {PACKAGE}@{VERSION} within {within_s:.0f} s"
    if done.returncode or program() is None:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        return f"npm could not install {PACKAGE}@{VERSION}: {said[0]}"
    return ""


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


if __name__ == "__main__":
    failed = install(float(sys.argv[1]) if sys.argv[1:] else _INSTALL_S) or why_not()
    print(f"realclient: {failed}" if failed else f"realclient: {VERSION} in {FOLDER}")
    sys.exit(1 if failed else 0)
