"""The commands `hub …`: a team's memories through a PostgreSQL of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from context_graph.cli.console.tables import ago, columns, counted, size
from context_graph.cli.console.terminal import shown
from context_graph.cli.exchange.sync import is_meant, need_psycopg, remote_of
from context_graph.cli.words import Argument, Command, Option
from context_graph.config import Location, checkout_top, load_settings, locate, working_dir
from context_graph.errors import ConfigError, InvalidInputError, OwnerError
from context_graph.sync.hub import place_name
from context_graph.system.small_files import replacing

if TYPE_CHECKING:
    from context_graph.sync.hub.connecting import Connection
    from context_graph.sync.hub.membership import Membership

ADMIN_URL: Final = "CONTEXT_GRAPH_HUB_ADMIN_URL"
_MAX_NAME: Final = 48


def init(team: str, project: str | None, as_json: bool) -> None:
    """Make or bring up to date a hub's tables, and make a team and a project in it. For an administrator.

    The address of the server, with a login that may make tables and roles, is read from
    $CONTEXT_GRAPH_HUB_ADMIN_URL, so that no shell keeps it in its history. What is there already stays.

    Example: context-graph-cli hub init --team backend
    """
    with admin_connection() as (_, admin):
        from context_graph.sync.hub.teams import prepare

        name = _name("--project", project)
        # With --project it may be another than the one that lies here.
        remote = _remote_digest() if project is None else ""
        made = prepare(admin, team, name, remote)
        answer = {"team": _name("--team", team), "project": name, "id": str(made)}
    _show(
        answer,
        f"project {name} of team {team} is ready; `context-graph-cli hub invite LOGIN --team {team}`",
        as_json,
    )


def invite(login: str, team: str, role: str, project: str | None, new_password: bool, as_json: bool) -> None:
    """Make LOGIN a member, and print the token that `hub join` takes. For an administrator.

    The token is as secret as a password. Somebody who has joined another project gets one without a
    password, for `hub join` knows it. $CONTEXT_GRAPH_HUB_ADMIN_URL has the server's address.

    Example: context-graph-cli hub invite ada --team backend --role writer
    """
    with admin_connection() as (url, admin):
        from context_graph.sync.hub.teams import invite as make

        token = make(
            *(admin, url, team, _name("--project", project), _name("LOGIN", login), role),
            new_password=new_password,
        )
    _show({"login": login, "role": role, "token": token}, token, as_json)


def remove(login: str, team: str, project: str | None, as_json: bool) -> None:
    """End a membership at once; what the member sent stays. For an administrator.

    Example: context-graph-cli hub remove ada --team backend
    """
    with admin_connection() as (_, admin):
        from context_graph.sync.hub.teams import remove as end

        if not end(admin, team, _name("--project", project), login):
            raise InvalidInputError(f"{login!r} is no member of that project")
    _show({"login": login, "removed": True}, f"{login} is no member any more; what they sent stays", as_json)


def join(token: str | None, project: str | None, as_json: bool, db_path: str | None) -> None:
    """Join this project's memories to a team's hub; from then on they are exchanged while a session is open.

    The hub is asked at once whether it takes you. Everything that is not marked private is sent with the next
    exchange: look at `memory list` first. A setting alone never joins: a repository can't send your memories
    anywhere by itself.

    Example: context-graph-cli hub join - < token.txt
    """
    need_psycopg()
    from context_graph.sync.hub.connecting import connect
    from context_graph.sync.hub.membership import join as note
    from context_graph.sync.hub.membership import membership_in, stores_with_hubs
    from context_graph.sync.hub.teams import status, with_password

    location = locate(db_path)
    if token is None:
        membership = _by_address(load_settings(location.project).hub_url, _name("--project", project))
    else:
        membership = membership_in(sys.stdin.read(8192) if token == "-" else token)
    membership = with_password(membership, stores_with_hubs(location.root))
    with connect(membership.url) as connection:
        seen = status(connection, membership.project)
    if not _is_here(seen, project):
        raise InvalidInputError("nothing was joined")
    note(location.store, membership)
    _tell_owner(location)
    words = f"joined {seen['project']} of team {seen['team']} as {seen['role']}"
    words += "; `context-graph-cli sync` exchanges now"
    _show({name: seen[name] for name in ("project", "team", "role")}, words, as_json)


def _remote_digest() -> str:
    """Of the checkout's remote; empty without one. The hub need not know where a project lies."""
    from context_graph.sync.change import digest

    remote = remote_of(checkout_top(working_dir()))
    return digest(remote.encode()) if remote else ""


