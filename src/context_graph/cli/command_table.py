"""Lists the commands that hooks run and people ask often, in one table: words, options and help.

Typer's commands (`typer_command`), the quick way past Typer (`main.run_directly`) and the tables of
docs/commands.md come from it; a test compares it with the launcher's own options. Imports no Typer, which
costs 0.1 s a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from context_graph.cli.words import Option as Option

if TYPE_CHECKING:
    import typer


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words, its line in lists of commands, its help and its options."""

    group: str
    word: str
    short: str
    help: str
    options: tuple[Option, ...]
    codes: str = ""


DB_PATH: Final = Option(
    "--db-path",
    "Store to use instead of this project's; $CONTEXT_GRAPH_DB_PATH does the same. "
    "It must be inside the data root, the project, the working folder, $HOME or /tmp.",
    "FOLDER",
)
JSON: Final = Option("--json", "Print JSON instead of text.")
OUTPUT: Final = Option("--format", "text, or json as with --json.", choices=("text", "json"), default="text")
SESSION_ID: Final = Option(
    "--session-id",
    "Session to use; its first digits are enough, four or more, if only one session matches. "
    "Default: $CLAUDE_CODE_SESSION_ID, else the latest session in the store.",
    "ID",
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


def _hook(word: str, event: str, text: str, *own: Option, example: str = "") -> Command:
    """The command that serves one of the client's events; ``own`` are the options that only some take."""
    command = f"Example: context-graph-cli hooks {word} --session-id abc {example}".rstrip()
    return Command(
        "hooks", word, event, f"{text}\n\n{command}", (_EVENT_SESSION, *own, STDIN, FORMAT, DB_PATH), _CODES
    )


HOOKS: Final = (
    _hook(
        "session-start",
        "SessionStart",
        "Record that a session starts or resumes (budget 5000 ms). Starts the owner.\n\n"
        "Without a session id it makes a new one.",
        Option("--previous-session-id", "Session to continue. Default: the latest.", "ID"),
    ),
    _hook(
        "pre-tool",
        "PreToolUse",
        "Answer before a tool runs (budget 100 ms): print the cached state, or deny the call for an unmet "
        "requirement.",
        _TOOL,
        Option(
            "--fast-path",
            "Accepted for older scripts; the answer is always the cached state.",
            "[true|false]",
            default="true",
        ),
        example="--tool-name Edit",
    ),
    _hook(
        "post-tool",
        "PostToolUse",
        "Record a tool's result (budget 3000 ms): update identity continuity, and say so in a crisis.",
        _TOOL,
        Option("--success", "Whether the tool succeeded; overrides standard input.", "true|false"),
        example="--tool-name Bash --success true",
    ),
    _hook(
        "post-tool-failure",
        "PostToolUseFailure",
        "Record that a tool failed (budget 3000 ms).",
        _TOOL,
        example="--tool-name Bash",
    ),
    _hook(
        "prompt-submit",
        "UserPromptSubmit",
        "Record a prompt (budget 2000 ms): print what changed in the state, and memories that fit.",
        Option("--prompt", "What the user wrote.", "TEXT"),
        example="--prompt 'fix the tests'",
    ),
    _hook(
        "stop",
        "Stop",
        "Record that the model has finished its turn (budget 2000 ms); unmet requirements hold it back.",
    ),
    _hook(
        "subagent-start",
        "SubagentStart",
        "Record that a subagent begins (budget 2000 ms); memories that fit its task are brought to it.",
    ),
    _hook(
        "subagent-stop",
        "SubagentStop",
        "Record that a subagent has finished (budget 2000 ms); it is never held back. `setup` does not "
        "register this event.",
    ),
    _hook(
        "permission-request",
        "PermissionRequest",
        "Answer before the user is asked for a permission (budget 2000 ms): deny it if the requirements file "
        "says so.",
        _TOOL,
        example="--tool-name Bash",
    ),
    _hook(
        "prompt-expansion",
        "UserPromptExpansion",
        "Record that the user typed a skill or command (budget 2000 ms); it satisfies the requirements that "
        "name it.",
    ),
    _hook(
        "permission-denied",
        "PermissionDenied",
        "Record that a tool was refused without asking the user (budget 2000 ms); the call arms no "
        "requirement.",
        _TOOL,
        example="--tool-name Bash",
    ),
    _hook(
        "config-change",
        "ConfigChange",
        "Record that the client's settings changed (budget 2000 ms); while a human_only requirement holds, a "
        "change that drops our hooks does not reach the session.",
    ),
    _hook(
        "pre-compact",
        "PreCompact",
        "Record that the conversation is about to be compacted (budget 2000 ms). Prints nothing.",
    ),
    _hook(
        "post-compact",
        "PostCompact",
        "Compare a compaction's summary with what the session had (budget 2000 ms). Prints nothing.",
    ),
    _hook(
        "session-end",
        "SessionEnd",
        "Save the session at its end (budget 30000 ms, 1000 ms with --format claude).",
        Option("--duration-ms", "How long the session lasted, in milliseconds.", "N"),
        Option(
            "--generate-summary", "Summarise the session in one sentence.", "[true|false]", default="true"
        ),
        example="--duration-ms 60000",
    ),
)

RESTORE_IDENTITY: Final = Command(
    "session",
    "restore-identity",
    "Begin a session that continues the latest",
    """Begin a session that continues the latest one (SessionStart).

    Reads {"session_id": …, "source": …} from standard input; options fill in what is missing there.
    Prints `Identity restored from ID. IC: X.XX (word)`, `New session initialized`, or with source
    clear `Fresh session initialized`. The IC is that session's own at its end, `?` if nothing was measured.

    Exit codes: 0 done, or no owner answers (a new session, with a warning); 1 the store can't be used;
    2 the stored identity or the database is corrupt (2 means nothing else).

    Example: echo '{"source":"startup"}' | context-graph-cli session restore-identity
    """,
    (
        Option(
            "--session-id",
            "Session to begin, or with source resume the one to continue. $CLAUDE_CODE_SESSION_ID and "
            "standard input override it. Default: a new id.",
            "ID",
        ),
        Option("--source", "startup (default), resume, clear or compact.", "WORD"),
        DB_PATH,
    ),
)
PERSIST_IDENTITY: Final = Command(
    "session",
    "persist-identity",
    "Save a session in full",
    """Save a session's identity in full (SessionEnd). Prints nothing.

    Reads {"session_id": …} from standard input. Every event is durable as soon as it is recorded, so
    nothing is lost without this command.

    Exit codes: 0 done or nothing to do; 1 it could not be saved: try again. Never 2.

    Example: echo '{"session_id":"abc"}' | context-graph-cli session persist-identity
    """,
    (
        Option(
            "--session-id",
            "Session to save. $CLAUDE_CODE_SESSION_ID and standard input override it. Default: the latest.",
            "ID",
        ),
        DB_PATH,
    ),
)
BRIEF: Final = Command(
    "consciousness",
    "brief",
    "Print the one-line state",
    """Print the one-line state, `[C:CON r=0.97 IC=0.95]` (PreToolUse).

    The launcher does this itself: it reads one small file and needs no Python, database or owner.
    `[C:? r=? IC=?]` means that nothing is known about the session.

    Exit code: 0, always.

    Example: context-graph-cli consciousness brief
    """,
    (SESSION_ID, DB_PATH),
)
CHECK_IDENTITY: Final = Command(
    "consciousness",
    "check-identity",
    "Warn if identity continuity is low",
    """Warn on standard error if identity continuity (IC) is low (PostToolUse).

    Below 0.7 it prints `IC warning: X.XX`, below 0.5 `IC crisis: X.XX`. With --auto-dream a crisis also
    queues a consolidation, at most once in 60 s, and the message says so.

    Exit code: 0, always.

    Example: context-graph-cli consciousness check-identity --auto-dream
    """,
    (Option("--auto-dream", "Queue a consolidation if IC is below 0.5."), SESSION_ID, DB_PATH),
)
INJECT_CONTEXT: Final = Command(
    "consciousness",
    "inject-context",
    "Print the state for the model",
    """Print the state for the model's context (UserPromptSubmit).

    Exit codes: 0 done; also if no owner answers (it prints the state of a session without events, and
    a warning); 1 the store can't be used. Never 2.

    Example: context-graph-cli consciousness inject-context --format compact
    """,
    (
        Option(
            "--format",
            "compact: one line; standard: four lines; verbose: the components too.",
            choices=("compact", "standard", "verbose"),
            default="standard",
        ),
        SESSION_ID,
        DB_PATH,
    ),
)
MCP: Final = Command(
    "",
    "mcp",
    "Serve MCP on standard input and output",
    """Serve MCP on standard input and output, one message per line, until the client closes its end.

    The launcher does this itself: it passes messages to the owner, and starts one if none runs. If the
    owner ends, the launcher starts another and sends unanswered messages again; nothing is done twice.

    Exit codes: 0 the client closed its end, or sent SIGINT or SIGTERM; 1 a wrong option or environment.

    Example: claude mcp add context-graph -- context-graph-cli mcp
    """,
    (DB_PATH,),
)
STATUS: Final = Command(
    "",
    "status",
    "This project at a glance",
    """Say in one sentence whether it works and what it knew today, then show this project at a glance.

    --line is for Claude Code's settings: "statusLine": {"type": "command", "command":
    "context-graph-cli status --line"}. The launcher serves it: it reads one small file and asks a running
    owner about requirements. `doctor` tries things out; this command only looks, and says in words what
    --verbose has as numbers.

    Exit codes: 0; 1 no owner, or the store can't be used; 3 the database is corrupt. With --line always 0.

    Example: context-graph-cli status --json
    """,
    (
        Option("--line", "Print one line for the status bar; reads Claude Code's status JSON on stdin."),
        Option("--verbose", "Show the measures behind the words, too."),
        OUTPUT,
        JSON,
    ),
)
VIEW: Final = Command(
    "",
    "view",
    "Look at everything in the terminal",
    """Show health, memories, ledger, sessions, consolidations, gates and map of this project in the terminal.

    It is live while a session runs. 1 to 7 choose the screen, ? shows the keys, q ends it. Whatever changes
    something asks first and can be undone. Needs the extra `view`: `pip install 'context-graph-cli[view]'`.

    Exit codes: 0 ended by the person; 1 no terminal, or the extra is missing; 2 a wrong option.

    Example: context-graph-cli view
    """,
    (
        Option(
            "--theme",
            "dark or light. Default: as the terminal says of itself in $COLORFGBG, else dark.",
            choices=("dark", "light"),
        ),
        DB_PATH,
    ),
)
OWNER_STATUS: Final = Command(
    "owner",
    "status",
    "Show the owner process",
    """Show the owner's process: version, memory, clients, stores, requests, events. Does not start one.

    JSON has pid, version, rss_bytes, uptime_s, clients, stores, requests, events_waiting, set_aside and more;
    without an owner it is {"running": false, "root": …}. If the owner does not answer, it is what the system
    knows: {"running": true, "answers": false, "pid": …, "state": …, "doing": …, "since_ms": …}.

    Exit codes: 0 it runs and answers; 1 it does not.

    Example: context-graph-cli owner status --json
    """,
    (OUTPUT, JSON),
)
DIRECT: Final = {
    (one.group, one.word): one
    for one in (
        *(RESTORE_IDENTITY, PERSIST_IDENTITY, CHECK_IDENTITY, INJECT_CONTEXT),
        *(STATUS, VIEW, OWNER_STATUS),
    )
}
"""What plain words call without Typer: seed 000's four hook commands, and what people ask often."""


def typer_command(app: typer.Typer, command: Command, run: Callable[..., None]) -> None:
    """Give ``app`` the command, which calls ``run`` with the options that were given by name."""
    from context_graph.cli.typer_words import typer_function

    register = app.command(command.word, short_help=command.short, epilog=command.codes or None)
    register(typer_function(command.options, (), command.help, run))


def wants_json(given: Mapping[str, Any]) -> bool:
    """Whether ``given`` asks for JSON, by either of the two options."""
    return bool(given.get(JSON.parameter)) or given.get(OUTPUT.parameter) == "json"
