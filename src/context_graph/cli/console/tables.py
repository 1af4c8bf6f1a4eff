"""Renders JSON answers as plain lines, without a colour library, which would be slow to import."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from context_graph.text.units import ago as ago
from context_graph.text.units import counted as counted
from context_graph.text.units import size as size
from context_graph.text.units import span as span
from context_graph.view.health import COURSES
from context_graph.view.safe import one_line as one_line
from context_graph.view.safe import shown as visible

_CHAIN_ENDS: Final = {
    "missing": " <- (not in the store)",
    "damaged": " <- (damaged)",
    "cycle": " <- (a cycle)",
    "limit": " <- ...",
}
_LEAST_LAST: Final = 20
"""Of a table's last column, which tells most, in a narrow terminal."""
_LEAST_CELL: Final = 4
_USUAL_WIDTH: Final = 80
_ID_CHARS: Final = 8
"""Of an id, where no two that are shown begin alike."""


def session_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one line a session: as much of its id as names it, end, length, branch, outcome, goal."""
    if not rows:
        return "no sessions yet"
    size = _ID_CHARS
    while len({row["session_id"][:size] for row in rows}) < len(rows):
        size += 1
    head = ("SESSION", "AGO", "LENGTH", "BRANCH", "OUTCOME", "GOAL")
    return table([head, *(_row(row, size) for row in rows)])


def _row(row: Mapping[str, Any], size: int) -> tuple[str, ...]:
    lasted = row.get("ended_ms", 0) - row.get("began_ms", 0)
    return (
        row["session_id"][:size],
        ago(row["timestamp_ms"]),
        span(lasted / 1000) if row.get("ended_ms") else "-",
        row.get("branch") or "-",
        row.get("outcome") or "-",
        f"damaged: {row['damaged']}" if row.get("damaged") else row.get("goal") or "-",
    )


def _before(shown: Mapping[str, Any]) -> tuple[str, str]:
    before = shown.get("previous_session_id")
    if not before:
        return "continues", "nothing"
    if shown.get("cross_session_ic") is None:
        return "follows", f"{before} (not compared yet)"
    return ("new work", f"after {before}") if shown.get("relation") == "new work" else ("continues", before)


def session_text(shown: Mapping[str, Any], *, verbose: bool = False) -> str:
    """`session show` for people; with ``verbose`` also what was measured."""
    work, row = shown.get("work", {}), shown.get("row", {})
    counts = next((line["text"] for line in shown.get("facts", []) if line["name"] == "events"), "none")
    waiting = (
        *_some(shown.get("events_waiting", 0), "event"),
        *_some(shown.get("dreams_pending", 0), "consolidation"),
    )
    measured = shown.get("has_evidence", True)
    lines = [
        ("session", shown["session_id"]),
        ("goal", work.get("goal") or row.get("goal") or ""),
        _before(shown),
        ("when", _when(shown["timestamp_ms"], work)),
        ("branch", work.get("branch", "")),
        ("outcome", work.get("outcome", "")),
        ("identity", COURSES.get(row.get("ic_level", ""), "") if measured else "nothing measured yet"),
        ("events", counts),
        *(("compaction", _compaction(compaction)) for compaction in shown.get("compactions", [])[-3:]),
        ("waiting", ", ".join(waiting)),
    ]
    if verbose and measured:
        lines += _measures(shown, shown["last_ic"])
        path = f"{len(shown['trajectory'])} purpose vectors, coupling {_number(shown['coupling'])}"
        history = " ".join(_number(value) for value in shown.get("ic_history", [])[-12:])
        lines += [("trajectory", path), ("IC history", history or "none yet")]
    return columns([line for line in lines if line[1]])


def _some(count: int, unit: str) -> tuple[str, ...]:
    return (counted(count, unit),) if count else ()


def _when(saved_ms: int, work: Mapping[str, Any]) -> str:
    began, ended = work.get("began_ms"), work.get("ended_ms") or saved_ms
    lasted = f", {span((ended - began) / 1000)} long" if began else ""
    end = datetime.fromtimestamp(ended / 1000).strftime("%Y-%m-%d %H:%M")
    return f"until {end}, {ago(ended)} ago{lasted}"


def _measures(of: Mapping[str, Any], continuity: Any) -> list[tuple[str, str]]:
    """Return the numbers of a session's identity, with their letters in the brief (docs/dev/concepts.md)."""
    return [
        ("consciousness C", _number(of["consciousness"])),
        ("focus r", _number(of["integration"])),
        ("foresight R", f"{_number(of['reflection'])} ({forecast_text(of.get('forecast', {}))})"),
        ("evenness D", _number(of["differentiation"])),
        ("continuity IC", _number(continuity)),
    ]


