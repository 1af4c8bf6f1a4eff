"""Teams, projects and members of a hub: what its administrator makes of them, and what a member sees."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID, uuid4

from msgspec import structs
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from context_graph.errors import ConfigError, InvalidInputError
from context_graph.sync.hub.connecting import Connection
from context_graph.sync.hub.membership import Membership, token_of
from context_graph.sync.hub.schema import MEMBERS, migrate

ROLES: Final = ("reader", "writer", "owner")


def prepare(admin: Connection, team: str, project: str, remote: str = "") -> UUID:
    """Bring the tables up to date, and make team and project where they are missing; the project's id.

    A project that is there already is going to be indexed anew: newer builds may search in another way. By
    ``remote``, a digest of its checkouts' git remote, `hub join` tells them from others.
    """
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
    made = project_id(admin, team, project)
    admin.execute("UPDATE context_graph.machine SET indexed = 0 WHERE project = %s", (made,))
    if remote:
        admin.execute(
            "UPDATE context_graph.project SET remote = %s WHERE id = %s AND remote = ''", (remote, made)
        )
    return made


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


def projects_of_team(admin: Connection, team: str) -> list[tuple[str, str]]:
    """Return (id, name) of the projects of a team, by name."""
    rows = admin.execute(
        "SELECT p.id::text, p.name FROM context_graph.project AS p "
        "JOIN context_graph.team AS t ON t.id = p.team WHERE t.name = %s ORDER BY p.name",
        (team,),
    ).fetchall()
    return [(str(row[0]), str(row[1])) for row in rows]


def invite(
    admin: Connection, url: str, team: str, project: str, login: str, role: str, *, new_password: bool = False
) -> str:
    """Make ``login`` a member; the token to hand over.

    Somebody who is a member of another project keeps their password, and their token has none, unless
    ``new_password``, with which their other tokens end. InvalidInputError: the server's own login, or an
    unknown role.
    """
    if role not in ROLES:
        raise InvalidInputError(f"--role is {role[:20]!r}; give one of {', '.join(ROLES)}")
    wanted = project_id(admin, team, project)
    with admin.transaction():
        password = _make_login(admin, login, new_password)
        admin.execute(
            "INSERT INTO context_graph.member (project, login, role) VALUES (%s, %s, %s) "
            "ON CONFLICT (project, login) DO UPDATE SET role = excluded.role, removed_at = NULL",
            (wanted, login, role),
        )
    kept = {name: value for name, value in conninfo_to_dict(url).items() if name not in ("user", "password")}
    kept |= {"user": login, **({"password": password} if password else {})}
    return token_of(Membership(make_conninfo("", **kept), str(wanted), team, project))


def _make_login(admin: Connection, login: str, new_password: bool) -> str:
    """See that there is a login that is in the members' role and in no other; its password if it is new."""
    name, members = sql.Identifier(login), sql.Identifier(MEMBERS)
    there = admin.execute(
        "SELECT pg_has_role(oid, %s, 'member'), rolsuper OR rolcreaterole OR rolcreatedb, "
        "EXISTS (SELECT FROM context_graph.member WHERE login = rolname) FROM pg_roles WHERE rolname = %s",
        (MEMBERS, login),
    ).fetchone()
    if there is None:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN IN ROLE {}").format(name, members))
    elif there[1] or not (there[0] or there[2]):
        raise InvalidInputError(f"the server has a login {login!r} that is no member's; choose another name")
    elif not there[0]:  # somebody who was removed
        admin.execute(sql.SQL("GRANT {} TO {}").format(members, name))
        admin.execute(sql.SQL("ALTER ROLE {} LOGIN").format(name))
    elif not new_password:
        return ""
    password = secrets.token_urlsafe(24)
    hidden = admin.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()
    admin.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(hidden)))
    return password


def with_password(membership: Membership, others: Iterable[Membership]) -> Membership:
    """Return ``membership`` with the password of another one of that login and server if it has none."""
    own = conninfo_to_dict(membership.url)
    if "password" in own:
        return membership
    names = ("host", "port", "dbname", "user")
    for other in others:
        there = conninfo_to_dict(other.url)
        if "password" in there and all(own.get(name) == there.get(name) for name in names):
            own["password"] = there["password"]
            return structs.replace(membership, url=make_conninfo("", **own))
    return membership


def projects_of(connection: Connection) -> list[tuple[str, str, str]]:
    """Return (id, team, name) of the projects that this login is a member of."""
    rows = connection.execute(
        "SELECT p.id::text, t.name, p.name FROM context_graph.project AS p "
        "JOIN context_graph.team AS t ON t.id = p.team ORDER BY t.name, p.name"
    ).fetchall()
    return [(str(row[0]), str(row[1]), str(row[2])) for row in rows]


def remove(admin: Connection, team: str, project: str, login: str) -> bool:
    """End the membership of ``login``, from their next statement on; what they told stays. Returns whether
    one was.

    Their connections end; if this was the last project of theirs, they can't log in any more.
    """
    wanted = project_id(admin, team, project)
    there = admin.execute(
        "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = login) FROM context_graph.member "
        "WHERE project = %s AND login = %s AND removed_at IS NULL",
        (wanted, login),
    ).fetchone()
    if there is None:
        return False
    if there[0]:  # who comes again at once could hold the very rows that are changed here
        admin.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(sql.Identifier(login)))
        _disconnect(admin, login)
    with admin.transaction():
        admin.execute(
            "UPDATE context_graph.member SET removed_at = now() WHERE project = %s AND login = %s",
            (wanted, login),
        )
        others = admin.execute(
            "SELECT FROM context_graph.member WHERE login = %s AND removed_at IS NULL", (login,)
        ).fetchone()
        if there[0]:
            change = "REVOKE {members} FROM {login}" if others is None else "ALTER ROLE {login} LOGIN"
            names = {"members": sql.Identifier(MEMBERS), "login": sql.Identifier(login)}
            admin.execute(sql.SQL(change).format(**names))
    _disconnect(admin, login)
    return True


def _disconnect(admin: Connection, login: str) -> None:
    admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (login,))


# What a member sees


def status(connection: Connection, project: str) -> dict[str, Any]:
    """Return the project as this member sees it. Raises ConfigError if they are no member (any more)."""
    row = connection.execute(
        "SELECT p.name, t.name, m.role, p.quota_bytes, p.remote FROM context_graph.project AS p "
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
        "SELECT login, role FROM context_graph.member WHERE project = %s AND removed_at IS NULL "
        "ORDER BY login",
        (project,),
    ).fetchall()
    names = ("machine", "login", "lines", "bytes", "pushed_at_ms")
    rows = [dict(zip(names, row, strict=True)) for row in machines]
    return {
        "project": row[0],
        "team": row[1],
        "role": row[2],
        "quota_bytes": row[3],
        "remote": row[4],
        "used_bytes": sum(int(str(row["bytes"])) for row in rows),
        "members": [{"login": login, "role": role} for login, role in members],
        "machines": rows,
    }
