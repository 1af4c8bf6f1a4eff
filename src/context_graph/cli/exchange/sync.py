"""Exchanges memories with a person's other machines, or a team's: `sync`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from context_graph.cli.console.tables import counted
from context_graph.cli.console.terminal import shown
from context_graph.cli.exchange.checkout import first_commit_of, is_meant, remote_of
from context_graph.cli.words import DB_PATH, JSON, OUTPUT, Command, Option
from context_graph.config import Location, checkout_top, locate, working_dir
from context_graph.errors import CommandLineError, ConfigError, InvalidInputError

if TYPE_CHECKING:
    from context_graph.sync.transport import Transport

_MAX_NAME: Final = 48
_ASKED: Final = (
    "the folder",
    "nothing shows that they are one, for copies of a template begin alike: run it in a terminal, which "
    "asks, or name it with --name",
)


def sync(folder: str | None, name: str | None, as_json: bool, db_path: str | None) -> None:
    """Send this project's memories to other machines, and receive theirs, through a folder or a team's hub.

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
        raise CommandLineError("--name goes with --folder; a hub's project has the name that `hub init` gave")
    where, place = _hub(location) if folder is None else _folder(location, folder, name)
    report = exchange_once(location.store, where, OwnerSide(location), place)
    outcome = {
        "place": where,
        "machine": report.machine,
        "told": report.told,
        "handed_on": report.handed_on,
        "clock_was_wrong": report.clock_was_wrong,
        "read_only": report.read_only,
        "heard": report.heard,
        "machines": len(report.machines),
        "refused_count": report.refused_count,
        "refused": [{"where": refusal.where, "why": refusal.why} for refusal in report.refused],
        "ahead": report.ahead,
    }
    print(json.dumps(outcome) if as_json else shown(_text(outcome)))


def _folder(location: Location, folder: str, name: str | None) -> tuple[str, Transport]:
    from context_graph.sync.folder import Folder
    from context_graph.sync.home import FORMAT, Home, check_home
    from context_graph.sync.once import last_exchanges

    top = checkout_top(working_dir())
    project = _checked(top.name if name is None else name)
    home = Path(folder).expanduser().absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"--folder {home}: {error.strerror}; name another one") from error
    place = Folder(home / project)

    def is_same(there: str, here: str) -> bool:
        was_here = place.name in last_exchanges(location.store)
        return was_here or name is not None or is_meant(there, here, *_ASKED)

    check_home(place.path, Home(FORMAT, project, remote_of(top), first_commit_of(top)), is_same)
    return str(place.path), place


def _hub(location: Location) -> tuple[str, Transport]:
    from context_graph.cli.exchange.hub import need_psycopg
    from context_graph.sync.hub.membership import joined

    membership = joined(location.store)
    if membership is None:
        raise ConfigError(
            "nothing to exchange with: name a folder with --folder, or join a hub with `hub join TOKEN`"
        )
    need_psycopg()
    from context_graph.sync.hub.transport import Hub

    return membership.where, Hub(membership.url, membership.project)


def _text(outcome: dict[str, Any]) -> str:
    sent = (
        "sent nothing, as a reader" if outcome["read_only"] else f"sent {counted(outcome['told'], 'change')}"
    )
    others = counted(outcome["machines"], "other machine")
    lines = [f"{sent}; received {outcome['heard']} from {others}, in {outcome['place']}"]
    if outcome["handed_on"]:
        lines.append(f"  {counted(outcome['handed_on'], 'change')} of these were missing there")
    if outcome["clock_was_wrong"]:
        lines.append(
            "  this machine's clock had been wrong: what it had sent with times later than now is sent anew"
        )
    lines += [f"  not taken: {refusal['where']}: {refusal['why']}" for refusal in outcome["refused"]]
    if outcome["refused_count"] > len(outcome["refused"]):
        lines.append(f"  and {outcome['refused_count'] - len(outcome['refused'])} more")
    lines += [
        f"  machine {name[:8]} has a clock more than 10 minutes ahead of this one's: "
        "the rest of its log waits"
        for name in outcome["ahead"]
    ]
    return "\n".join(lines)


def _checked(name: str) -> str:
    """Return ``name`` as the name of a folder."""
    plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in name).strip(".-")
    if not plain or len(name) > _MAX_NAME or plain != name.strip(".-"):
        raise CommandLineError(
            f"--name is {name[:_MAX_NAME]!r}; give 1 to {_MAX_NAME} letters, digits, '-', '_' or '.'"
        )
    return plain


COMMANDS: Final = (
    Command(
        "sync",
        sync,
        "Exchange memories with your other machines",
        (
            Option(
                "--folder",
                "A folder that reaches your other machines: synced, shared, or in git; made if it is "
                "missing. Without: the hub.",
                "PATH",
            ),
            Option(
                "--name",
                "The project's name there, the same on each machine. Default: the checkout's folder.",
                "NAME",
            ),
            OUTPUT,
            JSON,
            DB_PATH,
        ),
    ),
)
