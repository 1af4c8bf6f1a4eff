"""How the sessions that the owner keeps align with the goals of their store."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.agent_events import SHADER, TARIFF
from tests.support.memories import REDACTOR, WHY

from context_graph.config import Settings
from context_graph.consolidation.plan import Goal, GoalLevel
from context_graph.identity.ego import SPACES
from context_graph.model import HookEvent
from context_graph.owner.consolidations.aftermath import alignments
from context_graph.owner.sessions.store_context import StoreContext

TARIFF_TEXTS = (
    "ParcelTariff.quote() must add the heavy surcharge in every zone, islands too",
    "harbor/tariff/parcel_tariff.py decides the tariff of parcels above HEAVY_KG, 30 kg",
    "tests/tariff/test_parcel_tariff.py covers the heavy surcharge by zone",
)
SHADER_TEXTS = tuple(f"{event.input_text} {event.output_text}" for event in SHADER[1:5])


def opened(folder: Path) -> StoreContext:
    return StoreContext(
        folder, project=None, settings=Settings(), log=logging.getLogger("test"), redactor=REDACTOR
    )


@pytest.fixture
def context(tmp_path: Path) -> Iterator[StoreContext]:
    """A store in which the tariff is worked on."""
    made = opened(tmp_path / "store")
    for event in TARIFF:
        made.sessions.apply(of_session(event))
    made.settle()
    yield made
    made.close()


def of_session(event: HookEvent) -> HookEvent:
    return dataclasses.replace(event, session_id="work")


def goal(context: StoreContext, *texts: str) -> Goal:
    members = [context.memory.store(text, rationale=WHY).id for text in texts]
    return Goal(UUID(int=members[0].int ^ 1), "planted", GoalLevel.TACTICAL, 0.8, 0.7, tuple(members))


def test_members_that_are_gone_tell_nothing(context: StoreContext) -> None:
    forgotten = goal(context, *TARIFF_TEXTS)
    for member in forgotten.members:
        context.memory.forget(member)
    assert alignments(context, context.sessions.get("work"), [forgotten]) == {}


def test_alignment_is_told_by_goal_and_space(context: StoreContext) -> None:
    ours, theirs = goal(context, *TARIFF_TEXTS), goal(context, *SHADER_TEXTS)
    told = alignments(context, context.sessions.get("work"), [ours, theirs])
    assert told[ours.goal_id]["overall"] > 0.3 > -0.3 > told[theirs.goal_id]["overall"]
    assert list(told[ours.goal_id]["spaces"]) == [space.name for space in SPACES]


def test_without_a_session_there_is_no_alignment(context: StoreContext) -> None:
    assert alignments(context, None, [goal(context, *TARIFF_TEXTS)]) == {}
