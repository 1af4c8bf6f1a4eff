"""How relevant a recalled memory is, on a scale that means the same in every store.

A recall ranks; it always has a best memory, also for a question that no memory answers. What goes into a
context unasked must clear a floor that rank cannot give. `tools/fit_floor.py` measures both on labelled
questions: the share of the question's telling words that the memory holds separates well, the cosine of the
meanings little, and for a long text not at all, since long texts resemble each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from context_graph.memory.phrases import plain

__all__ = ["asked_in", "relevance"]

_TERMS: Final = 0.75
_ASKED_CHARS: Final = 400


def relevance(parts: Mapping[str, float]) -> float:
    """Relevance in [0, 1] from a recall's parts: ``terms`` in [0, 1] and ``cosine`` in [-1, 1]."""
    terms = min(1.0, max(0.0, parts["terms"]))
    return _TERMS * terms + (1.0 - _TERMS) * min(1.0, max(0.0, parts["cosine"]))


def asked_in(prompt: str) -> str:
    """What to look for: the prompt, or of a long one its beginning and end, where the request stands.

    What is pasted in between would be nearly all of the question, and no memory holds that.
    """
    if len(prompt) <= _ASKED_CHARS:
        return prompt
    text = plain(prompt) or " ".join(prompt.split())
    if len(text) <= _ASKED_CHARS:
        return text
    half = _ASKED_CHARS // 2
    return f"{text[:half].rsplit(' ', 1)[0]} {text[-half:].split(' ', 1)[-1]}"
