"""`req log`: the store's log of refusals and satisfactions; without an owner the project's own journal."""

from __future__ import annotations

import sys

from context_graph.errors import ContextGraphError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.place import Place

__all__ = ["entries"]

_KINDS_READ = 10_000


def entries(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """``entries`` (newest first, each with at_ms, kind, requirements and what else is known) and ``source``.

    Raises:
        UsageError: A limit that is no number from 1 to 10000.
    """
    limit = str(given.get("limit", "50"))
    if not limit.isdigit() or not 1 <= int(limit) <= _KINDS_READ:
        raise UsageError(f"--limit {limit!r} must be a number from 1 to {_KINDS_READ}")
    session = place.session(given["session"]) if given.get("session") else ""
    kind, requirement = given.get("kind", ""), given.get("requirement", "")
    try:
        from context_graph.cli.calling import ask_json  # the client and its sockets: only this command asks

        asked = {"limit": str(_KINDS_READ if kind else limit), "session": session, "requirement": requirement}
        found = ask_json("req.log", asked)["entries"]
        source = "store"
    except ContextGraphError as error:
        print(f"context-graph-cli: {error}; this is the project's own journal", file=sys.stderr)
        found, source = _journal(place, int(limit), session, kind, requirement), "journal"
    chosen = [one for one in found if not kind or one.get("kind") == kind]
    return {"source": source, "entries": chosen[: int(limit)]}


def _journal(place: Place, limit: int, session: str, kind: str, requirement: str) -> list[dict[str, Any]]:
    from context_graph.requirements.commands import log

    found = log(place, limit=limit, session=session, kind=kind, requirement=requirement)
    return [{**one, "at_ms": int(float(one.pop("at", 0)) * 1000)} for one in found]
