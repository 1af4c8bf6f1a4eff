"""Plans the changes of `setup` and `setup --remove` before anything is written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

import context_graph
from context_graph.claude.install.entries import (
    SERVER,
    add_server,
    add_to_settings,
    drop_server,
    is_taken,
    mentions_us,
    our_servers,
    parsed_object,
    take_from_settings,
)
from context_graph.claude.settings.edit import Change, edited, read_text
from context_graph.config import client_dir, store_key
from context_graph.errors import ConfigError, ContextGraphError, InvalidInputError
from context_graph.system.small_files import read_object, write_json


@dataclass(frozen=True, slots=True)
class Options:
    """What to set up beside the hooks."""

    servers: bool = True
    server: str = SERVER
    """The name of ours in `.mcp.json`."""
    skills: bool = True
    permissions: bool = True
    status_line: bool = False
    strict_gates: bool | None = None
    program: str = ""
    """Path of the program, for settings of this machine alone; "" where the client may want a shell line."""


@dataclass(slots=True)
class Setup:
    """The planned changes, and remarks for a person."""

    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def needed(self) -> list[Change]:
        """The changes that change something."""
        return [change for change in self.changes if change.is_needed]


def plugin_folder() -> Path:
    """Return the Claude Code plugin that comes with the package: hooks, server, skills."""
    return Path(context_graph.__file__).parent / "data" / "plugin"


def plugin_copy(root: Path) -> Path:
    """Return a copy of the plugin in the data root, brought up to date: the client writes type declarations
    into it.

    Raises:
        ConfigError: It can't be written.
    """
    source, target = plugin_folder(), root / "plugin"
    try:
        for path in sorted(source.rglob("*")):
            place = target / path.relative_to(source)
            if path.is_dir():
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
            elif not place.is_file() or place.read_bytes() != path.read_bytes():
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                place.write_bytes(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{target} can't be written: {error.strerror}") from error
    return target


def plan_setup(scope: Scope, record: Record, options: Options) -> Setup:
    """Return hooks, and what else ``options`` say, merged into what is there. Reads, writes nothing.

    Raises:
        InvalidInputError: A file that can't be merged; names it.
        ConfigError: A file that can't be read.
    """
    made = Setup()
    for name, text in _skills() if options.skills else ():
        _plan_skill(made, record, scope.skills / name / "SKILL.md", text)
    own_server = _plan_server(made, scope, options.server) if options.servers else True
    made.changes.append(
        merged(
            scope.settings,
            lambda text: add_to_settings(
                text,
                permissions=options.permissions and own_server,
                status_line=options.status_line,
                approved=options.servers and own_server and scope.servers is not None,
                server=options.server,
                strict_gates=options.strict_gates,
                program=options.program,
            ),
        )
    )
    if scope.name != "user" and scope.settings == user_scope().settings:
        made.notes.append(f"{scope.settings} is your own settings file: its hooks run in every project")
    return made


def _plan_server(made: Setup, scope: Scope, server: str) -> bool:
    """Return whether the name of our server is ours there."""
    if scope.servers is None:
        made.notes.append(
            f"for the memory tools run  claude mcp add --scope user {server} -- context-graph-cli mcp"
        )
        return True
    change = merged(scope.servers, lambda text: add_server(text, server))
    made.changes.append(change)
    taken = is_taken((change.after or "").removeprefix("\ufeff"), server)
    if taken:
        made.notes.append(
            f"{scope.servers} already has another program's server {server!r}, so our memory tools were not "
            "set up. To add them under another name, run this again with  --server-name context-graph-memory"
        )
    return not taken


def plan_removal(places: Sequence[tuple[Scope, Record]], *, shared: bool = True) -> Setup:
    """Return the files as they were before `setup`; of those edited since, all but what is ours.

    Args:
        places: Scopes of one folder, with their records.
        shared: Whether servers and skills go too, which these scopes have in common.

    Raises as `plan_setup`.
    """
    made = Setup()
    records = [record for _, record in places]
    names = frozenset({SERVER})
    if places[0][0].servers is not None:
        names |= our_servers((read_text(places[0][0].servers) or "").removeprefix("\ufeff"))
    for scope, record in places:
        made.changes.append(undone([record], scope.settings, lambda text: take_from_settings(text, names)))
    scope = places[0][0]
    if scope.servers is None:
        made.notes.append("to remove the memory tools run  claude mcp remove --scope user context-graph")
    elif shared:
        made.changes.append(undone(records, scope.servers, drop_server))
    for name, text in _skills() if shared else ():
        path = scope.skills / name / "SKILL.md"
        now = read_text(path)
        untouched, before = _original(records, path, now)
        if untouched or now == text:
            made.changes.append(Change(path, now, before))
        elif now is not None:
            made.notes.append(f"{path} has been edited and stays")
    return made


def is_set_up(scope: Scope) -> bool:
    """Return whether the settings of ``scope`` have anything of ours; what can't be read has not."""
    try:
        now = read_text(scope.settings) or ""
        return mentions_us(now) and edited(now, take_from_settings) != now
    except ContextGraphError:
        return False


