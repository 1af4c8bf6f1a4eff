"""Benches' own arithmetic: ratios, tables, and what a run is judged by."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from benches import beside, compare
from benches.goal import GoalMissedError, held
from benches.interleave import measure
from benches.limits import LIMITS, Limit
from benches.report import Figure, Kind, figures, human, read, table, write

ROOT = Path(compare.__file__).resolve().parents[1]


def run_of(slow: float = 1.0, slow_p10: float = 1.0) -> list[Figure]:
    """A limit of 10 us and ours of 20 us, slower by a factor: all rounds, or all but the fastest tenth."""
    ours = [20e-6 * slow_p10] * 20 + [20e-6 * slow] * 80
    return figures("work", {"limit": "limit", "ours": "ours"}, {"limit": [10e-6] * 100, "ours": ours})


ALLOWED = {"work / ours": Limit(2.0, 4.0, "because")}


def whole_run(factor: float) -> list[Figure]:
    """Every case of the table, at so many times what was measured."""
    return [
        Figure(*name.split(" / "), "ours", 1.0, 1.0, 1.0, 60, one.measured * factor, one.measured * factor)
        for name, one in LIMITS.items()
    ]


def test_ratio_is_that_of_medians_to_the_limit() -> None:
    limit, ours = run_of()
    assert (limit.kind, limit.ratio) == ("limit", 1.0)
    assert ours.ratio == pytest.approx(2.0)
    assert ours.name == "work / ours"


@pytest.mark.parametrize("kinds", [{"a": "ours"}, {"a": "limit", "b": "limit"}])
def test_a_workload_has_one_limit(kinds: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="one case must be the limit"):
        figures("work", kinds, {case: [1.0] for case in kinds})  # type: ignore[arg-type]


def test_a_missed_goal_is_said() -> None:
    kinds = {"floor": "limit", "met": "ours", "not": "ours"}
    samples = {"floor": [1.0], "met": [2.0], "not": [4.0]}
    lines = table(figures("w", kinds, samples, goals={"met": 3.0, "not": 3.0})).splitlines()  # type: ignore[arg-type]
    assert [("MISSED" in line) for line in lines if line.startswith("  ")] == [False, False, True]


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.5e-9, "1.5 ns"), (2e-6, "2 us"), (0.0341, "34.1 ms"), (3.0, "3 s")]
)
def test_times_for_people(seconds: float, text: str) -> None:
    assert human(seconds) == text


def test_a_run_is_read_as_written(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "run.json", run_of(), size="smoke")
    body, found = read(tmp_path / "deep" / "run.json")
    assert body["size"] == "smoke"
    assert found == run_of()


def test_within_its_limit_nothing_is_wrong() -> None:
    assert compare.faults([run_of(slow=1.9, slow_p10=1.9)], ALLOWED) == {}


def test_slower_in_all_rounds_is_wrong() -> None:
    wrong = compare.faults([run_of(slow=2.1, slow_p10=2.1)], ALLOWED)
    assert wrong == {"work / ours": "4.2 times its limit, at most 4 allowed, once 2 (because)"}


def test_slower_but_for_the_fastest_tenth_is_the_machine() -> None:
    assert compare.faults([run_of(slow=2.1)], ALLOWED) == {}


def test_what_is_slow_in_one_run_of_two_is_the_machine() -> None:
    slow, usual = run_of(slow=2.1, slow_p10=2.1), run_of()
    assert compare.faults([slow, usual], ALLOWED) == compare.faults([usual, slow], ALLOWED) == {}
    assert list(compare.faults([slow, slow], ALLOWED)) == ["work / ours"]


def of_two(factor: float, neighbour: Sequence[float] = ()) -> dict[str, float]:
    """``slowdowns`` where ours takes ``factor`` times as long, and some rounds a neighbour's share more."""
    rounds = [1e-5 * (1 + number % 7 / 100) for number in range(60)]
    shares = [*neighbour, *[1.0] * (60 - len(neighbour))]
    ours = [factor * took * share for took, share in zip(rounds, shares, strict=True)]
    kinds: dict[str, Kind] = {"limit": "limit", "ours": "ours", "rival": "rival"}
    sides = [
        figures("work", kinds, {"limit": rounds, "ours": times, "rival": ours}) for times in (ours, rounds)
    ]
    return compare.slowdowns(*sides)


def test_what_takes_1_3_times_the_parent_s_time_fails_and_unchanged_code_does_not() -> None:
    """Limits and rivals are nobody's promise: they are not compared."""
    assert of_two(1.3) == {"work / ours": pytest.approx(1.3)}
    slow = "1.3 times as long as in the parent, at most 1.2 allowed"
    assert compare.slower([of_two(1.3)] * 3) == {"work / ours": slow}
    assert compare.slower([of_two(1.0)]) == compare.slower([of_two(0.5)]) == {}


