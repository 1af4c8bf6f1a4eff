"""`owner …`: the one process per data root that holds the stores."""

from __future__ import annotations

import json
import os
import time
from typing import Annotated, Final, NoReturn

import typer

from context_graph.cli.calling import Finished
from context_graph.cli.options import Json
from context_graph.cli.tables import owner_text
from context_graph.client import (
    find_owner_command,
    request,
    restart_owner,
    start_owner,
    stop_owner,
    wait_ready,
)
from context_graph.config import Location, data_root, locate
from context_graph.errors import OwnerUnavailableError

__all__ = ["app"]

app = typer.Typer(
    help="Start, stop and look at the process that holds the stores. Any command starts it by itself.",
    rich_markup_mode=None,
)

_STATUS_S: Final = 5.0

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

    JSON has pid, version, rss_bytes, uptime_s, clients, stores, requests, spool_pending and more; with
    no owner it is {"running": false, "root": …}.

    Exit codes: 0 it runs; 1 it does not.

    Example: context-graph-cli owner status --json
    """
    try:
        found = _status(_STATUS_S)
    except OwnerUnavailableError as error:
        root = data_root()
        print(json.dumps({"running": False, "root": str(root)}) if json_ else f"no owner runs for {root}")
        raise Finished(1) from error
    print(json.dumps({"running": True, **found}) if json_ else owner_text(found))


@app.command("serve", short_help="Be the owner, in the foreground, over HTTP too")
def serve(
    http: Annotated[
        int,
        typer.Option(
            "--http",
            min=1,
            max=65_535,
            metavar="PORT",
            help="Serve MCP on http://127.0.0.1:PORT/mcp as well.",
        ),
    ],
) -> NoReturn:
    """Be the owner of this data root until told to end, and serve MCP over HTTP as well, on loopback only.

    Clients send the token of the file http-token in the data root as `Authorization: Bearer TOKEN`; it is
    drawn when there is none. Their project is the one this is run in, or the one that the URL names with
    ?project=/its/folder. The setting http_port has the same from an owner in the background.

    Exit codes: 0 told to end; 75 another owner runs (`owner stop` ends it); 70 and others: it says why.

    Example: context-graph-cli owner serve --http 8765
    """
    place = locate()
    environment = {
        **os.environ,
        "CONTEXT_GRAPH_HTTP_PORT": str(http),
        "CONTEXT_GRAPH_HTTP_PROJECT": str(place.project),
    }
    command = [*find_owner_command(), "--root", str(place.root), "--foreground"]
    os.execve(command[0], command, environment)


def _status(timeout_s: float) -> dict[str, object]:
    root = data_root()
    # The owner's own verbs look at no store, so a wrong CONTEXT_GRAPH_DB_PATH is no matter here.
    nowhere = Location(root, root, root)
    reply = request("owner.status", {}, location=nowhere, autostart=False, timeout_s=timeout_s)
    found: dict[str, object] = json.loads(reply.stdout)
    return found