def _is_here(seen: dict[str, Any], named: str | None) -> bool:
    """Return whether the hub's project is the one of this checkout: by remotes, else by name, else asked."""
    here, top = _remote_digest(), checkout_top(working_dir())
    naming = f", or name it: --project {seen['project']}"
    if seen["remote"] and here:
        if seen["remote"] == here:
            return True
        word, naming = "with another git remote", ""
    elif seen["project"] == named or (seen["project"] == top.name and not (seen["remote"] or here)):
        return True
    elif seen["project"] != top.name:
        word = "by another name"
    else:
        word = "with a git remote, which the hub's lacks" if here else "without a git remote"
    return is_meant(
        f"{seen['project']!r} of team {seen['team']!r}",
        f"{top.name!r}, {word}",
        "the token" if named is None else "--project",
        f"nothing was joined: run it in that project's checkout, or in a terminal, which asks{naming}",
    )


def _by_address(url: str, name: str) -> Membership:
    """Return the one project of that name which the login at ``url`` is a member of."""
    from context_graph.sync.hub.connecting import connect
    from context_graph.sync.hub.membership import Membership
    from context_graph.sync.hub.teams import projects_of

    if not url:
        raise ConfigError("no TOKEN, and no setting hub_url; ask an administrator for a token (`hub invite`)")
    with connect(url) as connection:
        projects = [project for project in projects_of(connection) if project[2] == name]
    if len(projects) != 1:
        raise ConfigError(f"the hub has {len(projects)} projects {name!r} of yours; join with a token")
    return Membership(url, *projects[0])


def leave(forget: bool, as_json: bool, db_path: str | None) -> None:
    """Forget the hub on this machine. Memories stay, here and there; an administrator ends a membership.

    With --forget, what came from the hub is deleted here, with your own changes to it. Nobody else
    notices, and joining again brings it back.

    Example: context-graph-cli hub leave
    """
    from context_graph.sync.hub.membership import joined
    from context_graph.sync.hub.membership import leave as end
    from context_graph.sync.run import alone
    from context_graph.sync.side import OwnerSide

    location = locate(db_path)
    membership = joined(location.store)
    if membership is None:
        raise InvalidInputError("this project has joined no hub")
    end(location.store)
    _tell_owner(location)
    count = 0
    if forget:
        with alone(location.store):
            count = OwnerSide(location).forget_told(place_name(membership.project))
    words = (
        f"{counted(count, 'memory', 'memories')} of colleagues deleted here" if forget else "memories stay"
    )
    _show({"left": True, "forgotten": count}, f"the hub is forgotten here; {words}", as_json)


def export(file: str, as_json: bool, db_path: str | None) -> None:
    """Write every change of the project that the hub holds, one JSON line each, with who sent it. For audits.

    To keep the memories themselves, use `memory export`.

    Example: context-graph-cli hub export gateway.jsonl
    """
    need_psycopg()
    from context_graph.sync.hub.membership import joined
    from context_graph.sync.hub.transport import Hub

    membership = joined(locate(db_path).store)
    if membership is None:
        raise ConfigError("this project has joined no hub; `context-graph-cli hub join TOKEN`")
    hub, path, count = Hub(membership.url, membership.project), Path(file).expanduser().absolute(), 0
    if os.path.lexists(path):
        raise InvalidInputError(f"{path} is there already; name another file")
    try:
        with replacing(path) as out:
            for author, line in hub.lines():
                out.write(b'{"author":%s,"change":%s}\n' % (json.dumps(author).encode(), line))
                count += 1
    except OSError as error:
        raise InvalidInputError(f"{path} can't be written: {error.strerror}") from error
    _show({"file": str(path), "changes": count}, f"{counted(count, 'change')} written to {path}", as_json)


def status(as_json: bool, db_path: str | None) -> None:
    """Show the project in the hub: your role, members, machines with their last push, and room.

    Example: context-graph-cli hub status
    """
    need_psycopg()
    from context_graph.sync.hub.connecting import connect
    from context_graph.sync.hub.membership import joined
    from context_graph.sync.hub.runs import last_run
    from context_graph.sync.hub.teams import status as asked

    membership = joined(locate(db_path).store)
    if membership is None:
        raise ConfigError("this project has joined no hub; `context-graph-cli hub join TOKEN`")
    with connect(membership.url) as connection:
        seen = asked(connection, membership.project)
        seen["consolidated"] = last_run(connection, membership.project)
    _show(seen, _status_text(seen), as_json)


