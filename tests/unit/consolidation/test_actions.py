"""Actions out of texts: one a clause, in order, by kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.consolidation.finders.patterns import MAX_ACTIONS, actions


def kinds(text: str) -> list[str]:
    return [one.kind for one in actions(text)]


def words(text: str) -> list[str]:
    return [one.word for one in actions(text)]


FIXED = ["look", "look", "change", "test", "store"]


@pytest.mark.parametrize(
    "text",
    [
        "Searched for the test, read parser.py, edited the tokenizer and ran pytest. Then committed it.",
        "Grep -> Read -> Edit -> Bash(pytest -q) -> git commit",
        "Grep → Read → MultiEdit → npm test → git push origin main",
        "1. Grep the callers\n2. Read the config\n3. Edit the timeout\n4. Run the suite\n5. Push to main",
        "For ticket 12 I grepped for it, opened api.py; next updated it, verified the fix and saved it",
        "We looked for usages. After that I read the docs, then changed it, executed the tests, and pushed.",
        '["Grep", "Read", "Edit", "pytest", "git commit"]',
        "search_code => read_file => edit_file => run_tests => git_commit",
        "Tool: Grep(x) | Tool: Read(a.py) | Tool: Edit(a.py) | Tool: Bash(make test) | Bash: git commit",
    ],
)
def test_one_work_in_many_words(text: str) -> None:
    assert kinds(text) == FIXED


def test_commands_are_known_by_what_they_do() -> None:
    assert words("$ git checkout -b x && npm run build && cargo test && docker push") == [
        *("run", "build", "test", "push")
    ]
    assert words("```bash\npytest -q\ngit push\n```") == ["pytest", "push"]
    assert words("the columns are user_id, session_id, row_count") == []


@pytest.mark.parametrize(
    "text",
    [
        "Deployments happen from main only",
        "The build failed because the cache was stale",
        "The tests of the parser are slow",
        "Port 8080 belongs to nginx",
        "def run(x):\n    return test(x)\n",
        "",
    ],
)
def test_what_tells_no_action(text: str) -> None:
    assert actions(text) == []


def test_running_something_is_told_by_what_is_run_and_a_repetition_once() -> None:
    assert words("Ran: pytest. Executed the job, ran the linter, used Grep, ran it") == [
        *("pytest", "run", "linter", "grep", "run")
    ]
    assert words("read a.py, read b.py and read c.py") == ["read"]


def test_long_texts_are_bounded() -> None:
    assert len(actions("read a; edit b; " * 10_000)) == MAX_ACTIONS


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    assert all(one.kind and one.word for one in actions(text))
