"""Failures whose reason is known reach whoever asked with that reason."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.integration.mcp.test_consolidation_tools import fill
from tests.support.cli import Cli
from tests.support.clients.mcp_client import connected
from tests.support.owner.consolidations import Owner
from tests.support.owner.harness import wait_until

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


def running_pid(owner: Owner) -> int:
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if (
            name.isdigit()
            and b"context_graph.consolidation" in words
            and bytes(owner.location.store) in words
        ):
            return int(name)
    return 0


def test_a_consolidation_whose_process_is_killed_says_so_to_who_asked(cli: Cli) -> None:
    """Through the tool: what happened, that nothing was changed, and what to do."""
    owner = Owner.of(cli)
    with connected(cli) as peer:
        fill(peer)
        found: list[Any] = []
        worker = threading.Thread(target=lambda: found.append(peer.fail("consolidate_memories")))
        worker.start()
        wait_until(lambda: running_pid(owner), "the process", 60)
        os.kill(running_pid(owner), signal.SIGKILL)
        worker.join(60)
    (error,) = found
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
