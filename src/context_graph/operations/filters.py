"""Defines the filters of memories as clients give them."""

from typing import Annotated, Final

import msgspec

from context_graph.model.memory import JohariQuadrant
from context_graph.model.note import NoteKind
from context_graph.operations.operation import Instant, about, text, unit

_MOST: Final = 100
_CHARS: Final = 4096
_SINCE: Final = "Only those created {} this time, such as 7d, yesterday or 2026-01-31."


class Filters(msgspec.Struct):
    """The filters as JSON: their schema, their options, and what docs say of them."""

    min_importance: Annotated[float, unit("Only memories at least this important, 0 to 1.")] | None = None
    johari_quadrants: Annotated[
        tuple[JohariQuadrant, ...],
        about(
            "Only of this quadrant: open, blind, hidden or unknown.",
            option="--quadrant",
            metavar="NAME",
            max_length=_MOST,
        ),
    ] = ()
    created_after: Annotated[Instant, about(_SINCE.format("after"))] | None = None
    created_before: Annotated[Instant, about(_SINCE.format("before"))] | None = None
    agent_id: Annotated[str, text("Only memories of this agent.", _CHARS, metavar="ID")] | None = None
    session_id: Annotated[str, text("Only memories of this session.", _CHARS, metavar="ID")] | None = None
    tags: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=_CHARS)], ...],
        about("Only with this tag.", option="--tag", metavar="WORD", max_length=_MOST),
    ] = ()
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
    project: Annotated[str, text("Only of this project.", _CHARS, metavar="PATH", only="command")] | None = (
        None
    )
    source: (
        Annotated[str, text("Only by: tool, capture, note, import, cli, library.", _CHARS, only="command")]
        | None
    ) = None
