"""`memory …`: store, find, show, link and forget what this project remembers."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, Any, Final, NoReturn

import typer

from context_graph.cli import memory_dream, memory_files
from context_graph.cli.calling import ask, finish, read_stdin
from context_graph.cli.memory_tables import (
    edge_text,
    forgotten_text,
    injections_text,
    list_text,
    node_text,
    recall_text,
    stats_text,
)
from context_graph.cli.options import DbPath
from context_graph.cli.shown import shown
from context_graph.errors import InvalidInputError

__all__ = ["app"]

app = typer.Typer(
    help="Store, find, show, link and forget what this project remembers; consolidate it; move it as files.",
    rich_markup_mode=None,
)
_SHORT_S: Final = 30.0
_CONTENT_BYTES: Final = 1024 * 1024
"""More than 65,536 characters can take; the owner names the limit."""


class Format(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"


Output = Annotated[Format, typer.Option("--format", help="Lines for people, or one JSON object.")]
Id = Annotated[
    str,
    typer.Argument(metavar="ID", help="A memory's id, or as many of its first characters as fit no other."),
]
Agent = Annotated[
    str | None, typer.Option("--agent-id", metavar="ID", help="Agent that the memory belongs to.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="WORD", help="A tag; may be given again.")]
ByTag = Annotated[
    list[str] | None, typer.Option("--tag", metavar="WORD", help="Only with this tag; may be given again.")
]
BySession = Annotated[
    str | None, typer.Option("--session-id", metavar="ID", help="Only memories of this session.")
]
ByAgent = Annotated[str | None, typer.Option("--agent-id", metavar="ID", help="Only memories of this agent.")]
After = Annotated[
    str | None,
    typer.Option("--created-after", metavar="TIME", help="Only those created after this ISO 8601 time."),
]
Before = Annotated[
    str | None,
    typer.Option("--created-before", metavar="TIME", help="Only those created before this ISO 8601 time."),
]
Cursor = Annotated[
    str | None,
    typer.Option("--cursor", metavar="TEXT", help="Where the page begins: the last page's next_cursor."),
]
Metadata = Annotated[
    str | None, typer.Option("--metadata", metavar="JSON", help="A JSON object to keep beside it.")
]


@app.command("store", short_help="Store a memory")
def store(
    content: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="What to remember, at most 65,536 characters; - reads stdin."),
    ],
    rationale: Annotated[
        str | None,
        typer.Option("--rationale", metavar="TEXT", help="Why it is worth keeping, 10 to 500 characters."),
    ] = None,
    importance: Annotated[
        float, typer.Option("--importance", metavar="X", help="How much it matters, 0 to 1.")
    ] = 0.5,
    tag: Tags = None,
    link_to: Annotated[
        list[str] | None,
        typer.Option("--link-to", metavar="ID", help="A memory that it relates to; may be given again."),
    ] = None,
    metadata: Metadata = None,
    session_id: Annotated[
        str | None,
        typer.Option(
            "--session-id", metavar="ID", help="Session it belongs to; default: $CLAUDE_CODE_SESSION_ID."
        ),
    ] = None,
    agent_id: Agent = None,
    occurred_at: Annotated[
        str | None,
        typer.Option("--occurred-at", metavar="TIME", help="When it happened, ISO 8601; default: now."),
    ] = None,
    pinned: Annotated[
        bool, typer.Option("--pinned", help="Never let a consolidation merge or prune it.")
    ] = False,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """Store a memory of this project. Secrets in it are redacted before it is written.

    Prints its id, or with --format json the memory. The rationale is required.

    Exit codes: 0 stored; 1 a wrong argument, or the store can't be used; 2 the database is corrupt.

    Example: context-graph-cli memory store "Staging listens on 8443" --rationale "needed to deploy" --tag ops
    """
    given = {
        "content": _content(content),
        "rationale": rationale,
        "importance": importance,
        "tags": tag,
        "link_to": link_to,
        "metadata": _object(metadata),
        "session_id": session_id,
        "agent_id": agent_id,
        "occurred_at": occurred_at,
        "pinned": pinned,
    }
    found = _ask("memory.store", given, db_path)
    _print(found, output, found["id"])


@app.command("recall", short_help="Find memories")
def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for; - reads stdin.")],
    top_k: Annotated[
        int, typer.Option("--top-k", min=1, max=100, metavar="N", help="Memories on one page.")
    ] = 10,
    min_importance: Annotated[
        float | None,
        typer.Option("--min-importance", metavar="X", help="Only at least as important, 0 to 1."),
    ] = None,
    quadrant: Annotated[
        list[str] | None,
        typer.Option(
            "--quadrant", metavar="NAME", help="open, blind, hidden or unknown; may be given again."
        ),
    ] = None,
    tag: ByTag = None,
    session_id: BySession = None,
    agent_id: ByAgent = None,
    created_after: After = None,
    created_before: Before = None,
    recency: Annotated[
        float, typer.Option("--recency", min=0, max=1, metavar="X", help="How much newer counts for more.")
    ] = 0.0,
    cursor: Cursor = None,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """Find the memories that fit a question best: by its words and by what they mean.

    Exit codes: 0, also when nothing is found; 1 a wrong argument, or the store can't be used; 2 the
    database is corrupt.

    Example: context-graph-cli memory recall "which port does staging use" --top-k 3
    """
    given = {
        "query": _content(query),
        "top_k": top_k,
        "min_importance": min_importance,
        "johari_quadrants": quadrant,
        "tags": tag,
        "session_id": session_id,
        "agent_id": agent_id,
        "created_after": created_after,
        "created_before": created_before,
        "recency": recency,
        "cursor": cursor,
    }
    found = _ask("memory.recall", given, db_path)
    _print(found, output, recall_text(found))


@app.command("inject", short_help="Memories as context, within a budget")
def inject(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the context is for; - reads stdin.")],
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=100, max=8192, metavar="N", help="Most tokens of context.")
    ] = 2048,
    mode: Annotated[
        str,
        typer.Option("--mode", metavar="NAME", help="auto, raw, narrative, structured or code_focused."),
    ] = "auto",
    priority: Annotated[
        str, typer.Option("--priority", metavar="NAME", help="low, normal, high or critical.")
    ] = "normal",
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include",
            metavar="NAME",
            help="causal_links, entailment_cones, neighborhood or conflicts; may be given again.",
        ),
    ] = None,
    session_id: BySession = None,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """Print what the memories say about a question, condensed to a number of tokens that is never exceeded.

    Exit codes: 0, also when nothing is found; 1 a wrong argument, or the store can't be used; 2 the
    database is corrupt.

    Example: context-graph-cli memory inject "deploying to staging" --max-tokens 400
    """
    given = {
        "query": _content(query),
        "max_tokens": max_tokens,
        "distillation_mode": mode,
        "priority": priority,
        "include_metadata": include,
        "session_id": session_id,
    }
    found = _ask("memory.inject", given, db_path)
    _print(found, output, found["context"] or "nothing is remembered about that")


@app.command("list", short_help="List memories, newest first")
def list_memories(
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, metavar="N", help="Memories on one page.")
    ] = 50,
    cursor: Cursor = None,
    tag: ByTag = None,
    session_id: BySession = None,
    agent_id: ByAgent = None,
    created_after: After = None,
    created_before: Before = None,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="What was forgotten, with when and why.")
    ] = False,
    injected: Annotated[
        bool,
        typer.Option("--injected", help="The last injections: what was put into which session, and its use."),
    ] = False,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """List this project's memories, newest first; or what was forgotten, or what was injected.

    Exit codes: 0; 1 a wrong argument, or the store can't be used; 2 the database is corrupt.

    Example: context-graph-cli memory list --tag ops --limit 10
    """
    if deleted and injected:
        raise InvalidInputError("--deleted and --injected are two lists: give one of them")
    given = {
        "limit": limit,
        "cursor": cursor,
        "tags": tag,
        "session_id": session_id,
        "agent_id": agent_id,
        "created_after": created_after,
        "created_before": created_before,
        "view": "deleted" if deleted else "injected" if injected else None,
    }
    found = _ask("memory.list", given, db_path)
    text = forgotten_text if deleted else injections_text if injected else list_text
    _print(found, output, text(found))


@app.command("show", short_help="Show one memory")
def show(
    node_id: Id,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="As it was at this ISO 8601 time, at most 30 days ago."),
    ] = None,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """Show one memory with all its fields and its links. A forgotten one says when and why.

    Exit codes: 0; 1 no such memory (then), or the id fits several (they are listed); 2 its record is corrupt.

    Example: context-graph-cli memory show 5f3c1a2b
    """
    found = _ask("memory.show", {"id": node_id, "as_of": as_of}, db_path)
    _print(found, output, node_text(found))


@app.command("forget", short_help="Forget a memory")
def forget(
    node_id: Id,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the time of it.")
    ] = "user_requested",
    permanent: Annotated[
        bool,
        typer.Option("--permanent", help="At once and for good; otherwise it can be restored for 30 days."),
    ] = False,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """Forget a memory: no search finds it any more. For 30 days `memory restore` brings it back.

    Exit codes: 0; 1 no such memory, or the id fits several; 2 the database is corrupt.

    Example: context-graph-cli memory forget 5f3c1a2b --reason "was wrong"
    """
    found = _ask("memory.forget", {"id": node_id, "reason": reason, "permanent": permanent}, db_path)
    ending = "for good" if permanent else f"; `context-graph-cli memory restore {found['id'][:8]}` undoes it"
    _print(found, output, f"forgotten {ending}: {found['id']}" if permanent else f"forgotten{ending}")


@app.command("restore", short_help="Take back a forget")
def restore(node_id: Id, output: Output = Format.TEXT, db_path: DbPath = None) -> None:
    """Bring a forgotten memory back, as long as it has not been purged.

    Exit codes: 0; 1 no such forgotten memory; 2 the database is corrupt.

    Example: context-graph-cli memory restore 5f3c1a2b
    """
    found = _ask("memory.restore", {"id": node_id}, db_path)
    _print(found, output, f"restored: {found['id']}")


@app.command("link", short_help="Link two memories")
def link(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Id of the memory the link leaves.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Id of the memory it leads to.")],
    kind: Annotated[
        str, typer.Option("--type", metavar="WORD", help="What the first is to the second.")
    ] = "related_to",
    weight: Annotated[float, typer.Option("--weight", metavar="X", help="Strength, 0 to 1.")] = 0.5,
    confidence: Annotated[float, typer.Option("--confidence", metavar="X", help="Certainty, 0 to 1.")] = 1.0,
    domain: Annotated[
        str,
        typer.Option("--domain", metavar="NAME", help="code, legal, medical, creative, research or general."),
    ] = "general",
    metadata: Metadata = None,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """Link two memories; a link of the same type between them is replaced.

    Exit codes: 0; 1 a wrong argument or no such memory; 2 the database is corrupt.

    Example: context-graph-cli memory link 5f3c1a2b 9d0e7c44 --type caused_by --weight 0.9
    """
    given = {
        "source": source,
        "target": target,
        "relationship_type": kind,
        "weight": weight,
        "confidence": confidence,
        "domain": domain,
        "metadata": _object(metadata),
    }
    found = _ask("memory.link", given, db_path)
    _print(found, output, edge_text(found))


memory_dream.add_to(app)
memory_files.add_to(app)


@app.command("stats", short_help="Counts, cache, index, embedding, injections")
def stats(
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Print the metrics in Prometheus' text format.")
    ] = False,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """Show what this project's memory holds and how it does: counts, cache, index, embedding, injections.

    Exit codes: 0; 1 the store can't be used; 2 the database is corrupt.

    Example: context-graph-cli memory stats --format json
    """
    if prometheus:
        finish(ask("memory.stats", {"prometheus": True}, db_path=db_path, timeout_s=_SHORT_S))
    found = _ask("memory.stats", {}, db_path)
    _print(found, output, stats_text(found))


def _ask(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    """The reply's JSON to arguments sent as a JSON body; a reply that failed ends the command."""
    body = {name: value for name, value in given.items() if value not in (None, [], "")}
    reply = ask(verb, {}, json.dumps(body).encode("utf-8", "replace"), db_path=db_path, timeout_s=_SHORT_S)
    if reply.exit_code:
        finish(reply)
    return json.loads(reply.stdout)


def _print(found: Any, output: Format, text: str) -> None:
    print(json.dumps(found, ensure_ascii=False) if output is Format.JSON else shown(text))


def _content(text: str) -> str:
    """``text``, or for `-` standard input without its last newline; a terminal is not read from."""
    if text != "-":
        return text
    if sys.stdin is not None and sys.stdin.isatty():
        _refuse("-: nothing is piped in; give the text as an argument, or pipe it")
    given = read_stdin(_CONTENT_BYTES)
    try:
        return given.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"stdin: not UTF-8 at byte {error.start}; encode it as UTF-8") from error


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"--metadata: {text[:60]!r} is no JSON: {error}") from error
    return found if isinstance(found, dict) else _refuse(f"--metadata: {text[:60]!r} is no JSON object")


def _refuse(text: str) -> NoReturn:
    raise InvalidInputError(text)
