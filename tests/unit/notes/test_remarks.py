"""What an assistant says between its calls: causes and facts are kept, announcements are not."""

from __future__ import annotations

import pytest

from context_graph.notes.message import units_of
from context_graph.notes.remarks import MAX_CHARS, REMARK_CHARS, lasting, refuted, remarks_of

CAUSE = "The queue is empty because `Worker.start` is never called in `jobs/run.py`."
FACT = "`load_rows` drops `owner_id` before the page sees it."


@pytest.mark.parametrize("message", [CAUSE, FACT, f"Good, that tells it. {CAUSE} Let me fix this:"])
def test_a_cause_or_a_fact_stays(message: str) -> None:
    (remark,) = remarks_of([message])
    assert "Let me" not in remark and ("never called" in remark or "owner_id" in remark)


@pytest.mark.parametrize(
    "message",
    [
        "Now update `jobs/run.py` to call `Worker.start`.",
        "Let me look at `jobs/run.py` and `jobs/worker.py`:",
        "Add the column `owner_id` to `load_rows` in `rows.py`.",
        "Jetzt `jobs/run.py` und `jobs/worker.py` anpassen.",
        "Two issues left.",
        "All 31 tests pass in `tests/jobs` and `tests/rows`.",
        "Great!",
        "I can't fully test `jobs/run.py` from this session.",
        "For `rows.py`, I need to keep `load_rows` lazy. In `page.py`, I'll use a generator of `Row`.",
        "`xterm.css` was force-added, we should do the same for `page.css`.",
        "All 5 modules are implemented with 100% coverage, `just test` passes, and all is committed.",
        "Both agents are now running in the background on `jobs/run.py`.",
        "`jobs/run.py`: pre-existing warnings only in `ruff` and `mypy`.",
        "",
    ],
)
def test_what_only_says_what_is_done_next_does_not(message: str) -> None:
    assert remarks_of([message]) == []


def test_a_cause_keeps_what_follows_from_it() -> None:
    text = "`start_all` binds the port of `Server` itself. So `serve` needs no handler of its own."
    assert remarks_of([text]) == [text]


def test_of_a_long_list_only_causes_stay() -> None:
    steps = "\n".join(f"- `part_{n}.py`: extend `Part{n}` with `render_{n}`" for n in range(20))
    assert remarks_of([steps]) == []
    assert remarks_of([f"{steps}\n\n{CAUSE}"]) == [CAUSE]


def test_the_same_is_kept_once_and_there_is_a_limit() -> None:
    assert remarks_of([CAUSE, FACT, CAUSE]) == [FACT, CAUSE]
    many = remarks_of(f"`f{n}` fails because `g{n}` is missing in `h{n}.py`. {'x' * 300}" for n in range(99))
    assert sum(map(len, many)) <= MAX_CHARS and max(map(len, many)) <= REMARK_CHARS


def test_a_guess_gives_way_to_what_was_learned_later() -> None:
    guess = "The fixture might not expose `agent_id` as a field of the message."
    later = "The fixture has `agent_id` because the parser keeps it in the message."
    assert refuted([guess, later]) == [guess]
    assert refuted([later, guess]) == refuted([guess, "The parser keeps `other_id`."]) == []


def test_what_only_says_what_was_done_is_nothing_that_lasts() -> None:
    units = units_of(
        "I've added `export` to the service. The parser drops `agent_id` because it has no field."
    )
    assert [unit.text for unit in lasting(units)] == ["The parser drops `agent_id` because it has no field."]


def test_how_to_try_it_and_what_announces_a_table_say_nothing_of_the_work() -> None:
    table = "All 4 tasks are on the list below:\n\n| a | b |\n|---|---|\n\n"
    message = f"{table}**To test the plugin:**\n1. Run `make x`"
    assert units_of(message) == []
