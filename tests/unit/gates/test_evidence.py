"""Verdicts in evidence files: which texts say one, and which say the opposite."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_graph.gates.decide.evaluation import missing


def _lack(base: Path, text: str, verdict: str = "APPROVED") -> str:
    (base / "plan.md").write_text(text)
    wanted = {"dirs": [str(base)], "markers": [], "verdict": verdict, "max_age": 0}
    return missing(wanted, str(base), 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "## Verdict\nAPPROVED",
        "## Verdict: APPROVED",
        "## Verdict\n**Approved** by B.",
        "## Verdict\n- [x] APPROVED\n- [ ] REJECTED",
        "## Verdict\n[ ] BLOCKED  [X] APPROVED",
        "## Verdict\nREJECTED\n\n## Verdict\nAPPROVED",
        "## Verdict\nNo open points: APPROVED",
        "## Verdict\nNo blocking issues - APPROVED, no changes needed.",
        "## Verdict\nNot ready at first. APPROVED now.",
        "## Verdict\n> approved\n",
        "## Verdict\nRound 1\n\nAPPROVED if the tests pass",
        "## Verdict\n<!-- APPROVED or BLOCKED -->\nAPPROVED",
        "## Verdict\n| result |\n| APPROVED |",
        "## Verdict\nThe plan is\napproved.",
    ],
)
def test_a_verdict_counts(tmp_path: Path, text: str) -> None:
    assert not _lack(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "## Verdict\nNOT APPROVED",
        "## Verdict: NOT APPROVED",
        "## Verdict\n**NOT** APPROVED",
        "## Verdict\n- [ ] APPROVED",
        "## Verdict\n[ ] APPROVED [x] BLOCKED",
        "## Verdict\n- [] APPROVED\n- [x] BLOCKED",
        "## Verdict\nnever approved",
        "## Verdict\nThis is not yet approved.",
        "## Verdict\nIt cannot be approved",
        "## Verdict\nThis isn't approved",
        "## Verdict\nIt wasn\u2019t approved",
        "## Verdict\nnot\napproved",
        "## Verdict\nAPPROVED: no",
        "## Verdict\nApproved? Not yet.",
        "## Verdict\nAPPROVED: false",
        "## Verdict\n~~APPROVED~~ BLOCKED",
        "## Verdict\n<!-- APPROVED -->",
        "## Verdict\n<!-- one of\nAPPROVED\n-->\nBLOCKED",
        "## Verdict\nwould be approved",
        "## Verdict\nWait until approved",
        "## Verdict\nnon-approved",
        "## Verdict\nunapproved",
        "## Notes\nAPPROVED",
        "## Verdict\n\n## Notes\nAPPROVED",
    ],
)
def test_its_opposite_does_not(tmp_path: Path, text: str) -> None:
    """`NOT APPROVED` and an unticked box passed."""
    assert "Verdict" in _lack(tmp_path, text)


def test_a_verdict_of_several_words_may_begin_with_a_negation(tmp_path: Path) -> None:
    assert not _lack(tmp_path, "## Verdict\nno issues", "NO ISSUES")
    assert _lack(tmp_path, "## Verdict\nissues", "NO ISSUES")
