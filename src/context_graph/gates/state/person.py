"""Signs a person's satisfaction, so that writing the state file satisfies nothing.

The key lies in the data root. A program of the same user can read it: this stops a short cut, not an attack.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from typing import Any

from context_graph.system.small_files import read_bytes

HUMAN = "human"
"""``satisfied_by`` of a satisfaction that a person gave: the only one that counts for human_only."""

MARK = "signature"
"""Where the record's metadata has it."""

_KEY_BYTES = 32


def signature(
    cache_dir: str, common_dir: str, branch: str, note: dict[str, Any], *, make_key: bool = False
) -> str:
    """Return the signature of a satisfaction: ``name``, ``session_id``, ``at`` and ``expires_at`` of
    ``note``.

    Empty without a key. Cost: one read of 32 bytes.

    Raises:
        OSError: If a key is to be made and can't be.
    """
    key = (
        _key(f"{os.path.dirname(os.path.dirname(cache_dir))}/gates.key", make=make_key) if cache_dir else b""
    )
    parts = [common_dir, branch, note["name"], note["session_id"], note["at"], note["expires_at"]]
    return hmac.new(key, json.dumps(parts).encode(), hashlib.sha256).hexdigest() if key else ""


def is_signed(
    record: dict[str, Any], name: str, session_id: str, *, cache_dir: str, common_dir: str, branch: str
) -> bool:
    """Return whether a person gave the satisfaction that ``record`` holds, for that very branch and
    session."""
    metadata = record.get("metadata")
    mark = metadata.get(MARK) if isinstance(metadata, dict) else None
    if record.get("satisfied_by") != HUMAN or not isinstance(mark, str) or not mark:
        return False
    note = {"name": name, "session_id": session_id, "at": record.get("satisfied_at")}
    note["expires_at"] = record.get("expires_at")
    try:
        return hmac.compare_digest(signature(cache_dir, common_dir, branch, note), mark)
    except (TypeError, ValueError):
        return False


def _key(path: str, *, make: bool) -> bytes:
    try:
        return read_bytes(path, _KEY_BYTES)
    except (OSError, ValueError):
        if not make:
            return b""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as target:
        key = secrets.token_bytes(_KEY_BYTES)
        target.write(key)
    return key
