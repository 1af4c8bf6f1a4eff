"""Finds data root, project, store and socket, as texts. Twins: ext/launcher/src/paths.rs and dbpath.rs.

``paths`` has the same as `Path`s, for everybody but the hooks that run in Python: to load `pathlib` and
`dataclasses` would take those longer than all they do. tests/golden/paths.tsv holds both languages to one
rule: a hook and the CLI must always mean the same store.
"""

from __future__ import annotations

import os
import stat

from context_graph.config import repository
from context_graph.errors import ConfigError, PathNotAllowedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PATH_MAX_BYTES = 4096
SOCKET_PATH_MAX = 107
"""Bytes of sun_path that Linux accepts, without its final NUL; macOS and the BSDs have 4 fewer."""
if os.uname().sysname != "Linux":
    SOCKET_PATH_MAX = 103
_SLUG_BYTES = 40
_SLUG_KEEPS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def clean(path: str) -> str:
    """``path`` without empty components, `.` and `..`, as text alone; never with two slashes in front."""
    path = os.path.normpath(path)
    return path[1:] if path.startswith("//") else path


def fnv1a64(data: bytes) -> int:
    """64-bit FNV-1a of ``data``; names store folders and brief slots, so it never changes."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def data_root(env: Mapping[str, str]) -> str:
    """$CONTEXT_GRAPH_HOME, else $XDG_DATA_HOME/context-graph, else ~/.local/share/context-graph.

    Raises:
        ConfigError: If the path is not absolute, or no variable names a home.
    """
    named = env.get("CONTEXT_GRAPH_HOME", "")
    if named:
        if not named.startswith("/"):
            raise ConfigError(f"CONTEXT_GRAPH_HOME is {named!r}; it must be an absolute path")
        return clean(named)
    shared = env.get("XDG_DATA_HOME", "")
    if shared.startswith("/"):
        return clean(f"{shared}/context-graph")
    home = env.get("HOME", "")
    if home.startswith("/"):
        return clean(f"{home}/.local/share/context-graph")
    raise ConfigError("neither CONTEXT_GRAPH_HOME nor HOME is an absolute path; set CONTEXT_GRAPH_HOME")


def working_dir() -> str:
    """Where the process works.

    Raises:
        ConfigError: That folder has been removed.
    """
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise ConfigError(
            "the working folder has been removed; change to one that is there, and try again"
        ) from error


def project_dir(env: Mapping[str, str], cwd: str | None) -> str:
    """The folder the call belongs to: $CLAUDE_PROJECT_DIR if it exists, else the working folder; canonical.

    The client's working folder follows `cd`; CLAUDE_PROJECT_DIR does not, so it goes first.
    """
    named = env.get("CLAUDE_PROJECT_DIR", "")
    if named and os.path.isdir(named):
        return os.path.realpath(named)
    return os.path.realpath(cwd if cwd is not None else working_dir())


def store_key(top: str) -> str:
    """Folder name of a project's store: readable slug, then 16 hex digits of the path's hash."""
    raw = os.fsencode(top)
    last = raw.rstrip(b"/").rpartition(b"/")[2]
    slug = bytes(byte if byte in _SLUG_KEEPS else 0x5F for byte in last)[:_SLUG_BYTES] or b"root"
    return f"{slug.decode()}-{fnv1a64(raw):016x}"


def store_dir(root: str, top: str) -> str:
    """The store of the project whose top folder is ``top``."""
    return f"{root.rstrip('/')}/stores/{store_key(top)}"


def project_store(root: str, found: repository.Found) -> str:
    """The store of a repository, found again where it was made under an old name.

    The checkout that has it says so to the others, once, by a link in `aliases` whose text is the old
    name: a store can't be moved while anybody may write to its spool.
    """
    top, old_top, shared = found
    store = store_dir(root, top)
    aliases, stores = f"{root.rstrip('/')}/aliases", os.path.dirname(store)
    alias = f"{aliases}/{os.path.basename(store)}"
    if old_top is not None:
        old = store_dir(root, old_top)
        if os.path.isdir(old):
            if not os.path.lexists(store):
                _make_alias(aliases, alias, os.path.basename(old))
            return old
    if shared and not os.path.lexists(store):
        try:
            named = os.readlink(alias)
        except OSError:
            return store
        if named and "/" not in named and os.path.isdir(f"{stores}/{named}"):
            return f"{stores}/{named}"
    return store


def _make_alias(aliases: str, alias: str, named: str) -> None:
    try:
        os.makedirs(aliases, mode=0o700, exist_ok=True)
        os.symlink(named, alias)
    except OSError:
        pass  # it is there, or can't be made: the others begin a store of their own


def locate(db_path: str | None, env: Mapping[str, str], cwd: str | None) -> tuple[str, str, str, str]:
    """Root, store, the project's top and its folder; ``db_path``, an option, before $CONTEXT_GRAPH_DB_PATH.

    Raises:
        PathNotAllowedError: If the named store leaves the allowed roots (REQ-HOOKS-30).
    """
    root = data_root(env)
    folder = project_dir(env, cwd)
    found = repository.find(folder)
    named = db_path if db_path is not None else env.get("CONTEXT_GRAPH_DB_PATH") or None
    if named is None:
        return root, project_store(root, found), found[0], folder
    if cwd is None:
        try:
            cwd = working_dir()
        except ConfigError:
            if not named.startswith("/"):
                raise
            cwd = folder
    store = check_db_path(named, root=root, cwd=cwd, folders=(folder, found[0]), env=env)
    return root, store, found[0], folder


def _refuse(path: str, reason: str, cure: str) -> PathNotAllowedError:
    return PathNotAllowedError(f"db path {path!r} {reason}; {cure}")


def check_db_path(named: str, *, root: str, cwd: str, folders: Iterable[str], env: Mapping[str, str]) -> str:
    """The absolute store folder that ``named`` means, if it stays inside an allowed root.

    Allowed roots: the data root and its parent, HOME, the working and project folders, the temp
    folders, and $CONTEXT_GRAPH_ALLOWED_ROOTS (colon-separated). Below its root no component may
    be a link unless CONTEXT_GRAPH_ALLOW_LINKS=1.

    Raises:
        PathNotAllowedError: Naming the path, the reason and the cure.
    """
    if not named or "\0" in named:
        raise _refuse(named, "is empty or holds a NUL", "name a folder")
    if len(os.fsencode(named)) > _PATH_MAX_BYTES:
        raise _refuse(named[:80], f"is longer than {_PATH_MAX_BYTES} bytes", "use a shorter path")
    if ".." in named.split("/"):
        raise _refuse(named, "has a '..' component", "write the path without it")
    path = clean(os.path.join(cwd, named))
    allowed = _roots_above(path, _allowed_roots(root, cwd, folders, env))
    if not allowed:
        raise _refuse(
            named, "is outside the allowed roots", "add its parent to CONTEXT_GRAPH_ALLOWED_ROOTS to allow it"
        )
    _check_links(named, path, max(allowed, key=len), allow=env.get("CONTEXT_GRAPH_ALLOW_LINKS") == "1")
    return path


def _allowed_roots(root: str, cwd: str, folders: Iterable[str], env: Mapping[str, str]) -> set[str]:
    implied = [root, os.path.dirname(root), cwd, *folders]
    implied += ["/tmp", "/var/tmp", env.get("HOME", ""), env.get("TMPDIR", "")]
    roots = {clean(place) for place in implied if place.startswith("/")} - {"/"}
    asked = env.get("CONTEXT_GRAPH_ALLOWED_ROOTS", "").split(":")
    return roots | {clean(place) for place in asked if place.startswith("/")}


def _roots_above(path: str, roots: Iterable[str]) -> list[str]:
    return [root for root in roots if path.startswith(root.rstrip("/") + "/")]


def _check_links(named: str, path: str, root: str, *, allow: bool) -> None:
    place = root.rstrip("/")
    for part in path[len(place) + 1 :].split("/"):
        place = f"{place}/{part}"
        try:
            mode = os.lstat(place).st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise _refuse(
                named, f"can't be checked ({error.strerror})", "name a folder you can read"
            ) from error
        if stat.S_ISLNK(mode):
            if not allow:
                raise _refuse(
                    named, f"goes through the link {place!r}", "set CONTEXT_GRAPH_ALLOW_LINKS=1 to allow it"
                )
            mode = os.stat(place).st_mode if os.path.exists(place) else stat.S_IFDIR
        if not stat.S_ISDIR(mode):
            raise _refuse(named, f"runs into {place!r}, which is no folder", "name a folder")


def socket_path(root: str) -> str:
    """The owner's socket: in the data root or, where that path is too long to bind, under /tmp."""
    path = f"{root.rstrip('/')}/run/owner.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_MAX:
        return path
    return f"/tmp/context-graph-{os.getuid()}/{fnv1a64(os.fsencode(root)):016x}.sock"
