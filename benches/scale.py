"""How much benches do: all of it, or with CONTEXT_GRAPH_BENCH_SMOKE=1 just enough to see that they run."""

from __future__ import annotations

import os

__all__ = ["SMOKE", "scaled"]

SMOKE = os.environ.get("CONTEXT_GRAPH_BENCH_SMOKE", "") not in ("", "0")


def scaled(full: int, smoke: int) -> int:
    """``full``, or ``smoke`` in a smoke run."""
    return smoke if SMOKE else full
