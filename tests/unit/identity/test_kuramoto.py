"""The oscillator network as a session uses it."""

from __future__ import annotations

import math

import pytest

from context_graph.identity.consciousness import NATURAL_HZ, OMEGA, KuramotoNetwork, coupling_for, order_of
from context_graph.model import SessionIdentitySnapshot


def test_frequencies_are_the_documented_hertz_over_their_mean() -> None:
    """D3.1: omega = f / 25.3 rad/s, 13 of them (AP-25)."""
    assert NATURAL_HZ == (40, 8, 8, 8, 25, 4, 25, 12, 80, 40, 15, 60, 4)
    assert pytest.approx([hz / 25.3 for hz in NATURAL_HZ]) == OMEGA


def test_a_live_network_starts_synchronised_and_stays_so_at_full_coupling() -> None:
    """D3.1: the live network starts synchronised."""
    network = KuramotoNetwork.synchronised()
    start = order_of(network.phases)
    assert start == pytest.approx(0.972, abs=0.001)
    for _ in range(20):
        assert network.advance(4.0) == pytest.approx(start, abs=1e-9)


def test_the_same_couplings_give_the_same_phases() -> None:
    """D3.1: the network is deterministic."""
    first, second = KuramotoNetwork.synchronised(), KuramotoNetwork.synchronised()
    for coupling in (4.0, 0.5, 1.7, 2.9):
        assert first.advance(coupling) == second.advance(coupling)
    assert first.phases == second.phases


def test_a_network_goes_on_from_stored_phases_as_if_never_stopped() -> None:
    """D3.1: the snapshot stores the actual phases and K."""
    network = KuramotoNetwork.synchronised()
    network.advance(1.2)
    resumed = KuramotoNetwork(network.phases, network.coupling)
    assert resumed.coupling == 1.2
    assert resumed.advance(2.5) == network.advance(2.5)
    assert resumed.phases == network.phases


def test_weak_coupling_loses_integration_and_strong_coupling_restores_it() -> None:
    network = KuramotoNetwork.synchronised()
    weak = [network.advance(0.5) for _ in range(10)]
    assert min(weak) < 0.5
    strong = [network.advance(4.0) for _ in range(5)]
    assert strong[-1] > 0.96


def test_a_new_snapshot_can_be_taken_up() -> None:
    """REQ-SESSION-01: a new snapshot has zero phases and K 0.5."""
    snapshot = SessionIdentitySnapshot(session_id="s")
    network = KuramotoNetwork(snapshot.kuramoto_phases, snapshot.coupling)
    assert order_of(network.phases) == 1.0
    assert network.coupling == 0.5
    assert 0.0 <= network.advance(network.coupling) <= 1.0
    assert order_of(snapshot.kuramoto_phases) == 1.0


def test_phases_are_handed_out_as_a_copy() -> None:
    network = KuramotoNetwork([0.0] * 13, 1.0)
    network.phases[0] = 3.0
    assert network.phases == [0.0] * 13


@pytest.mark.parametrize(
    ("phases", "coupling", "text"),
    [
        ([0.0] * 12, 1.0, "phases must have 13 values, got 12"),
        ([], 1.0, "phases must have 13 values, got 0"),
        ([0.0] * 12 + [math.nan], 1.0, r"phases\[12\] must be finite, got nan"),
        ([0.0] * 13, math.nan, r"coupling must be in \[0, 10\], got nan"),
        ([0.0] * 13, 10.5, r"coupling must be in \[0, 10\], got 10.5"),
    ],
)
def test_a_network_of_bad_parts_is_refused_by_name(phases, coupling, text) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        KuramotoNetwork(phases, coupling)


def test_a_refused_coupling_leaves_the_network_as_it_was() -> None:
    network = KuramotoNetwork.synchronised()
    before = network.phases, network.coupling
    with pytest.raises(ValueError, match="coupling"):
        network.advance(math.inf)
    assert (network.phases, network.coupling) == before


def test_coupling_follows_the_alignment_between_its_bounds() -> None:
    """D3.1: K in 0.5..4 follows the coherence of recent events (drift.md section 4.6)."""
    assert coupling_for(0.2) == pytest.approx(2.25)
    assert coupling_for(-1.0) == pytest.approx(0.5, abs=0.001)
    assert coupling_for(1.0) == pytest.approx(4.0, abs=0.01)
    values = [coupling_for(q / 10) for q in range(-10, 11)]
    assert values == sorted(values)
    assert coupling_for(1.0000000000000002) == coupling_for(1.0)
    assert coupling_for(-1e300) == coupling_for(-1.0)
    with pytest.raises(ValueError, match=r"^alignment must be finite, got nan$"):
        coupling_for(math.nan)
