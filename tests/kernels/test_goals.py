"""Running goals, on both implementations."""

from __future__ import annotations

import math
from array import array
from importlib import import_module
from types import ModuleType, SimpleNamespace

import pytest
from tests.oracles import goals as _reference_goals

BAGS, BUCKETS, N = 14, 4096, 13


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    compiled = request.param == "compiled"
    return import_module("context_graph.kernels.goals") if compiled else _reference_goals


def event(**bags: dict[int, float]) -> SimpleNamespace:
    """An event with the bags b0, b1, ... given as {bucket: weight}; the others are empty."""
    made = SimpleNamespace(
        counts=array("i", [0] * BAGS),
        buckets=array("H", [0] * (BAGS * BUCKETS)),
        values=array("f", [0.0] * (BAGS * BUCKETS)),
    )
    for name, bag in bags.items():
        row = int(name[1:])
        made.counts[row] = len(bag)
        for i, (bucket, value) in enumerate(bag.items()):
            made.buckets[row * BUCKETS + i] = bucket
            made.values[row * BUCKETS + i] = value
    return made


def goals(module: ModuleType, kind: int | None = None, share: float = 0.05):
    """Goals whose 13 spaces all look at bag 0, in one way."""
    kind = module.COSINE if kind is None else kind
    return module.GoalVectors(bytes(N), bytes([kind] * N), array("d", [share] * N))


def measured(of, what) -> tuple[array, array]:
    """(likeness, confidence) of an event."""
    like, sure = array("d", [0.0] * N), array("d", [0.0] * N)
    of.measure(what, like, sure)
    return like, sure


def likeness(of, what) -> array:
    return measured(of, what)[0]


ONE = {3: 0.6, 700: 0.8}
OTHER = {11: 1.0}


def test_before_the_first_event_there_is_nothing_to_compare_with(module) -> None:
    made = goals(module)
    assert all(map(math.isnan, likeness(made, event(b0=ONE))))
    assert made.counts() == [0] * N


def test_an_event_without_tokens_says_nothing_and_changes_nothing(module) -> None:
    made = goals(module)
    made.absorb(event(b0=ONE), False)
    before = made.to_bytes()
    assert all(map(math.isnan, likeness(made, event(b5=OTHER))))
    made.absorb(event(b5=OTHER), True)
    assert made.to_bytes() == before


@pytest.mark.parametrize("kind", ["COSINE", "COVERAGE"])
def test_the_same_event_again_is_wholly_alike_and_another_not_at_all(module, kind: str) -> None:
    made = goals(module, getattr(module, kind))
    made.absorb(event(b0=ONE), False)
    assert likeness(made, event(b0=ONE))[0] == pytest.approx(1.0, abs=1e-6)
    assert likeness(made, event(b0=OTHER))[0] == 0.0


def test_the_root_kind_compares_with_the_square_root_of_the_goal(module) -> None:
    made = goals(module, module.ROOT)
    made.absorb(event(b0=ONE), False)
    expected = (math.sqrt(0.6) * 0.6 + math.sqrt(0.8) * 0.8) / math.sqrt(1.4)
    assert likeness(made, event(b0=ONE))[0] == pytest.approx(expected, abs=1e-6)


def test_coverage_is_the_share_of_weight_that_was_seen(module) -> None:
    made = goals(module, module.COVERAGE)
    made.absorb(event(b0={3: 1.0}), False)
    assert likeness(made, event(b0=ONE))[0] == pytest.approx(0.6 / 1.4, abs=1e-6)


def test_a_goal_is_the_mean_of_its_events_until_the_least_share_is_reached(module) -> None:
    made = goals(module, share=0.25)
    for what in (ONE, OTHER, OTHER):
        made.absorb(event(b0=what), False)
    mean = {3: 0.2, 700: 0.8 / 3, 11: 2 / 3}
    length = math.hypot(*mean.values())
    assert likeness(made, event(b0=OTHER))[0] == pytest.approx(mean[11] / length, abs=1e-6)
    for _ in range(3):  # the sixth event would count 1/6, but counts 1/4
        made.absorb(event(b0=ONE), False)
    foreign = (2 / 3) * 0.75**3
    own = 1.0 / 3 * 0.75**3 + (1 - 0.75**3)
    expected = foreign / math.hypot(foreign, own)
    assert likeness(made, event(b0=OTHER))[0] == pytest.approx(expected, abs=1e-6)


def test_a_prompt_moves_an_old_goal_half_way(module) -> None:
    made = goals(module)
    for _ in range(50):
        made.absorb(event(b0=ONE), False)
    made.absorb(event(b0=OTHER), True)
    assert likeness(made, event(b0=OTHER))[0] == pytest.approx(math.sqrt(0.5), abs=1e-5)


def test_capped_counts_make_new_events_weigh_as_in_a_young_goal(module) -> None:
    made = goals(module)
    for _ in range(50):
        made.absorb(event(b0=ONE), False)
    made.cap_counts(2)
    assert made.counts() == [2] * N
    made.absorb(event(b0=OTHER), False)
    assert likeness(made, event(b0=OTHER))[0] == pytest.approx((1 / 3) / math.hypot(1 / 3, 2 / 3), abs=1e-5)
    with pytest.raises(ValueError, match="at least 1"):
        made.cap_counts(0)


