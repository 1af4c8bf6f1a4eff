"""The lines and files between the owner and the process beside it; progress of stages as one fraction."""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.consolidation import messages
from context_graph.consolidation.commit import Prepared
from context_graph.consolidation.messages import GoalSearch, Request, mode_of
from context_graph.consolidation.plan import (
    Drift,
    Goal,
    GoalLevel,
    Merge,
    Mode,
    NewLink,
    Pattern,
    Plan,
    Prune,
)
from context_graph.consolidation.progress import Cancelled, Stages, Update, silent
from context_graph.errors import InvalidParamsError, OwnerError, StoreFullError

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def test_each_line_comes_back_as_it_was() -> None:
    for line in (
        Update("duplicates", 3, 10, 0.25),
        messages.Failed("store_full", "no space left"),
    ):
        raw = messages.write_line(line)
        assert raw.endswith(b"\n")
        assert raw.count(b"\n") == 1
        assert messages.read_line(raw) == line


@pytest.mark.parametrize("raw", [b"", b"{}\n", b"Segmentation fault\n", b'{"type":"other"}\n'])
def test_what_is_no_line_is_said_so(raw: bytes) -> None:
    with pytest.raises(OwnerError, match="consolidation"):
        messages.read_line(raw)


def test_a_failure_is_an_error_of_its_class() -> None:
    error = messages.Failed("store_full", "no space left").error()
    assert type(error) is StoreFullError
    assert str(error) == "no space left"
    assert type(messages.Failed("no such code", "what").error()) is OwnerError


@given(
    mode=st.sampled_from(Mode),
    threshold=st.floats(0, 1),
    most=st.integers(0, 2**31 - 1),
    at=st.integers(0, 2**62),
)
def test_a_task_comes_back_as_it_was(mode: Mode, threshold: float, most: int, at: int) -> None:
    for goals in (None, GoalSearch(0.5, 7)):
        request = Request(mode=mode, salience_threshold=threshold, max_memories=most, at_ms=at, goals=goals)
        assert messages.read_request(messages.write_line(request)) == request


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "deeper"),
        ("mode", 3),
        ("salience_threshold", 1.5),
        ("salience_threshold", -0.1),
        ("salience_threshold", float("nan")),
        ("salience_threshold", "0.3"),
        ("max_memories", -1),
        ("max_memories", 1.5),
        ("max_memories", True),
        ("max_memories", 2**31),
        ("at_ms", -5),
    ],
)
def test_a_request_names_the_field_that_is_wrong(field: str, value: object) -> None:
    with pytest.raises(InvalidParamsError) as refused:
        Request(**{field: value})  # type: ignore[arg-type]
    assert refused.value.parameter == field


def test_a_mode_by_its_name() -> None:
    assert [mode_of(name) for name in ("light", "deep", "rem")] == list(Mode)
    assert Request(mode="deep").mode is Mode.DEEP  # type: ignore[arg-type]


def test_a_request_is_checked_where_it_is_read() -> None:
    with pytest.raises(InvalidParamsError, match="salience_threshold"):
        messages.read_request(b'{"salience_threshold":7}')
    with pytest.raises(msgspec.DecodeError):
        messages.read_request(b'{"mode":["deep"]}')


def test_a_plan_comes_back_as_it_was() -> None:
    plan = Plan(
        mode=Mode.REM,
        seq=9,
        taken_ms=7,
        memories=3,
        considered=3,
        merges=(Merge(A, (B,), 0.97),),
        prunes=(Prune(C, 0.1),),
        links=(NewLink(A, C, "causes", 0.3, 0.5, "shortcut", True, (B,)),),
        patterns=(Pattern("p", "edit, test", 3, 0.5, (A, B, C)),),
        goals=(Goal(A, "goal", GoalLevel.TACTICAL, 0.5, 0.6, (A, C), b"\0\xff"),),
        drift=Drift(0.5, "medium", True, 3),
        notes=("a note",),
    )
    packed = Prepared(uid=b"", plan=plan, groups=()).to_bytes()
    assert Prepared.from_bytes(packed).plan == plan
    with pytest.raises(ValueError, match="prepared"):
        Prepared.from_bytes(b"{")


@given(st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), st.integers(0, 40), st.integers(0, 40))))
def test_the_fraction_never_goes_back_and_stays_in_its_range(steps: list[tuple[str, int, int]]) -> None:
    seen: list[Update] = []
    stages = Stages({"one": 1.0, "two": 3.0, "three": 4.0}, seen.append)
    for stage, done, total in steps:
        stages.begin(stage)(done, total)
    fractions = [update.fraction for update in seen]
    assert fractions == sorted(fractions)
    assert all(0.0 <= fraction <= 1.0 for fraction in fractions)


def test_stages_count_by_their_weight() -> None:
    seen: list[Update] = []
    stages = Stages({"one": 1.0, "two": 3.0}, seen.append)
    stages.begin("one")(1, 1)
    stages.begin("two")(2, 2)
    assert [(update.stage, update.fraction) for update in seen] == [
        ("one", 0.0),
        ("one", 0.25),
        ("two", 0.25),
        ("two", 1.0),
    ]


def test_what_a_report_raises_ends_the_stage() -> None:
    def report(update: Update) -> None:
        if update.done:
            raise Cancelled("ended")

    progress = Stages({"one": 1.0}, report).begin("one")
    with pytest.raises(Cancelled):
        progress(1, 1)
    silent(1, 1)
