"""Benches' own arithmetic: ratios, tables, and what a run is judged by."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from benches import compare
from benches.goal import GoalMissedError, held
from benches.interleave import measure
from benches.limits import LIMITS, Limit
from benches.report import Figure, figures, human, read, table, write

COMPARE = Path(compare.__file__)


def run_of(slow: float = 1.0, slow_p10: float = 1.0) -> list[Figure]:
    """A limit of 10 us and ours of 20 us, slower by a factor: all rounds, or all but the fastest tenth."""
    ours = [20e-6 * slow_p10] * 20 + [20e-6 * slow] * 80
    return figures("work", {"limit": "limit", "ours": "ours"}, {"limit": [10e-6] * 100, "ours": ours})


ALLOWED = {"work / ours": Limit(2.0, 4.0, "because")}


def judged(folder: Path, found: list[Figure], size: str = "smoke") -> subprocess.CompletedProcess[str]:
    """`compare.py` on a run."""
    write(folder / "run.json", found, size=size)
    command = [sys.executable, str(COMPARE), str(folder / "run.json")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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


def test_a_case_without_a_limit_and_a_limit_without_its_case_are_wrong() -> None:
    assert list(compare.faults([run_of()[:1]], ALLOWED)) == ["work / ours"]
    assert list(compare.faults([run_of()], {})) == ["work / ours"]


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (7.0, 1)])
def test_a_run_at_the_table_s_own_ratios_passes_and_a_slow_one_fails(
    tmp_path: Path, factor: float, code: int
) -> None:
    done = judged(tmp_path, whole_run(factor))
    assert done.returncode == code, done.stdout
    assert done.stdout.count("FAILED ") == (len(LIMITS) if code else 0)


def test_only_a_smoke_run_is_judged(tmp_path: Path) -> None:
    done = judged(tmp_path, whole_run(1.0), size="full")
    assert done.returncode == 2
    assert "CONTEXT_GRAPH_BENCH_SMOKE=1" in done.stderr


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
    root = COMPARE.parents[1]
    page = (root / "benches" / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make\s([a-z-]+)`", page))
    assert len(named) >= 6
    assert named <= targets
    scripts = set(re.findall(r"`[^`]*?(benches/[\w/]+\.py)", page))
    assert scripts
    assert [name for name in scripts if not (root / name).exists()] == []


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