def remove_folders(scope: Scope, record: Record) -> None:
    """Remove folders that `setup` made, and our skills' folders, if they are empty."""
    skills = [scope.skills / name for name, _ in _skills()]
    for folder in [*skills, *(reversed(record.folders) if record.is_known else [scope.skills])]:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _skills() -> list[tuple[str, str]]:
    files = sorted((plugin_folder() / "skills").glob("*/SKILL.md"))
    return [(path.parent.name, path.read_text(encoding="utf-8")) for path in files]


def _plan_skill(made: Setup, record: Record, path: Path, text: str) -> None:
    now = read_text(path)
    if now is None or now == text or record.original(path, now)[0]:
        made.changes.append(Change(path, now, text))
    else:
        made.notes.append(f"{path} has other content than ours, so it stays as it is")


def merged(path: Path, merge: Callable[[str], str]) -> Change:
    """Return the change that ``merge`` makes. Raises InvalidInputError, which names the file."""
    before = read_text(path)
    try:
        return Change(path, before, edited(before or "", merge))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def _original(records: Sequence[Record], path: Path, now: str | None) -> tuple[bool, str | None]:
    """As `Record.original`, of the first record that knows."""
    originals = (record.original(path, now) for record in records)
    return next((original for original in originals if original[0]), (False, None))


def undone(records: Sequence[Record], path: Path, take_out: Callable[[str], str]) -> Change:
    """Return the change to what the file was, or where it was edited since to what ``take_out`` leaves."""
    now = read_text(path)
    if now is None:
        return Change(path, None, None)
    as_written, before = _original(records, path, now)
    if as_written:
        return Change(path, now, before)
    if not mentions_us(now):  # whatever else it is, and if it is no JSON at all
        return Change(path, now, now)
    rest = merged(path, take_out).after or ""
    left = rest.lstrip("\ufeff")
    # A file of which nothing is left was most likely made by us, in a clone or for another data root.
    return Change(
        path, now, rest if (left.strip() if path.suffix == ".toml" else parsed_object(left).value) else None
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """One set of the client's files."""

    name: str
    """project or user."""
    base: Path
    settings: Path
    skills: Path
    servers: Path | None
    """The file that names MCP servers; None for the user's, which the client rewrites while it runs."""

    @property
    def key(self) -> str:
        """Names the scope among all of this user's; fit for a file."""
        return f"{self.name}-{store_key(self.base)}"


def project_scope(top: Path, *, local: bool = False) -> Scope:
    """Return the files of the project at ``top``; with ``local`` those that its users keep to themselves."""
    name = "settings.local.json" if local else "settings.json"
    claude = top / ".claude"
    return Scope("local" if local else "project", top, claude / name, claude / "skills", top / ".mcp.json")


def user_scope() -> Scope:
    """Return the user's own files, which hold in every project."""
    claude = client_dir()
    return Scope("user", claude, claude / "settings.json", claude / "skills", None)


_FOLDER: Final = "setup"
_VERSION: Final = 1
_RECORD_BYTES: Final = 1 << 26


@dataclass(slots=True)
class _Entry:
    before: str | None
    after: str
    """Digest of what was written."""


class Record:
    """What `setup` has written in one scope."""

    def __init__(self, root: Path, key: str) -> None:
        """
        Args:
            root: The data root.
            key: The scope's.
        """
        self._path = root / _FOLDER / f"{key}.json"
        self._entries: dict[str, _Entry] = {}
        self.folders: list[Path] = []
        """Those that were made for it, the outer ones first."""
        self._load()

    @property
    def is_known(self) -> bool:
        """Whether `setup` was run here, by this user."""
        return bool(self._entries)

    def original(self, path: Path, now: str | None) -> tuple[bool, str | None]:
        """Return (whether the file is still as we wrote it, how it was before)."""
        entry = self._entries.get(str(path))
        if entry is None or now is None or entry.after != _digest(now):
            return False, None
        return True, entry.before

    def note(self, changes: Sequence[Change]) -> None:
        """Record files that are about to be written. Raises OSError if that fails."""
        for change in changes:
            if not change.is_needed or change.after is None:
                continue
            known, before = self.original(change.path, change.before)
            self._entries[str(change.path)] = _Entry(
                before if known else change.before, _digest(change.after)
            )
            for folder in reversed(Path(os.path.realpath(change.path)).parents):
                if not folder.exists() and folder not in self.folders:
                    self.folders.append(folder)
        os.makedirs(self._path.parent, mode=0o700, exist_ok=True)
        files = {path: asdict(entry) for path, entry in self._entries.items()}
        folders = [str(folder) for folder in self.folders]
        write_json(str(self._path), {"version": _VERSION, "files": files, "folders": folders})

    def forget(self) -> None:
        """Remove the record, after everything was undone."""
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()

    def _load(self) -> None:
        content = read_object(str(self._path), _RECORD_BYTES)
        if content.get("version") != _VERSION:
            return  # none, or no use: what is ours is told by its form
        with contextlib.suppress(KeyError, TypeError, AttributeError):
            self._entries = {path: _Entry(**entry) for path, entry in content["files"].items()}
            self.folders = [Path(folder) for folder in content["folders"]]


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
