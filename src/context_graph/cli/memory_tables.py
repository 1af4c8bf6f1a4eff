"""Memories as lines for people."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from context_graph.cli.tables import age

__all__ = [
    "edge_text",
    "forgotten_text",
    "injections_text",
    "list_text",
    "node_text",
    "recall_text",
    "stats_text",
    "table",
]

_ID_CHARS: Final = 8
_LEAST_WIDTH: Final = 40


def recall_text(found: Mapping[str, Any]) -> str:
    """The memories that were found, best first, then what is left."""
    if not found["nodes"]:
        return "nothing is remembered about that"
    rows = [("ID", "SCORE", "AGE", "SOURCE", "CONTENT")]
    rows += [
        (
            node["id"][:_ID_CHARS],
            f"{node['relevance_score']:.2f}",
            _age(node),
            node["source"],
            node["content"],
        )
        for node in found["nodes"]
    ]
    return _page(table(rows), found)


def list_text(found: Mapping[str, Any]) -> str:
    """One line a memory, newest first."""
    if not found["nodes"]:
        return "no memories here"
    rows = [("ID", "AGE", "IMP", "SOURCE", "TAGS", "CONTENT")]
    rows += [
        (
            node["id"][:_ID_CHARS],
            _age(node),
            f"{node['importance']:.2f}",
            node["source"],
            ",".join(node["tags"]) or "-",
            node["content"],
        )
        for node in found["nodes"]
    ]
    return _page(table(rows), found)


def forgotten_text(found: Mapping[str, Any]) -> str:
    """One line a tombstone."""
    if not found["tombstones"]:
        return "nothing was forgotten"
    rows = [("ID", "FORGOTTEN", "CAN BE RESTORED", "REASON")]
    rows += [
        (
            stone["id"] if not stone["soft"] else stone["id"][:_ID_CHARS],
            f"{age(stone['deleted_at_ms'])} ago",
            "yes" if stone["soft"] else "no",
            stone["reason"] or "-",
        )
        for stone in found["tombstones"]
    ]
    return _page(table(rows), found)


def injections_text(found: Mapping[str, Any]) -> str:
    """One line a memory of each injection, newest first."""
    if not found["injections"]:
        return "nothing was injected yet"
    rows = [("WHEN", "SESSION", "AT", "ID", "SCORE", "TOKENS", "USED")]
    rows += [
        (
            f"{age(entry['at_ms'])} ago",
            entry["session_id"][:_ID_CHARS],
            entry["event"],
            one["id"][:_ID_CHARS],
            f"{one['score']:.2f}",
            str(one["tokens"]),
            one["used"] or "no sign of it",
        )
        for entry in found["injections"]
        for one in entry["memories"]
    ]
    return _page(table(rows), found)


def node_text(node: Mapping[str, Any]) -> str:
    """`memory show` for people: fields, links, then the content as it is."""
    lines = [
        ("memory", node["id"]),
        ("as of", _time(node["as_of"]) if node.get("as_of") else ""),
        ("created", f"{_time(node['created_at'])} ({_age(node)} ago), {node['source']}"),
        ("importance", f"{node['importance']:.2f}, used {node['access_count']} times"),
        ("rationale", node["rationale"]),
        ("tags", ", ".join(node["tags"])),
        ("session", node.get("session_id") or ""),
        ("agent", node.get("agent_id") or ""),
        ("project", node.get("project") or ""),
        ("quadrant", node["johari_quadrant"]),
        ("pinned", "yes" if node.get("pinned") else ""),
        ("metadata", json.dumps(node["metadata"], ensure_ascii=False) if node.get("metadata") else ""),
    ]
    if node.get("forgotten"):
        lines.append(("forgotten", "yes, at that time"))
    stone = node.get("tombstone")
    if stone:
        lines.append(
            ("forgotten", f"{age(stone['deleted_at_ms'])} ago: {stone['reason'] or 'no reason given'}")
        )
    lines += [("link", edge_text(edge)) for edge in node.get("edges", [])]
    return _columns([line for line in lines if line[1]]) + f"\n\n{node['content']}"


def edge_text(edge: Mapping[str, Any]) -> str:
    """A link on one line."""
    ends = f"{edge['source_id'][:_ID_CHARS]} -{edge['relationship_type']}-> {edge['target_id'][:_ID_CHARS]}"
    worth = ", a valuable shortcut" if edge.get("is_valuable_shortcut") else ""
    return f"{ends} (weight {edge['weight']:.2f}, confidence {edge['confidence']:.2f}{worth})"


def stats_text(stats: Mapping[str, Any]) -> str:
    """`memory stats` for people: one line a figure, in the groups it comes in."""
    lines: list[tuple[str, str]] = []
    for group, figures in stats.items():
        if not isinstance(figures, Mapping):
            lines.append((group.replace("_", " "), _figure(figures)))
            continue
        lines.append((group.replace("_", " "), ""))
        lines += [(f"  {name.replace('_', ' ')}", _figure(value)) for name, value in figures.items()]
    return _columns(lines)


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_figure(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        between = "; " if value and isinstance(value[0], Mapping) else ", "
        return between.join(map(_figure, value)) or "none"
    return "none" if value is None else str(value)


def _page(table: str, found: Mapping[str, Any]) -> str:
    cursor = found.get("next_cursor")
    return f"{table}\nmore: --cursor {cursor}" if cursor else table


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as they need; the last is cut to the terminal's width, 80 without one.

    Each row is one line: no text can look like a row of its own.
    """
    one_line = [tuple(map(_one_line, row)) for row in rows]
    widths = [max(len(row[at]) for row in one_line) for at in range(len(rows[0]) - 1)]
    room = max(_LEAST_WIDTH, shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths))
    lines = []
    for row in one_line:
        last = row[-1] if len(row[-1]) <= room else row[-1][: room - 1] + "…"
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join((*cells, last)).rstrip())
    return "\n".join(lines)


def _columns(lines: Sequence[tuple[str, str]]) -> str:
    width = max((len(name) for name, _ in lines), default=0)
    return "\n".join(f"{name.ljust(width)}  {_one_line(text)}".rstrip() for name, text in lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _age(node: Mapping[str, Any]) -> str:
    at = datetime.fromisoformat(node["created_at"])
    return age(int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))


def _time(text: str) -> str:
    return datetime.fromisoformat(text).astimezone().isoformat(timespec="seconds")
