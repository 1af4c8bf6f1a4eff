"""Checks the surroundings: the client's version, disk space, folders, the requirements' files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from context_graph.claude.install.link import run_quietly
from context_graph.cli.doctor.client_files import ERROR, NOTE, WARNING, Finding
from context_graph.errors import UsageError
from context_graph.text.units import size

_VERSION_S: Final = 20.0
_VERSION: Final = re.compile(r"\d{1,9}+\.\d{1,9}+\.\d{1,9}+\S*")
_LITTLE_BYTES: Final = 200 * 1024 * 1024
"""Free space below which RocksDB may soon be unable to write."""
_NO_BYTES: Final = 1024 * 1024
"""Free space below which it is as good as unable to."""


def client_version(env: Mapping[str, str]) -> tuple[str, list[Finding]]:
    """Return the output of `claude --version`, "" if it can't be run. Cost: one start of the client, up to
    seconds.
    """
    program = shutil.which("claude", path=env.get("PATH"))
    if program is None:
        return "", [Finding(NOTE, "claude is not on PATH, so its version is unknown")]
    done = run_quietly([program, "--version"], env, _VERSION_S)
    if done is None:
        text = f"{program} --version can't be run, or takes too long"
        return "", [Finding(WARNING, text, "run it yourself to see why")]
    match = _VERSION.search(done.stdout)
    if match is None:
        return "", [Finding(NOTE, f"{program} --version printed no version")]
    return match[0], []


def disk_use(root: Path, store: Path) -> tuple[dict[str, Any], list[Finding]]:
    """Return disk space used by the data root and by this project's store, in bytes, and what is free."""
    use: dict[str, Any] = {"root_bytes": bytes_below(root), "store_bytes": bytes_below(store)}
    use["by_part"] = {
        name: bytes_below(store / name)
        for name in ("db", "events", "dream", "memory.index", "memory.figures", "brief.bin")
        if (store / name).exists()
    }
    findings = []
    try:
        free = os.statvfs(next(folder for folder in (root, *root.parents) if folder.exists()))
        use["free_bytes"] = free.f_bavail * free.f_frsize
        if use["free_bytes"] < _LITTLE_BYTES:
            text = f"only {size(use['free_bytes'])} are free on the disk of the data root {root}"
            level = ERROR if use["free_bytes"] < _NO_BYTES else WARNING
            cure = "free some space: on a full disk not even the event log can be written"
            findings.append(Finding(level, text, cure))
    except OSError as error:
        findings.append(Finding(WARNING, f"{root}: {error.strerror}", "check that the disk is mounted"))
    return use, findings


def shut_folders(root: Path, store: Path) -> Iterator[Finding]:
    """Yield folders of ours in which this user can't make files. An open store goes on there; its events,
    its index and the next owner's log do not.
    """
    for folder in (root, root / "run", root / "log", root / "stores", store, store / "db", store / "events"):
        if folder.is_dir() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            mode = os.stat(folder).st_mode & 0o7777
            text = f"{folder} can't be written by you: its mode is {mode:04o}"
            yield Finding(ERROR, text, f"`chmod u+rwx {shlex.quote(str(folder))}`, if it is yours")


def bytes_below(path: Path) -> int:
    """Return bytes used by ``path`` and all below it; what disappears or can't be read counts nothing."""
    if not path.is_dir():
        return _size(path)
    total = 0
    for folder, _, names in os.walk(path):
        total += sum(_size(Path(folder) / name) for name in names)
    return total


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0


def governance(folder: Path, root: Path, env: Mapping[str, str]) -> tuple[dict[str, Any], list[Finding]]:
    """Return the state of the project's requirements. Having none is no problem."""
    from context_graph.gates.commands.command_context import CommandContext  # 25 ms: not for `disk_use`
    from context_graph.gates.commands.upkeep import doctor

    try:
        context = CommandContext(str(folder), env, cache_dir=f"{root}/cache/requirements", pid=os.getppid())
    except UsageError as error:
        return {"governed": False, "enabled": []}, [Finding(NOTE, str(error))]
    active = [entry.name for entry in context.rules.active]
    state = {"governed": context.governed, "enabled": active, "branch": context.head.branch or ""}
    if not context.governed:
        return state, []
    levels = {"error": ERROR, "warning": WARNING}
    findings = [
        Finding(levels.get(problem["level"], NOTE), f"requirements: {problem['what']}", problem["cure"])
        for problem in doctor(context)
        if problem["level"] != "ok"
    ]
    return state, findings
