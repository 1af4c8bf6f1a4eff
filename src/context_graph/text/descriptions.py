"""Tells a shell command from the description that the model wrote beside it, once both are one text."""

from __future__ import annotations

from typing import Final

from context_graph.text.patterns import linear

_DESCRIPTION: Final = linear(r" [A-Z][a-z]+(?:-[a-z]+)? [^\"'|&;$<>`\\{}=]+$")


def without_description(input_text: str) -> str:
    """``input_text``, the flattened input of a Bash tool, without a last run of plain words with a capital.

    Cost: some 3 us for 2 KB.
    """
    told = _DESCRIPTION.search(input_text)
    return input_text[: told.start()] if told else input_text
