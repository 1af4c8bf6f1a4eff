"""What redaction costs the owner: 4 KB of ordinary text, of text with secrets, of hostile text.

Question answered: does each event afford it? (Goal: tens of microseconds for ordinary text.)
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from context_graph.redact import Redactor

SIZE = 4096
GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "secrets.tsv"


def golden_secret(rule: str) -> str:
    rows = (line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines() if line[:1] != "#")
    return next(row[1].replace("{}", "") for row in rows if row[0] == rule)


def ordinary() -> str:
    """Python code, the kind of text a tool response holds."""
    return Path(argparse.__file__).read_text(encoding="utf-8")[SIZE : 2 * SIZE]


def with_secrets() -> str:
    """The same with five secrets of five kinds in it."""
    lines = [
        f"export GITHUB_TOKEN={golden_secret('github-token')}",
        "DB_PASSWORD=Tr0ub4dor",
        f"curl -H 'Authorization: Bearer {golden_secret('bearer')}' https://x.example",
        f"postgres://app:{golden_secret('url-password')}@db/x",
        golden_secret("high-entropy"),
    ]
    return (ordinary()[: SIZE - 400] + "\n" + "\n".join(lines))[:SIZE]


def hostile() -> str:
    """A telling name after another: each is looked at."""
    return ("token: abc " * SIZE)[:SIZE]


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


@pytest.mark.parametrize("text", [ordinary, with_secrets, hostile], ids=lambda make: make.__name__)
def test_redaction_of_4_kb(benchmark: BenchmarkFixture, redactor: Redactor, text: object) -> None:
    assert callable(text)
    given = text()
    clean = benchmark(redactor.redact, given)
    assert ("[redacted" in clean) is (text is with_secrets)
