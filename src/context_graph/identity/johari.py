"""The Johari window, twice: of a piece of knowledge and of the system (D3.6). Two axes, never mixed."""

from __future__ import annotations

from typing import Final

from context_graph._kernels import vectors
from context_graph.identity.ranges import require_unit
from context_graph.model.johari import JohariQuadrant

__all__ = ["JohariQuadrant", "johari_knowledge", "johari_system"]

KNOWLEDGE_THRESHOLD: Final = 0.5
SYSTEM_HIGH_THRESHOLD: Final = 0.7
"""Seed 001's code: below it counts as low, there is no band between."""


def johari_knowledge(entropy: float, coherence: float) -> JohariQuadrant:
    """Quadrant of a memory from its entropy and coherence, both in [0, 1].

    Low entropy is below 0.5, high coherence above it, so 0.5 / 0.5 exactly is BLIND. Low and high: OPEN; low
    only: HIDDEN; high only: UNKNOWN; neither: BLIND.

    Raises:
        ValueError: Outside [0, 1] or NaN.

    Source: seed 003; D3.6.
    """
    require_unit("entropy", entropy)
    require_unit("coherence", coherence)
    low_entropy = vectors.below32(entropy, KNOWLEDGE_THRESHOLD)
    high_coherence = vectors.below32(KNOWLEDGE_THRESHOLD, coherence)
    if low_entropy:
        return JohariQuadrant.OPEN if high_coherence else JohariQuadrant.HIDDEN
    return JohariQuadrant.UNKNOWN if high_coherence else JohariQuadrant.BLIND


def johari_system(consciousness: float, integration: float) -> JohariQuadrant:
    """Quadrant of the system from C and I, both in [0, 1]; high is >= 0.7.

    Both high: OPEN; I only: BLIND; C only: HIDDEN; neither: UNKNOWN.

    Raises:
        ValueError: Outside [0, 1] or NaN.

    Source: seed 001 section 4.3, its code (D3.6).
    """
    require_unit("consciousness", consciousness)
    require_unit("integration", integration)
    aware = not vectors.below32(consciousness, SYSTEM_HIGH_THRESHOLD)
    integrated = not vectors.below32(integration, SYSTEM_HIGH_THRESHOLD)
    if integrated:
        return JohariQuadrant.OPEN if aware else JohariQuadrant.BLIND
    return JohariQuadrant.HIDDEN if aware else JohariQuadrant.UNKNOWN
