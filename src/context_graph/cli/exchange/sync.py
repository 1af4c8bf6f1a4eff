"""Exchanges memories with a person's other machines, or a team's: `sync`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from context_graph.cli.console.options import DbPath, Json, both_forms
from context_graph.cli.console.tables import counted
from context_graph.cli.console.terminal import shown
from context_graph.config import Location, checkout_top, locate, working_dir
from context_graph.errors import ConfigError, InvalidInputError

if TYPE_CHECKING:
    from context_graph.sync.transport import Transport

_MAX_NAME: Final = 48
_GIT_S: Final = 5.0


@both_forms
def sync(
    folder: Annotated[
        str | None,
        typer.Option(
            "--folder",
            metavar="PATH",
            help="A folder that reaches your other machines: synced, shared, or in git. Else: the hub.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The project's name there, the same on each machine. Default: the checkout's folder.",
        ),
    ] = None,
    json_: Json = False,
    db_path: DbPath = None,
) -> None:
    """Tell this project's memories to other machines, and read theirs, through a folder or a team's hub.

    With --folder, run it on each machine, as often as you like: it writes what is new here into PATH/NAME and
    reads what others wrote there. Whatever brings the folder to the other machines is yours to choose.
    Without it, the hub that `hub join` joined is used, which happens by itself while a session is open.
    Secrets are masked before anything is written; memories with the tag `private` never are. Nothing else
    leaves: no sessions, no ledger.

    Exit codes: 0 done; 1 the folder or the hub can't be used, or holds another project.

    Example: context-graph-cli sync --folder ~/Dropbox/context-graph
    """
    from context_graph.sync.once import exchange_once
    from context_graph.sync.owner_side import OwnerSide

    location = locate(db_path)
    if folder is None and name is not None:
        raise InvalidInputError(
            "--name goes with --folder; a hub's project has the name that `hub init` gave"
        )
    where, place = _hub(location) if folder is None else _folder(folder, name)
    report = exchange_once(location.store, where, OwnerSide(location), place)
    found = {
        "place": where,
        "machine": report.machine,
        "told": report.told,
        "read_only": report.read_only,
        "heard": report.heard,
        "machines": len(report.machines),
        "refused_count": report.refused_count,
        "refused": [{"where": one.where, "why": one.why} for one in report.refused],
        "ahead": report.ahead,
    }
    print(json.dumps(found) if json_ else shown(_text(found)))


def _folder(folder: str, name: str | None) -> tuple[str, Transport]:
    from context_graph.sync.folder import Folder, check_home

    top = checkout_top(working_dir())
    project = _checked(top.name if name is None else name)
    home = Path(folder).expanduser().absolute()
    if not home.is_dir():
        raise InvalidInputError(f"{home} is no folder; make it first, or name another one")
    check_home(home / project, project, _remote(top))
    return str(home / project), Folder(home / project)


def _hub(location: Location) -> tuple[str, Transport]:
    from context_graph.cli.exchange.hub import need_psycopg
    from context_graph.sync.hub.membership import joined

    found = joined(location.store)
    if found is None:
        raise ConfigError(
            "nothing to exchange with: name a folder with --folder, or join a hub with `hub join TOKEN`"
        )
    need_psycopg()
    from context_graph.sync.hub.transport import Hub

    return found.where, Hub(found.url, found.project)


def _text(found: dict[str, Any]) -> str:
    told = "told nothing, as a reader" if found["read_only"] else f"told {counted(found['told'], 'change')}"
    others = counted(found["machines"], "other machine")
    lines = [f"{told}; heard {found['heard']} from {others}, in {found['place']}"]
    lines += [f"  not taken: {one['where']}: {one['why']}" for one in found["refused"]]
    if found["refused_count"] > len(found["refused"]):
        lines.append(f"  and {found['refused_count'] - len(found['refused'])} more")
    lines += [
        f"  machine {one[:8]} has a clock more than 10 minutes ahead of this one's: the rest of its log waits"
        for one in found["ahead"]
    ]
    return "\n".join(lines)


def _checked(name: str) -> str:
    """``name`` as the name of a folder."""
    plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in name).strip(".-")
    if not plain or len(name) > _MAX_NAME or plain != name.strip(".-"):
        raise InvalidInputError(
            f"--name {name[:_MAX_NAME]!r} must be 1 to {_MAX_NAME} letters, digits, '-', '_' or '.'"
        )
    return plain


def _remote(top: Path) -> str:
    """The checkout's remote `origin` without scheme, user or suffix; empty if it has none."""
    try:
        done = subprocess.run(
            ["git", "-C", str(top), "config", "--get", "remote.origin.url"],
            capture_output=True,
            timeout=_GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    url = done.stdout.decode(errors="replace").strip()[:500]
    plain = url.rpartition("://")[2].rpartition("@")[2].removesuffix("/").removesuffix(".git")
    return plain.replace(":", "/", 1).lower()
