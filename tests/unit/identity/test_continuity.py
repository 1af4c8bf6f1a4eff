"""Identity continuity: formula, classes, crises and their recovery, drift between sessions."""

from __future__ import annotations

import json
import math
import struct

import pytest

from context_graph.identity.continuity import (
    DREAM_COOLDOWN_MS,
    ICLevel,
    ICMonitor,
    classify_ic,
    cross_session_ic,
    drift_metrics,
    identity_continuity,
    is_ic_crisis,
    is_ic_warning,
)
from context_graph.model import SessionIdentitySnapshot

RAMP = [0.1 * (i - 3) for i in range(13)]


def unit_vector(i: int) -> list[float]:
    return [1.0 if k == i else 0.0 for k in range(13)]


def float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


def snapshot(**fields: object) -> SessionIdentitySnapshot:
    return SessionIdentitySnapshot(session_id="s", **fields)  # type: ignore[arg-type]


# --- formula ---


def test_identical_purpose_vectors_give_an_ic_of_r() -> None:
    """TC-SESSION-07, REQ-SESSION-06: identical vectors -> IC = r."""
    phases = [0.4 * i for i in range(13)]
    current = snapshot(purpose_vector=RAMP, kuramoto_phases=phases)
    r = math.hypot(sum(map(math.cos, phases)), sum(map(math.sin, phases))) / 13
    assert cross_session_ic(current, snapshot(purpose_vector=list(RAMP))) == pytest.approx(r, abs=1e-12)
    assert identity_continuity(RAMP, RAMP, 0.84) == 0.84


def test_two_new_snapshots_have_perfect_continuity() -> None:
    assert cross_session_ic(snapshot(), snapshot()) == 1.0


def test_orthogonal_opposed_and_zero_vectors_give_an_ic_of_zero() -> None:
    """TC-SESSION-08: orthogonal vectors -> 0; D3.3: zero vector -> 0."""
    current = snapshot(purpose_vector=unit_vector(0))
    assert cross_session_ic(current, snapshot(purpose_vector=unit_vector(1))) == 0.0
    assert cross_session_ic(current, snapshot(purpose_vector=[0.0] * 13)) == 0.0
    assert identity_continuity(RAMP, [-x for x in RAMP], 1.0) == 0.0


def test_the_current_sessions_phases_decide_r() -> None:
    """REQ-SESSION-06: r is that of the current snapshot."""
    spread = [math.tau * i / 13 for i in range(13)]
    assert cross_session_ic(snapshot(kuramoto_phases=spread), snapshot()) == pytest.approx(0.0, abs=1e-12)
    assert cross_session_ic(snapshot(), snapshot(kuramoto_phases=spread)) == 1.0


def test_a_damaged_vector_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^previous\[0\] must be finite, got nan$"):
        identity_continuity(RAMP, [math.nan] * 13, 1.0)
    with pytest.raises(ValueError, match=r"^purpose_vector must have 13 values, got 2$"):
        identity_continuity([1.0, 2.0], RAMP, 1.0)
    with pytest.raises(ValueError, match=r"^r must be in \[0, 1\], got 1.5$"):
        identity_continuity(RAMP, RAMP, 1.5)


# --- classes ---


@pytest.mark.parametrize(
    ("ic", "word", "level"),
    [
        (1.0, "healthy", "healthy"),
        (0.9, "healthy", "healthy"),
        (0.8999, "good", "normal"),
        (0.7, "good", "normal"),
        (0.6999, "warning", "warning"),
        (0.5, "warning", "warning"),
        (0.4999, "degraded", "critical"),
        (0.0, "degraded", "critical"),
    ],
)
def test_classes_change_exactly_at_their_thresholds(ic, word, level) -> None:
    """TC-SESSION-09, REQ-SESSION-07, REQ-HOOKS-15: classify_ic() and ICLevel boundaries."""
    assert classify_ic(ic) == classify_ic(float32(ic)) == word
    assert ICLevel.from_value(ic) is ICLevel.from_value(float32(ic)) is ICLevel(level)
    assert is_ic_warning(ic) is (word == "warning")
    assert is_ic_crisis(ic) is (word == "degraded")


