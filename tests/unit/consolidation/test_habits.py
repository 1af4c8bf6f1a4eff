"""Habits: steps that follow each other in many sessions."""

import random

from context_graph.consolidation.finders import habits

STEPS = ["edit", "mix test", "mix credo", "git add", "git commit", "edit docs", "npm install", "bd close"]


def sessions(count: int, planted: tuple[str, ...], share: float, seed: int = 5) -> list[list[str]]:
    """Random steps; in ``share`` of the sessions with ``planted`` twice among them."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        steps = [rng.choice(STEPS) for _ in range(rng.randint(6, 20))]
        if number < share * count:
            for _ in range(2):
                at = rng.randrange(len(steps))
                steps[at:at] = planted
        made.append([one for one, next_one in zip(steps, [*steps[1:], ""], strict=True) if one != next_one])
    return made


def test_a_planted_run_is_found_whole_and_with_its_sessions() -> None:
    planted = ("run migrations", "seed", "pytest")
    found = habits.find(sessions(40, planted, 0.5))
    assert found[0].steps == planted
    assert len(found[0].sessions) == 20
    assert found[0].follows > 0.8 > found[0].usual


def test_the_same_steps_in_random_order_are_no_habit() -> None:
    found = [habit for seed in range(20) for habit in habits.find(sessions(40, (), 0.0, seed))]
    assert len(found) <= 1


def test_too_few_sessions_and_no_steps_are_no_habit() -> None:
    assert habits.find([["edit", "pytest"] * 4] * 2) == []
    assert habits.find([]) == []
    assert habits.find([[], ["edit"]]) == []


def test_a_script_named_with_and_without_its_folder_is_one_step() -> None:
    rng = random.Random(2)
    lists = []
    for number in range(30):
        script = "tests/runtests.py" if number % 2 else "runtests.py"
        lists.append([*rng.sample(STEPS[1:], 4), "edit tests", script, *rng.sample(STEPS[1:], 4)])
    assert habits.find(lists)[0].steps == ("edit tests", "tests/runtests.py")
