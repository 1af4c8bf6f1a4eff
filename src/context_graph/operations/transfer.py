"""Defines the operations on whole stores: export, import, reindex, and the numbers of one."""

from typing import Annotated, Any, Literal

from context_graph.operations.operation import Called, about, operation, text


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
