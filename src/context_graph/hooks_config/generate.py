"""What `hooks generate-config` is going to write, as a plan; then its diff, or its writing."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from context_graph.errors import ConfigError, InvalidInputError
from context_graph.hooks_config.events import events_of
from context_graph.hooks_config.scripts import SHELLS, script_name, script_text
from context_graph.hooks_config.settings import merge_settings

__all__ = ["Change", "apply_changes", "diff_of", "plan_changes"]

_SCRIPT_MODE = 0o755
_SETTINGS_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Change:
    """One file: its text now (None: not there), its text to be, and the mode of a new file."""

    path: Path
    before: str | None
    after: str
    mode: int

    @property
    def is_needed(self) -> bool:
        return self.before != self.after


def plan_changes(
    output_dir: Path, *, hooks: str = "", shell: str = "bash", force: bool = False, matcher: str | None = None
) -> list[Change]:
    """The scripts in ``output_dir`` and the settings file beside it. Reads, writes nothing.

    The settings file is ``.claude/settings.json`` when the scripts go into a folder of ``.claude``,
    else ``settings.json`` among the scripts: an unusual place never changes a real configuration.

    Args:
        hooks: Comma-separated event names; empty for all.
        shell: A key of scripts.SHELLS.
        force: Overwrite scripts that are there and differ.
        matcher: For the tool events; None for all tools.

    Raises:
        InvalidInputError: A wrong name, settings that can't be merged, or scripts that differ
            without ``force``. Nothing is written then.
        ConfigError: A file that can't be read.
    """
    if shell not in SHELLS:
        raise InvalidInputError(f"--shell: {shell!r} is none of {', '.join(SHELLS)}")
    events = events_of(hooks)
    changes = [
        Change(path, _read(path), script_text(event, shell), _SCRIPT_MODE)
        for event in events
        if event.script
        for path in [output_dir / script_name(event, shell)]
    ]
    differing = [str(change.path) for change in changes if change.before is not None and change.is_needed]
    if differing and not force:
        raise InvalidInputError(
            f"{', '.join(differing)}: there already and different; nothing was written, --force overwrites"
        )
    settings = _settings_path(output_dir)
    before = _read(settings)
    try:
        after = merge_settings(before or "", events, matcher)
    except InvalidInputError as error:
        raise InvalidInputError(f"{settings}: {error}") from error
    return [*changes, Change(settings, before, after, _SETTINGS_MODE)]


def diff_of(changes: Sequence[Change]) -> str:
    """A unified diff of all ``changes``; empty when there is nothing to do."""
    parts = [
        line
        for change in changes
        for line in difflib.unified_diff(
            (change.before or "").splitlines(keepends=True),
            change.after.splitlines(keepends=True),
            "/dev/null" if change.before is None else str(change.path),
            str(change.path),
        )
    ]
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts
    )


def apply_changes(changes: Sequence[Change]) -> list[Path]:
    """Write what is needed, each file atomically, settings last; the paths that were written.

    Raises:
        ConfigError: If a file can't be written; those before it stand, none is half written.
    """
    written = []
    for change in changes:
        if change.is_needed:
            _write(change)
            written.append(change.path)
    return written


def _settings_path(output_dir: Path) -> Path:
    if Path(os.path.abspath(output_dir)).parent.name == ".claude":
        return output_dir.parent / "settings.json"
    return output_dir / "settings.json"


def _read(path: Path) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as source:  # newline: CRLF must survive
            return source.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: not UTF-8 at byte {error.start}; it was not touched") from error
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error


def _write(change: Change) -> None:
    path = Path(os.path.realpath(change.path))  # a link stays a link; its target is replaced
    try:
        os.makedirs(path.parent, exist_ok=True)
        mode = os.stat(path).st_mode & 0o7777 if path.exists() else change.mode
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                out.write(change.after)
                out.flush()
                os.fsync(out.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise ConfigError(f"{change.path} can't be written: {error.strerror}") from error
