"""What `hooks generate-config` is going to write."""

from __future__ import annotations

import os
from pathlib import Path

from context_graph.errors import InvalidInputError
from context_graph.hooks_config.changes import Change, edited, read_text
from context_graph.hooks_config.events import events_of
from context_graph.hooks_config.scripts import SHELLS, script_name, script_text
from context_graph.hooks_config.settings import merge_settings

__all__ = ["plan_changes"]

_SCRIPT_MODE = 0o755
_SETTINGS_MODE = 0o644


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
        Change(path, read_text(path), script_text(event, shell), _SCRIPT_MODE)
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
    before = read_text(settings)
    try:
        after = edited(before or "", lambda text: merge_settings(text, events, matcher))
    except InvalidInputError as error:
        raise InvalidInputError(f"{settings}: {error}") from error
    return [*changes, Change(settings, before, after, _SETTINGS_MODE)]


def _settings_path(output_dir: Path) -> Path:
    if Path(os.path.abspath(output_dir)).parent.name == ".claude":
        return output_dir.parent / "settings.json"
    return output_dir / "settings.json"
