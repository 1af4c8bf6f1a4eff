"""What one event costs in the owner: features, IC and C of 2 KB of input and 2 KB of output.

Goal (issue A): p95 <= 150 us, compiled. ``p95_us`` is in the JSON's extra_info; compare within a run only.
"""

from __future__ import annotations

import itertools

import pytest
from benches.scale import scaled
from tests.oracles import (
    features as _reference_features,
)
from tests.oracles import (
    goals as _reference_goals,
)
from tests.oracles import (
    purpose as _reference_purpose,
)
from tests.oracles import (
    vectors as _reference,
)
from tests.support.agent_events import LABELS, SHADER, TARIFF

from context_graph.identity import consciousness, continuity, ego, live
from context_graph.identity.live import LiveSession
from context_graph.model import EVENT_TEXT_BYTES, EventKind, HookEvent, SessionIdentitySnapshot

ROUNDS = {"compiled": scaled(2000, 100), "reference": scaled(60, 3)}
WARM_UP_EVENTS = 40


def full_events() -> list[HookEvent]:
    """Tool results with both texts at their limit, each beginning at another place of the sessions."""
    texts = [f"{event.input_text}\n{event.output_text}\n" for event in (*TARIFF, *LABELS, *SHADER)]
    events = []
    for i in range(len(texts)):
        given, output = ("".join(itertools.islice(itertools.cycle(texts), i + k, i + k + 14)) for k in (0, 5))
        events.append(
            HookEvent(
                EventKind.POST_TOOL,
                "bench",
                str(i),
                at_ms=i,
                tool_name="Bash",
                input_text=given.encode()[:EVENT_TEXT_BYTES].decode(),
                output_text=output.encode()[:EVENT_TEXT_BYTES].decode(),
                success=True,
            )
        )
    return events


@pytest.fixture(params=["compiled", "reference"])
def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, LiveSession]:
    """A session that has seen some events, on one backend."""
    if request.param == "reference":
        monkeypatch.setattr(ego, "features", _reference_features)
        monkeypatch.setattr(ego, "goals", _reference_goals)
        monkeypatch.setattr(ego, "purpose", _reference_purpose)
        monkeypatch.setattr(consciousness, "oscillators", _reference)
        monkeypatch.setattr(consciousness, "vectors", _reference)
        monkeypatch.setattr(continuity, "vectors", _reference)
    monkeypatch.setattr(live, "_READER", ego.EventReader())
    made = LiveSession(SessionIdentitySnapshot(session_id="bench", timestamp_ms=0))
    for event in itertools.islice(itertools.cycle(full_events()), WARM_UP_EVENTS):
        made.apply(event)
    return request.param, made


def run(benchmark, call, backend: str) -> None:
    """Benchmark ``call`` on one full event after another, and note the 95th percentile."""
    events = itertools.cycle(full_events())
    benchmark.pedantic(call, setup=lambda: ((next(events),), {}), rounds=ROUNDS[backend])
    times = sorted(benchmark.stats.stats.data)
    benchmark.extra_info["p50_us"] = round(times[len(times) // 2] * 1e6, 1)
    benchmark.extra_info["p95_us"] = round(times[int(0.95 * len(times))] * 1e6, 1)


def test_one_event_from_texts_to_consciousness(benchmark, session) -> None:
    backend, made = session
    benchmark.group = "one event of 2 KB + 2 KB: features, IC and C"
    run(benchmark, made.apply, backend)
    assert made.has_evidence
    assert 0.0 < made.metrics.consciousness < 1.0


def test_reading_the_texts_of_one_event(benchmark, session) -> None:
    backend, _ = session
    benchmark.group = "one event of 2 KB + 2 KB: features alone"
    reader = live._READER
    run(benchmark, lambda event: reader.read(event.input_text, event.output_text), backend)
    assert sum(reader.bags.counts) > 500


def test_the_state_written_with_every_event(benchmark, session) -> None:
    backend, made = session
    benchmark.group = "runtime_bytes: written with every event"
    run(benchmark, lambda _: made.runtime_bytes(), backend)


def test_the_goals_written_now_and_then(benchmark, session) -> None:
    backend, made = session
    benchmark.group = "goals_bytes: written every 32 events"
    run(benchmark, lambda _: made.goals_bytes(), backend)
