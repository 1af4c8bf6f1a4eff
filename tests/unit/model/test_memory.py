"""Memories' types: limits, defaults and formulas of seed 003."""

from __future__ import annotations

import math
from dataclasses import fields
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.errors import InvalidParamsError
from context_graph.identity.consciousness import johari_knowledge
from context_graph.model.edge import Domain, GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import (
    CognitivePulse,
    JohariQuadrant,
    MemoryNode,
    SuggestedAction,
    UTLState,
    VerbosityLevel,
    check_content,
    check_rationale,
)

ONE, TWO = UUID(int=1), UUID(int=2)
units = st.floats(0.0, 1.0)


def node(**given: object) -> MemoryNode:
    known = {
        "id": ONE,
        "content": "text",
        "rationale": "because it is so",
        "created_at_ms": 1,
        "last_accessed_ms": 1,
    }
    return MemoryNode(**(known | given))  # type: ignore[arg-type]


def edge(**given: object) -> GraphEdge:
    return GraphEdge(id=UUID(int=9), source_id=ONE, target_id=TWO, **given)  # type: ignore[arg-type]


def test_a_node_has_the_fields_of_the_seed() -> None:
    """REQ-CORE-001: every field of appendix A, times as Unix ms."""
    names = {field.name for field in fields(MemoryNode)}
    assert {
        "id",
        "content",
        "embedding",
        "importance",
        "access_count",
        "johari_quadrant",
        "utl_state",
    } <= names
    assert {"agent_id", "semantic_cluster", "metadata", "created_at_ms", "last_accessed_ms"} <= names
    made = node()
    assert (made.importance, made.access_count, made.johari_quadrant) == (0.5, 0, JohariQuadrant.UNKNOWN)


def test_content_has_at_most_65536_characters_not_bytes() -> None:
    """REQ-CORE-001, TC-CORE-002, EC-CORE-001, ERR-CORE-006: refused before anything is stored."""
    check_content("ä" * 65_536)
    with pytest.raises(InvalidParamsError) as caught:
        check_content("a" * 65_537)
    assert str(caught.value) == "Content exceeds maximum length of 65536 characters"
    assert caught.value.rpc_code == -32602
    assert caught.value.row == "ERR-CORE-006"
    assert caught.value.detail == (
        "Invalid params: content exceeds maximum length of 65536 characters (received: 65537)"
    )


@pytest.mark.parametrize("content", ["", "   \n", None, 7])
def test_content_that_says_nothing_is_refused(content: object) -> None:
    with pytest.raises(InvalidParamsError, match="content"):
        check_content(content)


@pytest.mark.parametrize(
    ("rationale", "message"),
    [
        (None, "Rationale is required (10-500 characters)"),
        ("", "Rationale is required (10-500 characters)"),
        ("too short", "Rationale must be at least 10 characters"),
        ("          padded", "Rationale must be at least 10 characters"),
        ("x" * 501, "Rationale must be at most 500 characters"),
    ],
)
def test_a_rationale_has_10_to_500_characters(rationale: object, message: str) -> None:
    """EC-CORE-002, EC-CORE-003, ERR-CORE-005: word for word."""
    with pytest.raises(InvalidParamsError) as caught:
        check_rationale(rationale)
    assert str(caught.value) == message
    assert caught.value.row == "ERR-CORE-005"
    assert caught.value.detail == "Invalid params: rationale is required (10-500 characters)"


def test_a_rationale_at_its_limits_passes() -> None:
    check_rationale("x" * 10)
    check_rationale("x" * 500)


@pytest.mark.parametrize(
    ("entropy", "coherence", "quadrant"),
    [
        (0.3, 0.7, JohariQuadrant.OPEN),
        (0.6, 0.3, JohariQuadrant.BLIND),
        (0.3, 0.3, JohariQuadrant.HIDDEN),
        (0.6, 0.7, JohariQuadrant.UNKNOWN),
        (0.5, 0.5, JohariQuadrant.BLIND),
        (0.5, 0.7, JohariQuadrant.UNKNOWN),
        (0.3, 0.5, JohariQuadrant.HIDDEN),
    ],
)
def test_quadrants_follow_entropy_and_coherence(
    entropy: float, coherence: float, quadrant: JohariQuadrant
) -> None:
    """REQ-CORE-002, TC-CORE-003: at exactly 0.5 entropy is not low and coherence is not high."""
    assert johari_knowledge(entropy, coherence) is quadrant


