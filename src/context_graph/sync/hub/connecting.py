"""Connects to a hub's server: with limits, and with TLS and a checked certificate off this machine.

Whoever has a connection has the limits: `connect` is the only way to one.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo, TransactionStatus

from context_graph.errors import ConfigError
from context_graph.sync.transport import TransportError

Connection = psycopg.Connection[tuple[object, ...]]
CONNECT_S: Final = 10
_LIMITS: Final = {
    "statement_timeout": "15s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "15s",
    "search_path": "pg_catalog",
}
"""So that the server, too, ends what this side has given up; and no operator is used that another login has
put into a schema where everybody may make some."""
_GET_LIMITS: Final = b"SELECT " + b", ".join(f"current_setting('{name}')".encode() for name in _LIMITS)
_SET_LIMITS: Final = b"SELECT " + b", ".join(
    f"set_config('{name}', '{value}', true)".encode() for name, value in _LIMITS.items()
)
_NO_OPTIONS: Final = "unsupported startup parameter"
"""Said by a pooler that hands its connections from one client to the next after each transaction, unless it
drops them without a word (`ignore_startup_parameters`)."""
_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)


def checked_url(url: str) -> str:
    """Return ``url`` with our limits, and with TLS and a checked certificate unless it stays on this machine.
    What libpq would take from its environment counts as if it stood in ``url``.

    Raises ConfigError if it is no URL of a PostgreSQL, or asks for less than that.
    """
    try:
        wanted = conninfo_to_dict(url)
        defaults = {option.keyword.decode(): option.val for option in Conninfo.get_defaults() if option.val}
    except psycopg.Error as error:
        raise ConfigError(f"hub_url is no address of a PostgreSQL: {str(error).strip()[:200]}") from error
    if wanted.get("service"):
        raise ConfigError("hub_url names a service, which may lead anywhere; write host and port into it")
    for name in ("host", "hostaddr"):  # said outright: nothing else may lead elsewhere later
        wanted[name] = wanted.get(name) or defaults.get(name, b"").decode()
    if not _is_local(str(wanted["host"]), str(wanted["hostaddr"])):
        mode = wanted.get("sslmode", "verify-full")
        if mode != "verify-full":
            raise ConfigError(
                f"hub_url has sslmode={mode}; a hub on another machine needs verify-full, the default: "
                "leave sslmode out"
            )
        own = defaults.get("sslrootcert", b"").decode()
        bundle = own or next((path for path in _BUNDLES if Path(path).exists()), "system")
        wanted = {"sslrootcert": bundle, **wanted, "sslmode": mode, "gssencmode": "disable"}
    wanted |= {
        **{"connect_timeout": CONNECT_S, "application_name": "context-graph", "client_encoding": "utf8"},
        "options": " ".join(f"-c {name}={value}" for name, value in _LIMITS.items()),
        **{
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
        },
    }
    return make_conninfo("", **{name: str(value) for name, value in wanted.items() if value is not None})


def _is_local(hosts: str, addresses: str) -> bool:
    """Return whether each place that libpq may try is on this machine; it goes by ``addresses`` first."""
    try:
        near = all(ip_address(address).is_loopback for address in addresses.split(",") if address)
        named = all(
            host == "localhost" or host.startswith("/") or ip_address(host).is_loopback
            for host in hosts.split(",")
        )
    except ValueError:
        return False
    return near and named


class _Pooled(Connection):
    """Through a pooler, which takes no limits at the start: each transaction begins with them."""

    @contextmanager
    def transaction(self, *args: Any, **kwargs: Any) -> Iterator[psycopg.Transaction]:
        is_first = self.info.transaction_status == TransactionStatus.IDLE
        with super().transaction(*args, **kwargs) as transaction:
            if is_first:
                super().execute(_SET_LIMITS)
            yield transaction

    def execute(self, *args: Any, **kwargs: Any) -> psycopg.Cursor[tuple[object, ...]]:
        if self.info.transaction_status != TransactionStatus.IDLE:
            return super().execute(*args, **kwargs)
        with self.transaction():
            return super().execute(*args, **kwargs)


def connect(url: str) -> Connection:
    """Return a connection that commits each statement by itself, each with limits on the server.

    Raises TransportError, ConfigError.
    """
    address = checked_url(url)
    try:
        connection = _opened(address)
    except psycopg.Error as error:
        if "is not permitted to log in" in str(error):
            raise TransportError("the hub lets you in no more: you are no member, or were removed") from error
        raise TransportError(f"the hub can't be reached: {first_line(error)}") from error
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        connection.close()
        raise ConfigError(
            f"the hub's database holds texts as {encoding}, which can't hold every memory; "
            "an administrator makes another: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
        )
    return connection


def _opened(address: str) -> Connection:
    """Return a connection whose server keeps our limits, also where a pooler drops or refuses them."""
    try:
        connection = psycopg.connect(address, autocommit=True)
        with bounded(connection, CONNECT_S):
            limits = connection.execute(_GET_LIMITS).fetchone()
        if limits == tuple(_LIMITS.values()):
            return connection
        connection.close()
    except psycopg.OperationalError as error:
        if _NO_OPTIONS not in str(error):
            raise
    plain = {name: value for name, value in conninfo_to_dict(address).items() if name != "options"}
    return _Pooled.connect(make_conninfo("", **plain), autocommit=True, prepare_threshold=None)


@contextmanager
def bounded(connection: Connection, answer_s: float) -> Iterator[None]:
    """Cut the connection if it is not done in that time: a server that hangs sends no error."""
    copy = socket.socket(fileno=os.dup(connection.fileno()))
    timer = threading.Timer(answer_s, _cut, (copy,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        copy.close()


def _cut(copy: socket.socket) -> None:
    with suppress(OSError):
        copy.shutdown(socket.SHUT_RDWR)


def first_line(error: psycopg.Error) -> str:
    """Return the first line of what the server or libpq said, without the address."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
