"""A command goes against a rule only where the rule plainly rules it out."""

from __future__ import annotations

import pytest

from context_graph.notes.said import contradicts, read

CASES = [
    ("Use pnpm here, not npm.", "npm install lodash", True),
    ("Use pnpm here, not npm.", "pnpm add x", False),
    ("Use pnpm here, not npm.", "npx foo", False),
    ("Never use git push --force on main.", "git push --force origin main", True),
    ("Never use git push --force on main.", "git push origin main", False),
    ("Never use git push --force.", "git push --force", True),
    ("Never use git push --force.", "git status", False),
    ("never amend commits", "git commit --amend --no-edit", True),
    ("never amend commits", "git commit -m 'amend docs'", False),
    ("Don't use rm -rf, use trash instead", "rm -rf build", True),
    ("Don't use rm -rf, use trash instead", "rm x.txt", False),
    ("tests are run with `make check`, never with pytest directly", "pytest tests", True),
    ("tests are run with `make check`, never with pytest directly", "make check", False),
    ("we run the checks with make check, not with pytest directly", "python3 -m pytest -q", True),
    ("we run the checks with make check, not with pytest directly", "python3 -m unittest", False),
    ("docker compose, not docker-compose", "docker-compose up", True),
    ("docker compose, not docker-compose", "docker compose up", False),
    ("always use uv for installing packages, never pip", "pip install x", True),
    ("always use uv for installing packages, never pip", "uv add x", False),
    ("Run make lint before you commit.", "git commit -m x", False),
    ("Don't commit without running the tests.", "git commit -m tests", False),
    ("Never touch the generated files under gen/, edit the proto files instead.", "rm gen/a.py", False),
    ("不要用 npm，用 pnpm", "npm install", True),
    ("Bitte kein npm benutzen, nur pnpm.", "npm install", True),
    ("Bitte kein npm benutzen, nur pnpm.", "pnpm install", False),
    ("We use npm here, not yarn.", "yarn add x", True),
    ("We use npm here, not yarn.", "npm add x", False),
    ("Do not push to main", "git push origin main", True),
    ("Do not push to main", "git push origin feature/x", False),
    ("The dev server is on 5174 here because 5173 is taken by the other app.", "npm run dev", False),
    ("don't run the full test suite", "pytest", False),
    ("prefer structlog over print", "python x.py", False),
    ("Please never use curl for the API, use the client in tools/api.py", "curl https://x", True),
    ("no docker on this machine", "docker ps", True),
    ("Use poetry instead of pip", "pip install foo", True),
    ("Use poetry instead of pip", "poetry run pip list", False),
]


@pytest.mark.parametrize(("rule", "command", "expected"), CASES)
def test_a_command_goes_against_a_rule_that_rules_it_out(rule: str, command: str, expected: bool) -> None:
    assert contradicts(read("rule", rule), command) is expected