def test_a_thousand_events_keep_the_sums_true(module) -> None:
    made = goals(module, module.COSINE)
    for i in range(1000):
        made.absorb(event(b0={i % 7: 0.6, 100 + i % 3: 0.8}), i % 90 == 0)
    parts = [likeness(made, event(b0={bucket: 1.0}))[0] for bucket in [*range(7), 100, 101, 102]]
    assert math.hypot(*parts) == pytest.approx(1.0, abs=1e-4)  # the cosines to all its axes


def test_entries_that_have_faded_are_forgotten(module) -> None:
    made = goals(module)
    made.absorb(event(b0=OTHER), False)
    for _ in range(600):
        made.absorb(event(b0=ONE), False)
    assert likeness(made, event(b0=OTHER))[0] == 0.0


def test_loaded_goals_go_on_bit_for_bit(module) -> None:
    made = goals(module, module.ROOT)
    for i in range(70):
        made.absorb(event(b0={i % 9: 0.6, 50 + i % 4: 0.8}), i % 30 == 7)
    loaded = goals(module, module.ROOT)
    loaded.load_bytes(made.to_bytes())
    for i in range(70):
        both = event(b0={i % 11: 0.6, 50 + i % 5: 0.8})
        assert list(likeness(made, both)) == list(likeness(loaded, both))
        made.absorb(both, i == 40)
        loaded.absorb(both, i == 40)
        assert made.to_bytes() == loaded.to_bytes()


def damaged(packed: bytes) -> dict[str, bytes]:
    """The bytes of goals with one event of two tokens, spoilt in every way that can be told."""
    first = 4 + 30  # magic; then events u32, nonzeros u16, scale, mass, squares f64; then buckets and entries
    return {
        "empty": b"",
        "no magic": b"XXXX" + packed[4:],
        "a later version": packed[:3] + b"\x02" + packed[4:],
        "cut in a header": packed[:20],
        "cut in the cells": packed[: first + 5],
        "too long": packed + b"\0",
        "more nonzeros than there are bytes": packed[:8] + b"\xff\xff" + packed[10:],
        "buckets not ascending": packed[:first] + packed[first + 2 : first + 4] * 2 + packed[first + 4 :],
        "a bucket beyond the last": packed[: first + 2] + b"\xff\xff" + packed[first + 4 :],
        "an entry of zero": packed[: first + 4] + bytes(4) + packed[first + 8 :],
        "an entry that is not a number": packed[: first + 4] + b"\0\0\xc0\x7f" + packed[first + 8 :],
        "a negative entry": packed[: first + 4] + b"\0\0\x80\xbf" + packed[first + 8 :],
        "a scale of zero": packed[:10] + bytes(8) + packed[18:],
        "a mass that is not a number": packed[:18] + b"\0\0\0\0\0\0\xf8\x7f" + packed[26:],
        "entries without events": packed[:4] + bytes(4) + packed[8:],
    }


def test_damaged_bytes_are_refused_and_leave_no_goal(module) -> None:
    made = goals(module)
    made.absorb(event(b0=ONE), False)
    for name, spoilt in damaged(made.to_bytes()).items():
        victim = goals(module)
        victim.absorb(event(b0=OTHER), False)
        with pytest.raises(ValueError, match=r".+"):
            victim.load_bytes(spoilt)
        assert victim.counts() == [0] * N, name
        assert all(map(math.isnan, likeness(victim, event(b0=ONE)))), name


def test_what_can_not_be_a_goal_is_refused(module) -> None:
    shares = array("d", [0.05] * N)
    for bags, kinds, share in [
        (bytes(12), bytes(N), shares),
        (bytes(N), bytes(14), shares),
        (bytes(N), bytes(N), array("d", [0.05] * 12)),
        (bytes([BAGS] * N), bytes(N), shares),
        (bytes(N), bytes([3] * N), shares),
        (bytes(N), bytes(N), array("d", [0.0] * N)),
        (bytes(N), bytes(N), array("d", [1.0] * N)),
    ]:
        with pytest.raises(ValueError, match=r"must have 13|no such bag, kind or share"):
            module.GoalVectors(bags, kinds, share)


def test_confidence_is_halved_at_one_token_and_at_two_events(module) -> None:
    made = goals(module)
    assert list(measured(made, event(b0=ONE))[1]) == [0.0] * N
    for _ in range(2):
        made.absorb(event(b0=ONE), False)
    assert measured(made, event(b0=OTHER))[1][0] == pytest.approx(0.5 * 0.5)
    for _ in range(6):
        made.absorb(event(b0=ONE), False)
    assert measured(made, event(b0=ONE))[1][0] == pytest.approx(2 / 3 * 0.8)
    assert measured(made, event(b5=OTHER))[1][0] == 0.0


def test_a_result_of_the_wrong_length_is_refused(module) -> None:
    right, wrong = array("d", [0.0] * N), array("d", [0.0] * 12)
    for name, results in (("likeness", (wrong, right)), ("confidence", (right, wrong))):
        with pytest.raises(ValueError, match=f"{name} must have 13 values"):
            goals(module).measure(event(b0=ONE), *results)