@pytest.mark.parametrize(
    ("entropy", "coherence", "action"),
    [
        (0.8, 0.2, SuggestedAction.TRIGGER_DREAM),
        (0.8, 0.39, SuggestedAction.TRIGGER_DREAM),
        (0.8, 0.4, SuggestedAction.CONSOLIDATE),
        (0.8, 0.5, SuggestedAction.CONSOLIDATE),
        (0.8, 0.51, SuggestedAction.EPISTEMIC_ACTION),
        (0.7, 0.9, SuggestedAction.READY),
        (0.39, 0.39, SuggestedAction.EXPLORE),
        (0.4, 0.39, SuggestedAction.CLARIFY),
        (0.7, 0.1, SuggestedAction.CLARIFY),
        (0.3, 0.4, SuggestedAction.READY),
        (0.0, 1.0, SuggestedAction.READY),
    ],
)
def test_the_action_follows_from_entropy_and_coherence(
    entropy: float, coherence: float, action: SuggestedAction
) -> None:
    """REQ-CORE-004, TC-CORE-005, D4.4: the first rule that fits."""
    assert SuggestedAction.for_state(entropy, coherence) is action


@given(units, units)
def test_pending_curation_goes_before_every_state(entropy: float, coherence: float) -> None:
    """REQ-CORE-004, D4.4."""
    assert SuggestedAction.for_state(entropy, coherence, curation_pending=True) is SuggestedAction.CURATE


def test_a_pulse_is_json_by_the_seed_s_names() -> None:
    """REQ-CORE-003, TC-CORE-004."""
    pulse = CognitivePulse(0.5, 0.7, SuggestedAction.READY)
    assert orjson.loads(orjson.dumps(pulse.as_dict())) == {
        "entropy": 0.5,
        "coherence": 0.7,
        "suggested_action": "ready",
    }


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_a_pulse_outside_its_range_cannot_be_made(wrong: float) -> None:
    """REQ-CORE-003."""
    with pytest.raises(InvalidParamsError):
        CognitivePulse(wrong, 0.5, SuggestedAction.READY)
    with pytest.raises(InvalidParamsError):
        CognitivePulse(0.5, wrong, SuggestedAction.READY)


def test_verbosity_from_a_number() -> None:
    """REQ-CORE-005, TC-CORE-006: an unknown one is the default."""
    levels = [VerbosityLevel.from_value(value) for value in (0, 1, 2, 3, 255)]
    assert levels == [
        VerbosityLevel.RAW_ONLY,
        VerbosityLevel.TEXT_AND_IDS,
        VerbosityLevel.FULL_INSIGHTS,
        VerbosityLevel.TEXT_AND_IDS,
        VerbosityLevel.TEXT_AND_IDS,
    ]


def test_utl_state_s_defaults_and_ranges() -> None:
    """REQ-CORE-006, TC-CORE-007."""
    assert UTLState() == UTLState(delta_s=0.5, delta_c=0.5, w_e=1.0, phi=0.0)
    UTLState(0.0, 1.0, 0.5, math.pi)
    for wrong in ({"delta_s": 1.1}, {"delta_c": -0.1}, {"w_e": 0.4}, {"w_e": 1.6}, {"phi": 3.2}):
        with pytest.raises(InvalidParamsError, match=next(iter(wrong))):
            UTLState(**wrong)


PROFILES = {
    Domain.CODE: (0.7, 0.1, 0.4),
    Domain.LEGAL: (0.5, 0.4, 0.2),
    Domain.MEDICAL: (0.6, 0.3, 0.5),
    Domain.CREATIVE: (0.8, 0.05, 0.7),
    Domain.RESEARCH: (0.6, 0.2, 0.6),
    Domain.GENERAL: (0.5, 0.2, 0.3),
}


