"""What the prompts of several sessions share word for word is a template; what differs is the task."""

from __future__ import annotations

import pytest

from context_graph.notes.templates import Templates

FORM = (
    "I've put a repository into the directory /repo. Consider this description and nothing else:\n{}\n"
    "Can you make the changes so that what it asks for is met? Begin with the tests, then make the change, "
    "then run them all and say what you did. Number of the ticket: {}."
)
TASKS = (
    ("The basket rounds cents wrongly when a voucher is used twice in one order by a guest.", "881"),
    ("Sorting by date puts entries without any date at the top of the list of invoices.", "417"),
    ("The upload of pictures larger than four megabytes ends with a blank page in Safari.", "205"),
)


def learnt(*prompts: str) -> Templates:
    made = Templates()
    for prompt in prompts:
        made.own(prompt)
        made.learn()
    return Templates.from_json(made.to_json())


def test_the_third_session_says_only_what_differs() -> None:
    first, second, third = (FORM.format(*task) for task in TASKS)
    assert learnt(first).own(second) == second, "twice is no template yet"
    own = learnt(first, second).own(third)
    assert TASKS[2][0] in own and "205" in own
    assert "repository" not in own and "Can you make" not in own


def test_one_line_with_fields_keeps_its_values() -> None:
    form = "Fix this bug to solve the issue based on manual.yaml: instance_id: {} repo: {} base_commit: {}"
    made = learnt(form.format("dj-1", "django/django", "6df9"), form.format("dj-2", "django/django", "0a1c"))
    own = made.own(form.format("sym-7", "sympy/sympy", "77e1"))
    assert own == "sym-7 repo: sympy/sympy base_commit: 77e1"


def test_the_same_prompt_again_and_short_habits_are_told_whole() -> None:
    same = FORM.format(*TASKS[0])
    assert learnt(same, same, same).own(same) == same
    habit = "please add a unit test for the {}"
    made = learnt(*(habit.format(name) for name in ("parser", "reader", "writer")))
    assert made.own(habit.format("lexer")) == habit.format("lexer")


def test_a_prompt_counts_once_for_its_session() -> None:
    made = Templates()
    prompt = FORM.format(*TASKS[0])
    for _ in range(5):
        made.own(prompt)
    made.learn()
    other = FORM.format(*TASKS[1])
    assert made.own(other) == other


@pytest.mark.parametrize("state", [None, [], {"version": 0}, {"version": 1, "seen": 3}])
def test_what_is_unreadable_begins_anew(state: object) -> None:
    assert Templates.from_json(state).own("any words at all") == "any words at all"


def test_a_template_of_each_session_is_remembered_whatever_else_they_say() -> None:
    made = Templates()
    for number in range(20):
        told = made.own(FORM.format(" ".join(f"w{number}x{at}" for at in range(400)), number))
        assert number < 2 or "repository" not in told, number
        made.learn()


def test_it_remembers_so_many_runs_of_words_at_most() -> None:
    made = Templates()
    for number in range(20):
        made.own(" ".join(f"w{number}x{at}" for at in range(1000)))
        made.learn()
    assert len(made.to_json()["seen"]) <= 3_000
