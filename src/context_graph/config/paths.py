"""Finds data root, project, store and socket paths. Twins: ext/launcher/src/paths.rs and dbpath.rs.

tests/golden/paths.tsv tests both: a hook and the CLI must always mean the same store.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from context_graph.errors import ConfigError, PathNotAllowedError, StoreError

_PATH_MAX_BYTES: Final = 4096
SOCKET_PATH_MAX: Final = 107 if sys.platform == "linux" else 103
"""Bytes of sun_path that Linux accepts, without its final NUL; macOS and the BSDs have 4 fewer."""
ACCOUNT_MARK: Final = "@"
"""How the name of an account's store begins, and no project's."""
_SLUG_BYTES: Final = 40
_SLUG_KEEPS: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@dataclass(frozen=True, slots=True)
class Location:
    """Where one call works: the data root, the store's folder, the project's top folder."""

    root: Path
    store: Path
    project: Path


def fnv1a64(data: bytes) -> int:
    """Return 64-bit FNV-1a of ``data``; names store folders and brief slots, so it never changes."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def data_root(env: Mapping[str, str] | None = None) -> Path:
    """$CONTEXT_GRAPH_HOME, else $XDG_DATA_HOME/context-graph, else ~/.local/share/context-graph. Raises
    ConfigError if the path is not absolute, or no variable names a home.
    """
    env = os.environ if env is None else env
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


