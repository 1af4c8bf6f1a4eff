"""Has the commands `hooks …`: help for the events, which the launcher serves, and generate-config."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from context_graph.claude.events import EVENTS, ClientEvent
from context_graph.claude.settings.edit import apply_changes, diff_of
from context_graph.claude.settings.hook_commands import hook_names
from context_graph.claude.settings.scripts import plan_changes
from context_graph.cli.native import serve
from context_graph.cli.words import DB_PATH, Argument, Command, Option


def git(name: str, args: list[str]) -> None:
    """Ask the requirements before a commit or push, then run the hook that git would have run.

    git calls it in the shells of an agent's session; a person (without $CLAUDE_CODE_SESSION_ID) is never
    asked. It waits up to 30 seconds for a decision.

    Exit codes: 1 an unmet requirement, or with strict gates none could be decided; else the own hook's.

    Example: context-graph-cli hooks git pre-push origin
    """
    serve()


def generate_config(
    output_dir: Path, force: bool, hooks: str, shell: str, matcher: str | None, dry_run: bool
) -> None:
    """Write this project's hook configuration: entries in settings.json, and five scripts.

    The settings call the program directly and do nothing where it is missing; use the scripts to wrap it.
    Everything else in the settings stays as it is; a second run changes nothing. Settings that are not
    JSON, or that Claude Code would reject, are not touched.

    Exit codes: 0 done or nothing to do; 4 a wrong option, unusable settings, or different scripts without
    --force (nothing is written); 1 a file can't be read or written.

    Example: context-graph-cli hooks generate-config --shell zsh --dry-run
    """
    changes = plan_changes(output_dir, hooks=hooks, shell=shell, force=force, matcher=matcher)
    if dry_run:
        print(diff_of(changes) or "nothing to change", end="" if any(c.is_needed for c in changes) else "\n")
        return
    for path in apply_changes(changes):
        print(f"wrote {path}")
    if not any(change.is_needed for change in changes):
        print("nothing to change")
    searched = f"{os.environ.get('PATH', '')}:{Path.home() / '.local' / 'bin'}"
    if shutil.which("context-graph-cli", path=searched) is None:
        print(
            "note: the hooks will not find context-graph-cli; run `context-graph-cli setup --link`",
            file=sys.stderr,
        )


_EVENT_SESSION: Final = Option(
    "--session-id", "Session, if neither the environment nor standard input names one.", "ID"
)
_TOOL: Final = Option("--tool-name", "The tool that the event is about.", "NAME")
STDIN: Final = Option(
    "--stdin",
    "Read the event as JSON from standard input: Claude Code's own form or the specification's HookInput. "
    "This is the default with a client's format or without --session-id; a terminal is never read.",
    "[true|false]",
)
FORMAT: Final = Option(
    "--format",
    "json, json-compact and text print the specification's HookOutput. The others read and answer as a "
    "client's hooks do, with one document or nothing: claude is Claude Code, the rest are as they are named.",
    choices=("json", "json-compact", "text", "claude", "codex", "gemini", "cursor"),
    default="json",
)
_CODES: Final = """
Exit codes: with a client's format always 0. Otherwise 0 done, 1 other error, 2 out of time, 3 the store
failed, 4 wrong input or usage, 5 no such session, 6 identity continuity is below its threshold.
"""


_OWN: Final = {
    "session-start": (Option("--previous-session-id", "Session to continue. Default: the latest.", "ID"),),
    "pre-tool": (
        Option(
            "--fast-path",
            "Accepted for older scripts; the answer is always the cached state.",
            "[true|false]",
            default="true",
        ),
    ),
    "post-tool": (
        Option("--success", "Whether the tool worked; overrides standard input.", choices=("true", "false")),
    ),
    "prompt-submit": (Option("--prompt", "What the user wrote.", "TEXT"),),
    "session-end": (
        Option("--duration-ms", "How long the session lasted, in milliseconds.", "N"),
        Option("--generate-summary", "Summarise the session in a sentence.", "[true|false]", default="true"),
    ),
}
"""Options that one event's command alone takes."""


def _hook(event: ClientEvent) -> Command:
    """Return the command that serves one of the client's events."""
    own = (*((_TOOL,) if event.tools else ()), *_OWN.get(event.verb, ()))
    text = event.help.replace("{budget}", f"budget {event.budget_ms} ms")
    example = f"Example: context-graph-cli hooks {event.verb} --session-id abc {event.example}".rstrip()
    takes = (_EVENT_SESSION, *own, STDIN, FORMAT, DB_PATH)
    return Command(event.verb, serve, event.name, takes, f"{text}\n\n{example}", _CODES)


HOOKS: Final = tuple(_hook(event) for event in EVENTS)
COMMANDS: Final = (
    *HOOKS,
    Command.of(
        git,
        "One of git's own hooks",
        Argument("NAME", "name", "git's name of the hook, or its path.", required=True),
        Argument("ARGUMENT", "args", "git's own.", many=True),
    ),
    Command.of(
        generate_config,
        "Write settings and scripts",
        Option(
            "--output-dir",
            "Folder for the scripts. Inside .claude, the settings go to .claude/settings.json; "
            "elsewhere, to settings.json beside the scripts.",
            "FOLDER",
            default=".claude/hooks",
            kind="path",
        ),
        Option("--force", "Overwrite existing scripts that are different."),
        Option("--hooks", f"Only these: {', '.join(hook_names())}. Default: all.", "NAME,…", default=""),
        Option(
            "--shell", "Shell of the scripts.", choices=("bash", "zsh", "fish", "powershell"), default="bash"
        ),
        Option("--matcher", "Tools that the tool events fire for. Default: all tools.", "REGEX"),
        Option("--dry-run", "Show the changes as a diff; write nothing."),
    ),
)
