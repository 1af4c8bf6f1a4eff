"""The stages of a consolidation: each finder in its turn, over what the earlier ones leave.

A memory that is merged away or forgotten is in no cluster, and no edge is made to it. What only the longer
modes need is imported when such a mode runs: light starts without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import numpy as np

from context_graph.dream import duplicates, goal_records, pruning, reading, salience
from context_graph.dream.plan import (
    Cluster,
    Drift,
    Goal,
    Merge,
    Mode,
    NewLink,
    Pattern,
    Plan,
    Prune,
    Reweight,
)
from context_graph.dream.progress import Stages, Update
from context_graph.dream.request import Request
from context_graph.dream.snapshot import I64
from context_graph.model.spaces import SPACES
from context_graph.store.graph import GraphStore

__all__ = ["Report", "Work"]

Report = Callable[[Update], None]

_ALIKE: Final = {Mode.LIGHT: duplicates.LIGHT, Mode.DEEP: duplicates.DEEP, Mode.REM: duplicates.DEEP}
_LIGHT: Final = {"reading": 3.0, "salience": 4.0, "duplicates": 4.0}
_DEEP: Final = {**_LIGHT, "clusters": 12.0, "links": 2.0}
_REM: Final = {**_DEEP, "patterns": 3.0, "goals": 3.0, "replay": 1.0}
_SHARES: Final = {
    Mode.LIGHT: {**_LIGHT, "preparing": 1.0},
    Mode.DEEP: {**_DEEP, "preparing": 2.0},
    Mode.REM: {**_REM, "preparing": 2.0},
}
"""Stages of each mode with their usual share of its time."""
_FOR_GOALS: Final = {"reading": 3.0, "clusters": 12.0, "goals": 3.0}


class Work:
    """One run over one store, which nobody may change meanwhile."""

    def __init__(
        self, store: GraphStore, request: Request, report: Report, *, for_goals: bool = False
    ) -> None:
        """Read the store, for `plan` or for `goals`. Raises StoreError, and whatever ``report`` raises."""
        self.stages = Stages(_FOR_GOALS if for_goals else _SHARES[request.mode], report)
        self.facts: dict[str, Mapping[str, Any]] = {}
        """Records about the store that are to be written with the plan, by name."""
        self._request = request
        self._snap = reading.read(
            store,
            newest=request.max_memories,
            taken_ms=request.at_ms or time.time_ns() // 1_000_000,
            progress=self.stages.begin("reading"),
        )
        self._merges: list[Merge] = []
        self._prunes: list[Prune] = []
        self._clusters: list[Cluster] = []
        self._links: list[NewLink] = []
        self._patterns: list[Pattern] = []
        self._reweights: list[Reweight] = []
        self._stored = goal_records.decode(store.meta(goal_records.NAME))
        self._goals: list[Goal] = []
        self._adjusted = 0
        self._drift: Drift | None = None

    def plan(self) -> Plan:
        """Everything the request's mode finds."""
        mode = self._request.mode
        if len(self._snap):
            self._forget()
            if mode is not Mode.LIGHT:
                self._connect()
            if mode is Mode.REM:
                self._dream()
        return self._made()

    def _made(self) -> Plan:
        snap = self._snap
        return Plan(
            mode=self._request.mode,
            seq=snap.seq,
            taken_ms=snap.taken_ms,
            memories=snap.total,
            considered=len(snap),
            merges=tuple(self._merges),
            prunes=tuple(self._prunes),
            links=tuple(_first_of_each(self._links)),
            reweights=tuple(self._reweights),
            clusters=tuple(self._clusters),
            patterns=tuple(self._patterns),
            goals=tuple(self._goals),
            goals_adjusted=self._adjusted,
            drift=self._drift,
            notes=tuple(self._notes()),
        )

    def _forget(self) -> None:
        """Every mode: duplicates become one, what says too little goes."""
        snap, request = self._snap, self._request
        snap.want("Semantic", *(() if request.mode is Mode.LIGHT else ("SPLADE", "Causal")))
        scores = salience.score(snap, self._stored, progress=self.stages.begin("salience"))
        progress = self.stages.begin("duplicates")
        self._merges = duplicates.find(snap, _ALIKE[request.mode], progress=progress)
        snap.release("Semantic")
        taken = set(self._rows(_merged(self._merges)))
        # A memory whose embedding can't be read says nothing by mistake only.
        taken |= snap.unreadable
        self._prunes = pruning.choose(snap, scores, request.salience_threshold, taken, now_ms=snap.taken_ms)

    def _remaining(self) -> I64:
        """Rows that are neither merged away nor forgotten."""
        keep = np.ones(len(self._snap), np.bool_)
        gone = [loser for merge in self._merges for loser in merge.losers]
        keep[self._rows(gone + [prune.id for prune in self._prunes])] = False
        keep[sorted(self._snap.unreadable)] = False
        return np.flatnonzero(keep)

    def _connect(self) -> None:
        """Deep and rem: clusters of what remains, and edges within them."""
        from context_graph.dream import causal, clusters

        snap, rows = self._snap, self._remaining()
        self._clusters = clusters.find(snap, rows, progress=self.stages.begin("clusters"))
        self._links = causal.links(snap, self._clusters, rows, progress=self.stages.begin("links"))
        snap.release(*SPACES)

    def _dream(self) -> None:
        """Rem: what recurs, what lies unseen between, what is replayed."""
        from context_graph.dream import blind_spots, patterns, replay, shortcuts

        snap, rows = self._snap, self._remaining()
        # Of all: what was noted five times in the same words was done five times.
        everything = np.setdiff1d(np.arange(len(snap)), sorted(snap.unreadable))
        self._patterns = patterns.find(snap, everything, progress=self.stages.begin("patterns"))
        progress = self.stages.begin("replay")
        self._links += blind_spots.links(snap, self._clusters)
        snap.release(*SPACES)
        self._reweights = replay.reweigh(snap, rows)
        self._links += shortcuts.links(snap, set(rows.tolist()))
        progress(1, 1)
        self._aim()

    def _aim(self) -> None:
        """Rem: what it is all about, how far the latest is from that, and the goals that follow from both."""
        from context_graph.dream import drift, goals

        snap = self._snap
        found = goals.discover(snap, self._clusters, progress=self.stages.begin("goals"))
        self._drift = drift.detect(snap, self._stored or found)
        self._goals = goals.adjusted(self._stored, found, self._drift)
        fact = goal_records.encode(self._goals, snap.taken_ms)
        kept = {goal.goal_id: goal for goal in self._stored}
        # As they will be read again: of many members the record keeps the nearest.
        made = goal_records.decode(fact)
        self._adjusted = sum(kept.pop(goal.goal_id, None) != goal for goal in made) + len(kept)
        if self._adjusted:
            self.facts[goal_records.NAME] = fact

    def goals(self, min_confidence: float, max_goals: int) -> Plan:
        """The goals that the store shows now, and nothing else."""
        from context_graph.dream import clusters, goals

        snap = self._snap
        if len(snap):
            self._clusters = clusters.find(snap, np.arange(len(snap)), progress=self.stages.begin("clusters"))
            self._goals = goals.discover(
                snap,
                self._clusters,
                min_confidence=min_confidence,
                max_goals=max_goals,
                progress=self.stages.begin("goals"),
            )
        return self._made()

    def _rows(self, ids: Iterable[UUID]) -> list[int]:
        rows = (self._snap.row_of(one) for one in ids)
        return [row for row in rows if row is not None]

    def _notes(self) -> list[str]:
        snap, notes = self._snap, []
        if len(snap) < snap.total:
            notes.append(f"Only the newest {len(snap)} of {snap.total} memories were looked at.")
        if snap.left_out or snap.unreadable:
            notes.append(
                f"{snap.left_out + len(snap.unreadable)} records could not be read and were left as they "
                "are; `context-graph-cli repair` says which."
            )
        return notes


def _merged(merges: Iterable[Merge]) -> Iterable[UUID]:
    for merge in merges:
        yield merge.survivor
        yield from merge.losers


def _first_of_each(links: Iterable[NewLink]) -> list[NewLink]:
    """Without those that another finder made before: one edge a pair and relation."""
    known: dict[tuple[UUID, UUID, str], NewLink] = {}
    for link in links:
        known.setdefault((link.source, link.target, link.relationship_type), link)
    return list(known.values())
