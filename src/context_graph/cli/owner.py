"""Starts, stops and shows the owner, the one process per data root that holds the stores: `owner …`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Final

from context_graph.cli.console.calling import Finished, finish
from context_graph.cli.console.tables import owner_text
from context_graph.cli.console.terminal import print_folded
from context_graph.cli.words import Command, Option
from context_graph.config import Location, data_root
from context_graph.errors import DeadlineExceededError, OwnerUnavailableError
from context_graph.wire.client.request import request
from context_graph.wire.client.silent import look_at
from context_graph.wire.client.spawn import restart_owner, start_owner, stop_owner, wait_ready

_RETRY_S: Final = 60.0


def start(timeout: float, as_json: bool) -> None:
    """Start the owner of this data root, if none runs, and wait until it answers.

    Exit codes: 0 it answers; 1 it could not be started, and why.

    Example: context-graph-cli owner start
    """
    root = data_root()
    with start_owner(root) as starting:
        wait_ready(root, time.monotonic() + timeout, starting)
    owner = owner_view(timeout)
    if as_json:
        did = {"started": bool(starting.pid), "pid": owner["pid"], "version": owner["version"]}
        print(json.dumps({**did, "root": str(root)}))
        return
    word = "started" if starting.pid else "already runs"
    print(f"owner {word}: pid {owner['pid']}, version {owner['version']}, data root {root}")


def stop(timeout: float, as_json: bool) -> None:
    """Stop the owner: it finishes its work, checkpoints and closes its stores. Nothing is lost.

    If it does not answer, it gets SIGTERM after half of the time, and is killed at the end of it; everything
    that it acknowledged is on disk.

    Exit codes: 0 it has ended, or none was running; 1 it is still running.

    Example: context-graph-cli owner stop
    """
    root = data_root()
    pid = stop_owner(root, timeout)
    text = f"no owner runs for {root}" if pid is None else f"owner stopped: pid {pid}"
    print(json.dumps({"stopped": pid is not None, "pid": pid, "root": str(root)}) if as_json else text)


def restart(timeout: float, as_json: bool) -> None:
    """Stop the owner, if one runs, and start a new one.

    Exit codes: 0 the new one answers; 1 it does not, and why.

    Example: context-graph-cli owner restart
    """
    root = data_root()
    pid = restart_owner(root, timeout)
    print(json.dumps({"pid": pid, "root": str(root)}) if as_json else f"owner restarted: pid {pid}")


def retry(as_json: bool) -> None:
    """Retry what the owner has set aside: work that failed, or took too long, twice.

    `owner status` and `doctor` list it. Retrying is safe: what fails again is set aside again.

    Exit codes: 0 it is being retried, or there was nothing; 1 no owner could be reached.

    Example: context-graph-cli owner retry
    """
    root = data_root()
    reply = request("owner.retry", {}, location=Location(root, root, root), timeout_s=_RETRY_S)
    if reply.exit_code:
        finish(reply)
    answer = json.loads(reply.stdout)
    if as_json:
        print(json.dumps(answer))
        return
    rows = answer["retried"]
    for row in rows:
        print(f"tried again: {row['what']} ({row['project'] or row['store']})")
    if not rows:
        print("nothing is set aside")


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


def _wait(seconds: float) -> Option:
    limits = (0.1, 600)
    return Option(
        "--timeout",
        "How long to wait, 0.1 to 600 s.",
        "SECONDS",
        default=f"{seconds:g}",
        kind="float",
        limits=limits,
    )


COMMANDS: Final = (
    Command.of(start, "Start the owner, if none runs", _wait(10)),
    Command.of(stop, "Stop the owner", _wait(10)),
    Command.of(restart, "Stop it and start a new one", _wait(15)),
    Command.of(owner_status, "Show the owner process", word="status"),
    Command.of(retry, "Retry what was set aside"),
)
