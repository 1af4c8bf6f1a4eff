"""Runs seed 000's four hook commands without Typer, whose parser costs 0.1 s a call.

Only plain, known arguments are taken here. Anything else, such as a wrong option or `--help`, goes to Typer,
which decides on messages and exit codes. A test keeps this table equal to the commands' own options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

_SHARED: Final = {"--session-id": "session_id", "--db-path": "db_path"}
COMMANDS: Final[dict[tuple[str, str], dict[str, str]]] = {
    ("session", "restore-identity"): {**_SHARED, "--source": "source"},
    ("session", "persist-identity"): _SHARED,
    ("consciousness", "check-identity"): {**_SHARED, "--auto-dream": "auto_dream"},
    ("consciousness", "inject-context"): {**_SHARED, "--format": "style"},
}
"""Command to its options, each with the parameter it fills."""
FLAGS: Final = frozenset({"--auto-dream"})


def call_directly(words: Sequence[str]) -> bool:
    """Run the command in ``words`` if it is one of these in plain form; whether it was."""
    command = (words[0], words[1]) if len(words) > 1 else ("", "")
    options = COMMANDS.get(command)
    given = read_options(words[2:], options) if options is not None else None
    if given is None:
        return False
    from context_graph.cli import consciousness, session  # they import Typer, 30 ms: only once they are meant

    if "style" in given:
        if given["style"] not in set(consciousness.Style):
            return False
        given["style"] = consciousness.Style(given["style"])
    functions: dict[str, Callable[..., None]] = {
        "restore-identity": session.restore_identity,
        "persist-identity": session.persist_identity,
        "check-identity": consciousness.check_identity,
        "inject-context": consciousness.inject_context,
    }
    functions[command[1]](**given)
    return True


def read_options(words: Sequence[str], options: dict[str, str]) -> dict[str, Any] | None:
    """The parameters in ``words``, or None if they are not only known options with values."""
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, joined, value = word.partition("=")
        if name not in options or (name in FLAGS and joined):
            return None
        if name in FLAGS:
            given[options[name]] = True
            continue
        found = value if joined else next(rest, None)
        if found is None or (not joined and found.startswith("-")):
            return None
        given[options[name]] = found
    return given
