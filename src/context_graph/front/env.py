"""Reads the environment as hooks need it. Twin of ext/launcher/src/env.rs: an empty variable counts as unset.
Reads the environment as hooks need it. Twin of ext/launcher/src/env.rs: an empty variable counts as unset."""

from __future__ import annotations

import os

from context_graph.wire.layout import ENV_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def session_id(env: Mapping[str, str]) -> str:
    """The session that the client names."""
    return env.get("CLAUDE_CODE_SESSION_ID", "")


def is_debug(env: Mapping[str, str]) -> bool:
    """Whether to say on standard error what is done and why."""
    return env.get("CONTEXT_GRAPH_DEBUG") == "1"


def travelling(env: Mapping[str, str]) -> bytes:
    """What travels with a request, `NAME=value` separated by NUL."""
    given = [f"{name}={env[name]}" for name in ENV_NAMES if env.get(name)]
    return b"\0".join(map(os.fsencode, given))
