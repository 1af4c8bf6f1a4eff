"""Teams, projects and members of a hub: what its administrator makes, and what a member's machine keeps of it."""

from __future__ import annotations

import os
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from context_graph.errors import ConfigError, InvalidInputError
from context_graph.sync.hub.schema import MEMBERS, migrate
from context_graph.whole_file import replacing

ROLES: Final = ("reader", "writer", "owner")
MAX_NAME: Final = 48
_TOKEN: Final = "cg1."
_MAX_TOKEN: Final = 4096
_FILE: Final = "hub.json"

Connection = psycopg.Connection[tuple[object, ...]]


class Membership(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One project of one hub, as a member reaches it."""

    url: str
    """With login and password."""
    project: str
    """Its id."""
    team: str
    name: str
    """The project's."""


def token_of(found: Membership) -> str:
    """What an administrator hands to a new member: one word, as secret as a password."""
    return _TOKEN + urlsafe_b64encode(msgspec.json.encode(found)).decode().rstrip("=")


def membership_in(token: str) -> Membership:
    """Raises InvalidInputError: It is no such word; nothing of it is quoted."""
    text = token.strip()
    try:
        if not text.startswith(_TOKEN) or len(text) > _MAX_TOKEN:
            raise ValueError
        data = text.removeprefix(_TOKEN)
        found = msgspec.json.decode(urlsafe_b64decode(data + "=" * (-len(data) % 4)), type=Membership)
        UUID(found.project)
    except (ValueError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InvalidInputError("TOKEN is not what `hub invite` printed; ask for it again") from error
    return found


def joined(store: Path) -> Membership | None:
    """The hub that this project's store has joined. Raises ConfigError if its file can't be read."""
    try:
        return msgspec.json.decode((store / _FILE).read_bytes(), type=Membership)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{store / _FILE} can't be read; join the hub again: {error}") from error


def join(store: Path, found: Membership) -> None:
    """Note the hub for this project, in a file that only its user can read."""
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(store / _FILE, mode=0o600) as out:
        out.write(msgspec.json.encode(found))


def leave(store: Path) -> bool:
    """Forget the hub; whether there was one."""
    try:
        os.unlink(store / _FILE)
    except FileNotFoundError:
        return False
    return True


# What an administrator does


def prepare(admin: Connection, team: str, project: str) -> UUID:
    """Bring the tables up to date, and make team and project where they are missing; the project's id."""
    migrate(admin)
    with admin.transaction():
        admin.execute(
            "INSERT INTO context_graph.team (id, name) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING",
            (uuid4(), team),
        )
        admin.execute(
            "INSERT INTO context_graph.project (id, team, name) "
            "SELECT %s, id, %s FROM context_graph.team WHERE name = %s ON CONFLICT (team, name) DO NOTHING",
            (uuid4(), project, team),
        )
    return project_id(admin, team, project)


def project_id(admin: Connection, team: str, project: str) -> UUID:
    """Raises InvalidInputError if the hub has no such project."""
    row = admin.execute(
        "SELECT p.id FROM context_graph.project AS p JOIN context_graph.team AS t ON t.id = p.team "
        "WHERE t.name = %s AND p.name = %s",
        (team, project),
    ).fetchone()
    if row is None:
        raise InvalidInputError(f"the hub has no project {project!r} of team {team!r}; `hub init` makes it")
    return UUID(str(row[0]))


def invite(admin: Connection, url: str, team: str, project: str, login: str, role: str) -> str:
    """Make ``login`` a member with a new password; the token to hand over.

    Raises:
        InvalidInputError: The login is the server's own, or the role is unknown.
    """
    if role not in ROLES:
        raise InvalidInputError(f"--role is {role[:20]!r}, must be one of {', '.join(ROLES)}")
    wanted, password = project_id(admin, team, project), secrets.token_urlsafe(24)
    with admin.transaction():
        _make_login(admin, login, password)
        admin.execute(
            "INSERT INTO context_graph.member (project, login, role) VALUES (%s, %s, %s) "
            "ON CONFLICT (project, login) DO UPDATE SET role = excluded.role, removed_at = NULL",
            (wanted, login, role),
        )
    kept = {name: value for name, value in conninfo_to_dict(url).items() if name not in ("user", "password")}
    address = make_conninfo("", **{**kept, "user": login, "password": password})
    return token_of(Membership(address, str(wanted), team, project))


def _make_login(admin: Connection, login: str, password: str) -> None:
    """A login that is in the members' role and in no other."""
    name = sql.Identifier(login)
    there = admin.execute(
        "SELECT pg_has_role(oid, %s, 'member'), rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles "
        "WHERE rolname = %s",
        (MEMBERS, login),
    ).fetchone()
    if there is None:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN IN ROLE {}").format(name, sql.Identifier(MEMBERS)))
    elif not there[0] or there[1]:
        raise InvalidInputError(f"the server has a login {login!r} that is no member's; choose another name")
    admin.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(password)))


def remove(admin: Connection, team: str, project: str, login: str) -> bool:
    """``login`` is a member no more, from their next statement on; what they told stays. Whether they were."""
    done = admin.execute(
        "UPDATE context_graph.member SET removed_at = now() "
        "WHERE project = %s AND login = %s AND removed_at IS NULL",
        (project_id(admin, team, project), login),
    )
    return done.rowcount == 1


# What a member sees


def status(connection: Connection, project: str) -> dict[str, Any]:
    """The project as this member sees it. Raises ConfigError if they are no member (any more)."""
    row = connection.execute(
        "SELECT p.name, t.name, m.role, p.quota_bytes FROM context_graph.project AS p "
        "JOIN context_graph.team AS t ON t.id = p.team "
        "JOIN context_graph.member AS m ON m.project = p.id AND m.login = session_user WHERE p.id = %s",
        (project,),
    ).fetchone()
    if row is None:
        raise ConfigError("the hub knows no such project of yours; you were removed, or it was: `hub leave`")
    machines = connection.execute(
        "SELECT machine, login, last, bytes, (extract(epoch FROM pushed_at) * 1000)::bigint "
        "FROM context_graph.machine WHERE project = %s AND last > 0 ORDER BY pushed_at DESC LIMIT 1000",
        (project,),
    ).fetchall()
    members = connection.execute(
        "SELECT login, role FROM context_graph.member WHERE project = %s AND removed_at IS NULL ORDER BY login",
        (project,),
    ).fetchall()
    names = ("machine", "login", "lines", "bytes", "pushed_at_ms")
    rows = [dict(zip(names, one, strict=True)) for one in machines]
    return {
        "project": row[0],
        "team": row[1],
        "role": row[2],
        "quota_bytes": row[3],
        "used_bytes": sum(int(str(one["bytes"])) for one in rows),
        "members": [{"login": login, "role": role} for login, role in members],
        "machines": rows,
    }
