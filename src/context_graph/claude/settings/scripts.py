"""Writes seed 001's five hook scripts for four shells (REQ-HOOKS-22, sections 5.1 to 5.5).

Each script passes its standard input to the CLI. It reads or expands none of the input and puts none of it on
a command line, so there is nothing to escape (REQ-HOOKS-31). Whether the CLI is missing, crashes or fails,
the script exits with 0: an exit code of 2 would block a tool call or drop a prompt.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from context_graph.claude.events import ClientEvent
from context_graph.claude.settings.edit import Change, edited, read_text
from context_graph.claude.settings.hook_commands import events_of
from context_graph.claude.settings.settings import merge_settings
from context_graph.errors import InvalidInputError

SHELLS: Final = {"bash": ".sh", "zsh": ".zsh", "fish": ".fish", "powershell": ".ps1"}
"""Shell to file extension."""

_BUDGETS_MS: Final = {
    "session-start": 5000,
    "pre-tool": 100,
    "post-tool": 3000,
    "prompt-submit": 2000,
    "session-end": 30000,
}

_HEAD: Final = """\
# Claude Code hook: {name}
# Implements: {requirements}, REQ-HOOKS-22, REQ-HOOKS-31
# Written by `context-graph-cli hooks generate-config --shell {shell}`; --force overwrites changes.
# Budget of this event: {budget} ms; the CLI keeps it, and waits 1000 ms at most.
# Standard input goes to the CLI unread. Never exit 2: that would block the client.
"""

_POSIX: Final = """\
#!/usr/bin/env {shell}
{head}
command -v context-graph-cli >/dev/null 2>&1 || exit 0
context-graph-cli {call}
exit 0
"""

_FISH: Final = """\
#!/usr/bin/env fish
{head}
command -sq context-graph-cli; or exit 0
context-graph-cli {call}
exit 0
"""

# A Process without redirection inherits our standard streams as they are; a pipeline would recode them.
_POWERSHELL: Final = """\
#!/usr/bin/env pwsh
{head}
$cli = Get-Command -Name context-graph-cli -CommandType Application -ErrorAction SilentlyContinue |
    Select-Object -First 1
if ($null -eq $cli) {{ exit 0 }}
try {{
    $start = [System.Diagnostics.ProcessStartInfo]::new($cli.Source, '{call}')
    $start.UseShellExecute = $false
    [System.Diagnostics.Process]::Start($start).WaitForExit()
}} catch {{ }}
exit 0
"""

_TEMPLATES: Final = {"bash": _POSIX, "zsh": _POSIX, "fish": _FISH, "powershell": _POWERSHELL}


def script_name(event: ClientEvent, shell: str) -> str:
    """Return the file name of ``event``'s script for ``shell``, a key of SHELLS."""
    return event.script + SHELLS[shell]


def script_text(event: ClientEvent, shell: str) -> str:
    """Return the script of ``event`` for ``shell``, a key of SHELLS."""
    head = _HEAD.format(
        name=event.name, requirements=event.requirements, shell=shell, budget=_BUDGETS_MS[event.verb]
    ).rstrip("\n")
    call = f"hooks {event.verb} --stdin --format claude"
    return _TEMPLATES[shell].format(shell=shell, head=head, call=call)


_SCRIPT_MODE = 0o755
_SETTINGS_MODE = 0o644


def plan_changes(
    output_dir: Path, *, hooks: str = "", shell: str = "bash", force: bool = False, matcher: str | None = None
) -> list[Change]:
    """Return the scripts in ``output_dir`` and the settings file beside it. Reads, writes nothing.

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
            f"{', '.join(differing)}: there already and different; nothing was written. --force overwrites"
        )
    is_claudes = Path(os.path.abspath(output_dir)).parent.name == ".claude"
    settings = (output_dir.parent if is_claudes else output_dir) / "settings.json"
    before = read_text(settings)
    try:
        after = edited(before or "", lambda text: merge_settings(text, events, matcher))
    except InvalidInputError as error:
        raise InvalidInputError(f"{settings}: {error}") from error
    return [*changes, Change(settings, before, after, _SETTINGS_MODE)]
