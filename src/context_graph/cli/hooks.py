"""Defines `hooks …`: help for the events, which the launcher serves, and generate-config."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from context_graph.claude.settings import apply_changes, diff_of, plan_changes
from context_graph.cli.command_table import HOOKS, typer_command
from context_graph.cli.native import serve

app = typer.Typer(
    help="Serve the client's hook events, and write the configuration that calls them.",
    rich_markup_mode=None,
)


for _one in HOOKS:
    typer_command(app, _one, serve)


@app.command("git", short_help="One of git's own hooks")
def git(
    name: Annotated[str, typer.Argument(metavar="NAME", help="git's name of the hook, or its path.")],
    args: Annotated[list[str] | None, typer.Argument(metavar="ARGUMENT…", help="git's own.")] = None,
) -> None:
    """Ask the requirements before a commit or push, then run the hook that git would have run.

    git calls it in the shells of an agent's session; a person (without $CLAUDE_CODE_SESSION_ID) is never
    asked. It waits up to 30 seconds for a decision.

    Exit codes: 1 an unmet requirement, or with strict gates none could be decided; else the own hook's.

    Example: context-graph-cli hooks git pre-push origin
    """
    serve()


@app.command("generate-config", short_help="Write settings and scripts")
def generate_config(
    output_dir: Annotated[
        Path,
        typer.Option(
            "--output-dir",
            metavar="FOLDER",
            help="Folder for the scripts. Inside .claude, the settings go to .claude/settings.json; "
            "elsewhere, to settings.json beside the scripts.",
        ),
    ] = Path(".claude/hooks"),
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite existing scripts that are different.")
    ] = False,
    hooks: Annotated[
        str,
        typer.Option(
            "--hooks",
            metavar="NAME,…",
            help="Only these: session-start, pre-tool-use, post-tool-use, user-prompt-submit, "
            "user-prompt-expansion, subagent-start, stop, permission-request, permission-denied, "
            "pre-compact, post-compact, config-change, session-end. Default: all.",
        ),
    ] = "",
    shell: Annotated[
        Literal["bash", "zsh", "fish", "powershell"], typer.Option("--shell", help="Shell of the scripts.")
    ] = "bash",
    matcher: Annotated[
        str | None,
        typer.Option(
            "--matcher", metavar="REGEX", help="Tools that the tool events fire for. Default: all tools."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the changes as a diff; write nothing.")
    ] = False,
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
