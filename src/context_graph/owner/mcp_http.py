"""The owner's HTTP door, opened only when asked for: loopback, its token in a file of the data root."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from context_graph.config import Settings, find_repository, project_store
from context_graph.errors import ConfigError, InvalidInputError
from context_graph.mcp_server.endpoint import Endpoint
from context_graph.mcp_server.http import PATH, HttpServer
from context_graph.mcp_server.http_connection import HttpConnection
from context_graph.wire.frames import Request

if TYPE_CHECKING:
    from context_graph.owner.mcp_host import McpHost

__all__ = ["TOKEN_FILE", "HttpDoor", "http_token"]

TOKEN_FILE: Final = "http-token"
_LOOPBACK: Final = "127.0.0.1"


class HttpDoor:
    """MCP over HTTP for as long as the owner lives.

    Raises:
        OSError: If the port can't be bound.
        ConfigError: If the token's file is not ours alone.
    """

    def __init__(
        self,
        root: Path,
        host: McpHost,
        settings: Settings,
        loop: asyncio.AbstractEventLoop,
        log: logging.Logger,
    ) -> None:
        self._root = root
        self._host = host
        self._project = settings.http_project
        self._server = HttpServer(self._endpoint, http_token(root), lifetime_s=settings.mcp_session_s)
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((_LOOPBACK, settings.http_port))
            self._listening = loop.run_until_complete(
                loop.create_server(lambda: HttpConnection(self._server, log), sock=listener)
            )
        except OSError:
            listener.close()
            raise
        log.info("http: listening on http://%s:%d%s", _LOOPBACK, listener.getsockname()[1], PATH)

    def close(self) -> None:
        """Take no more connections and end those there are."""
        self._listening.close()
        self._server.close()

    def _endpoint(self, project: str | None, client: bytes) -> Endpoint:
        named = project or self._project
        if not named:
            raise InvalidInputError(
                "no project is named; add ?project=/its/folder to the URL, or set http_project"
            )
        if not os.path.isabs(named) or not os.path.isdir(named):
            raise InvalidInputError(f"project {named!r} is no absolute path of a folder")
        repository = find_repository(Path(os.path.realpath(named)))
        store = project_store(self._root, repository)
        request = Request(verb="mcp.http", event_id=client.decode(), store=store, project=repository.top)
        return self._host.endpoint(request)


def http_token(root: Path) -> str:
    """The token in the data root's file, drawn when there is none yet; readable by its owner alone.

    Raises:
        ConfigError: If others may read the file, or it is not ours.
    """
    path = root / TOKEN_FILE
    with contextlib.suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="ascii") as sink:
            sink.write(secrets.token_hex(32) + "\n")
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(handle, encoding="ascii", errors="replace") as source:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise ConfigError(f"{path} must be yours and readable by you alone; chmod 600 {path}")
        token = source.read(4096).strip()
    if len(token) < 32:
        raise ConfigError(f"{path} holds no token of at least 32 characters; remove it to have one drawn")
    return token
