"""Shows the owner's process: `owner status`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from context_graph.cli.console.calling import Finished, finish
from context_graph.cli.console.tables import owner_text
from context_graph.cli.console.terminal import print_folded
from context_graph.config import Location, data_root
from context_graph.errors import DeadlineExceededError, OwnerUnavailableError
from context_graph.wire.client.request import request
from context_graph.wire.client.silent import look_at

_STATUS_S: Final = 2.0
"""A healthy owner answers within milliseconds; of any other, what the system knows is shown."""


def owner_status(as_json: bool) -> None:
    """Show the owner's process: version, memory, clients, stores, requests, events. Does not start one.

    JSON has pid, version, rss_bytes, uptime_s, clients, stores, requests, events_waiting, set_aside and more;
    without an owner it is {"running": false, "root": …}. If the owner does not answer, it is what the system
    knows: {"running": true, "answers": false, "pid": …, "state": …, "doing": …, "since_ms": …}.

    Exit codes: 0 it runs and answers; 1 it does not.

    Example: context-graph-cli owner status --json
    """
    root = data_root()
    try:
        owner = owner_view(_STATUS_S)
    except DeadlineExceededError as error:
        _print_silent(root, as_json)
        raise Finished(1) from error
    except OwnerUnavailableError as error:
        if look_at(root) is not None:
            _print_silent(root, as_json)
            raise Finished(1) from error
        print(json.dumps({"running": False, "root": str(root)}) if as_json else f"no owner runs for {root}")
        raise Finished(1) from error
    if as_json:
        print(json.dumps({"running": True, "answers": True, **owner}))
    else:
        print_folded(owner_text(owner))


def _print_silent(root: Path, as_json: bool) -> None:
    """Show what the system knows of an owner that does not answer."""
    seen = look_at(root)
    if as_json:
        known = {} if seen is None else seen.view()
        print(json.dumps({"running": seen is not None, "answers": False, "root": str(root), **known}))
    elif seen is None:
        print(f"no owner runs for {root}")
    else:
        print(f"{seen.text()}\n{seen.cure()}")


def owner_view(timeout_s: float) -> dict[str, Any]:
    """Return what the owner says of itself; none is started.

    Raises:
        OwnerUnavailableError, DeadlineExceededError: As `request`.
    """
    root = data_root()
    # The owner's own verbs use no store, so a wrong CONTEXT_GRAPH_DB_PATH does not matter here.
    nowhere = Location(root, root, root)
    reply = request("owner.status", {}, location=nowhere, autostart=False, timeout_s=timeout_s)
    if reply.exit_code:  # for example, it has as many clients as it may serve
        finish(reply)
    answer: dict[str, Any] = json.loads(reply.stdout)
    return answer
