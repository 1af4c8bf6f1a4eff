"""Runs one consolidation: each finder in turn, from a checkpoint to the file of prepared changes.

A memory that is merged or forgotten joins no cluster and gets no edge. Modules that only longer modes need
are imported when such a mode runs, so that a light one starts fast.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import numpy as np

from context_graph.consolidation import snapshot
from context_graph.consolidation.commit import Prepared
from context_graph.consolidation.finders import duplicates, salience
from context_graph.consolidation.messages import DATABASE, PREPARED, GoalSearch, Request
from context_graph.consolidation.plan import (
    MAX_CLUSTERS,
    Group,
    Measured,
    Mode,
    NewLink,
    Plan,
    Recurring,
    StoreMap,
    decode_goals,
    decode_map,
    encode_goals,
    encode_hindsight,
    encode_map,
    floor_of,
    is_redrawn,
    with_drift,
)
from context_graph.consolidation.prepare import prepare
from context_graph.consolidation.progress import Report, Stages
from context_graph.consolidation.snapshot import I64
from context_graph.identity.earlier_work import ALIKE_ENOUGH
from context_graph.model.spaces import SPACES
from context_graph.store.graph.graph import GraphStore
from context_graph.store.layout import ALIKE_FACT, GOALS_FACT, MAP_FACT

if TYPE_CHECKING:
    from context_graph.consolidation.finders.closeness import Search

_ALIKE: Final = {Mode.LIGHT: duplicates.LIGHT, Mode.DEEP: duplicates.DEEP, Mode.REM: duplicates.DEEP}
_LIGHT: Final = {"reading": 3.0, "salience": 4.0, "duplicates": 4.0}
_DEEP: Final = {**_LIGHT, "clusters": 12.0, "links": 2.0, "hindsight": 2.0}
_REM: Final = {**_DEEP, "patterns": 3.0, "goals": 3.0, "replay": 1.0}
_SHARES: Final = {
    Mode.LIGHT: {**_LIGHT, "preparing": 1.0},
    Mode.DEEP: {**_DEEP, "preparing": 2.0},
    Mode.REM: {**_REM, "preparing": 2.0},
}
"""Stages of each mode with their usual share of its time."""
_FOR_GOALS: Final = {"reading": 3.0, "clusters": 12.0, "goals": 3.0}


def compute(folder: Path, request: Request, report: Report) -> None:
    """Do what is asked on the checkpoint in ``folder`` and leave the result there (see `messages`).

    Raises StoreError if the checkpoint can't be read, Cancelled if ``report`` raises it.
    """
    store = GraphStore.read_only(folder / DATABASE)
    try:
        (folder / PREPARED).write_bytes(prepared_run(store, request, report).to_bytes())
    finally:
        store.close()


def prepared_run(
    store: GraphStore, request: Request, report: Report, search: Search | None = None
) -> Prepared:
    """Return what ``request`` finds in ``store``, as the changes of records that it means.

    Duplicates are looked for by ``search``, if given. Raises as `compute`.
    """
    stages = Stages(_SHARES[request.mode] if request.goals is None else _FOR_GOALS, report)
    work = _Work(store, request, stages, search)
    if request.goals is not None:
        work.discover(request.goals)
        return Prepared(uid=store.uid, plan=work.plan, groups=())
    work.consolidate()
    done = stages.begin("preparing")
    prepared = prepare(store, work.plan, facts=work.facts)
    done(1, 1)
    return prepared


class _Work:
    """The stages of one run; each works on what the earlier ones leave."""

    def __init__(
        self, store: GraphStore, request: Request, stages: Stages, search: Search | None = None
    ) -> None:
        self.facts: dict[str, Mapping[str, Any]] = {}
        """Records about the store that are to be written with the plan, by name."""
        self._request, self._store = request, store
        self._stages, self._search = stages, search
        self._kept_goals = decode_goals(store.meta(GOALS_FACT))
        self._groups: tuple[Group, ...] = ()
        self._snap = snap = snapshot.read(
            store,
            newest=request.max_memories,
            taken_ms=request.at_ms or time.time_ns() // 1_000_000,
            progress=stages.begin("reading"),
        )
        self.plan = Plan(
            mode=request.mode, seq=snap.seq, taken_ms=snap.taken_ms, memories=snap.total, considered=len(snap)
        )

    def consolidate(self) -> None:
        """Everything that the request's mode finds."""
        mode = self._request.mode
        if len(self._snap):
            self._forget()
            if mode is not Mode.LIGHT:
                self._connect()
                self._look_back()
            if mode is Mode.REM:
                self._replay()
                self._aim()
            if mode is not Mode.LIGHT:
                self._draw()
        self.plan.notes = tuple(self._notes())

    def discover(self, wanted: GoalSearch) -> None:
        """Find the goals that the store shows now, and nothing else."""
        from context_graph.consolidation.finders import clusters, goals

        snap, plan, begin = self._snap, self.plan, self._stages.begin
        if len(snap):
            plan.clusters = tuple(clusters.find(snap, np.arange(len(snap)), progress=begin("clusters")))
            plan.goals = tuple(
                goals.discover(
                    snap,
                    plan.clusters,
                    min_confidence=wanted.min_confidence,
                    max_goals=wanted.max_goals,
                    progress=begin("goals"),
                )
            )
        plan.notes = tuple(self._notes())

    def _forget(self) -> None:
        """Merge duplicates and forget trivial memories, in every mode."""
        snap, request = self._snap, self._request
        snap.want("Semantic", *(() if request.mode is Mode.LIGHT else ("Terms", "Causal")))
        scores = salience.score(snap, self._kept_goals, progress=self._stages.begin("salience"))
        progress = self._stages.begin("duplicates")
        merges = duplicates.find(snap, _ALIKE[request.mode], progress=progress, search=self._search)
        snap.release("Semantic")
        taken = set(
            snap.rows_of(chain.from_iterable((merge.survivor, *merge.losers) for merge in merges)).tolist()
        )
        # A memory whose embedding can't be read says nothing by mistake only.
        taken |= snap.unreadable
        if request.unattended:
            taken |= salience.brought(snap)
        prunes = salience.prunes(snap, scores, request.salience_threshold, taken, now_ms=snap.taken_ms)
        self.plan.merges, self.plan.prunes = tuple(merges), tuple(prunes)

    def _connect(self) -> None:
        """Deep and rem: cluster what remains, and link inside clusters."""
        from context_graph.consolidation.finders import causal, clusters

        snap, rows, plan = self._snap, self._remaining(), self.plan
        plan.clusters = tuple(clusters.find(snap, rows, progress=self._stages.begin("clusters")))
        self._groups = tuple(
            Group(cluster.label, len(cluster.members), round(cluster.coherence, 3))
            for cluster in plan.clusters[:MAX_CLUSTERS]
        )
        links = causal.links(snap, plan.clusters, rows, progress=self._stages.begin("links"))
        plan.links = _first_of_each(links)
        snap.release(*SPACES)

    def _look_back(self) -> None:
        """Deep and rem: of which earlier ones the last sessions would have been told, and what is better."""
        from context_graph.consolidation.finders import hindsight

        floor = floor_of(self._store.meta(ALIKE_FACT), ALIKE_ENOUGH)
        progress = self._stages.begin("hindsight")
        result = hindsight.look_back(self._store, self._snap, floor, progress=progress)
        self.plan.hindsight = result
        if result is not None and result.is_moved:
            self.facts[ALIKE_FACT] = encode_hindsight(result, self._snap.taken_ms)

    def _replay(self) -> None:
        """Rem: find patterns, replay what was used."""
        from context_graph.consolidation.finders import patterns, replay

        snap, rows, plan = self._snap, self._remaining(), self.plan
        # Of all: what was noted five times in the same words was done five times.
        everything = np.setdiff1d(np.arange(len(snap)), sorted(snap.unreadable))
        plan.patterns = tuple(patterns.find(snap, everything, progress=self._stages.begin("patterns")))
        progress = self._stages.begin("replay")
        snap.release(*SPACES)
        plan.reweights = tuple(replay.reweigh(snap, rows))
        plan.links = _first_of_each((*plan.links, *replay.shortcuts(snap, rows)))
        progress(1, 1)

    def _aim(self) -> None:
        """Rem: find goals, measure how far recent memories are from them, and adjust the goals."""
        from context_graph.consolidation.finders import goals

        snap, plan = self._snap, self.plan
        discovered = goals.discover(snap, plan.clusters, progress=self._stages.begin("goals"))
        plan.drift = goals.detect_drift(snap, self._kept_goals or discovered)
        plan.goals = tuple(goals.adjusted(self._kept_goals, discovered, plan.drift))
        fact = encode_goals(plan.goals, snap.taken_ms)
        kept = {goal.goal_id: goal for goal in self._kept_goals}
        # As they will be read again: of many members the record keeps the nearest.
        made = decode_goals(fact)
        plan.goals_adjusted = sum(kept.pop(goal.goal_id, None) != goal for goal in made) + len(kept)
        if plan.goals_adjusted:
            self.facts[GOALS_FACT] = fact

    def _draw(self) -> None:
        """Deep and rem: the map that people look at. A deep one keeps the last rem's patterns and drift."""
        plan, taken_ms = self.plan, self._snap.taken_ms
        kept = decode_map(self._store.meta(MAP_FACT))
        patterns: tuple[Recurring, ...] = () if kept is None else kept.patterns
        if plan.mode is Mode.REM:
            patterns = tuple(
                Recurring(pattern.description, pattern.memory_count, round(pattern.confidence, 4))
                for pattern in plan.patterns
            )
        measured, drift = None, plan.drift
        if drift is not None and drift.recent:
            measured = Measured(taken_ms, round(drift.similarity, 4), drift.level)
        drawn = StoreMap(
            at_ms=taken_ms,
            clusters=self._groups,
            patterns=patterns,
            drift=with_drift(() if kept is None else kept.drift, measured),
        )
        if is_redrawn(kept, drawn):
            self.facts[MAP_FACT] = encode_map(drawn)

    def _remaining(self) -> I64:
        """Rows that are neither merged nor forgotten."""
        snap, plan = self._snap, self.plan
        keep = np.ones(len(snap), np.bool_)
        gone = chain(*(merge.losers for merge in plan.merges), (prune.id for prune in plan.prunes))
        keep[snap.rows_of(gone)] = False
        keep[sorted(snap.unreadable)] = False
        return np.flatnonzero(keep)

    def _notes(self) -> Iterator[str]:
        snap, hindsight = self._snap, self.plan.hindsight
        if hindsight is not None:
            yield hindsight.text()
        if len(snap) < snap.total:
            yield f"Only the newest {len(snap)} of {snap.total} memories were looked at."
        if snap.left_out or snap.unreadable:
            yield (
                f"{snap.left_out + len(snap.unreadable)} records could not be read and were left as they "
                "are; `context-graph-cli repair` says which."
            )


def _first_of_each(links: Iterable[NewLink]) -> tuple[NewLink, ...]:
    """Return the links without those that another finder made already: one edge per pair and relation."""
    known: dict[tuple[UUID, UUID, str], NewLink] = {}
    for link in links:
        known.setdefault((link.source, link.target, link.relationship_type), link)
    return tuple(known.values())