def _status_text(seen: dict[str, Any]) -> str:
    members = ", ".join(f"{member['login']} ({member['role']})" for member in seen["members"])
    lines = [
        ("project", f"{seen['project']} of team {seen['team']}; you are {seen['role']}"),
        ("room", f"{size(seen['used_bytes'])} of {size(seen['quota_bytes'])}"),
        ("members", members),
    ]
    last = seen["consolidated"]
    if last is not None:
        lines.append(
            ("last run", f"{last['number']} ({last['mode']}) by {last['by']}, {ago(last['at_ms'])} ago")
        )
    for machine in seen["machines"]:
        summary = f"{machine['login']}, {counted(machine['lines'], 'line')}, {size(machine['bytes'])}"
        lines.append((f"{machine['machine'][:8]}", f"{summary}, {ago(machine['pushed_at_ms'])} ago"))
    return columns(lines)


def _tell_owner(location: Location) -> None:
    """Have an owner that runs look at the store, and begin or end its exchanges."""
    from context_graph.sync.side import OwnerSide

    with suppress(OwnerError):
        OwnerSide(location, autostart=False).machine()


@contextmanager
def admin_connection() -> Iterator[tuple[str, Connection]]:
    """The administrator's address, and a connection with it. Raises ConfigError."""
    need_psycopg()
    import psycopg

    from context_graph.sync.hub.connecting import connect

    url = os.environ.get(ADMIN_URL, "")
    if not url:
        raise ConfigError(
            f"${ADMIN_URL} is not set; it has the server's address, with a login that may make tables"
        )
    try:
        with connect(url) as connection:
            yield url, connection
    except psycopg.Error as error:
        raise ConfigError(f"the server refuses it: {str(error).splitlines()[0][:300]}") from error


def _name(of: str, name: str | None) -> str:
    chosen = checkout_top(working_dir()).name if name is None else name
    if not 1 <= len(chosen) <= _MAX_NAME or not chosen.isprintable():
        raise InvalidInputError(f"{of} must have 1 to {_MAX_NAME} characters")
    return chosen


def _show(answer: dict[str, Any], words: str, as_json: bool) -> None:
    print(json.dumps(answer) if as_json else shown(words))


_TEAM: Final = Option("--team", "The team.", "NAME", required=True)
_PROJECT: Final = Option("--project", "The project. Default: the name of the checkout's folder.", "NAME")
_LOGIN: Final = Argument("LOGIN", "login", "The member's name at the server.", required=True)
_CODES: Final = "Exit codes: 0; 1 it can't be done."
COMMANDS: Final = (
    Command.of(init, "Make tables, team and project on a server", _TEAM, _PROJECT, codes=_CODES),
    Command.of(
        invite,
        "Make a member; print the token to hand over",
        _LOGIN,
        _TEAM,
        Option("--role", "reader, writer or owner.", "ROLE", default="writer"),
        _PROJECT,
        Option("--new-password", "Also for a login that has one: its other tokens end."),
        codes=_CODES,
    ),
    Command.of(
        remove,
        "End a membership",
        _LOGIN,
        _TEAM,
        _PROJECT,
        codes="Exit codes: 0; 1 it can't be done, or there was none.",
    ),
    Command.of(
        join,
        "Join a hub with a token",
        Argument(
            "TOKEN",
            "token",
            "What `hub invite` printed; `-` reads it from standard input. "
            "Without it the setting `hub_url` names the hub.",
        ),
        Option(
            "--project",
            "The project there. Default: the token's, or the name of the checkout's folder.",
            "NAME",
        ),
        codes="Exit codes: 0; 1 the token or the hub is refused.",
    ),
    Command.of(
        leave,
        "Forget the hub here",
        Option("--forget", "Also delete here, for good, what only colleagues sent."),
        codes="Exit codes: 0; 1 no hub was joined.",
    ),
    Command.of(
        export,
        "Write all that the hub holds to a file",
        Argument("FILE", "file", "Where to write it; there must be none yet.", required=True),
        codes=_CODES,
    ),
    Command.of(
        status,
        "Members, machines and room in the hub",
        codes="Exit codes: 0; 1 no hub, or it can't be reached.",
    ),
)
