"""Runs one consolidation: each finder in turn, from a checkpoint to the file of prepared changes.

A memory that is merged or forgotten joins no cluster and gets no edge. Modules that only longer modes need
are imported when such a mode runs, so that a light one starts fast.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import numpy as np

from context_graph.consolidation import snapshot
from context_graph.consolidation.commit import Prepared
from context_graph.consolidation.finders import connections, duplicates, salience
from context_graph.consolidation.map import (
    Habit,
    Measured,
    StoreMap,
    decode_map,
    encode_map,
    is_redrawn,
    with_drift,
)
from context_graph.consolidation.messages import DATABASE, PREPARED, Ready
from context_graph.consolidation.plan import Mode, NewLink, Plan, decode_goals, encode_goals
from context_graph.consolidation.prepare import prepare
from context_graph.consolidation.progress import Report, Stages
from context_graph.consolidation.request import GoalSearch, Request
from context_graph.consolidation.snapshot import I64
from context_graph.errors import ProviderMismatchError
from context_graph.memory.embed import PROVIDER, EmbeddingProvider, default_provider, recorded_provider
from context_graph.model.spaces import SPACES
from context_graph.store.graph.graph import GraphStore
from context_graph.store.layout import GOALS_FACT, MAP_FACT
from context_graph.system.processes import peak_bytes

if TYPE_CHECKING:
    from context_graph.consolidation.finders.areas import Area
    from context_graph.consolidation.finders.closeness import Search
    from context_graph.consolidation.map import Group, Spot
    from context_graph.consolidation.plan import Goal

_ALIKE: Final = {Mode.LIGHT: duplicates.LIGHT, Mode.DEEP: duplicates.DEEP, Mode.REM: duplicates.DEEP}
_LIGHT: Final = {"reading": 3.0, "salience": 4.0, "duplicates": 4.0, "connections": 3.0}
_DEEP: Final = {**_LIGHT, "clusters": 12.0, "links": 2.0}
_REM: Final = {**_DEEP, "patterns": 3.0, "goals": 3.0, "replay": 1.0}
_SHARES: Final = {
    Mode.LIGHT: {**_LIGHT, "preparing": 1.0},
    Mode.DEEP: {**_DEEP, "preparing": 2.0},
    Mode.REM: {**_REM, "preparing": 2.0},
}
"""Stages of each mode with their usual share of its time."""
_FOR_GOALS: Final = {"reading": 3.0, "clusters": 12.0, "goals": 3.0}


def compute(folder: Path, request: Request, report: Report) -> Ready:
    """Do what is asked on the checkpoint in ``folder`` and leave the result there (see `messages`).

    Raises StoreError if the checkpoint can't be read, Cancelled if ``report`` raises it.
    """
    began = time.monotonic()
    store = GraphStore.read_only(folder / DATABASE)
    try:
        prepared = prepared_run(store, request, report)
        (folder / PREPARED).write_bytes(prepared.to_bytes())
    finally:
        store.close()
    changes = sum(prepared.plan.changes().values()) + prepared.plan.goals_adjusted
    return Ready(changes, round(1000 * (time.monotonic() - began)), peak_bytes())


def prepared_run(
    store: GraphStore, request: Request, report: Report, search: Search | None = None
) -> Prepared:
    """What ``request`` finds in ``store``, as the changes of records that it means.

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
        self._spots: tuple[Spot, ...] = ()
        self._groups: tuple[Group, ...] = ()
        self._areas: Sequence[Area] = ()
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
            if mode is Mode.REM:
                self._replay()
                self._aim()
            self._measure()
            if mode is not Mode.LIGHT:
                self._draw()
        self.plan.notes = tuple(self._notes())

    def discover(self, wanted: GoalSearch) -> None:
        """The goals that the store shows now, and nothing else."""
        from context_graph.consolidation.finders import clusters

        snap, plan, begin = self._snap, self.plan, self._stages.begin
        if len(snap):
            plan.clusters = tuple(clusters.find(snap, np.arange(len(snap)), progress=begin("clusters")))
            plan.goals = tuple(self._goals(wanted.min_confidence, wanted.max_goals))
        plan.notes = tuple(self._notes())

    def _forget(self) -> None:
        """Every mode: merge duplicates, forget trivial memories."""
        snap, request = self._snap, self._request
        snap.want("Semantic", *(() if request.mode is Mode.LIGHT else ("SPLADE", "Causal")))
        scores = salience.score(snap, self._kept_goals, progress=self._stages.begin("salience"))
        progress = self._stages.begin("duplicates")
        merges = duplicates.find(snap, _ALIKE[request.mode], progress=progress, search=self._search)
        snap.release("Semantic")
        taken = set(snap.rows_of(chain.from_iterable((one.survivor, *one.losers) for one in merges)).tolist())
        # A memory whose embedding can't be read says nothing by mistake only.
        taken |= snap.unreadable
        if request.unattended:
            taken |= salience.brought(snap)
        prunes = salience.prunes(snap, scores, request.salience_threshold, taken, now_ms=snap.taken_ms)
        self.plan.merges, self.plan.prunes = tuple(merges), tuple(prunes)

    def _connect(self) -> None:
        """Deep and rem: cluster what remains, and link inside clusters."""
        from context_graph.consolidation.finders import causal, clusters, layout

        snap, rows, plan = self._snap, self._remaining(), self.plan
        plan.clusters = tuple(clusters.find(snap, rows, progress=self._stages.begin("clusters")))
        self._spots, self._groups = layout.lay_out(snap, rows, plan.clusters)
        links = causal.links(snap, plan.clusters, rows, progress=self._stages.begin("links"))
        plan.links = _first_of_each(links)
        snap.release(*SPACES)

    def _replay(self) -> None:
        """Rem: find patterns and blind spots, replay what was used."""
        from context_graph.consolidation.finders import blind_spots, patterns, replay

        snap, rows, plan = self._snap, self._remaining(), self.plan
        # Of all: what was noted five times in the same words was done five times.
        everything = np.setdiff1d(np.arange(len(snap)), sorted(snap.unreadable))
        plan.patterns = tuple(patterns.find(snap, everything, progress=self._stages.begin("patterns")))
        progress = self._stages.begin("replay")
        spots = blind_spots.links(snap, plan.clusters)
        snap.release(*SPACES)
        plan.reweights = tuple(replay.reweigh(snap, rows))
        plan.links = _first_of_each((*plan.links, *spots, *replay.shortcuts(snap, rows)))
        progress(1, 1)

    def _aim(self) -> None:
        """Rem: find goals, measure how far recent memories are from them, and adjust the goals."""
        from context_graph.consolidation.finders import areas, drift, goals

        snap, plan = self._snap, self.plan
        found = self._goals(goals.MIN_CONFIDENCE, goals.MAX_GOALS)
        change = areas.change(snap, self._remaining(), self._areas)
        plan.drift = drift.of_areas(change) if change else drift.detect(snap, self._kept_goals or found)
        plan.goals = tuple(goals.adjusted(self._kept_goals, found, plan.drift))
        fact = encode_goals(plan.goals, snap.taken_ms)
        kept = {goal.goal_id: goal for goal in self._kept_goals}
        # As they will be read again: of many members the record keeps the nearest.
        made = decode_goals(fact)
        plan.goals_adjusted = sum(kept.pop(goal.goal_id, None) != goal for goal in made) + len(kept)
        if plan.goals_adjusted:
            self.facts[GOALS_FACT] = fact

    def _measure(self) -> None:
        """Every mode: how well each memory is connected now. What is rare needs the whole store to tell."""
        snap, plan = self._snap, self.plan
        provider = self._provider()
        if len(snap) < snap.total or provider is None:
            return
        progress = self._stages.begin("connections")
        found = connections.changed(snap, provider, self._remaining(), plan.links, progress=progress)
        plan.connections = tuple(found)

    def _draw(self) -> None:
        """Deep and rem: the map that people look at. A deep one keeps the last rem's patterns and drift."""
        plan, taken_ms = self.plan, self._snap.taken_ms
        kept = decode_map(self._store.meta(MAP_FACT))
        patterns: tuple[Habit, ...] = () if kept is None else kept.patterns
        if plan.mode is Mode.REM:
            patterns = tuple(
                Habit(one.description, one.memory_count, round(one.confidence, 4)) for one in plan.patterns
            )
        measured, drift = None, plan.drift
        if drift is not None and drift.recent:
            measured = Measured(taken_ms, round(drift.similarity, 4), drift.level, drift.shifts)
        drawn = StoreMap(
            at_ms=taken_ms,
            seq=plan.seq,
            spots=self._spots,
            clusters=self._groups,
            patterns=patterns,
            drift=with_drift(() if kept is None else kept.drift, measured),
        )
        if is_redrawn(kept, drawn):
            self.facts[MAP_FACT] = encode_map(drawn)

    def _provider(self) -> EmbeddingProvider | None:
        """The store's, by which its memories' words are told apart; None for one that this process lacks."""
        recorded = self._store.meta(PROVIDER)
        if recorded is None:
            return default_provider()
        try:
            return recorded_provider(str(recorded["name"]))
        except ProviderMismatchError:
            return None

    def _goals(self, min_confidence: float, max_goals: int) -> list[Goal]:
        """What sessions worked on and what other memories are about, most certain first."""
        from context_graph.consolidation.finders import area_goals, areas, goals

        snap, progress = self._snap, self._stages.begin("goals")
        self._areas = areas.find(snap, self._remaining())
        limits: Any = {"min_confidence": min_confidence, "max_goals": max_goals}
        found = [
            *area_goals.discover(snap, self._areas, **limits),
            *goals.discover(snap, self.plan.clusters, progress=progress, **limits),
        ]
        return sorted(found, key=lambda goal: (-goal.confidence, goal.goal_id))[:max_goals]

    def _remaining(self) -> I64:
        """Rows that are neither merged nor forgotten."""
        snap, plan = self._snap, self.plan
        keep = np.ones(len(snap), np.bool_)
        gone = chain(*(merge.losers for merge in plan.merges), (prune.id for prune in plan.prunes))
        keep[snap.rows_of(gone)] = False
        keep[sorted(snap.unreadable)] = False
        return np.flatnonzero(keep)

    def _notes(self) -> Iterator[str]:
        snap = self._snap
        if len(snap) < snap.total:
            yield f"Only the newest {len(snap)} of {snap.total} memories were looked at."
        if snap.left_out or snap.unreadable:
            yield (
                f"{snap.left_out + len(snap.unreadable)} records could not be read and were left as they "
                "are; `context-graph-cli repair` says which."
            )


def _first_of_each(links: Iterable[NewLink]) -> tuple[NewLink, ...]:
    """The links without those that another finder made already: one edge per pair and relation."""
    known: dict[tuple[UUID, UUID, str], NewLink] = {}
    for link in links:
        known.setdefault((link.source, link.target, link.relationship_type), link)
    return tuple(known.values())
