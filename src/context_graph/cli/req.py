"""`req …` as Typer knows it: help, and the words for wrong options. What the commands do is req_run's."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from context_graph.cli.calling import Finished
from context_graph.cli.native import become_launcher

__all__ = ["app"]

_CODES = "Exit codes: 0 done; 1 could not be done, also a usage error."

app = typer.Typer(
    help="Requirement gates: what must be met before a tool runs or a session stops.", rich_markup_mode=None
)
config = typer.Typer(help="The merged configuration", rich_markup_mode=None)
app.add_typer(config, name="config")

Names = Annotated[
    list[str] | None, typer.Argument(metavar="NAME…", help="Requirements, as `req status` names them.")
]
Name = Annotated[str, typer.Argument(metavar="[NAME]", help="A requirement; all of them without.")]
Session = Annotated[
    str,
    typer.Option(
        "--session",
        "-s",
        metavar="ID",
        help="The session, in full or as its first 8 hex digits. Default: CLAUDE_CODE_SESSION_ID, else the "
        "live session that started this command.",
    ),
]
Branch = Annotated[
    str,
    typer.Option("--branch", "-b", metavar="NAME", help="For every session, on that branch."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of lines for people.")]


def _run(command: str, **given: Any) -> None:
    from context_graph.cli.req_run import run

    chosen = {name: value for name, value in given.items() if value not in (None, "", False)}
    if "names" in given:
        chosen["names"] = list(given["names"] or ())
    raise Finished(run(command, chosen))


@app.command("status", short_help="What holds here", epilog=_CODES)
def status(
    session: Session = "",
    branch: Annotated[
        str, typer.Option("--branch", "-b", metavar="NAME", help="Another branch than HEAD's.")
    ] = "",
    as_json: Json = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Triggers, texts, and what is switched off.")
    ] = False,
    summary: Annotated[bool, typer.Option("--summary", help="One line.")] = False,
) -> None:
    """Show which requirements are met, for this session on this branch. `req` alone is the same.

    Example: context-graph-cli req status --verbose
    """
    _run("status", session=session, branch=branch, json=as_json, verbose=verbose, summary=summary)


Ttl = Annotated[
    float | None,
    typer.Option("--ttl", metavar="SECONDS", help="How long it counts. Default: for good, or approval_ttl."),
]
Metadata = Annotated[
    str | None, typer.Option("--metadata", "-m", metavar="JSON", help="An object to keep with it.")
]
Force = Annotated[bool, typer.Option("--force", help="Also a name that the configuration does not have.")]


@app.command("satisfy", short_help="Mark requirements as met", epilog=_CODES)
def satisfy(
    names: Names = None,
    session: Session = "",
    branch: Branch = "",
    ttl: Ttl = None,
    metadata: Metadata = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Mark requirements as met, for one session or with --branch for every session.

    This is the command that a refusal ends with. A requirement with human_only takes it from a person's
    terminal only.

    Example: context-graph-cli req satisfy commit_plan --session 0ae1c2d3
    """
    _run(
        "satisfy",
        names=names,
        session=session,
        branch=branch,
        ttl=ttl,
        metadata=metadata,
        force=force,
        json=as_json,
    )