def test_a_neighbour_that_takes_half_of_the_rounds_fails_nothing() -> None:
    """It hits either the median or the fastest tenth; and no three runs."""
    assert compare.slower([of_two(1.0, [9.0] * 40)]) == {}
    assert compare.slower([of_two(1.0, [9.0] * 57)]) != {}
    assert compare.slower([of_two(1.0, [9.0] * 57), of_two(1.0)]) == {}
    assert compare.slower([{"a": 1.5, "b": 1.5}, {"a": 1.5}]).keys() == {"a", "b"}


def test_a_case_that_the_parent_does_not_have_is_not_compared() -> None:
    ours = run_of()
    assert compare.slowdowns(ours, ours[:1]) == {}


def test_both_sides_run_a_group_whole_and_by_turns() -> None:
    twice = beside.by_turns([Path(sys.executable)] * 2, "identity")
    assert [run.error for run in twice] == ["", ""]
    assert {figure.name for figure in twice[0].figures} == {figure.name for figure in twice[1].figures}
    assert {len(figure.samples) for run in twice for figure in run.figures} == {60}


def test_a_side_that_can_t_run_is_said_and_the_other_one_ends(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'ImportError: no such kernel' >&2\nexit 1\n")
    broken.chmod(0o700)
    ours, parent = beside.by_turns([Path(sys.executable), broken], "identity")
    assert ours.figures and not ours.error
    assert parent == beside.Run((), "ImportError: no such kernel")


def test_only_one_side_works_at_a_time(tmp_path: Path) -> None:
    """Each turn writes when it began and ended; none lies within another's."""
    log = tmp_path / "log"
    worker = (
        f"import sys, time\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from benches import turns\nturns.join(sys.argv[1])\n"
        "for _ in range(20):\n with turns.turn():\n"
        "  begun = time.monotonic_ns(); time.sleep(.002)\n"
        "  open(sys.argv[2], 'a').write(f'{begun} {time.monotonic_ns()}\\n')\n"
    )
    sides = [beside.Side([sys.executable, "-c", worker], (str(log),)) for _ in range(2)]
    beside.pass_turns(sides)
    assert [side.end() for side in sides] == [0, 0]
    spans = sorted(tuple(map(int, line.split())) for line in log.read_text().splitlines())
    assert len(spans) == 40
    assert all(ended <= begun for (_, ended), (begun, _) in itertools.pairwise(spans))


def test_a_commit_that_is_not_there_is_refused_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no commit v0-nowhere in this clone: fetch it .*--parent"):
        beside.build("v0-nowhere", tmp_path / "tree")


def test_a_case_without_a_limit_and_a_limit_without_its_case_are_wrong() -> None:
    assert list(compare.faults([run_of()[:1]], ALLOWED)) == ["work / ours"]
    assert list(compare.faults([run_of()], {})) == ["work / ours"]


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, 0), (7.0, len(LIMITS))])
def test_a_run_at_the_table_s_own_ratios_passes_and_a_slow_one_fails(factor: float, wrong: int) -> None:
    assert len(compare.faults([whole_run(factor)], LIMITS)) == wrong


def test_every_round_runs_each_case_once() -> None:
    """The first, cold, round is run but not counted."""
    done: list[str] = []
    samples = measure({"a": lambda: done.append("a"), "b": lambda: done.append("b")}, 10, once=True)
    assert {name: len(times) for name, times in samples.items()} == {"a": 10, "b": 10}
    rounds = ["".join(sorted(done[at : at + 2])) for at in range(0, 22, 2)]
    assert rounds == ["ab"] * 11


def test_short_work_is_repeated_until_the_clock_does_not_matter() -> None:
    runs = 0

    def work() -> None:
        nonlocal runs
        runs += 1

    times = measure({"work": work}, 3)["work"]
    assert runs > 1000
    assert max(times) < 1e-3


def test_the_page_names_targets_and_scripts_that_exist() -> None:
    page = (ROOT / "benches" / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make\s([a-z-]+)`", page))
    assert len(named) >= 6
    assert named <= targets
    scripts = set(re.findall(r"`[^`]*?(benches/[\w/]+\.py)", page))
    assert scripts
    assert [name for name in scripts if not (ROOT / name).exists()] == []


def test_a_missed_goal_fails_and_one_within_the_limits_spread_does_not() -> None:
    """A bench that proves a requirement must be able to fail; noise of the machine is no miss."""
    limit = [1.0] * 8 + [1.2, 1.2]
    assert held("x", [2.0], limit, 2.0, judged=True)["x_limit"] == 2.0
    assert held("x", [2.3], limit, 2.0, judged=True)["spread"] == 1.2
    with pytest.raises(GoalMissedError, match=r"x: 2.5 times its limit, goal 2 \(the limit's spread 1.20\)"):
        held("x", [2.5], limit, 2.0, judged=True)
    with pytest.raises(GoalMissedError):
        held("p95", [0.1] * 90 + [9.0] * 10, limit, 2.0, share=0.95, judged=True)
    assert held("a smoke run", [9.0], limit, 2.0, judged=False)["x_limit"] == 9.0