def project_dir(env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Path:
    """Return the folder the call belongs to: $CLAUDE_PROJECT_DIR if it exists, else the working folder;
    canonical.

    The client's working folder follows `cd`; CLAUDE_PROJECT_DIR does not, so it goes first.
    """
    env = os.environ if env is None else env
    named = env.get("CLAUDE_PROJECT_DIR", "")
    if named and os.path.isdir(named):
        return Path(os.path.realpath(named))
    return Path(os.path.realpath(cwd if cwd is not None else working_dir()))


def working_dir() -> Path:
    """Return where the process works. Raises ConfigError if that folder has been removed."""
    try:
        return Path(os.getcwd())
    except FileNotFoundError as error:
        raise ConfigError(
            "the working folder has been removed; change to one that is there, and try again"
        ) from error


def project_top(folder: Path) -> Path:
    """Return the top of ``folder``'s repository, shared by its checkouts; outside git ``folder`` itself."""
    return find_repository(folder)


def checkout_top(folder: Path) -> Path:
    """Return the top of the checkout of ``folder``, a linked worktree's own; outside git ``folder``."""
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


def client_dir(env: Mapping[str, str] | None = None) -> Path:
    """Return the client's own folder: $CLAUDE_CONFIG_DIR, else ~/.claude."""
    env = os.environ if env is None else env
    named = env.get("CLAUDE_CONFIG_DIR", "")
    return Path(named) if named.startswith("/") else Path(env.get("HOME", "/")) / ".claude"


def account_of(env: Mapping[str, str]) -> str:
    """Name of the store that holds what a client's user said of all his work; no project's has such a name.
    CLAUDE_CONFIG_DIR in ``env``, a request's, tells two accounts of one person apart.
    """
    named = env.get("CLAUDE_CONFIG_DIR", "")
    if named.startswith("/"):
        return _account_name(named)
    return _account_name(os.path.join(env.get("HOME") or os.path.expanduser("~"), ".claude"))


def is_account(name: str) -> bool:
    """Return whether ``name`` is one that `account_of` gives."""
    digits = name.removeprefix(f"{ACCOUNT_MARK}user-")
    return len(name) - len(digits) == 6 and len(digits) == 12 and set(digits) <= set("0123456789abcdef")


@lru_cache(maxsize=64)
def _account_name(folder: str) -> str:
    # Twelve digits: with more it would look like a secret, and be masked in what is kept of a session.
    return f"{ACCOUNT_MARK}user-{fnv1a64(os.fsencode(os.path.realpath(folder))) >> 16:012x}"


def store_key(top: Path) -> str:
    """Return the folder name of a project's store: readable slug, then 16 hex digits of the path's hash."""
    raw = os.fsencode(top)
    last = raw.rstrip(b"/").rpartition(b"/")[2]
    slug = bytes(byte if byte in _SLUG_KEEPS else 0x5F for byte in last)[:_SLUG_BYTES] or b"root"
    return f"{slug.decode()}-{fnv1a64(raw):016x}"


def store_dir(root: Path, top: Path) -> Path:
    """Return the store of the project whose top folder is ``top``."""
    return root / "stores" / store_key(top)


def locate(
    db_path: str | None = None, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Location:
    """Return root, store and project of a call; ``db_path``, an option, goes before $CONTEXT_GRAPH_DB_PATH.
    Raises PathNotAllowedError if the named store leaves the allowed roots (REQ-HOOKS-30).
    """
    env = os.environ if env is None else env
    root = data_root(env)
    folder = project_dir(env, cwd)
    top = find_repository(folder)
    named = db_path if db_path is not None else env.get("CONTEXT_GRAPH_DB_PATH") or None
    if named is None:
        return Location(root, store_dir(root, top), top)
    if cwd is None:
        try:
            cwd = working_dir()
        except ConfigError:
            if not named.startswith("/"):
                raise
            cwd = folder
    return Location(root, check_db_path(named, root=root, cwd=cwd, folders=(folder, top), env=env), top)


def _refuse(path: str, reason: str, cure: str) -> PathNotAllowedError:
    return PathNotAllowedError(f"db path {path!r} {reason}; {cure}")


def check_db_path(
    named: str, *, root: Path, cwd: Path, folders: Iterable[Path], env: Mapping[str, str]
) -> Path:
    """Return the absolute store folder that ``named`` means, if it stays inside an allowed root.

    Allowed roots: the data root and its parent, HOME, the working and project folders, the temp folders, and
    $CONTEXT_GRAPH_ALLOWED_ROOTS (colon-separated). Below its root no component may be a link unless
    CONTEXT_GRAPH_ALLOW_LINKS=1. PathNotAllowedError names the path, the reason and the cure.
    """
    if not named or "\0" in named:
        raise _refuse(named, "is empty or holds a NUL", "name a folder")
    if len(os.fsencode(named)) > _PATH_MAX_BYTES:
        raise _refuse(named[:80], f"is longer than {_PATH_MAX_BYTES} bytes", "use a shorter path")
    if ".." in named.split("/"):
        raise _refuse(named, "has a '..' component", "write the path without it")
    path = str(clean(os.path.join(cwd, named)))
    roots = _allowed_roots(root, cwd, folders, env)
    allowed = [above for above in roots if path.startswith(above.rstrip("/") + "/")]
    if not allowed:
        raise _refuse(
            named, "is outside the allowed roots", "add its parent to CONTEXT_GRAPH_ALLOWED_ROOTS to allow it"
        )
    _check_links(named, path, max(allowed, key=len), allow=env.get("CONTEXT_GRAPH_ALLOW_LINKS") == "1")
    return Path(path)


def _allowed_roots(root: Path, cwd: Path, folders: Iterable[Path], env: Mapping[str, str]) -> set[str]:
    implied = [str(place) for place in (root, root.parent, cwd, *folders)]
    implied += ["/tmp", "/var/tmp", env.get("HOME", ""), env.get("TMPDIR", "")]
    roots = {str(clean(place)) for place in implied if place.startswith("/")} - {"/"}
    asked = env.get("CONTEXT_GRAPH_ALLOWED_ROOTS", "").split(":")
    return roots | {str(clean(place)) for place in asked if place.startswith("/")}


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


def lock_path(root: Path) -> Path:
    """Return the owner's lock file; its text is `pid version`."""
    return root / "run" / "owner.lock"


def log_dir(root: Path) -> Path:
    """Return folder of the owner's log files."""
    return root / "log"


def waker_path(root: Path) -> Path:
    """Return the socket beside `socket_path` on which hooks tell the owner of events."""
    return socket_path(root).with_suffix(".wake")


def socket_path(root: Path) -> Path:
    """Return the owner's socket: in the data root or, where that path is too long to bind, under /tmp."""
    path = root / "run" / "owner.sock"
    raw = os.fsencode(path)
    if len(raw) <= SOCKET_PATH_MAX:
        return path
    return Path(f"/tmp/context-graph-{os.getuid()}") / f"{fnv1a64(os.fsencode(root)):016x}.sock"


_CURE: Final = (
    "One of the two may run in a container: mount that folder at the same path in both, or give each "
    "a data root of its own (CONTEXT_GRAPH_HOME). After `context-graph-cli owner stop` an owner starts here"
)


def check_root(root: Path, store: Path, project: Path | None) -> None:
    """Raise StoreError if ``store`` is that of ``project`` in a data root that is not ``root``.

    The client has reached us through its data root, so that is ours by another path, where a store of the
    same project would be a second, empty one. A store that was named by hand has another name.
    """
    named = store.parent.parent
    if named == root or project is None or store != store_dir(named, project):
        return
    with contextlib.suppress(OSError):
        if os.path.samefile(named, root):  # through a link
            return
    raise StoreError(f"the owner was started where the data root is {root}; here it is {named}. {_CURE}")


# The repository that a folder belongs to: all its checkouts share one store. Twin:
# ext/launcher/src/repository.rs.
#
# A checkout whose `.git` is a folder is its own repository. A `.git` file names the git dir. A linked
# worktree's git dir leads to the common git dir, and that to the main checkout if git records one (its `.git`
# folder, or core.worktree, as submodules have). If git records none (a bare repository,
# `--separate-git-dir`), the git dir itself identifies the repository. This runs no git and reads at most
# three small files.

_READ: Final = 4096
"""Bytes read of a file of git's; `[core]` stands at the top of a config."""


def clean(path: str) -> Path:
    """Return ``path`` without empty parts, `.` and `..`, by its text; never with two slashes in front."""
    path = os.path.normpath(path)
    return Path(path[1:] if path.startswith("//") else path)


def find_repository(folder: Path) -> Path:
    """Return the top folder of the repository that ``folder``, canonical, belongs to, shared by its
    checkouts; the folder itself outside git.
    """
    for place in (folder, *folder.parents):
        dot_git = place / ".git"
        try:
            mode = os.lstat(dot_git).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            return place
        if stat.S_ISREG(mode):
            return _of_git_file(place, dot_git)
    return folder


def _of_git_file(place: Path, dot_git: Path) -> Path:
    git_dir = _named(place, dot_git)
    if git_dir is None:
        return place
    common, folder_name = git_dir.parent.parent, git_dir.parent.name
    if folder_name == "worktrees" and str(common) != "/":
        return _of_worktree(place, dot_git, git_dir, common)
    return _of_main(place, git_dir)


def _of_worktree(place: Path, dot_git: Path, git_dir: Path, common: Path) -> Path:
    """Return a linked worktree; one that the repository does not know is its own project."""
    back = _first_line(git_dir / "gitdir").strip()
    if not back or not _is_same(_path(git_dir, back), dot_git):
        return place  # an unpacked archive could claim another's memories
    if common.name == ".git":
        return common.parent
    main = _core(common).get(b"worktree")
    checkout = _path(common, main) if main else None
    if checkout is not None and _named(checkout, checkout / ".git") == common:
        return checkout
    return common


def _of_main(place: Path, git_dir: Path) -> Path:
    """Return a main checkout whose git dir is elsewhere."""
    core = _core(git_dir)
    if b"worktree" in core or core.get(b"bare", b"").lower() != b"false" or git_dir.name == ".git":
        # A submodule is its own project; what belongs to another checkout, or to none, proves nothing.
        return place
    if not os.path.isdir(git_dir / "objects") or os.path.lexists(git_dir / "commondir"):
        return place
    return git_dir


def _named(place: Path, dot_git: Path) -> Path | None:
    """Return the git dir that the file ``dot_git`` of the checkout ``place`` names."""
    first = _first_line(dot_git)
    return _path(place, first[len(b"gitdir:") :].strip()) if first.startswith(b"gitdir:") else None


def _path(folder: Path, named: bytes) -> Path:
    return clean(os.path.join(folder, os.fsdecode(named)))


def _is_same(first: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(first), os.lstat(other))
    except (OSError, ValueError):
        return False


def _core(git_dir: Path) -> dict[bytes, bytes]:
    """Return the variables of `[core]` in the head of a repository's config."""
    variables: dict[bytes, bytes] = {}
    section = b""
    for line in _head(git_dir / "config").split(b"\n"):
        stripped = line.strip()
        if stripped.startswith(b"["):
            section = stripped.lower()
        elif section == b"[core]":
            name, _, value = stripped.partition(b"=")
            variables[name.strip().lower()] = value.strip()
    return variables


def _first_line(path: Path) -> bytes:
    return _head(path).split(b"\n", 1)[0]


def _head(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
        with open(handle, "rb", buffering=0) as source:
            return source.read(_READ) or b""
    except (OSError, ValueError):
        return b""