@app.command("approve", short_help="The same as satisfy", epilog=_CODES)
def approve(
    names: Names = None,
    session: Session = "",
    branch: Branch = "",
    ttl: Ttl = None,
    metadata: Metadata = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Approve what a dynamic requirement measures, for its approval_ttl; the same command as satisfy.

    Example: context-graph-cli req approve branch_size --ttl 600
    """
    _run(
        "approve",
        names=names,
        session=session,
        branch=branch,
        ttl=ttl,
        metadata=metadata,
        force=force,
        json=as_json,
    )


@app.command("clear", short_help="Take satisfactions back", epilog=_CODES)
def clear(
    names: Names = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Every requirement.")] = False,
    session: Session = "",
    branch: Annotated[
        str,
        typer.Option("--branch", "-b", metavar="NAME", help="Everybody's on that branch, not one session's."),
    ] = "",
    as_json: Json = False,
) -> None:
    """Take satisfactions back: the session's own, or with --branch everybody's.

    Example: context-graph-cli req clear commit_plan
    """
    _run("clear", names=names, all=everything, session=session, branch=branch, json=as_json)


@app.command("pause", short_help="Lift the gates for a session", epilog=_CODES)
def pause(
    session: Session = "",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the log.")] = "",
    as_json: Json = False,
) -> None:
    """Lift the gates for one session until `req resume` or its end; an agent's pause spares human_only ones.

    Example: context-graph-cli req pause --reason 'hotfix'
    """
    _run("pause", session=session, reason=reason, json=as_json)


@app.command("resume", short_help="End a pause", epilog=_CODES)
def resume(session: Session = "", as_json: Json = False) -> None:
    """Let the gates hold again for a session that was paused.

    Example: context-graph-cli req resume
    """
    _run("resume", session=session, json=as_json)


@app.command("list", short_help="Branches with state", epilog=_CODES)
def list_branches(as_json: Json = False) -> None:
    """List the branches for which something was satisfied or armed.

    Example: context-graph-cli req list
    """
    _run("list", json=as_json)


@app.command("prune", short_help="Remove what belongs to vanished branches", epilog=_CODES)
def prune(
    preview: Annotated[bool, typer.Option("--preview", help="Only say what would be removed.")] = False,
    as_json: Json = False,
) -> None:
    """Remove the state of branches that are gone, and of nothing else.

    Example: context-graph-cli req prune --preview
    """
    _run("prune", preview=preview, json=as_json)


@app.command("sessions", short_help="Live sessions", epilog=_CODES)
def sessions(
    project: Annotated[bool, typer.Option("--project", help="Those of this project alone.")] = False,
    as_json: Json = False,
) -> None:
    """List the sessions whose client is alive, with project and branch.

    Example: context-graph-cli req sessions --project
    """
    _run("sessions", project=project, json=as_json)


@app.command("enable", short_help="Switch on, for this checkout", epilog=_CODES)
def enable(name: Name = "", as_json: Json = False) -> None:
    """Switch a requirement on in requirements.local.yaml, or all of them; comments there stay.

    Example: context-graph-cli req enable commit_plan
    """
    _run("enable", name=name, json=as_json)


@app.command("disable", short_help="Switch off, for this checkout", epilog=_CODES)
def disable(name: Name = "", as_json: Json = False) -> None:
    """Switch a requirement off in requirements.local.yaml, or all of them; comments there stay.

    Example: context-graph-cli req disable commit_plan
    """
    _run("disable", name=name, json=as_json)


@config.command("show", short_help="The merged configuration", epilog=_CODES)
def config_show(
    name: Name = "",
    sources: Annotated[
        bool, typer.Option("--sources", help="Say for each value which file it is from.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what the global, the project's and the local file say together; `req config NAME` is short for it.

    Example: context-graph-cli req config show commit_plan --sources
    """
    _run("config show", name=name, sources=sources, json=as_json)


@app.command("init", short_help="Write a requirements file", epilog=_CODES)
def init(
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="relaxed, strict, minimal, advanced or inherit.")
    ] = "relaxed",
    yes: Annotated[
        bool, typer.Option("--yes", help="Nothing is asked anyway; taken for old scripts.")
    ] = False,
    project: Annotated[
        bool, typer.Option("--project", help="Write requirements.yaml, which is the default.")
    ] = False,
    local: Annotated[bool, typer.Option("--local", help="Write requirements.local.yaml instead.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there; it is kept as .bak.")
    ] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Print it, write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Write .claude/requirements.yaml, from which on the project is governed.

    Example: context-graph-cli req init --preset strict --preview
    """
    _run(
        "init",
        preset=preset,
        yes=yes,
        project=project,
        local=local,
        force=force,
        preview=preview,
        json=as_json,
    )


@app.command(
    "check",
    short_help="What the gate would say",
    epilog="Exit codes: 0 the call would pass; 1 it would be held back, or the command is wrong.",
)
def check(
    tool: Annotated[str, typer.Argument(metavar="[TOOL]", help="The tool's name; Edit without.")] = "",
    tool_input: Annotated[
        str,
        typer.Option("--input", metavar="JSON", help='The tool\'s input, such as {"command": "git push"}.'),
    ] = "",
    session: Session = "",
    as_json: Json = False,
) -> None:
    """Say what the gate would answer to a call of a tool. Nothing is armed or recorded.

    Example: context-graph-cli req check Bash --input '{"command": "git commit"}' --json
    """
    _run("check", name=tool, input=tool_input, session=session, json=as_json)


@app.command("keys", short_help="The keys of requirements.yaml", epilog=_CODES)
def keys(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A key; all of them without.")] = "",
    as_json: Json = False,
) -> None:
    """Tell the keys of requirements.yaml: type, default and meaning.

    Example: context-graph-cli req keys scope
    """
    _run("keys", name=name, json=as_json)


@app.command("doctor", short_help="Look for what keeps the gates from holding", epilog=_CODES)
def doctor(as_json: Json = False) -> None:
    """Look at settings, configuration and state, and name what is wrong with its cure; 1 if something is.

    Example: context-graph-cli req doctor
    """
    _run("doctor", json=as_json)


@app.command("log", short_help="What was refused and what satisfied it", epilog=_CODES)
def log(
    limit: Annotated[str, typer.Option("--limit", metavar="N", help="Entries, the newest first.")] = "50",
    session: Session = "",
    requirement: Annotated[
        str, typer.Option("--requirement", metavar="NAME", help="Entries about it alone.")
    ] = "",
    kind: Annotated[
        str,
        typer.Option("--kind", metavar="WORD", help="denied, blocked, satisfied, consumed, error and so on."),
    ] = "",
    as_json: Json = False,
) -> None:
    """Show what the gates refused and what satisfied them, from the store's log.

    Without an owner, and where none can be started, it shows the project's own journal and says so.

    Example: context-graph-cli req log --requirement commit_plan
    """
    _run("log", limit=limit, session=session, requirement=requirement, kind=kind, json=as_json)


@app.command("statusline", short_help="One line for the client's status bar", epilog="Exit codes: always 0.")
def statusline() -> None:
    """Print one line about requirements for the client's status bar; reads its status JSON on standard input.

    In settings.json: "statusLine": {"type": "command", "command": "context-graph-cli req statusline"}

    Example: echo '{}' | context-graph-cli req statusline
    """
    become_launcher(["req", "statusline"])
