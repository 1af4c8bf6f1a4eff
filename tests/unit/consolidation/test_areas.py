"""Areas: what captured sessions worked on, the goals they make, and how they change."""

import random
from collections.abc import Sequence
from uuid import UUID

from benches.consolidation.snapshots import of_memories

from context_graph.consolidation.finders import area_goals, areas, drift
from context_graph.consolidation.snapshot import Snapshot
from context_graph.memory.embed import default_provider
from context_graph.model.memory import MemoryNode

DAY_MS = 86_400_000
Session = tuple[str, str, int]
"""File, prompt, day."""


def captured(sessions: Sequence[Session]) -> Snapshot:
    nodes = []
    for number, (path, prompt, day) in enumerate(sessions):
        text = f"Goal: {prompt}\nChanged: {path}"
        nodes.append(
            MemoryNode(
                id=UUID(int=number + 1),
                content=text,
                rationale="Summary of a session.",
                created_at_ms=1_700_000_000_000 + day * DAY_MS + number,
                last_accessed_ms=1_700_000_000_000,
                session_id=f"s{number}",
                source="capture",
                metadata={"capture": {"version": 1, "changed": {path: 1}, "read": {}, "prompts": [prompt]}},
                embedding=default_provider().encode(text).embedding,
            )
        )
    return of_memories(nodes)


def mixed(count: int, seed: int = 1) -> list[Session]:
    rng = random.Random(seed)
    places = ["app/forms/fields.py", "app/forms/widgets.py", "app/mail/send.py", "app/search/index.py"]
    words = ["the label of a field", "rounding a price", "a broken link", "an empty list", "the time zone"]
    return [(rng.choice(places), f"Fix {rng.choice(words)} {n}", n) for n in range(count)]


def test_a_folder_and_a_file_that_several_sessions_changed_are_areas_with_the_words_of_their_prompts() -> (
    None
):
    own: list[Session] = [
        (f"app/billing/part{n % 3}.py", f"Round the invoice total {n}", n) for n in range(6)
    ]
    snap = captured(own + mixed(24))
    found = {area.path: area for area in areas.find(snap, range(len(snap)))}
    assert list(found["app/billing"].rows) == list(range(6))
    assert "invoice" in found["app/billing"].words
    assert "app" not in found  # more than half of all: the project itself
    assert "app/search/index.py" in found and "app/search" not in found  # the file tells the folder


def test_goals_of_areas_name_path_words_and_members() -> None:
    own: list[Session] = [
        (f"app/billing/part{n % 3}.py", f"Round the invoice total {n}", n) for n in range(6)
    ]
    snap = captured(own + mixed(24))
    rows = range(len(snap))
    found = area_goals.discover(snap, areas.find(snap, rows), min_confidence=0.3, max_goals=10)
    (goal,) = [goal for goal in found if goal.description.startswith("app/billing")]
    assert "invoice" in goal.description
    assert {member.int for member in goal.members} == set(range(1, 7))
    assert goal.confidence == 6 / 8 * (1 - 6 / 30)
    assert area_goals.discover(snap, areas.find(snap, rows), min_confidence=0.99, max_goals=10) == []


def test_new_work_in_the_newest_sessions_is_a_shift_and_significant_drift() -> None:
    moved: list[Session] = [(f"app/export/csv{n % 2}.py", f"Write a column {n}", 200 + n) for n in range(10)]
    snap = captured(mixed(40) + moved)
    rows = range(len(snap))
    change = areas.change(snap, rows, areas.find(snap, rows))
    assert change is not None and change.recent == 10
    assert str(change.shifts[0]) == "more app/export: 10 of the last 10 sessions, 0 of the 40 before"
    judged = drift.of_areas(change)
    assert judged.significant and judged.shifts[0] == str(change.shifts[0])


def test_sessions_in_random_order_seldom_show_a_shift() -> None:
    told = 0
    for seed in range(20):
        snap = captured(mixed(48, seed))
        rows = range(len(snap))
        change = areas.change(snap, rows, areas.find(snap, rows))
        assert change is not None
        told += bool(change.shifts)
    assert told <= 2


def test_too_few_sessions_and_other_memories_are_not_judged() -> None:
    snap = captured(mixed(20))
    rows = range(len(snap))
    assert areas.change(snap, rows, areas.find(snap, rows)) is None
    assert areas.find(captured([]), []) == []


def test_paths_outside_the_project_and_scratch_folders_are_no_areas() -> None:
    away: list[Session] = [("/tmp/x/a.py", "Try it", 1), ("reproduce/a.py", "Try it", 2), ("a.py", "Try", 3)]
    snap = captured([*(away * 6), *mixed(20)])
    paths = [area.path for area in areas.find(snap, range(len(snap)))]
    assert paths and all(path.startswith("app/") for path in paths)
