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
    help="Start, stop and look at the process that holds the stores. Any command starts it by itself.",
    rich_markup_mode=None,
)

_STATUS_S: Final = 2.0
"""An owner that is well says so in some ms; of another this tells what the system knows."""

_RETRY_S: Final = 60.0

Wait = Annotated[
    float, typer.Option("--timeout", min=0.1, max=600, metavar="SECONDS", help="How long to wait for it.")
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
    """Stop the owner: it finishes what it does, checkpoints, closes its stores. Nothing is lost.

    One that does not answer is told by SIGTERM after half of the time, which ends what it has in hand, and
    killed at its end: what was acknowledged is on the disk.

    Exit codes: 0 it is gone, or none ran; 1 it is still there.

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
    """Show the owner's process: version, memory, clients, stores, requests, spool. Starts none.

    JSON has pid, version, rss_bytes, uptime_s, clients, stores, requests, spool_pending, set_aside and more;
    with no owner it is {"running": false, "root": …}. Of one that does not answer it says what the system
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
    """What is known of an owner that says nothing itself."""
    seen = look_at(root)
    if as_json:
        known = {} if seen is None else seen.view()
        print(json.dumps({"running": seen is not None, "answers": False, "root": str(root), **known}))
    elif seen is None:
        print(f"no owner runs for {root}")
    else:
        print(f"{seen.text()}\n{seen.cure()}")


@app.command("retry", short_help="Try again what was set aside")
def retry() -> None:
    """Try once more what the owner has set aside: work that failed, or had to be ended, twice.

    `owner status` and `doctor` name it. Nothing is lost by trying: what fails again is set aside again.

    Exit codes: 0 it is being tried, or there was nothing; 1 no owner could be reached.

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
    # The owner's own verbs look at no store, so a wrong CONTEXT_GRAPH_DB_PATH is no matter here.
    nowhere = Location(root, root, root)
    reply = request("owner.status", {}, location=nowhere, autostart=False, timeout_s=timeout_s)
    if reply.exit_code:  # such as: it serves as many clients as it may
        finish(reply)
    found: dict[str, object] = json.loads(reply.stdout)
    return found
