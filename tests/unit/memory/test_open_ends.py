"""What sessions left open, and which later ones took it up."""

from __future__ import annotations

import pytest

from context_graph.memory.context.after_compaction import Later, open_ends
from context_graph.memory.context.summary import SessionWork

LEFT = SessionWork(
    prompts=["Refill the bucket lazily"],
    todos=["Cover the sliding window by tests", "滑动窗口的测试还没有写"],
    failing={"pytest tests/test_bucket.py": "tests/test_bucket.py::test_refill"},
    passed=["pytest tests/test_bucket.py"],
)
"""Its test had worked before it failed: so it is the session's own."""


def other(**did: object) -> Later:
    return Later(SessionWork(prompts=["Make the logo blue"], **did))  # type: ignore[arg-type]


def test_all_of_it_is_open_while_nothing_followed_but_other_work() -> None:
    later = [other(changed={"art/logo.svg": 1}), other(passed=["pytest tests/test_logo.py"])]
    text = open_ends(LEFT, later)
    assert text == open_ends(LEFT)
    for part in ("sliding window", "滑动窗口", "tests/test_bucket.py::test_refill", "Refill the bucket"):
        assert part in text


@pytest.mark.parametrize(
    "run",
    ["pytest tests/test_bucket.py", "pytest tests", "pytest", "python -m pytest tests/test_bucket.py -q"],
)
def test_a_failing_test_is_over_once_it_passed_in_a_later_session(run: str) -> None:
    assert "test_refill" not in open_ends(LEFT, [other(passed=[run])])


@pytest.mark.parametrize("run", ["pytest tests/test_bucket.py -k other", "cargo test"])
def test_a_run_of_other_tests_ends_nothing(run: str) -> None:
    assert "test_refill" in open_ends(LEFT, [other(passed=[run])])


def test_an_end_is_over_once_a_later_session_changed_its_file_or_spoke_of_it() -> None:
    changed = open_ends(LEFT, [other(changed={"tests/test_bucket.py": 1})])
    assert "test_refill" not in changed and "sliding window" in changed
    spoken = open_ends(LEFT, [Later(SessionWork(prompts=["Now write the tests of the sliding window"]))])
    assert "sliding window" not in spoken
    chinese = open_ends(LEFT, [other(last_words="滑动窗口的测试写好了。")])
    assert "滑动窗口" not in chinese
