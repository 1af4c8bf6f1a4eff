"""The screen of gates: how each requirement stands on each branch, and what they refused and let through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult

from context_graph.view.rows import GateRow, Gates, GateState
from context_graph.view.source import Source
from context_graph.view.terminal.charts import ago, cell, short
from context_graph.view.terminal.pane import Pane
from context_graph.view.terminal.table import Column, Table

_COLOURS: Final = {
    "denied": "red",
    "blocked": "red",
    "error": "red",
    "satisfied": "green",
    "paused": "yellow",
}


class GatesPane(Pane):
    """Gates: states above, the log below; Tab changes between them."""

    part: ClassVar[str] = "gates"
    keys = (("Tab", "from the states to the log, and back"),)

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._states = Table[GateState](
            (
                Column("REQUIREMENT", 20),
                Column("BRANCH", 18, 60),
                Column("STANDS", 10),
                Column("REFUSED", 7, 70),
                Column("WHAT"),
            ),
            _state_cells,
            lambda row: (row.requirement, row.branch),
            empty="One moment …",
            id="states",
        )
        self._log = Table[GateRow](
            (
                Column("AGE", 6),
                Column("WHAT", 12),
                Column("REQUIREMENT", 18),
                Column("BRANCH", 14, 100),
                Column("SESSION", 8, 120),
                Column("DETAIL"),
            ),
            _log_cells,
            lambda row: (row.at_ms, row.kind, row.detail),
            empty="",
            id="log",
        )

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self._states
        yield self._log

    def load(self) -> None:
        self.rows(self.source.gates, self._put)

    def _put(self, gates: Gates) -> None:
        states, log = self._states, self._log
        states.say("No requirements here: `context-graph-cli req init` sets some up.")
        log.say("No gate has refused or let anything through yet.")
        states.put(gates.states)
        log.put(gates.rows)


def _state_cells(row: GateState) -> Sequence[Text]:
    stands = cell("satisfied", "green") if row.is_satisfied else cell("waits", "yellow")
    return (cell(row.requirement), cell(row.branch), stands, cell(str(row.refused or "")), cell(row.text))


def _log_cells(row: GateRow) -> Sequence[Text]:
    by = f"by {row.by}  " if row.by else ""
    return (
        cell(ago(row.at_ms)),
        cell(row.kind, _COLOURS.get(row.kind, "")),
        cell(", ".join(row.requirements)),
        cell(row.branch),
        cell(short(row.session_id)),
        cell(f"{row.tool}  {by}{row.detail}"),
    )
