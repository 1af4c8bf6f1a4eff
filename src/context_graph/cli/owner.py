"""Starts, stops and shows the owner, the one process per data root that holds the stores: `owner …`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from context_graph.cli.calling import Finished, finish
from context_graph.cli.options import Json
from context_graph.cli.tables import owner_text
from context_graph.config import Location, data_root
from context_graph.errors import DeadlineExceededError, OwnerUnavailableError
from context_graph.wire.client import look_at, request, restart_owner, start_owner, stop_owner, wait_ready

app = typer.Typer(
    help="Start, stop and inspect the owner, the process that holds the stores. Any command starts it.",
    rich_markup_mode=None,
)

_STATUS_S: Final = 2.0
"""A healthy owner answers within milliseconds; of any other, what the system knows is shown."""

_RETRY_S: Final = 60.0

Wait = Annotated[
    float, typer.Option("--timeout", min=0.1, max=600, metavar="SECONDS", help="How long to wait.")
]


@app.command("start", short_help="Start the owner, if none runs")
def start(timeout: Wait = 10.0) -> None:
    """Start the owner of this data root, if none runs, and wait until it answers.

    Exit codes: 0 it answers; 1 it could not be started, and why.

    Example: context-graph-cli owner start
    """
    root = data_root()
    with start_owner(root) as starting:
        wait_ready(root, time.monotonic() + timeout, starting)
    found = _status(timeout)
    word = "started" if starting.pid else "already runs"
    print(f"owner {word}: pid {found['pid']}, version {found['version']}, data root {root}")


@app.command("stop", short_help="Stop the owner")
def stop(timeout: Wait = 10.0) -> None:
    """Stop the owner: it finishes its work, checkpoints and closes its stores. Nothing is lost.

    If it does not answer, it gets SIGTERM after half of the time, and is killed at the end of it; everything
    that it acknowledged is on disk.

    Exit codes: 0 it has ended, or none was running; 1 it is still running.

    Example: context-graph-cli owner stop
    """
    root = data_root()
    pid = stop_owner(root, timeout)
    print(f"no owner runs for {root}" if pid is None else f"owner stopped: pid {pid}")


@app.command("restart", short_help="Stop it and start a new one")
def restart(timeout: Wait = 15.0) -> None:
    """Stop the owner, if one runs, and start a new one.

    Exit codes: 0 the new one answers; 1 it does not, and why.

    Example: context-graph-cli owner restart
    """
    print(f"owner restarted: pid {restart_owner(data_root(), timeout)}")


@app.command("status", short_help="Show the owner process")
def status(json_: Json = False) -> None:
    """Show the owner's process: version, memory, clients, stores, requests, spool. Does not start one.

    JSON has pid, version, rss_bytes, uptime_s, clients, stores, requests, spool_pending, set_aside and more;
    without an owner it is {"running": false, "root": …}. If the owner does not answer, it is what the system
    knows: {"running": true, "answers": false, "pid": …, "state": …, "doing": …, "since_ms": …}.

    Exit codes: 0 it runs and answers; 1 it does not.

    Example: context-graph-cli owner status --json
    """
    try:
        found = _status(_STATUS_S)
    except DeadlineExceededError as error:
        _print_silent(data_root(), json_)
        raise Finished(1) from error
    except OwnerUnavailableError as error:
        root = data_root()
        if look_at(root) is not None:
            _print_silent(root, json_)
            raise Finished(1) from error
        print(json.dumps({"running": False, "root": str(root)}) if json_ else f"no owner runs for {root}")
        raise Finished(1) from error
    print(json.dumps({"running": True, "answers": True, **found}) if json_ else owner_text(found))


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


@app.command("retry", short_help="Retry what was set aside")
def retry() -> None:
    """Retry what the owner has set aside: work that failed, or took too long, twice.

    `owner status` and `doctor` list it. Retrying is safe: what fails again is set aside again.

    Exit codes: 0 it is being retried, or there was nothing; 1 no owner could be reached.

    Example: context-graph-cli owner retry
    """
    root = data_root()
    reply = request("owner.retry", {}, location=Location(root, root, root), timeout_s=_RETRY_S)
    if reply.exit_code:
        finish(reply)
    rows = json.loads(reply.stdout)["retried"]
    for row in rows:
        print(f"tried again: {row['what']} ({row['project'] or row['store']})")
    if not rows:
        print("nothing is set aside")


def _status(timeout_s: float) -> dict[str, object]:
    root = data_root()
    # The owner's own verbs use no store, so a wrong CONTEXT_GRAPH_DB_PATH does not matter here.
    nowhere = Location(root, root, root)
    reply = request("owner.status", {}, location=nowhere, autostart=False, timeout_s=timeout_s)
    if reply.exit_code:  # for example, it has as many clients as it may serve
        finish(reply)
    found: dict[str, object] = json.loads(reply.stdout)
    return found
