"""Failures whose reason is known reach whoever asked with that reason."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.integration.mcp.test_consolidation_tools import fill
from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected

from context_graph.errors import (
    ContextGraphError,
    DeadlineExceededError,
    EmbeddingDataError,
    OwnerError,
    OwnerUnavailableError,
    TookTooLongError,
    WireError,
)
from context_graph.memory.faults import rpc_fault

KILLED = """#!/bin/bash
case "$*" in *context_graph.consolidation*) kill -9 $$ ;; esac
exec -a "$0" {python} "$@"
"""
"""Stands in for the interpreter: the process of a consolidation is killed before it has said anything."""


def test_a_consolidation_whose_process_is_killed_says_so_to_who_asked(cli: Cli, tmp_path: Path) -> None:
    """Through the tool: what happened, that nothing was changed, and what to do."""
    python = tmp_path / "python"
    python.write_text(KILLED.format(python=shlex.quote(cli.env["CONTEXT_GRAPH_PYTHON"])))
    python.chmod(0o755)
    cli.env["CONTEXT_GRAPH_PYTHON"] = str(python)
    with connected(cli) as peer:
        fill(peer)
        error = peer.fail("consolidate_memories")
    for words in ("consolidate_memories", "killed by signal 9", "nothing was changed", "try again"):
        assert words in error.message, error


@pytest.mark.parametrize(
    "kind",
    [
        OwnerError,
        DeadlineExceededError,
        EmbeddingDataError,
        OwnerUnavailableError,
        TookTooLongError,
        WireError,
    ],
)
def test_no_known_error_is_only_internal(kind: type[ContextGraphError]) -> None:
    fault = rpc_fault(kind("the table of /home/u/.cache/table.bin is damaged; install again"), "Recall")
    assert fault.message == "Recall failed - the table of (a path) is damaged; install again"
    assert "next" in fault.data


def test_a_defect_names_itself_and_the_log() -> None:
    fault = rpc_fault(ZeroDivisionError("of /home/u"), "Recall")
    assert "ZeroDivisionError" in fault.message and "owner.log" in fault.message
    assert "/home/u" not in fault.message
