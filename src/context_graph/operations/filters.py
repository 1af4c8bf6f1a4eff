"""Defines the filters of memories as clients give them."""

from typing import Annotated, Final

import msgspec

from context_graph.model.memory import JohariQuadrant
from context_graph.model.note import NoteKind
from context_graph.operations.operation import Instant, about, unit

_SINCE: Final = "Only those created {} this time, such as 7d, yesterday or 2026-01-31."


class Filters(msgspec.Struct):
    """The filters as JSON, for schemas, options and docs; `RecallFilters.parse` reads them."""

    min_importance: Annotated[float, unit("Only memories at least this important, 0 to 1.")] | None = None
    johari_quadrants: Annotated[
        tuple[JohariQuadrant, ...],
        about("Only of this quadrant: open, blind, hidden or unknown.", option="--quadrant", metavar="NAME"),
    ] = ()
    created_after: Annotated[Instant, about(_SINCE.format("after"))] | None = None
    created_before: Annotated[Instant, about(_SINCE.format("before"))] | None = None
    agent_id: Annotated[str, about("Only memories of this agent.", metavar="ID")] | None = None
    session_id: Annotated[str, about("Only memories of this session.", metavar="ID")] | None = None
    tags: Annotated[tuple[str, ...], about("Only with this tag.", option="--tag", metavar="WORD")] = ()
    kind: (
        Annotated[
            NoteKind,
            about(
                "Only notes of this kind: rule, decision, lesson, change, way, open or finding.",
                metavar="NAME",
            ),
        ]
        | None
    ) = None
    project: Annotated[str, about("Only of this project.", metavar="PATH", only="command")] | None = None
    source: (
        Annotated[str, about("Only by: tool, capture, note, import, cli, library.", only="command")] | None
    ) = None
