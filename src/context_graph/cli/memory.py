"""`memory …`: store, find, show, link and forget what this project remembers."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, NoReturn

import typer

from context_graph.cli import memory_dream, memory_files, memory_find
from context_graph.cli.calling import ask, finish
from context_graph.cli.memory_call import CALL_S, ask_options, print_found, text_given
from context_graph.cli.memory_options import (
    Agent,
    Format,
    Id,
    Metadata,
    Output,
    Tags,
)
from context_graph.cli.memory_tables import (
    edge_text,
    stats_text,
)
from context_graph.cli.options import DbPath
from context_graph.cli.shown import shown
from context_graph.errors import InvalidInputError, UsageError

__all__ = ["app"]

app = typer.Typer(
    help="Store, find, show, link and forget what this project remembers; consolidate it; move it as files.",
    rich_markup_mode=None,
)


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
        float,
        typer.Option("--importance", min=0, max=1, metavar="X", help="How much it matters, 0 to 1."),
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

    Prints its id, or with --format json the memory. The rationale is required. What was masked is told
    on standard error, by kind and number; in JSON under "masked".

    Exit codes: 0 stored; 1 a wrong argument, or the store can't be used; 2 the database is corrupt.

    Example: context-graph-cli memory store "Staging listens on 8443" --rationale "needed to deploy" --tag ops
    """
    if not rationale:
        raise UsageError(
            "Rationale is required (10-500 characters): say with --rationale why it is worth keeping"
        )
    given = {
        "content": text_given("content", content),
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
    found = ask_options("memory.store", given, db_path)
    if masked := found.get("masked"):
        told = ", ".join(f"{count} {kind}" for kind, count in masked.items())
        print(f"masked before it was written: {told}", file=sys.stderr)
    print_found(found, output, found["id"])


memory_find.add_to(app)


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
    pinned: Annotated[
        bool, typer.Option("--pinned", help="Also if it is pinned; without this, a terminal asks.")
    ] = False,
    output: Output = Format.TEXT,
    db_path: DbPath = None,
) -> None:
    """Forget a memory: no search finds it any more. For 30 days `memory restore` brings it back.

    Its text is shown. A pinned memory is forgotten when you say yes, or with --pinned. With --permanent
    what was merged into it goes too; the answer names a merged memory that stays, and why.

    Exit codes: 0; 1 no such memory, an id that fits several or is too short, or a pinned memory is kept;
    2 the database is corrupt.

    Example: context-graph-cli memory forget 5f3c1a2b --reason "was wrong"
    """
    if not pinned and sys.stdin is not None and sys.stdin.isatty():
        there = ask_options("memory.show", {"id": node_id}, db_path)
        if there["pinned"] and "tombstone" not in there:
            node_id = there["id"]
            print(shown(f"{node_id[:8]} is pinned: {there['content']}"))
            pinned = typer.confirm("Forget it all the same?", abort=True)
    given = {"id": node_id, "reason": reason, "permanent": permanent, "pinned": pinned}
    found = ask_options("memory.forget", given, db_path)
    ending = "for good" if permanent else f"; `context-graph-cli memory restore {found['id'][:8]}` undoes it"
    what = f"forgotten {ending}: {found['id']}" if permanent else f"forgotten{ending}"
    lines = [what, *([found["content"]] if found["content"] else []), *_twin_lines(found)]
    print_found(found, output, "\n".join(lines))


def _twin_lines(found: dict[str, Any]) -> list[str]:
    """What a deletion for good did to memories that had been merged."""
    lines = [f"with it, merged into it before: {one}" for one in found.get("also_deleted", ())]
    lines += [
        f"not deleted: {one['id']} had been merged into it; {one['why']}" for one in found.get("left", ())
    ]
    if "still_on_disk" in found:
        lines.append(
            f"its text is still in files of the store and leaves them later: {found['still_on_disk']}"
        )
    return lines


@app.command("restore", short_help="Take back a forget")
def restore(node_id: Id, output: Output = Format.TEXT, db_path: DbPath = None) -> None:
    """Bring a forgotten memory back, as long as it has not been purged.

    Exit codes: 0; 1 no such forgotten memory; 2 the database is corrupt.

    Example: context-graph-cli memory restore 5f3c1a2b
    """
    found = ask_options("memory.restore", {"id": node_id}, db_path)
    print_found(found, output, f"restored: {found['id']}")


@app.command("link", short_help="Link two memories")
def link(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Id of the memory the link leaves.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Id of the memory it leads to.")],
    kind: Annotated[
        str, typer.Option("--type", metavar="WORD", help="What the first is to the second.")
    ] = "related_to",
    weight: Annotated[
        float, typer.Option("--weight", min=0, max=1, metavar="X", help="Strength, 0 to 1.")
    ] = 0.5,
    confidence: Annotated[
        float, typer.Option("--confidence", min=0, max=1, metavar="X", help="Certainty, 0 to 1.")
    ] = 1.0,
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
    found = ask_options("memory.link", given, db_path)
    print_found(found, output, edge_text(found))


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
        finish(ask("memory.stats", {"prometheus": True}, db_path=db_path, timeout_s=CALL_S))
    found = ask_options("memory.stats", {}, db_path)
    print_found(found, output, stats_text(found))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"--metadata: {text[:60]!r} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInputError(f"--metadata: {text[:60]!r} is no JSON object")
    return found
