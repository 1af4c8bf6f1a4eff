"""Defines the operations on whole stores: export, import, reindex, its numbers; and on consolidations."""

from typing import Annotated, Any, Final, Literal

from context_graph.operations.operation import (
    DESTROYS,
    NODE_ID,
    READS,
    Called,
    about,
    node_named,
    operation,
    text,
    unit,
)

_LAST_INT: Final = (1 << 31) - 1


@operation("memory.export")
class Export(Called):
    """Give one page of an export."""

    format: Annotated[Literal["jsonl", "markdown"], about("What memories are written as.")] = "jsonl"
    embeddings: Annotated[bool, about("The vectors too.")] = False
    cursor: Annotated[str, text("Where the page begins.", 4096, 0)] = ""


@operation("memory.import")
class Import(Called):
    """Take one step of an import: begin, check and write its parts, list its faults, end."""

    phase: Annotated[Literal["begin", "check", "checked", "write", "end"], about("The step.")] = "begin"
    token: Annotated[str, text("The token from begin; all other steps need it.", 4096)] | None = None
    overwrite: Annotated[bool, about("Replace memories whose id is here already.")] = False
    files: Annotated[list[Any], about("A part: Markdown files, {name, text}.")] | None = None
    lines: Annotated[list[Any], about("A part: lines of JSONL.")] | None = None
    first_line: Annotated[int, about("Number of the first of them.", ge=1, le=1 << 62)] = 1


@operation("memory.reindex")
class Reindex(Called, kw_only=True):
    """Compute embeddings again for a moment; the caller repeats it until it is done."""

    provider: Annotated[str, text("What makes the embeddings.", 4096)]


@operation("memory.stats", short="Counts, cache, index, embedding, injections")
class Stats(Called):
    """Show counts, cache, index, embedding and injections of this project's memory.

    Exit codes: 0; 1 the store can't be used; 3 the database is corrupt.

    Example: context-graph-cli memory stats --json
    """

    prometheus: Annotated[bool, about("Print the metrics in Prometheus' text format.")] = False


@operation(
    "memory.consolidate",
    short="Merge, forget and link: a consolidation",
    tool="consolidate_memories",
    search="merge and prune memories, dream",
    says="light merges duplicates and deletes trivial memories softly, deep also clusters and links, "
    "rem also finds patterns and goals. Try dry_run first; undo_token undoes a run.",
    hints=DESTROYS,
    result=("mode", "pruned_count", "merged_count"),
)
class Consolidate(Called):
    """Consolidate this project's memory: merge duplicates, forget trivial memories, link related ones.

    All changes are written in one step at the end. Ctrl-C before that changes nothing. `memory undo` undoes
    them for 30 days.

    Exit codes: 0 done, also with nothing to do; 1 a mode that --strict refuses, or it could not be done;
    2 a wrong argument; 3 the database is corrupt; 130 interrupted, nothing changed.

    Example: context-graph-cli memory consolidate --mode deep --dry-run
    """

    mode: Annotated[
        Literal["light", "deep", "rem"],
        about(
            "light: merge duplicates, forget trivial memories such as greetings. deep: also find clusters "
            "and link memories. rem: also find patterns, goals and drift, and replay what was used."
        ),
    ] = "light"
    salience_threshold: Annotated[
        float, unit("Forget (softly) memories with a salience below this, 0 to 1; 0 forgets nothing.")
    ] = 0.3
    max_memories: Annotated[
        int,
        about(
            "Consider only this many of the newest memories; 0 considers all.",
            tool="Newest only",
            schema={"type": "integer"},
            ge=0,
            le=_LAST_INT,
        ),
    ] = 0
    dry_run: Annotated[bool, about("Show what would be done; change nothing.")] = False
    strict: Annotated[
        bool,
        about(
            "Fail if the mode is not allowed now, instead of running a lesser one.",
            tool="Refuse a lesser mode",
        ),
    ] = False
    any_state: Annotated[
        bool,
        about(
            "Run the mode asked for, also where the sessions' state allows only a lesser one.", only="command"
        ),
    ] = False


@operation("memory.undo", short="Undo the last change")
class Undo(Called):
    """Undo the last change of whatever kind: a consolidation, or what a command or tool stored, superseded,
    edited, forgot, restored, linked, confirmed or imported.

    All becomes what it was before. What was changed since stays, and is listed; what was added is forgotten,
    so that `memory restore` has it. At a terminal it says first which change is meant, and asks. An undo can
    be undone by its token. What hooks keep of sessions, and what was deleted for good, is no such change.

    Exit codes: 0; 1 there is no such change, it is older than 30 days, it was undone already, or you said no;
    3 the database is corrupt.

    Example: context-graph-cli memory undo 5f3c1a2b
    """

    token: (
        Annotated[
            str,
            text(
                "The change's token, or a unique beginning of it; default: the last one.", 36, option="TOKEN"
            ),
        ]
        | None
    ) = None
    list: Annotated[bool, about("List the changes that can be undone, newest first; undo none.")] = False
    limit: Annotated[int, about("With --list: at most this many.", ge=1, le=1000)] = 20


@operation("memory.history", short="Show the history of one memory")
class History(Called, kw_only=True):
    """Show each change of one memory in the last 30 days, newest first, and what was before it.

    `memory show ID --as-of TIME` shows it as it was then.

    Exit codes: 0; 1 no such memory, or the id fits several; 3 the database is corrupt.

    Example: context-graph-cli memory history 5f3c1a2b
    """

    node_id: Annotated[str, node_named(NODE_ID, wire="id")]
    limit: Annotated[int, about("At most this many changes, newest first.", ge=1, le=1000)] = 100


@operation("memory.runs", short="List consolidations")
class Runs(Called):
    """List the consolidations of the last 30 days, newest first: when, why, what they did, whether undone.

    Exit codes: 0; 1 the store can't be used; 3 the database is corrupt.

    Example: context-graph-cli memory runs --limit 5
    """

    limit: Annotated[int, about("At most this many runs, newest first.", ge=1, le=1000)] = 20


@operation(
    "memory.goals",
    short="What the memories are about",
    tool="discover_goals",
    search="goals that memories show",
    says="Goals that the memories show.",
    hints=READS,
    result=("goals",),
)
class Goals(Called):
    """Show what the memories are about: goals that a consolidation found in them, or those found now.

    Exit codes: 0, also when there are none; 1 the store can't be used; 3 the database is corrupt; 130
    interrupted.

    Example: context-graph-cli memory goals --discover --min-confidence 0.6
    """

    discover: Annotated[
        bool, about("Look for goals now, instead of showing those that were found last.", only="command")
    ] = False
    min_confidence: Annotated[float, unit("Only goals at least this certain, 0 to 1.")] = 0.3
    max_goals: Annotated[int, about("At most this many discovered goals.", ge=1, le=50)] = 10
