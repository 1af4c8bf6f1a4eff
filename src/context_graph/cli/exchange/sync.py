"""Exchanges memories with a person's other machines, or a team's: `sync`.

Projects are told apart by their checkouts; the person is asked where that does not do.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from context_graph.cli.console.tables import counted
from context_graph.cli.console.terminal import confirmed, print_folded, shown
from context_graph.cli.words import Command, Option
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
    from context_graph.sync.run import exchange_once
    from context_graph.sync.side import OwnerSide

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
    from context_graph.sync.run import last_exchanges

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
    from context_graph.sync.hub.membership import joined

    membership = joined(location.store)
    if membership is None:
        raise ConfigError(
            "nothing to exchange with: name a folder with --folder, or join a hub with `hub join TOKEN`"
        )
    need_psycopg()
    from context_graph.sync.hub.transport import Hub

    return membership.where, Hub(membership.url, membership.project)


_EXTRA: Final = (
    "a hub needs psycopg, which is not installed; `uv tool install 'context-graph-cli[hub]'` or "
    "`pip install 'context-graph-core[hub]'` brings it; `sync --folder` works without"
)


def need_psycopg() -> None:
    """Raises ConfigError, with what to install."""
    if find_spec("psycopg") is None:
        raise ConfigError(_EXTRA)


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
    Command.of(
        sync,
        "Exchange memories with your other machines",
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
    ),
)


_GIT_S: Final = 5.0
_MAX_URL: Final = 500


def remote_of(top: Path) -> str:
    """Return the checkout's remote `origin` without scheme, user or suffix; empty if it has none.

    A path counts for none: it leads elsewhere on another machine, and is nobody else's business.
    """
    url = _git(top, "config", "--get", "remote.origin.url")[:_MAX_URL]
    scheme, _, rest = url.rpartition("://")
    if scheme == "file" or not (scheme or ":" in url.partition("/")[0]):
        return ""
    plain = rest.rpartition("@")[2].removesuffix("/").removesuffix(".git")
    return plain.replace(":", "/", 1).lower()


def first_commit_of(top: Path) -> str:
    """Return the oldest commit without a parent; empty without one, or where the history is cut."""
    if _git(top, "rev-parse", "--is-shallow-repository") != "false":
        return ""
    return _git(top, "rev-list", "--max-parents=0", "HEAD").rpartition("\n")[2]


def _git(top: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(top), *words], capture_output=True, timeout=_GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def is_meant(there: str, here: str, place: str, cure: str) -> bool:
    """Show both, and ask whether they are one project.

    Raises InvalidInputError: There is no terminal to ask at; with ``cure``.
    """
    words = f"{place} is of a project {there}; this is one {here}"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInputError(f"{words}; {cure}")
    print_folded(shown(words))
    return confirmed("Are they one project?")
