"""Defines `hooks …`: help for the commands that the launcher serves, and generate-config."""

from __future__ import annotations

import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from context_graph.claude.settings import apply_changes, diff_of, plan_changes
from context_graph.cli.native import become_launcher
from context_graph.cli.options import DbPath

app = typer.Typer(
    help="Serve the client's hook events, and write the configuration that calls them.",
    rich_markup_mode=None,
)

_CODES: Final = """
Exit codes: with --format claude always 0. Else 0 done, 1 other error, 2 time budget used up, 3 the
store failed, 4 wrong input or usage, 5 no such session, 6 identity continuity below its threshold.
"""


class Format(StrEnum):
    """How a hook answers."""

    JSON = "json"
    JSON_COMPACT = "json-compact"
    TEXT = "text"
    CLAUDE = "claude"


class Shell(StrEnum):
    """Shells that scripts are written for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


Session = Annotated[
    str | None,
    typer.Option("--session-id", metavar="ID", help="Session, where neither environment nor stdin name one."),
]
Stdin = Annotated[
    str | None,
    typer.Option(
        "--stdin",
        metavar="[true|false]",
        help="Read the event as JSON from standard input: the client's flat form or the specification's "
        "HookInput. "
        "Read anyway with --format claude or without --session-id; never from a terminal.",
    ),
]
Output = Annotated[
    Format,
    typer.Option(
        "--format",
        help="json, json-compact, text: the specification's HookOutput. claude: one document of the client's "
        "schema, "
        "or nothing.",
    ),
]
Tool = Annotated[str | None, typer.Option("--tool-name", metavar="NAME", help="Tool the event is about.")]


def _serve() -> NoReturn:
    """The launcher serves it; this program is only reached when it is called by its own name."""
    become_launcher(sys.argv[1:])


@app.command("session-start", short_help="SessionStart", epilog=_CODES)
def session_start(
    session_id: Session = None,
    previous_session_id: Annotated[
        str | None,
        typer.Option("--previous-session-id", metavar="ID", help="Session to continue; default: the latest."),
    ] = None,
    stdin: Stdin = None,
    output: Output = Format.JSON,
    db_path: DbPath = None,
) -> None:
    """A session begins or is taken up again (budget 5000 ms; starts the owner).

    Without any session id a fresh one is made.

    Example: context-graph-cli hooks session-start --session-id abc
    """
    _serve()


@app.command("pre-tool", short_help="PreToolUse", epilog=_CODES)
def pre_tool(
    session_id: Session = None,
    tool_name: Tool = None,
    stdin: Stdin = None,
    fast_path: Annotated[
        str,
        typer.Option(
            "--fast-path",
            metavar="[true|false]",
            help="Kept for older scripts; the answer is always the cached state.",
        ),
    ] = "true",
    output: Output = Format.JSON,
    db_path: DbPath = None,
) -> None:
    """A tool is about to run (budget 100 ms); answers with the cached state, or refuses for a requirement.

    Example: context-graph-cli hooks pre-tool --session-id abc --tool-name Edit
    """
    _serve()


@app.command("post-tool", short_help="PostToolUse", epilog=_CODES)
def post_tool(
    session_id: Session = None,
    tool_name: Tool = None,
    success: Annotated[
        str | None,
        typer.Option(
            "--success", metavar="true|false", help="Whether the tool succeeded; goes before stdin."
        ),
    ] = None,
    stdin: Stdin = None,
    output: Output = Format.JSON,
    db_path: DbPath = None,
) -> None:
    """A tool has run (budget 3000 ms); updates identity continuity and says so in a crisis.

    Example: context-graph-cli hooks post-tool --session-id abc --tool-name Bash --success true
    """
    _serve()


@app.command("post-tool-failure", short_help="PostToolUseFailure", epilog=_CODES)
def post_tool_failure(
    session_id: Session = None,
    tool_name: Tool = None,
    stdin: Stdin = None,
    output: Output = Format.JSON,
    db_path: DbPath = None,
) -> None:
    """A tool has failed (budget 3000 ms): the client's PostToolUseFailure.

    Example: context-graph-cli hooks post-tool-failure --session-id abc --tool-name Bash
    """
    _serve()


@app.command("prompt-submit", short_help="UserPromptSubmit", epilog=_CODES)
def prompt_submit(
    session_id: Session = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="TEXT", help="What the user wrote.")
    ] = None,
    stdin: Stdin = None,
    output: Output = Format.JSON,
    db_path: DbPath = None,
) -> None:
    """The user has sent a prompt (budget 2000 ms); answers with the four-line state.

    Example: context-graph-cli hooks prompt-submit --session-id abc --prompt 'fix the tests'
    """
    _serve()


@app.command("stop", short_help="Stop", epilog=_CODES)
def stop(
    session_id: Session = None, stdin: Stdin = None, output: Output = Format.JSON, db_path: DbPath = None
) -> None:
    """The model has finished its turn (budget 2000 ms); recorded, and held back by unmet requirements.

    Example: context-graph-cli hooks stop --session-id abc
    """
    _serve()


@app.command("subagent-stop", short_help="SubagentStop", epilog=_CODES)
def subagent_stop(
    session_id: Session = None, stdin: Stdin = None, output: Output = Format.JSON, db_path: DbPath = None
) -> None:
    """A subagent has finished (budget 2000 ms); recorded, never held back. Not in the settings we write.

    Example: context-graph-cli hooks subagent-stop --session-id abc
    """
    _serve()


@app.command("permission-request", short_help="PermissionRequest", epilog=_CODES)
def permission_request(
    session_id: Session = None,
    tool_name: Tool = None,
    stdin: Stdin = None,
    output: Output = Format.JSON,
    db_path: DbPath = None,
) -> None:
    """The user is about to be asked for a permission (budget 2000 ms); denied where the project's file says.

    Example: context-graph-cli hooks permission-request --session-id abc --tool-name Bash
    """
    _serve()


@app.command("prompt-expansion", short_help="UserPromptExpansion", epilog=_CODES)
def prompt_expansion(
    session_id: Session = None, stdin: Stdin = None, output: Output = Format.JSON, db_path: DbPath = None
) -> None:
    """The user has typed a skill or command (budget 2000 ms); it satisfies what names it.

    Example: context-graph-cli hooks prompt-expansion --session-id abc
    """
    _serve()


@app.command("permission-denied", short_help="PermissionDenied", epilog=_CODES)
def permission_denied(
    session_id: Session = None,
    tool_name: Tool = None,
    stdin: Stdin = None,
    output: Output = Format.JSON,
    db_path: DbPath = None,
) -> None:
    """A tool was refused without a question (budget 2000 ms); what it would have armed is not armed.

    Example: context-graph-cli hooks permission-denied --session-id abc --tool-name Bash
    """
    _serve()


@app.command("pre-compact", short_help="PreCompact", epilog=_CODES)
def pre_compact(
    session_id: Session = None, stdin: Stdin = None, output: Output = Format.JSON, db_path: DbPath = None
) -> None:
    """The conversation is about to be compacted (budget 2000 ms); recorded, nothing is said.

    Example: context-graph-cli hooks pre-compact --session-id abc
    """
    _serve()


@app.command("session-end", short_help="SessionEnd", epilog=_CODES)
def session_end(
    session_id: Session = None,
    duration_ms: Annotated[
        str | None,
        typer.Option("--duration-ms", metavar="N", help="How long the session lasted, milliseconds."),
    ] = None,
    stdin: Stdin = None,
    generate_summary: Annotated[
        str,
        typer.Option(
            "--generate-summary", metavar="[true|false]", help="Say the session's counts in a sentence."
        ),
    ] = "true",
    output: Output = Format.JSON,
    db_path: DbPath = None,
) -> None:
    """The session ends (budget 30000 ms, 1000 ms with --format claude); persists it.

    Example: context-graph-cli hooks session-end --session-id abc --duration-ms 60000
    """
    _serve()


@app.command("generate-config", short_help="Write settings and scripts")
def generate_config(
    output_dir: Annotated[
        Path,
        typer.Option(
            "--output-dir",
            metavar="FOLDER",
            help="Where the scripts go. Settings go beside a folder of .claude, else among the scripts.",
        ),
    ] = Path(".claude/hooks"),
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite scripts that are there and differ.")
    ] = False,
    hooks: Annotated[
        str,
        typer.Option(
            "--hooks",
            metavar="NAME,…",
            help="Only these: session-start, pre-tool-use, post-tool-use, user-prompt-submit, "
            "user-prompt-expansion, stop, permission-request, permission-denied, pre-compact, session-end. "
            "Default: all.",
        ),
    ] = "",
    shell: Annotated[Shell, typer.Option("--shell", help="Shell that the scripts are for.")] = Shell.BASH,
    matcher: Annotated[
        str | None,
        typer.Option(
            "--matcher", metavar="REGEX", help="Tools that the tool events fire for. Default: all tools."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the changes as a diff; write nothing.")
    ] = False,
) -> None:
    """Write the hook configuration of this project: settings.json merged, five scripts.

    The settings call the CLI directly and stay harmless where it is missing; the scripts are for those
    who want to wrap it. Other hooks and keys keep their bytes; a second run changes nothing. A settings
    file that is no JSON, or that the client would drop, is refused and left alone.

    Exit codes: 0 done or nothing to do; 4 wrong option, unusable settings, or scripts that differ and
    no --force: nothing is written then; 1 a file can't be read or written.

    Example: context-graph-cli hooks generate-config --shell zsh --dry-run
    """
    changes = plan_changes(output_dir, hooks=hooks, shell=shell.value, force=force, matcher=matcher)
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
            "note: no hook finds context-graph-cli; `context-graph-cli setup --link` helps", file=sys.stderr
        )
