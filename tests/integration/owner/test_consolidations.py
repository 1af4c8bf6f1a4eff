"""Consolidations beside a real owner: asked for, cancelled, in the way of a query, killed, left over."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli, end_process, stopped
from tests.support.owner.consolidations import Owner, twins, until

from context_graph.errors import DeadlineExceededError

pytestmark = pytest.mark.timeout(300)

TWINS = 6


@pytest.fixture
def dreaming(cli: Cli) -> Owner:
    """An owner's project whose store has 60 memories, 6 of them twice."""
    owner = Owner.of(cli)
    with owner.memex() as memex:
        twins(memex, 60, TWINS)
    return owner


def _gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def _count(owner: Owner) -> int:
    return int(owner.ask("memory.stats")["memory"]["nodes"])


def test_a_run_does_what_its_dry_run_says_and_leaves_no_file(dreaming: Owner) -> None:
    dry = dreaming.start(mode="light", dry_run=True).result()
    assert dry["dry_run"] and dry["merged_count"] == TWINS and dry["final_memory_count"] == 60
    assert _count(dreaming) == 66 and not dreaming.ask("memory.runs")["runs"]
    real = dreaming.start(mode="light").result()
    told = ("mode", "merged", "pruned", "links_made", "merged_count", "pruned_count", "final_memory_count")
    assert [dry[name] for name in told] == [real[name] for name in told]
    assert _count(dreaming) == 60
    assert dreaming.folders() == []
    (run,) = dreaming.ask("memory.runs")["runs"]
    assert run["token"] == real["undo_token"] and run["details"]["trigger"] == "asked"
    last = dreaming.stats()["last"]
    assert (last["trigger"], last["mode"], last["merged_count"]) == ("asked", "light", TWINS)


def test_a_c_that_nothing_measured_forbids_nothing(dreaming: Owner) -> None:
    """No session has been measured: C is unknown, which is not 0."""
    found = dreaming.start(mode="rem", dry_run=True, strict=True).result()
    assert (found["requested_mode"], found["mode"]) == ("rem", "rem")
    person = dreaming.start(mode="rem", dry_run=True, any_state=True).result()
    assert person["mode"] == "rem"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"mode": "nap"}, b"mode"),
        ({"salience_threshold": 1.5}, b"--salience-threshold"),
        ({"max_memories": -1}, b"--max-memories"),
        ({"depth": 3}, b"depth"),
    ],
)
def test_wrong_parameters_are_named_at_once(dreaming: Owner, given: dict[str, object], named: bytes) -> None:
    refused = dreaming.reply("memory.consolidate", **given)
    assert refused.exit_code != 0 and named in refused.stderr
    assert dreaming.running() is None


def test_a_cancelled_run_changes_nothing_and_leaves_nothing(dreaming: Owner) -> None:
    dreaming.hold_next()
    job = dreaming.start(mode="light")
    pid = dreaming.held()
    with stopped(pid):
        assert job.cancel()["state"] == "cancelled"
        until(lambda: _gone(pid), "the process's end")
    until(lambda: not dreaming.folders(), "the folder's end")
    assert _count(dreaming) == 66
    assert dreaming.start().result()["merged_count"] == TWINS, "and the next one runs"


def test_a_run_that_was_asked_for_goes_on_beside_queries_and_hooks(dreaming: Owner) -> None:
    dreaming.hold_next()
    job = dreaming.start(mode="light")
    pid = dreaming.held()
    with stopped(pid):
        assert dreaming.ask("memory.recall", query="where does the bucket keep its settings?")["nodes"]
        assert not _gone(pid) and job.state == "running"
    assert job.result()["merged_count"] == TWINS


def test_runs_follow_one_another(dreaming: Owner) -> None:
    dreaming.hold_next()
    first = dreaming.start(mode="light")
    pid = dreaming.held()
    with stopped(pid):
        second, third = dreaming.start(mode="light"), dreaming.start(mode="light", dry_run=True)
        assert second.state == "queued"
        assert dreaming.dreams()["waiting"] == 2
        assert third.cancel()["state"] == "cancelled"
    assert first.result()["merged_count"] == TWINS
    again = second.result()
    assert again["merged_count"] == 0 and "undo_token" not in again and "nothing to do" in again["notes"][0]


