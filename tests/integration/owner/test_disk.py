"""The owner on a disk that is full, or may not be written: it serves what it can and says what it can't."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.owner.brief_reader import COLD_LINE, read_line
from tests.support.owner.harness import OwnerHarness, wait_until
from tests.support.owner.log_applier import opened
from tests.support.owner.log_writer import write_segment

from context_graph.errors import OwnerUnavailableError, StoreFullError
from context_graph.model import SessionIdentitySnapshot
from context_graph.owner.lock import EXIT_CANNOT_CREATE
from context_graph.owner.sessions.brief_cache import BriefCache, BriefSlot
from context_graph.owner.sessions.log_reader import LoggedEvent
from context_graph.wire.client.request import request

pytestmark = pytest.mark.real


@pytest.fixture
def small_disk(owner: OwnerHarness) -> Iterator[Path]:
    """A tmpfs of 512 KiB in place of the data root; skipped where we may not mount one."""
    owner.root.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k,mode=0700", "none", str(owner.root)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("may not mount a file system here")
    yield owner.root
    owner.close()
    subprocess.run(["umount", str(owner.root)], check=True)


def _fill(disk: Path) -> None:
    with open(disk / "filler", "ab", buffering=0) as sink, pytest.raises(OSError, match="No space"):
        while True:
            sink.write(bytes(4096))


def _remount(disk: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(disk)], check=True)


def test_an_owner_starts_and_serves_on_a_full_disk(owner: OwnerHarness, small_disk: Path) -> None:
    _fill(small_disk)
    process = owner.start()
    assert owner.ask("echo", b"x").stdout == b"x"
    process.terminate()
    assert owner.ended(process) == 0


def test_an_owner_outlives_a_disk_that_fills_up_and_logs_again_when_it_can(
    owner: OwnerHarness, small_disk: Path
) -> None:
    owner.start(log_max_bytes=10_000)
    _fill(small_disk)
    for _ in range(300):
        assert owner.ask("echo", b"x").stdout == b"x"
    (small_disk / "filler").unlink()
    owner.ask("echo-again")
    wait_until(lambda: "echo-again" in owner.log(), "the log to go on")


def test_a_root_that_may_not_be_written_is_refused(owner: OwnerHarness, small_disk: Path) -> None:
    for prepared in (False, True):
        if prepared:
            process = owner.start()
            process.terminate()
            owner.ended(process)
        _remount(small_disk, "ro")
        refused = owner.spawn()
        assert refused.stderr is not None
        text = refused.stderr.read().decode()
        assert owner.ended(refused) == EXIT_CANNOT_CREATE
        assert "can't be written" in text and "Traceback" not in text
        with pytest.raises(OwnerUnavailableError, match="can't be written"):
            request("echo", {}, location=owner.location)
        _remount(small_disk, "rw")


def test_a_brief_that_can_t_be_written_is_an_error_and_the_old_file_stays_whole(small_disk: Path) -> None:
    path = small_disk / "brief.bin"
    cache = BriefCache(path)
    _fill(small_disk)
    with pytest.raises(OSError, match="No space"):
        cache.write(BriefSlot("a", 3, "[C:CON r=0.97 IC=0.95]", 1))
    assert [name.name for name in small_disk.iterdir()] == ["filler"]
    (small_disk / "filler").unlink()
    cache.write(BriefSlot("a", 3, "[C:CON r=0.97 IC=0.95]", 1))
    _fill(small_disk)
    # All blocks of the file exist from its making, so a full disk does not stop the briefs.
    cache.write(BriefSlot("b", 3, "[C:EMG r=0.50 IC=0.80]", 1))
    assert read_line(small_disk, "b") == "[C:EMG r=0.50 IC=0.80]"
    assert read_line(small_disk, SessionIdentitySnapshot().session_id) == COLD_LINE
    cache.close()


def test_a_full_disk_costs_no_event_that_waits(small_disk: Path) -> None:
    """Neither the database nor the file of rejected lines can be written: both are tried again."""
    stop = {"session_id": "s"}
    good = [
        LoggedEvent(f"{number:032x}", "hooks.stop", "", 1, "/p", "/p", {"format": "claude"}, stop)
        for number in (1, 2)
    ]
    write_segment(small_disk, good[0], b"\ngarbage\n", good[1])
    context = opened(small_disk)
    _fill(small_disk)
    with pytest.raises((StoreFullError, OSError)):
        context.events.read(60)
    assert context.events.rejected == 0
    context.abandon()
    (small_disk / "filler").unlink()
    again = opened(small_disk)
    assert again.events.waiting == 2
    again.events.read(60)
    assert [event.event_id[-1] for event in again.store.event_log.after("s", 0)] == ["t", "1", "2"]
    assert (again.events.rejected, again.events.waiting) == (1, 0)
    again.close()
