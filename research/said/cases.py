"""The cases of `cases/`: prompts written for it, what holds further in ⟦ ⟧, what was chosen in ⟪ ⟫."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "cases"
_MARKED: Final = re.compile(r"⟦(?P<rule>.*?)⟧|⟪(?P<decision>.*?)⟫", re.S)


@dataclass(frozen=True, slots=True)
class Case:
    """A prompt with what it says."""

    language: str
    prompt: str
    rules: tuple[str, ...]
    decisions: tuple[str, ...]


def read(part: str) -> list[Case]:
    """The cases of ``tune``, ``left_out``, ``left_out_plain`` or ``left_out_terse``."""
    found = []
    for path in sorted((FOLDER / part).glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            text = line.replace("\\n", "\n")
            marked = list(_MARKED.finditer(text))
            found.append(
                Case(
                    path.stem,
                    _MARKED.sub(lambda one: one["rule"] or one["decision"], text),
                    tuple(one["rule"] for one in marked if one["rule"]),
                    tuple(one["decision"] for one in marked if one["decision"]),
                )
            )
    return found
