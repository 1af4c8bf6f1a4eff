"""Chooses what an assistant said between its calls that is worth a note: causes and facts, no plans.

Such a sentence says why something failed or how a thing works, and the last words seldom say it again. Most
others announce the next call; that one is recorded anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from context_graph.notes.message import (
    Unit,
    announces,
    best_of,
    intends,
    is_guess,
    is_progress,
    is_under_way,
    units_of,
)
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

MAX_CHARS: Final = 3000
"""Characters that are kept of one turn's remarks."""
REMARK_CHARS: Final = 420
_LEAST: Final = {"cause": 5.0, "decision": 4.0, "fix": 2.5, "": 2.0}
"""What a sentence of each role is worth at least: it names something. Tests are recorded anyway."""
_SAYS_WHY: Final = frozenset({"cause", "decision"})
_NAMED: Final = linear(r"`([^`\n]{3,60})`")


def remarks_of(messages: Iterable[str], limit: int = MAX_CHARS) -> list[str]:
    """Return the most telling remarks among ``messages``, in their order, each once; ``limit`` characters.

    A short message stands whole, so that a cause keeps its cure; of a longer one what tells. Cost: 1 ms for
    2 KB.
    """
    remarks: dict[str, Unit] = {}
    for message in messages:
        whole_units = [unit for unit in lasting(units_of(message)) if not unit.text.endswith((":", "："))]
        units = [unit for unit in whole_units if not announces(unit.text)]
        telling = [unit for unit in units if unit.worth >= _LEAST.get(unit.role, unit.worth + 1.0)]
        whole = " ".join(unit.text for unit in units)
        if len(whole) > REMARK_CHARS:  # a list of what to do, a report
            telling = [unit for unit in telling if unit.role in _SAYS_WHY]
            whole = " ".join(unit.text for unit in telling)
        if not telling:
            continue
        text = shortened(whole, REMARK_CHARS)
        remarks.pop(text, None)
        remarks[text] = Unit(text, "", max(unit.worth for unit in telling))
    return [unit.text for unit in best_of(list(remarks.values()), limit)]


def lasting(units: Sequence[Unit]) -> list[Unit]:
    """Return what still holds where the session went on: not what could not be done yet or runs just now, nor
    what was done by then or was to be done next.
    """
    return [
        unit
        for unit in units
        if unit.role != "left"
        and not is_under_way(unit.text)
        and (unit.role in _SAYS_WHY or not (is_progress(unit.text) or intends(unit.text)))
    ]


def refuted(remarks: Sequence[str]) -> list[str]:
    """Return the remarks that only guess, where a later one speaks of the same: they share a name."""
    names = [frozenset(match[1] for match in _NAMED.finditer(remark)) for remark in remarks]
    return [
        remark
        for at, remark in enumerate(remarks)
        if all(is_guess(unit.text) for unit in units_of(remark))
        and any(names[at] & later for later in names[at + 1 :])
    ]


def lasting_text(remark: str) -> str:
    """Return what of a remark still holds where the session went on."""
    units = units_of(remark)
    kept = lasting(units)
    return remark if len(kept) == len(units) else " ".join(unit.text for unit in kept)
