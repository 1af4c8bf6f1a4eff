"""Benches' own arithmetic: ratios, tables, and when a run counts as worse than its baseline."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benches import compare
from benches.goal import GoalMissedError, held
from benches.interleave import measure
from benches.report import Figure, figures, human, read, table, write

COMPARE = Path(compare.__file__)


def run_of(slow: float = 1.0, slow_p10: float = 1.0) -> list[Figure]:
    """A limit of 10 us and ours of 20 us, slower by a factor: all rounds, or all but the fastest tenth."""
    ours = [20e-6 * slow_p10] * 20 + [20e-6 * slow] * 80
    return figures("work", {"limit": "limit", "ours": "ours"}, {"limit": [10e-6] * 100, "ours": ours})


def compared(folder: Path, now: list[Figure], *options: str) -> subprocess.CompletedProcess[str]:
    """`compare.py` on a run, beside a baseline of `run_of()`."""
    before, run, baseline = folder / "before.json", folder / "now.json", folder / "baseline.json"
    write(before, run_of(), size="full")
    write(run, now, size="full")
    common = [sys.executable, str(COMPARE)]
    saving = [*common, str(before), "--baseline", str(baseline), "--save"]
    subprocess.run(saving, check=True, capture_output=True)
    command = [*common, str(run), "--baseline", str(baseline), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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


def test_the_same_run_is_not_worse(tmp_path: Path) -> None:
    done = compared(tmp_path, run_of())
    assert done.returncode == 0, done.stdout
    assert "WORSE" not in done.stdout


def test_slower_in_all_rounds_is_worse(tmp_path: Path) -> None:
    done = compared(tmp_path, run_of(slow=2.0, slow_p10=2.0))
    assert done.returncode == 1
    assert "WORSE" in done.stdout
    assert compared(tmp_path, run_of(slow=2.0, slow_p10=2.0), "--tell").returncode == 0
    assert compared(tmp_path, run_of(slow=2.0, slow_p10=2.0), "--tolerance", "2.5").returncode == 0


def test_slower_but_for_the_fastest_tenth_is_the_machine(tmp_path: Path) -> None:
    assert compared(tmp_path, run_of(slow=2.0)).returncode == 0


def test_a_missing_case_is_an_error(tmp_path: Path) -> None:
    done = compared(tmp_path, run_of()[:1])
    assert done.returncode == 1
    assert "work / ours" in done.stdout


def test_without_a_baseline_the_cure_is_named(tmp_path: Path) -> None:
    write(tmp_path / "run.json", run_of(), size="full")
    command = [sys.executable, str(COMPARE), str(tmp_path / "run.json"), "--baseline", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "make bench-baseline" in done.stderr


def test_saved_baselines_name_cases_of_the_suite() -> None:
    """Every saved ratio has what the comparison reads."""
    for path in compare.BASELINES.glob("*.json"):
        saved = json.loads(path.read_text())
        assert saved["machine"]["cores"]
        for name, one in saved["ratios"].items():
            assert " / " in name
            assert one["kind"] in ("ours", "rival", "twin")
            assert min(one["p50"], one["p10"]) > 0


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
    scripts = set(re.findall(r"`[^`]*?(benches/\w+\.py)", page))
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
