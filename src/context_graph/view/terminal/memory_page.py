"""One memory as a text to read: what it says, what it rests on, its links and its history."""

from __future__ import annotations

from context_graph.view.rows import Change, Link, MemoryDetail
from context_graph.view.safe import one_line
from context_graph.view.terminal.page import Page
from context_graph.view.terminal.words import STANDING, ago, moment, short
from context_graph.view.units import counted


def memory_page(detail: MemoryDetail) -> Page:
    """Return the whole of it."""
    row, page = detail.row, Page()
    if detail.as_of_ms is not None:
        page.line(f"As it was on {moment(detail.as_of_ms)}", "bold yellow")
    if row.is_forgotten:
        page.line("Forgotten: r restores it", "bold yellow")
    page.line(detail.content)
    if detail.rationale:
        page.head("Why")
        page.line(detail.rationale)
    _about(page, detail)
    if detail.links:
        page.head("Links")
        for link in detail.links:
            _link(page, link)
    if detail.changes:
        page.head("History of the last 30 days")
        for change in detail.changes:
            _change(page, change)
    return page


def _about(page: Page, detail: MemoryDetail) -> None:
    row = detail.row
    page.head("About it")
    if row.standing:
        page.pair("evidence", row.standing, STANDING.get(row.standing_kind, ""))
    page.pair("stored", f"{moment(row.created_ms)}, {ago(row.created_ms)} ago, by {row.source}")
    page.pair("importance", f"{row.importance:.2f}{', pinned' if row.is_pinned else ''}")
    uses = f"recalled {counted(row.recalled, 'time')}, shown {counted(row.shown, 'time')}, used {row.used}"
    page.pair("uses", uses)
    if row.tags:
        page.pair("tags", ", ".join(row.tags))
    page.pair("id", row.id)
    if row.session_id:
        page.pair_link("session", row.session_id, ("session", row.session_id))
    for line in detail.facts:
        page.pair(line.name, line.text, "red" if line.is_problem else "")


def _link(page: Page, link: Link) -> None:
    arrow = f"{link.relation} →" if link.is_outgoing else f"← {link.relation}"
    words = one_line(link.other_text) or f"{short(link.other_id)} (forgotten)"
    page.link(f"{arrow} {link.weight:.2f}", words, ("memory", link.other_id))


def _change(page: Page, change: Change) -> None:
    reason = f": {one_line(change.reason)}" if change.reason else ""
    page.line(f"{moment(change.at_ms)}  {change.what}{reason}")
    for field in change.fields:
        page.line(f"    {field.name}: {one_line(field.before)} → {one_line(field.after)}", "dim")
    if change.other_id:
        page.link("    with", short(change.other_id), ("memory", change.other_id))
    if change.run:
        page.link("    in consolidation", short(change.run), ("run", change.run))
