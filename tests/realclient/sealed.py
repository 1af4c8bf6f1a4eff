"""Inside the namespaces: loopback, an environment built from nothing, what is left in the end.

Standard library only.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

__all__ = ["PATH", "environment", "hide_managed_settings", "loopback_up", "seed_config", "survivors"]

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SET_FLAGS: Final = 0x8914  # SIOCSIFFLAGS
_UP_AND_RUNNING: Final = 0x1 | 0x40
_MANAGED: Final = Path("/etc/claude-code")


def loopback_up() -> None:
    """Raises OSError outside a network namespace of our own: then nothing may be started."""
    names = [name for _, name in socket.if_nameindex()]
    if [name for name in names if not name.startswith(("lo", "tunl", "sit", "gre", "erspan", "ip"))]:
        raise OSError(f"this is no namespace of its own: {', '.join(names)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, _SET_FLAGS, struct.pack("16sH14s", b"lo", _UP_AND_RUNNING, b""))


def hide_managed_settings() -> None:
    """This machine's own policy for the client is no part of a test."""
    if _MANAGED.is_dir():
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(_MANAGED)], check=True)


def environment(home: Path, url: str, api_key: str) -> dict[str, str]:
    """All that the client inherits."""
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "USER": "probe",
        "TERM": "dumb",
        "IS_SANDBOX": "1",  # root may go without permissions then
        "ANTHROPIC_API_KEY": api_key,
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def seed_config(home: Path, project: Path, api_key: str, *, trusted: bool) -> None:
    """The client's own notes as after its first start; what is there stays."""
    path = home / ".claude" / ".claude.json"
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    config |= {"hasCompletedOnboarding": True, "theme": "dark", "bypassPermissionsModeAccepted": True}
    config["customApiKeyResponses"] = {"approved": [api_key[-20:]], "rejected": []}
    if trusted:
        notes = config.setdefault("projects", {}).setdefault(str(project), {})
        notes |= {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    path.write_text(json.dumps(config), encoding="utf-8")


def survivors(known: Collection[int]) -> list[dict[str, Any]]:
    """Processes of this namespace that still live, without ``known``."""
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if pid not in known and state != "Z":
            found.append({"pid": pid, "ppid": int(parent), "cmdline": words.strip()})
    return found
