"""Says how well a memory is connected: its delta_c (docs/dev/memory-metrics.md).

An anchor is a word, name, file, identifier or tag that few other memories have as well. What everybody says
connects nothing, and what nobody else says connects to nothing.
"""

from __future__ import annotations

from typing import Final

HALF: Final = 8
"""Anchors with which a memory is half connected; the median is 6 in talk, 11 in session summaries."""
PER_LINK: Final = 4
"""Anchors that a link counts as."""
_FEWEST: Final = 3
_SHARE: Final = 20


def rare_most(memories: int) -> int:
    """Return the most of so many memories that may have a word for it to be an anchor: 3, or a twentieth of
    them."""
    return max(_FEWEST, memories // _SHARE)


def connection(anchors: float, links: float) -> float:
    """delta_c in [0, 1): 0 without anchors and links, 0.5 with 8 anchors, or 2 links.

    Args:
        anchors: Words and tags that it shares with few others.
        links: Edges to other memories, contradictions left out.
    """
    weight = anchors + PER_LINK * links
    return weight / (weight + HALF)