def test_a_memory_that_changes_during_a_run_is_left_as_it_is(dreaming: Owner) -> None:
    pairs = dreaming.start(dry_run=True).result()["merged"]
    dreaming.hold_next()
    job = dreaming.start(mode="light")
    pid = dreaming.held()
    with stopped(pid):
        dreaming.ask("memory.forget", id=pairs[0]["survivor"])
    found = job.result()
    assert found["merged_count"] == TWINS - 1 and found["skipped_count"] >= 1
    assert any(pairs[0]["survivor"] in one["ids"] for one in found["skipped"])
    assert "tombstone" not in dreaming.ask("memory.show", id=pairs[0]["losers"][0])


def test_the_death_of_its_process_fails_a_run_and_nothing_else(dreaming: Owner) -> None:
    dreaming.hold_next()
    job = dreaming.start(mode="light")
    pid = dreaming.held()
    with stopped(pid):
        os.kill(pid, signal.SIGKILL)
        view = job.end()
    assert view["state"] == "failed"
    assert "signal 9" in view["error"] and "nothing was changed" in view["error"]
    assert _count(dreaming) == 66 and dreaming.folders() == []
    assert dreaming.start().result()["merged_count"] == TWINS


@pytest.mark.thorough
def test_an_owner_that_leaves_ends_its_run_first(dreaming: Owner) -> None:
    dreaming.hold_next()
    dreaming.start(mode="light")
    pid = dreaming.held()
    with stopped(pid):
        assert dreaming.cli.run("owner", "stop").returncode == 0
        assert _gone(pid)
    assert dreaming.folders() == []
    with dreaming.memex() as memex:
        assert memex.count() == 66


def test_a_killed_owner_leaves_no_process_and_the_next_one_no_file(dreaming: Owner) -> None:
    dreaming.hold_next()
    dreaming.start(mode="light")
    pid = dreaming.held()
    with stopped(pid):
        end_process(dreaming.pid())
    until(lambda: _gone(pid), "the process to notice")
    assert len(dreaming.folders()) == 1, "nobody was left to remove it"
    assert _count(dreaming) == 66
    assert dreaming.folders() == []


def test_an_empty_store_is_told_that_there_was_nothing_to_do(cli: Cli) -> None:
    owner = Owner.of(cli)
    for mode in ("light", "rem"):
        found = owner.start(mode=mode, any_state=True).result()
        assert found["mode"] == mode and "undo_token" not in found
        assert "nothing to do" in found["notes"][0]


def test_the_end_of_whoever_waits_ends_a_run(dreaming: Owner) -> None:
    """One that has gone before the owner looks, too."""
    dreaming.hold_next()
    job = dreaming.start(mode="light")
    pid = dreaming.held()
    with stopped(pid):
        job.leave()
        until(lambda: _gone(pid), "the process's end")
    dreaming.start(mode="light").leave()
    until(lambda: dreaming.running() is None and not dreaming.dreams()["waiting"], "nothing that runs")
    assert _count(dreaming) == 66


def test_an_owner_that_says_nothing_is_asked_whether_it_still_answers(
    dreaming: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The package exports a function under the module's own name.
    monkeypatch.setattr(sys.modules["context_graph.wire.client.request"], "_SILENT_S", 1.0)
    dreaming.hold_next()
    following = dreaming.follow("memory.consolidate", mode="light")
    pid = dreaming.held()
    lines = iter(following)
    with stopped(pid), stopped(dreaming.pid()), pytest.raises(DeadlineExceededError):
        for _ in lines:
            pass
    following.close()


def test_a_request_that_began_nothing_has_nothing_to_follow(dreaming: Owner) -> None:
    following = dreaming.follow("memory.goals")
    assert following.reply.exit_code == 0 and list(following) == []


def test_progress_is_told_on_the_connection_that_asked(dreaming: Owner) -> None:
    """One request, and each line differs from the one before it; the last one has the result."""
    job = dreaming.start(mode="deep", any_state=True)
    assert job.result()["merged_count"] == TWINS
    shown = [(view["state"], view["done"], view["stage"]) for view in job.views[1:]]
    assert len(shown) > 3 and len(set(shown)) == len(shown), shown
    assert [done for _, done, _ in shown] == sorted(done for _, done, _ in shown)
    assert sum("memory.consolidate" in line for line in dreaming.log().splitlines()) == 1
