"""Lists the variables of a client's environment that an owner, and commands of requirements, are started
with.

A short list of names: what is not on it stays with the client, whose keys and tokens nobody else needs. Twin:
ext/launcher/src/programs.rs; tests/golden/environment.txt holds both to one list. docs/threat-model.md has
the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

KEPT_NAMES = frozenset(
    (
        *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        *("CLAUDE_CONFIG_DIR", "VIRTUAL_ENV", "SSH_AUTH_SOCK"),
        *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "MALLOC_ARENA_MAX"),
        *("PYTHONHOME", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE"),
        *("PYTHONUSERBASE", "PYTHONUTF8", "PYTHONFAULTHANDLER", "PYTHONSAFEPATH"),
    )
)
KEPT_PREFIXES = ("CONTEXT_GRAPH_", "LC_", "XDG_")

_OF_ONE_CALL = frozenset(
    (
        *("CONTEXT_GRAPH_IDENTITY_LINES", "CONTEXT_GRAPH_AUTO_DREAM"),
        *("CONTEXT_GRAPH_DB_PATH", "CLAUDE_CONFIG_DIR"),
    )
)
"""Meant for the call that has them; requests bring them along."""


def kept_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the part of ``env`` for a program that works for the user rather than for one client."""
    return {
        name: value for name, value in env.items() if name in KEPT_NAMES or name.startswith(KEPT_PREFIXES)
    }


def owner_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the part of that for an owner, which serves many clients."""
    return {name: value for name, value in kept_environment(env).items() if name not in _OF_ONE_CALL}