def test_each_domain_has_a_profile_of_its_own() -> None:
    """REQ-CORE-027, TC-CORE-030."""
    assert set(PROFILES) == set(Domain)
    for domain, (excitatory, inhibitory, modulatory) in PROFILES.items():
        profile = NeurotransmitterWeights.for_domain(domain)
        assert profile == NeurotransmitterWeights(excitatory, inhibitory, modulatory)
        assert profile.net_activation() == pytest.approx((excitatory - inhibitory) * (0.5 + 0.5 * modulatory))
    assert NeurotransmitterWeights() == NeurotransmitterWeights.for_domain(Domain.GENERAL)


@pytest.mark.parametrize(
    ("weight", "profile", "reward", "expected"),
    [
        (0.8, (0.7, 0.1, 0.4), 0.0, 0.8 * (0.5 + 0.5 * 0.6 * 0.7)),
        (0.8, (0.7, 0.1, 0.4), 0.5, 0.8 * (0.5 + 0.5 * 0.6 * 0.7) * 1.1),
        (0.8, (0.7, 0.1, 0.4), -1.0, 0.8 * (0.5 + 0.5 * 0.6 * 0.7) * 0.8),
        (1.0, (1.0, 0.0, 1.0), 1.0, 1.0),
        (1.0, (0.0, 1.0, 1.0), 1.0, 0.0),
        (0.0, (1.0, 0.0, 1.0), 1.0, 0.0),
    ],
)
def test_effective_weight_is_base_profile_and_reward(
    weight: float, profile: tuple[float, float, float], reward: float, expected: float
) -> None:
    """REQ-CORE-027, TC-CORE-031: clamped to [0, 1]."""
    made = edge(
        weight=weight, neurotransmitter_weights=NeurotransmitterWeights(*profile), steering_reward=reward
    )
    assert made.effective_weight() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("shortcut", "traversals", "reward", "valuable"),
    [
        (True, 10, 0.5, True),
        (False, 10, 0.5, False),
        (True, 5, 0.5, False),
        (True, 6, 0.3, False),
        (True, 6, 0.31, True),
    ],
)
def test_a_valuable_shortcut_is_used_and_rewarded(
    shortcut: bool, traversals: int, reward: float, valuable: bool
) -> None:
    """REQ-CORE-027, TC-CORE-032: more than 5 traversals, a reward above 0.3."""
    made = edge(is_amortized_shortcut=shortcut, traversal_count=traversals, steering_reward=reward)
    assert made.is_valuable_shortcut() is valuable


@pytest.mark.parametrize(
    ("reward", "kept"), [(1.0, 0.9), (-1.0, -0.9), (0.5, 0.45), (-0.5, -0.45), (7.0, 0.9), (-7.0, -0.9)]
)
def test_steering_is_clamped_then_decayed(reward: float, kept: float) -> None:
    """REQ-CORE-027, TC-CORE-034: by 0.9; the count and the time follow a traversal."""
    assert edge().apply_steering(reward).steering_reward == pytest.approx(kept)
    walked = edge(traversal_count=3).traversed(reward, 77)
    assert (walked.traversal_count, walked.last_traversed_ms) == (4, 77)


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight": 1.1},
        {"confidence": -0.1},
        {"steering_reward": -1.1},
        {"relationship_type": ""},
        {"relationship_type": "x" * 65},
        {"weight": math.nan},
    ],
)
def test_an_edge_outside_its_limits_cannot_be_made(wrong: dict[str, object]) -> None:
    """REQ-CORE-027."""
    with pytest.raises(InvalidParamsError, match=next(iter(wrong))):
        edge(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"importance": 2.0}, {"access_count": -1}, {"created_at_ms": -1}, {"embedding": b"short"}]
)
def test_a_whole_node_from_elsewhere_is_checked(wrong: dict[str, object]) -> None:
    """REQ-CORE-001."""
    node().validate()
    with pytest.raises(InvalidParamsError, match=next(iter(wrong))):
        node(**wrong).validate()
