"""`memory recall`, `inject`, `list` and `show`: what looks at memories and changes none."""

from __future__ import annotations

from typing import Annotated

import typer

from context_graph.cli.memory_call import ask_options, print_found, text_given
from context_graph.cli.memory_options import (
    After,
    Before,
    ByAgent,
    BySession,
    ByTag,
    Cursor,
    Format,
    Id,
    Output,
)
from context_graph.cli.memory_tables import (
    forgotten_text,
    injections_text,
    list_text,
    node_text,
    recall_text,
)
from context_graph.cli.options import DbPath
from context_graph.errors import InvalidInputError

__all__ = ["add_to"]


def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for; - reads stdin.")],
    top_k: Annotated[
        int, typer.Option("--top-k", min=1, max=100, metavar="N", help="Memories on one page.")
    ] = 10,
    min_importance: Annotated[
        float | None,
        typer.Option(
            "--min-importance", min=0, max=1, metavar="X", help="Only at least as important, 0 to 1."
        ),
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
        "query": text_given("query", query),
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
    found = ask_options("memory.recall", given, db_path)
    print_found(found, output, recall_text(found))


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
        "query": text_given("query", query),
        "max_tokens": max_tokens,
        "distillation_mode": mode,
        "priority": priority,
        "include_metadata": include,
        "session_id": session_id,
    }
    found = ask_options("memory.inject", given, db_path)
    print_found(found, output, found["context"] or "nothing is remembered about that")


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
    found = ask_options("memory.list", given, db_path)
    text = forgotten_text if deleted else injections_text if injected else list_text
    print_found(found, output, text(found))


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
    found = ask_options("memory.show", {"id": node_id, "as_of": as_of}, db_path)
    print_found(found, output, node_text(found))


def add_to(app: typer.Typer) -> None:
    """Give ``app`` these commands."""
    app.command("recall", short_help="Find memories")(recall)
    app.command("inject", short_help="Memories as context, within a budget")(inject)
    app.command("list", short_help="List memories, newest first")(list_memories)
    app.command("show", short_help="Show one memory")(show)
