"""The screen of consolidations: each run as a difference, a dry run first, and undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType

from context_graph.text.units import counted
from context_graph.view.rows import RunChange, RunDetail, RunRow
from context_graph.view.safe import one_line
from context_graph.view.terminal.asking import Choice
from context_graph.view.terminal.charts import ago, cell, moment, short
from context_graph.view.terminal.page import Page
from context_graph.view.terminal.pane import ListPane, Undo
from context_graph.view.terminal.table import Column

_MODES: Final = (
    ("light", "merges duplicates and fades what nobody uses"),
    ("deep", "also finds clusters and links"),
    ("rem", "also looks for patterns, goals and drift"),
)
_COLOURS: Final = {
    "merged": "yellow",
    "pruned": "red",
    "linked": "green",
    "restored": "green",
    "unlinked": "red",
}
_SIGNS: Final = {"merged": "~", "pruned": "-", "linked": "+", "unlinked": "-", "restored": "+"}


class RunsPane(ListPane):
    """Consolidations, newest first."""

    part: ClassVar[str] = "runs"
    columns = (Column("AGE", 6), Column("MODE", 6), Column("WHY", 16, 70), Column("DID"))
    empty = "No consolidation ran yet. d shows what one would do."
    keys = (
        ("d", "dry run: what a consolidation would do"),
        ("g", "run the one that was tried"),
        ("u", "undo the run under the cursor"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "dry_run", "Dry run"),
        Binding("g", "consolidate", "Run it"),
        Binding("u", "undo", "Undo"),
    ]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._tried: RunDetail | None = None

    def cells(self, row: RunRow) -> Sequence[Text]:
        did = _did(row.counts)
        if row.undone_by:
            did = f"undone; it had {did}"
        elif row.undoes:
            did = f"undid {short(row.undoes)}: {did}"
        return (
            cell(ago(row.at_ms)),
            cell(row.mode),
            cell(row.trigger),
            cell(did, "dim" * bool(row.undone_by)),
        )

    def id_of(self, row: RunRow) -> str:
        return row.token

    def load(self) -> None:
        self.rows(self.source.runs, self._put)

    def _put(self, rows: Sequence[RunRow]) -> None:
        self.table.say(self.empty)
        self.table.put(rows)

    def read(self, identity: str) -> None:
        self._tried = None
        self.ask(partial(self.source.run, identity), self._read, self.reader.say, "read")

    def _read(self, detail: RunDetail) -> None:
        self._tried = detail if detail.is_dry else None
        self.reader.show(lambda _: run_page(detail))
        self.view.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._tried is not None if action == "consolidate" else True

    def action_dry_run(self) -> None:
        question = "Which consolidation shall be tried? A dry run changes nothing."
        self.app.push_screen(Choice(question, _MODES), self._dry_run)

    def _dry_run(self, mode: str | None) -> None:
        if mode:
            self.reader.say(f"Looking what a {mode} consolidation would do …")
            self._opened = mode  # what the cursor is on does not replace it
            self._open()
            self.ask(partial(self.source.dry_run, mode), self._read, self.reader.say, "read")

    def action_consolidate(self) -> None:
        if self._tried is None:
            return
        mode = self._tried.row.mode
        did = _did(self._tried.row.counts)
        words = f"Run this {mode} consolidation now. It would have {did}. It can be undone."
        self._tried = None
        self.view.act(words, partial(self.source.consolidate, mode), Undo("undo that run", self._undo_newest))

    def _undo_newest(self) -> str:
        newest = next(
            (run for run in self.source.runs(limit=5) if run.mode != "undo" and not run.undone_by), None
        )
        return self.source.undo(newest.token) if newest is not None else "There is no run to undo."

    def action_undo(self) -> None:
        row: Any = self.table.row
        if not isinstance(row, RunRow):
            return
        if row.undone_by or row.mode == "undo":
            self.view.say("This was undone already." if row.undone_by else "This is the undoing of a run.")
            return
        words = f"Undo the {row.mode} consolidation of {moment(row.at_ms)}, which {_did(row.counts)}."
        self.view.act(words, partial(self.source.undo, row.token), None)


def run_page(detail: RunDetail) -> Page:
    """Return one run as a difference."""
    row, page = detail.row, Page()
    if detail.is_dry:
        page.line(f"A {row.mode} consolidation would do this. Nothing was changed; g runs it.", "bold yellow")
    else:
        page.line(f"{row.mode}, {moment(row.at_ms)}{f', {row.trigger}' if row.trigger else ''}", "bold")
    page.line(_did(row.counts))
    if row.undone_by:
        page.link("undone by", short(row.undone_by), ("run", row.undone_by))
    if row.undoes:
        page.link("undoes", short(row.undoes), ("run", row.undoes))
    for note in detail.notes:
        page.line(note, "dim")
    kinds = dict.fromkeys(change.kind for change in detail.changes)
    for kind in kinds:
        page.head(kind.capitalize())
        for change in detail.changes:
            if change.kind == kind:
                _change(page, change)
    if detail.total > len(detail.changes):
        page.head(f"and {detail.total - len(detail.changes)} more changes")
    return page


def _change(page: Page, change: RunChange) -> None:
    sign, colour = _SIGNS.get(change.kind, "·"), _COLOURS.get(change.kind, "")
    page.link(sign, one_line(change.text) or short(change.id), ("memory", change.id), colour)
    if change.into_id:
        arrow = "    → into" if change.kind == "merged" else "    → to"
        page.link(arrow, one_line(change.into_text) or short(change.into_id), ("memory", change.into_id))
    if change.reason:
        page.line(f"    {one_line(change.reason)}", "dim")


_WORDS: Final = {"links": ("link made", "links made"), "edges": ("link changed", "links changed")}


def _did(counts: Mapping[str, int]) -> str:
    """`merged 3, pruned 1, 12 links made`."""
    parts = [
        counted(count, *_WORDS[name]) if name in _WORDS else f"{name} {count}"
        for name, count in counts.items()
        if count
    ]
    return ", ".join(parts) or "changed nothing"