def test_exactly_one_half_is_no_crisis() -> None:
    """REQ-SESSION-07, IDENTITY-007: 0.5 exactly is no crisis."""
    assert not is_ic_crisis(0.5)
    assert is_ic_crisis(0.4999)
    assert is_ic_crisis(0.55, threshold=0.6)
    assert not is_ic_crisis(float32(0.6), threshold=0.6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_has_no_class(bad) -> None:
    for judge in (classify_ic, ICLevel.from_value, is_ic_crisis, is_ic_warning):
        with pytest.raises(ValueError, match="must be finite"):
            judge(bad)


# --- monitor ---


def test_a_monitor_classifies_what_it_observes() -> None:
    """Seed 001 section 4.2: the classification of each IC."""
    monitor = ICMonitor()
    first = monitor.observe(1.0).classification
    assert (first.value, first.level, first.crisis_triggered) == (1.0, "healthy", False)
    drifted = monitor.observe(0.0).classification
    assert (drifted.value, drifted.level, drifted.crisis_triggered) == (0.0, "critical", True)
    assert monitor.is_crisis()


def test_a_crisis_is_entered_once_and_left_once() -> None:
    """D3.3: a crisis must be reachable and recoverable."""
    monitor = ICMonitor()
    course = [0.95, 0.65, 0.4, 0.2, 0.5, 0.9, 0.3]
    changes = [monitor.observe(ic) for ic in course]
    assert [change.entered_crisis for change in changes] == [0, 0, 1, 0, 0, 0, 1]

    assert [change.entered_warning for change in changes] == [0, 1, 0, 0, 0, 0, 0]
    assert changes[4].level is ICLevel.WARNING


def test_a_first_ic_can_itself_be_a_warning_or_a_crisis() -> None:
    assert ICMonitor().observe(0.6).entered_warning
    assert ICMonitor().observe(0.1).entered_crisis
    assert ICMonitor().current_ic is None


def test_a_crisis_reset_by_a_dream_opens_again_only_with_a_new_low() -> None:
    """Seed 001 section 4.2: reset_crisis() after a dream cycle."""
    monitor = ICMonitor()
    monitor.observe(0.2)
    monitor.reset_crisis()
    assert not monitor.is_crisis()
    assert not monitor.claim_dream(0)
    assert monitor.observe(0.2).entered_crisis
    assert monitor.is_crisis()


def test_the_snapshots_own_threshold_decides_the_crisis() -> None:
    monitor = ICMonitor(crisis_threshold=0.3)
    assert not monitor.observe(0.4).entered_crisis
    assert monitor.observe(0.29).entered_crisis
    with pytest.raises(ValueError, match=r"^crisis_threshold must be in \[0, 1\], got nan$"):
        ICMonitor(math.nan)


@pytest.mark.parametrize("bad", [math.nan, 1.1, -0.1])
def test_a_refused_ic_changes_nothing(bad) -> None:
    monitor = ICMonitor()
    monitor.observe(0.4)
    with pytest.raises(ValueError, match=r"^ic must be in \[0, 1\]"):
        monitor.observe(bad)
    assert (monitor.current_ic, monitor.is_crisis()) == (0.4, True)


def test_dream_requests_keep_a_minute_apart() -> None:
    """TC-SESSION-10, REQ-SESSION-08, D3.7: 60 s cool-down."""
    monitor = ICMonitor()
    start = 1_700_000_000_000
    assert not monitor.claim_dream(start)  # no crisis yet
    monitor.observe(0.3)
    assert monitor.claim_dream(start)
    assert not monitor.claim_dream(start)
    assert not monitor.claim_dream(start + DREAM_COOLDOWN_MS - 1)
    assert monitor.claim_dream(start + DREAM_COOLDOWN_MS)


def test_recovering_in_between_does_not_shorten_the_cool_down() -> None:
    monitor = ICMonitor()
    monitor.observe(0.3)
    assert monitor.claim_dream(0)
    monitor.observe(0.95)
    assert monitor.observe(0.1).entered_crisis
    assert not monitor.claim_dream(30_000)
    assert monitor.claim_dream(61_000)


def test_a_clock_set_back_does_not_silence_the_alarm() -> None:
    monitor = ICMonitor()
    monitor.observe(0.3)
    assert monitor.claim_dream(10_000_000)
    assert not monitor.claim_dream(9_999_000)  # events out of order
    assert monitor.claim_dream(1_000_000)  # clock set back


def test_a_monitor_goes_on_after_a_restart() -> None:
    monitor = ICMonitor(0.6)
    monitor.observe(0.55)
    assert monitor.claim_dream(5_000)
    again = ICMonitor.from_state(json.loads(json.dumps(monitor.to_state())), 0.6)
    assert again.to_state() == monitor.to_state()
    assert again.is_crisis()
    assert not again.observe(0.5).entered_crisis
    assert not again.claim_dream(6_000)
    assert ICMonitor.from_state(ICMonitor().to_state()).current_ic is None


# --- drift between sessions ---


def test_an_unchanged_session_has_no_drift() -> None:
    previous = snapshot(timestamp_ms=1_000, last_ic=0.9)
    drift = drift_metrics(snapshot(timestamp_ms=4_500, last_ic=0.9), previous)
    assert drift.ic_delta == 0.0
    assert drift.purpose_drift == pytest.approx(0.0, abs=1e-15)
    assert drift.time_since_snapshot_ms == 3_500
    assert drift.kuramoto_phase_drift == 0.0


def test_each_drift_metric_measures_its_own_change() -> None:
    previous = snapshot(timestamp_ms=9_000, last_ic=1.0, purpose_vector=unit_vector(0))
    current = snapshot(
        timestamp_ms=8_000,
        last_ic=0.6,
        purpose_vector=[-x for x in unit_vector(0)],
        kuramoto_phases=[math.tau - 0.1] * 13,
    )
    drift = drift_metrics(current, previous)
    assert drift.ic_delta == pytest.approx(-0.4)
    assert drift.purpose_drift == 2.0
    assert drift.time_since_snapshot_ms == 0
    assert drift.kuramoto_phase_drift == pytest.approx(0.1)


def test_a_vector_without_direction_has_no_purpose_drift() -> None:
    zero = snapshot(purpose_vector=[0.0] * 13)
    assert drift_metrics(zero, snapshot()).purpose_drift == 0.0
    assert drift_metrics(snapshot(), zero).purpose_drift == 0.0
    orthogonal = snapshot(purpose_vector=unit_vector(0)), snapshot(purpose_vector=unit_vector(1))
    assert drift_metrics(*orthogonal).purpose_drift == 1.0
