"""Facts in five languages with what is asked of them later, and requests that none of them answers.

The weights of `memory/relevance.py` see the first half of each list; the second is only counted.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

__all__ = ["FACTS", "REQUESTS"]


def _read() -> dict[str, Any]:
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        return tomllib.load(file)


_CASES = _read()
FACTS: dict[str, list[tuple[str, str]]] = {
    code: [(fact, asked) for fact, asked in one["pairs"]] for code, one in _CASES["facts"].items()
}
"""Language -> facts with what is asked."""
REQUESTS: dict[str, list[str]] = {code: one["texts"] for code, one in _CASES["requests"].items()}
"""Language -> requests of programmers and general questions."""
