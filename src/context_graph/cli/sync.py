"""Exchanges memories with a person's other machines: `sync --folder`."""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from context_graph.cli.options import DbPath, Json, both_forms
from context_graph.cli.tables import counted
from context_graph.cli.terminal import shown
from context_graph.config import checkout_top, locate, working_dir
from context_graph.errors import InvalidInputError, StoreBusyError

_MAX_NAME: Final = 48
_GIT_S: Final = 5.0


@both_forms
def sync(
    folder: Annotated[
        str,
        typer.Option(
            "--folder",
            metavar="PATH",
            help="A folder that reaches your other machines: synced, shared, or in git.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The project's name there, the same on each machine. Default: the checkout's folder name.",
        ),
    ] = None,
    json_: Json = False,
    db_path: DbPath = None,
) -> None:
    """Tell this project's memories to your other machines, and read theirs, through a folder.

    Run it on each machine, as often as you like: it writes what is new here into PATH/NAME and reads what
    others wrote there. Whatever brings the folder to the other machines is yours to choose. Secrets are
    masked before they are written; memories with the tag `private` never are. Nothing else leaves: no
    sessions, no ledger.

    Exit codes: 0 done; 1 the folder can't be used, or holds another project.

    Example: context-graph-cli sync --folder ~/Dropbox/context-graph
    """
    from context_graph.cli.sync_side import OwnerSide
    from context_graph.sync.folder import Folder, check_home
    from context_graph.sync.run import exchange

    top = checkout_top(working_dir())
    project = _checked(top.name if name is None else name)
    home = Path(folder).expanduser().absolute()
    if not home.is_dir():
        raise InvalidInputError(f"{home} is no folder; make it first, or name another one")
    with _alone(locate(db_path).store):
        check_home(home / project, project, _remote(top))
        report = exchange(OwnerSide(db_path), Folder(home / project))
    found = {
        "folder": str(home / project),
        "machine": report.machine,
        "told": report.told,
        "heard": report.heard,
        "machines": report.machines,
        "refused_count": report.refused_count,
        "refused": [{"where": one.where, "why": one.why} for one in report.refused],
        "ahead": report.ahead,
    }
    print(json.dumps(found) if json_ else shown(_text(found)))


@contextmanager
def _alone(store: Path) -> Iterator[None]:
    """One exchange of a store at a time: two would tell different lines under one number."""
    try:
        store.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(store / "sync.lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError as error:
        raise StoreBusyError(
            "another `sync` of this project is running; try again when it is done"
        ) from error


def _text(found: dict[str, Any]) -> str:
    lines = [
        f"told {counted(found['told'], 'change')}, heard {found['heard']} of "
        f"{counted(found['machines'], 'other machine')}, in {found['folder']}"
    ]
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
