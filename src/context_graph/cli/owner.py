"""Starts, stops and shows the owner, the one process per data root that holds the stores: `owner …`."""

from __future__ import annotations

import json
import time
from typing import Annotated, Final

import typer

from context_graph.cli.command_table import OWNER_STATUS, typer_command
from context_graph.cli.console.calling import finish
from context_graph.cli.console.options import Json, both_forms
from context_graph.cli.owner_view import owner_status, owner_view
from context_graph.config import Location, data_root
from context_graph.wire.client import request, restart_owner, start_owner, stop_owner, wait_ready

app = typer.Typer(
    help="Start, stop and inspect the owner, the process that holds the stores. Any command starts it.",
    rich_markup_mode=None,
)

_RETRY_S: Final = 60.0

Wait = Annotated[
    float, typer.Option("--timeout", min=0.1, max=600, metavar="SECONDS", help="How long to wait.")
]


@app.command("start", short_help="Start the owner, if none runs")
@both_forms
def start(timeout: Wait = 10.0, json_: Json = False) -> None:
    """Start the owner of this data root, if none runs, and wait until it answers.

    Exit codes: 0 it answers; 1 it could not be started, and why.

    Example: context-graph-cli owner start
    """
    root = data_root()
    with start_owner(root) as starting:
        wait_ready(root, time.monotonic() + timeout, starting)
    found = owner_view(timeout)
    if json_:
        print(
            json.dumps(
                {
                    "started": bool(starting.pid),
                    "pid": found["pid"],
                    "version": found["version"],
                    "root": str(root),
                }
            )
        )
        return
    word = "started" if starting.pid else "already runs"
    print(f"owner {word}: pid {found['pid']}, version {found['version']}, data root {root}")


@app.command("stop", short_help="Stop the owner")
@both_forms
def stop(timeout: Wait = 10.0, json_: Json = False) -> None:
    """Stop the owner: it finishes its work, checkpoints and closes its stores. Nothing is lost.

    If it does not answer, it gets SIGTERM after half of the time, and is killed at the end of it; everything
    that it acknowledged is on disk.

    Exit codes: 0 it has ended, or none was running; 1 it is still running.

    Example: context-graph-cli owner stop
    """
    root = data_root()
    pid = stop_owner(root, timeout)
    text = f"no owner runs for {root}" if pid is None else f"owner stopped: pid {pid}"
    print(json.dumps({"stopped": pid is not None, "pid": pid, "root": str(root)}) if json_ else text)


@app.command("restart", short_help="Stop it and start a new one")
@both_forms
def restart(timeout: Wait = 15.0, json_: Json = False) -> None:
    """Stop the owner, if one runs, and start a new one.

    Exit codes: 0 the new one answers; 1 it does not, and why.

    Example: context-graph-cli owner restart
    """
    root = data_root()
    pid = restart_owner(root, timeout)
    print(json.dumps({"pid": pid, "root": str(root)}) if json_ else f"owner restarted: pid {pid}")


typer_command(app, OWNER_STATUS, owner_status)


@app.command("retry", short_help="Retry what was set aside")
@both_forms
def retry(json_: Json = False) -> None:
    """Retry what the owner has set aside: work that failed, or took too long, twice.

    `owner status` and `doctor` list it. Retrying is safe: what fails again is set aside again.

    Exit codes: 0 it is being retried, or there was nothing; 1 no owner could be reached.

    Example: context-graph-cli owner retry
    """
    root = data_root()
    reply = request("owner.retry", {}, location=Location(root, root, root), timeout_s=_RETRY_S)
    if reply.exit_code:
        finish(reply)
    found = json.loads(reply.stdout)
    if json_:
        print(json.dumps(found))
        return
    rows = found["retried"]
    for row in rows:
        print(f"tried again: {row['what']} ({row['project'] or row['store']})")
    if not rows:
        print("nothing is set aside")
