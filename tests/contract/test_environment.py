"""What differs from client to client is not read from the owner's own environment."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "context_graph"
LOOKS = re.compile(r"\bos\.(?:environ|getenv)|client_dir\(\)|data_root\(\)")
ALLOWED = {
    "sync/batch/project.py": "a batch is a process of its own, started by whoever runs it",
    "owner/__main__.py": "it drops what a client's call alone has",
    "owner/sessions/hook_call.py": "HOME, which all clients of an owner share; the rest is the request's",
    "owner/view/sessions.py": "no client asks: it shows the gates as the owner's user has them",
}
"""File -> why it may."""


def test_an_account_s_folder_comes_from_the_request() -> None:
    """With CLAUDE_CONFIG_DIR another account's files would be read: the owner was started by one client."""
    found = {
        str(path.relative_to(SOURCE))
        for part in ("owner", "memory", "notes", "sync", "consolidation")
        for path in (SOURCE / part).rglob("*.py")
        if LOOKS.search(path.read_text(encoding="utf-8"))
    }
    assert found <= ALLOWED.keys() | {"consolidation/__main__.py"}, "take it from the request's env"
    assert found >= ALLOWED.keys(), "a reason that nobody needs any more"