def _compaction(compaction: Mapping[str, Any]) -> str:
    """Return how much of the session outlived a compaction."""
    facts, when = compaction["facts"], f"{ago(compaction['at_ms'])} ago"
    if compaction["in_summary"] is None or not facts:
        return f"{when}; {facts} facts, {compaction['in_context']} shown again; the client gave no summary"
    whole, summary = compaction["continuity"], compaction["in_summary"] / facts
    return f"{when}; continuity {whole:.2f} of {facts} facts (the summary alone {summary:.2f})"


def chain_text(chain: Sequence[Mapping[str, Any]], end: str, *, verbose: bool = False) -> str:
    """Return the sessions before this one, newest first; with ``verbose`` what each link measured."""
    links = "".join(f" <- {before['id']}{_link(after, verbose)}" for after, before in pairwise(chain))
    links = f"{chain[0]['id']}{links}" if chain else ""
    return columns([("chain", f"{links}{_CHAIN_ENDS.get(end, '')}")])


def _link(row: Mapping[str, Any], verbose: bool) -> str:
    measured = row.get("cross_session_ic")
    parts = (
        "new work" if row.get("relation") == "new work" else "",
        f"{measured:.2f}" if verbose and measured is not None else "",
    )
    words = ", ".join(filter(None, parts))
    return f" ({words})" if words else ""


def status_text(status: Mapping[str, Any]) -> str:
    """`consciousness status` for people."""
    lines = [("store", status["store"]), ("project", status.get("project") or "-")]
    lines.append(("sessions", str(status.get("sessions", 0))))
    if "session_id" in status:
        lines.append(
            ("session", f"{status['session_id']} ({counted(status.get('events_applied', 0), 'event')})")
        )
    measures = status.get("consciousness_state")
    if measures:
        lines += [
            ("state", str(status.get("state", "?")).lower()),
            ("identity", COURSES.get(str(status.get("ic_classification")), "not known")),
            *_measures({**status, **measures}, measures["identity_continuity"]),
        ]
    else:
        lines.append(("state", "nothing measured yet"))
    waiting = (
        *_some(status.get("events_waiting", 0), "event"),
        *_some(len(status.get("dreams_pending", [])), "consolidation"),
    )
    lines.append(("waiting", ", ".join(waiting) or "nothing"))
    return columns(lines)


def owner_text(status: Mapping[str, Any]) -> str:
    """`owner status` for people."""
    lines = [
        ("owner", f"pid {status['pid']}, version {status['version']}"),
        ("data root", status.get("root", "-")),
        ("up", span(status["uptime_s"])),
        ("RAM", size(status["rss_bytes"])),
        ("clients", str(status["clients"])),
        ("stores", f"{status['stores']} open, {status.get('sessions', 0)} sessions in memory"),
        ("memories", _memories(status.get("memory", {}))),
        ("requests", f"{status['requests']} ({_milliseconds(status)})"),
        ("events", f"{status['events_waiting']} waiting, {status.get('events_rejected', 0)} rejected"),
        ("redaction", f"{status.get('redaction_rules', 0)} rules"),
        *_dreams(status.get("dreams", {})),
    ]
    problems = [*status.get("settings_problems", [])]
    aside = [
        f"{row['what']} of {row['project'] or row['store']}: {row['why']} (`owner retry` tries it again)"
        for row in status.get("set_aside", [])
    ]
    problems += [
        f"events wait in a file that can't be read: {text}" for text in status.get("events_shut", [])
    ]
    return columns(
        [*lines, *(("set aside", text) for text in aside), *(("problem", text) for text in problems)]
    )


_WHY: Final = {
    "asked": "asked for",
    "crisis": "an identity crisis",
    "entropy": "high entropy",
    "session_end": "a session's end",
    "idle": "idleness",
}


