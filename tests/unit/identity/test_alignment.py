"""Goals of the store in a session's identity: alignment, and adoption without a jump."""

from __future__ import annotations

import copy

from tests.support.agent_events import SHADER, TARIFF

from context_graph.identity.ego import SPACES
from context_graph.identity.live import LiveSession
from context_graph.model import HookEvent, SessionIdentitySnapshot

TARIFF_GOAL = (
    "ParcelTariff.quote() must add the heavy surcharge in every zone, islands too",
    "harbor/tariff/parcel_tariff.py decides the tariff of parcels above HEAVY_KG, 30 kg",
    "tests/tariff/test_parcel_tariff.py covers the heavy surcharge by zone",
)
SHADER_GOAL = tuple(f"{event.input_text} {event.output_text}" for event in SHADER[1:6])
UNRELATED_GOAL = (
    "Grandmother's apple pie wants cinnamon, butter and an hour in the oven",
    "The oven in the kitchen is too hot on its left side, turn pies around",
)
LARGEST_CHANGE = 0.2
"""Of IC, at any later event: where work turns foreign it falls steeply, and a hair's breadth shows. On 1,500
random mixtures it was 0.1 at most and 0.0002 on average."""


def played(events: list[HookEvent]) -> LiveSession:
    live = LiveSession(SessionIdentitySnapshot(session_id="one", timestamp_ms=0))
    for event in events:
        live.apply(event)
    return live


def twin(live: LiveSession) -> LiveSession:
    return LiveSession.restore(copy.deepcopy(live.snapshot), live.runtime_bytes(), live.goals_bytes())


def test_the_purpose_vector_aligns_with_the_work_at_hand_and_not_with_other_work() -> None:
    live = played(TARIFF)
    at_hand, other = live.alignment(TARIFF_GOAL), live.alignment(SHADER_GOAL)
    assert at_hand is not None and other is not None
    assert at_hand.overall > 0.3 > -0.3 > other.overall
    assert len(at_hand.spaces) == len(SPACES)
    assert all(-1.0 <= value <= 1.0 for value in (*at_hand.spaces, *other.spaces))
    by_name = dict(zip((space.name for space in SPACES), at_hand.spaces, strict=True))
    assert by_name["semantic"] > 0.0


def test_looking_at_alignment_changes_nothing() -> None:
    live = played(TARIFF)
    before = (copy.deepcopy(live.snapshot), live.runtime_bytes(), live.goals_bytes())
    live.alignment((*TARIFF_GOAL, *SHADER_GOAL))
    assert (live.snapshot, live.runtime_bytes(), live.goals_bytes()) == before


def test_without_evidence_there_is_no_alignment() -> None:
    live = played([])
    assert live.alignment(TARIFF_GOAL) is None
    assert live.alignment(["", "   "]) is None
