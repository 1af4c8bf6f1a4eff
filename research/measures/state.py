"""How the five states are spread over real sessions, and how often a model is told of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from research.fit.drift_data import Session, load_sessions
from research.measures.circles import SETS, begun, is_result
from research.measures.report import Data, Table, bits

from context_graph.identity.brief import state_and_level
from context_graph.identity.consciousness import ConsciousnessState, state_for

_BEFORE: Final = 0.95
"""The earlier rule called everything with r above this HYPERSYNC."""


@dataclass(slots=True)
class Shown:
    """What one session showed after each measured event."""

    name: str
    now: list[str] = field(default_factory=list)
    by_level: list[str] = field(default_factory=list)
    """By C alone."""
    earlier: list[str] = field(default_factory=list)
    calls: int = 0
    """Tool results once there is something to tell."""
    briefs: int = 0
    """Of them those before which state or IC level had changed."""


def tables(data: Data) -> list[Table]:
    if not data.drift.is_dir():
        return []
    shown = [_look(session) for session in load_sessions(data.drift).values()]
    groups = {name: [one for one in shown if one.name.startswith(begin)] for name, begin in SETS.items()}
    rules = {"r > 0.95 is HYP (before)": "earlier", "C alone": "by_level", "C, and circles (now)": "now"}
    spread = [
        _spread(name, rule, [state for one in group for state in getattr(one, values)])
        for name, group in groups.items()
        for rule, values in rules.items()
        if group
    ]
    told = [
        [name, sum(one.calls for one in group), 100.0, 100 * _share(group)]
        for name, group in groups.items()
        if group
    ]
    source = (
        "drift_dev, each session begun afresh; the cut points of C are the specification's, none is fitted."
    )
    names = [state.short_name for state in ConsciousnessState]
    return [
        Table("state", source, ("set", "rule", "events", *(f"{name} %" for name in names), "bits"), spread),
        Table(
            "brief",
            f"{source} Briefs with a tool call, for every 100 calls.",
            ("set", "calls", "always", "changes"),
            told,
        ),
    ]


def _look(session: Session) -> Shown:
    live, shown, told = begun(session), Shown(session.name), None
    for event in session.events:
        measured = live.apply(event).measured
        if not live.has_evidence:
            continue
        metrics = live.metrics
        if measured:
            by_level = state_for(metrics.consciousness)
            synchronised = metrics.r > _BEFORE
            shown.now.append(metrics.state.short_name)
            shown.by_level.append(by_level.short_name)
            shown.earlier.append("HYP" if synchronised else by_level.short_name)
        if is_result(event):
            shown.calls += 1
            shown.briefs += state_and_level(metrics) != told
            told = state_and_level(metrics)
    return shown


def _spread(name: str, rule: str, states: Sequence[str]) -> list[object]:
    shares = [100 * states.count(state.short_name) / len(states) for state in ConsciousnessState]
    return [name, rule, len(states), *shares, bits(states)]


def _share(group: Sequence[Shown]) -> float:
    return sum(one.briefs for one in group) / sum(one.calls for one in group)