def _dreams(dreams: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the consolidations running now, and those that the owner will run by itself."""
    running = dreams.get("running")
    lines = []
    if running:
        share = running["done"] / max(1, running["total"])
        waiting = f", {dreams['waiting']} more wait" if dreams.get("waiting") else ""
        lines.append(
            ("consolidating", f"{_run(running)}: {running['stage'] or 'begins'}, {share:.0%}{waiting}")
        )
    for row in dreams.get("scheduled", []):
        when = (
            "no more: too many failed" if row["in_s"] is None else f"in {row['in_s']:.0f} s at the earliest"
        )
        gave_way = f", gave way to queries {row['aborted']} times" if row.get("aborted") else ""
        lines.append(("consolidation", f"{_run(row)}: {when}{gave_way}"))
    return lines or [("consolidation", "none scheduled")]


def _run(row: Mapping[str, Any]) -> str:
    return f"{row['mode']} of {row['store']} ({_WHY.get(row['trigger'], row['trigger'])})"


def _memories(counts: Mapping[str, Any]) -> str:
    shown, used = counts.get("injections", 0), counts.get("used", 0)
    waiting = counts.get("captures_due", 0)
    due = f"; {counted(waiting, 'session')} to capture" if waiting else ""
    uses = f"; shown on {counted(shown, 'occasion')}, {used} used" if shown else "; none shown yet"
    return f"{counts.get('memories', 0)} kept{uses}{due}"


def _milliseconds(status: Mapping[str, Any]) -> str:
    if status.get("p50_ms") is None:
        return "none timed yet"
    return f"p50 {status['p50_ms']:.1f} ms, p95 {status['p95_ms']:.1f} ms"


def forecast_text(forecast: Mapping[str, Any]) -> str:
    """Return how good the session's forecasts of tool failures were, if there were enough of them."""
    calls, skill = forecast.get("calls", 0), forecast.get("skill")
    if skill is None:
        return f"forecast of tool failures: not measured yet, {calls} calls"
    return f"forecast of tool failures: skill {skill:.2f} over {calls} calls"


def _number(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, (int, float)) else "?"


def table(rows: Sequence[tuple[str, ...]], *, whole: bool = False) -> str:
    """Return columns as wide as they need; unless ``whole``, all but the first are cut to the terminal's
    width.

    Each row is one line: no text can look like a row of its own. Where that leaves the last column, which
    tells most, too little room, those before it are left out, from the right.
    """
    lines = [tuple(map(one_line, row)) for row in rows]
    least = min(_LEAST_LAST, max(len(row[-1]) for row in lines))
    while not whole and len(lines[0]) > 2 and _least_width(lines) + least > width():
        lines = [(*row[:-2], row[-1]) for row in lines]
    *widths, last = (max(map(len, column)) for column in zip(*lines, strict=True))
    room = width() - sum(widths) - 2 * len(widths)
    while not whole and room < least:
        widest = max(range(1, len(widths)), key=widths.__getitem__, default=0)
        if not widest or widths[widest] <= _LEAST_CELL:
            break
        widths[widest] -= 1
        room += 1
    sizes = [*widths, max(last, room) if whole else max(_LEAST_CELL, room)]
    cells = ([_cut(cell, size).ljust(size) for cell, size in zip(row, sizes, strict=True)] for row in lines)
    return "\n".join("  ".join(row).rstrip() for row in cells)


def _least_width(lines: Sequence[tuple[str, ...]]) -> int:
    """Of all columns but the last, with what is between them: the first is never cut."""
    first, *others = (max(map(len, column)) for column in [*zip(*lines, strict=True)][:-1])
    return first + sum(min(other, _LEAST_CELL) for other in others) + 2 * (1 + len(others))


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def width() -> int:
    """Return columns of the terminal; as `shutil.get_terminal_size`, whose module costs 5 ms."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns[:6]) > 0:
        return int(columns[:6])
    for descriptor in (1, 2):  # one of them may go to a file
        with contextlib.suppress(OSError):
            return os.get_terminal_size(descriptor).columns or _USUAL_WIDTH
    return _USUAL_WIDTH


def columns(lines: Sequence[tuple[str, str]]) -> str:
    """Return names and their values, one pair a line."""
    widest = max((len(name) for name, _ in lines), default=0)
    return "\n".join(f"{name.ljust(widest)}  {visible(text)}".rstrip() for name, text in lines)
