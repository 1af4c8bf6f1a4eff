"""Seed 001's five hook scripts, for four shells (REQ-HOOKS-22, sections 5.1 to 5.5).

Each is a wrapper that hands its own standard input to the CLI. Nothing of the input is read,
expanded or put on a command line, so there is nothing to escape (REQ-HOOKS-31). A missing CLI, a
crash or any exit code of it ends in exit 0: exit 2 would block a tool call or drop a prompt.
"""

from __future__ import annotations

from typing import Final

from context_graph.hooks_config.events import HookedEvent

__all__ = ["SHELLS", "script_name", "script_text"]

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


def script_name(event: HookedEvent, shell: str) -> str:
    """File name of ``event``'s script for ``shell``, a key of SHELLS."""
    return event.script + SHELLS[shell]


def script_text(event: HookedEvent, shell: str) -> str:
    """The script of ``event`` for ``shell``, a key of SHELLS."""
    head = _HEAD.format(
        name=event.name, requirements=event.requirements, shell=shell, budget=_BUDGETS_MS[event.verb]
    ).rstrip("\n")
    call = f"hooks {event.verb} --stdin --format claude"
    return _TEMPLATES[shell].format(shell=shell, head=head, call=call)
