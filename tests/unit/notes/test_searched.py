"""The text by which a session is found: the most telling first, whole parts alone, of bounded length."""

from __future__ import annotations

from context_graph.notes.gather import Gathered
from context_graph.notes.kinds.searched import MAX_CHARS, searched_text
from context_graph.notes.turn import Turn


def test_a_part_that_has_no_room_leaves_it_to_the_others() -> None:
    gathered = Gathered(turns=[Turn(prompt="x" * MAX_CHARS), Turn(prompt="Round the totals")])
    gathered.programs["pytest -q"] = 1
    assert searched_text(gathered) == "Round the totals\npytest -q"
