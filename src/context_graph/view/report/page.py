"""Lays a report out as one HTML file that loads nothing and runs nothing but its own script.

The policy in the file names script and style by their hashes. Texts reach the page through Jinja's escaping
and the script through JSON that it writes into text nodes.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any, Final

import jinja2
import msgspec
from markupsafe import Markup

from context_graph.view.report import charts, tables
from context_graph.view.report.gather import MEMORIES, Report, day
from context_graph.view.rows import TEXT_CHARS, RunRow, SessionDetail
from context_graph.view.safe import one_line, shown

MARK: Final = b'<!doctype html>\n<html lang="en" data-made-by="context-graph report">'
"""What each report begins with."""
MOST_BYTES: Final = 1_950_000
_LEAST_CHARS: Final = 12
_EVENTS: Final = 40
_ESCAPES: Final = (
    ("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"),
)  # fmt: skip


def render(found: Report) -> bytes:
    """The file, UTF-8: the same bytes for the same rows, and below 2 MB for 10,000 memories.

    Cost: some 0.2 s for 10,000 memories; twice that where their texts must be cut to fit.
    """
    page = _rendered(found, TEXT_CHARS)
    if len(page) > MOST_BYTES:
        page = _rendered(found, _chars_for(found, len(page) - MOST_BYTES))
    return page


def _chars_for(found: Report, too_much: int) -> int:
    """How much of each memory's text leaves the file ``too_much`` bytes smaller."""
    texts = [one_line(one.text) for one in (*found.memories, *found.forgotten)]

    def size(chars: int) -> int:
        return len(_embedded([tables.cut(text, chars) for text in texts]).encode())

    whole, low, high = size(TEXT_CHARS), _LEAST_CHARS, TEXT_CHARS
    while low < high:
        chars = (low + high + 1) // 2
        low, high = (chars, high) if whole - size(chars) >= too_much else (low, chars - 1)
    return low


def _rendered(found: Report, chars: int) -> bytes:
    style, script = _asset("report.css"), _asset("report.js")
    text = _environment().get_template("page.html.j2").render(
        found=found,
        policy=_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        name=found.health.project.rstrip("/").rpartition("/")[2] or found.health.project,
        since="" if found.since_ms is None else day(found.since_ms),
        chars=chars if chars < TEXT_CHARS else 0,
        most=MEMORIES,
        events=_EVENTS,
        tables={
            "memories": tables.memories(found, chars),
            **{make.__name__: make(found) for make in (
                tables.ledger, tables.days, tables.sessions, tables.gates, tables.states, tables.goals,
                tables.patterns, tables.clusters,
            )},
        },
        charts={
            "days": charts.bars(found.ledger.days),
            "map": charts.scatter(found.map),
            "drift": charts.drift_line(found.map.drift),
        },
        details=[(one, charts.session_line(one.points, one.marks), _session(one)) for one in found.details],
    )  # fmt: skip
    return text.encode("utf-8", "backslashreplace")


def _session(one: SessionDetail) -> str:
    """The headline of a session."""
    row = one.row
    level = f", IC {row.ic:.2f} ({row.ic_level})" if row.ic is not None else ""
    return f"{tables.stamp(row.last_ms)}: {row.goal or 'no prompt'}{level}"


def _counts(row: RunRow) -> str:
    """What a run did, in figures."""
    return ", ".join(f"{count} {name}" for name, count in row.counts.items() if count) or "nothing changed"


def _policy(style: str, script: str) -> str:
    """Nothing may load, run, be sent or be made of text but our own style and script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _embedded(value: Any) -> str:
    """JSON that no parser of HTML takes for an end of the script or a comment."""
    text = msgspec.json.encode(value).decode("utf-8")
    for found, escaped in _ESCAPES:
        text = text.replace(found, escaped)
    return text


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters.update(
        stamp=tables.stamp, embedded=lambda table: Markup(_embedded(table.data())), counts=_counts
    )
    return environment


def _finalized(value: Any) -> Any:
    """Each text that the page shows passes here: what turns the direction of reading is shown, not obeyed."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value
