"""Work that hangs or kills the owner: ended, counted across owners, set aside, named, never in the way."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from tests.support.cli import Cli, only_for_owners
from tests.support.owner.harness import wait_until
from tests.support.sessions import hook, memory, work_session

STAND_IN = Path(__file__).with_name("stuck_owner.py")
LIMIT = re.compile(r"0\.5 s of processor time|within 3 s")
"""What ends a piece of work: on a busy machine the clock may come first."""


class Defect:
    """The file that says which places have the defect."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set("")

    def set(self, places: str) -> None:
        self.file.write_text(places)

    @property
    def met(self) -> list[str]:
        """Each time that work has met it, as "place name"."""
        try:
            return self.file.with_suffix(".met").read_text().splitlines()
        except FileNotFoundError:
            return []


@pytest.fixture
def defect(tmp_path: Path) -> Defect:
    return Defect(tmp_path / "defect")


@pytest.fixture
def stuck(cli: Cli, forked_python: Path, defect: Defect, tmp_path: Path) -> Cli:
    """The program with an owner that has the defect, and 0.5 s of processor time for a piece of work."""
    stuck_python = only_for_owners(tmp_path / "stuck-python", f"{forked_python} -P {STAND_IN}", forked_python)
    return Cli(
        cli.launcher,
        cli.project,
        {
            **cli.env,
            "CONTEXT_GRAPH_PYTHON": str(stuck_python),
            "CONTEXT_GRAPH_FAULT_DEFECT": str(defect.file),
            "CONTEXT_GRAPH_WORK_LIMIT_S": "0.5",
        },
    )


def status(cli: Cli) -> dict[str, object]:
    done = cli.run("owner", "status", "--json")
    found = json.loads(done.stdout)
    assert isinstance(found, dict), done.stderr
    return found


def aside(cli: Cli) -> list[str]:
    return [row["key"] for row in status(cli).get("set_aside", [])]  # type: ignore[attr-defined]


def log_of(cli: Cli) -> str:
    return (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "log" / "owner.log").read_text()


def summaries(cli: Cli) -> set[str]:
    return {str(node["session_id"]) for node in memory(cli, "list")["nodes"] if node["source"] == "capture"}


def test_a_capture_that_never_ends_is_ended_and_set_aside_and_keeps_nobody_waiting(
    stuck: Cli, defect: Defect
) -> None:
    """Twice ended, then named by `owner status` and `doctor`; the other session has its summary."""
    defect.set("capture")
    work_session(stuck, "stuck-1")
    work_session(stuck, "s-2")
    wait_until(lambda: aside(stuck) == ["capture:stuck-1"], "the capture is set aside", 60)
    assert defect.met.count("capture stuck-1") == 2
    assert summaries(stuck) == {"s-2"}
    row = status(stuck)["set_aside"][0]  # type: ignore[index]
    assert LIMIT.search(row["why"]) and row["project"] == str(stuck.project), row
    assert "stuck-1" in stuck.run("owner", "status").stdout
    told = stuck.run("doctor", "--json").stdout
    assert "owner retry" in told and "stuck-1" in told
    assert defect.met.count("capture stuck-1") == 2, "nothing tried it again unasked"


@pytest.mark.thorough
def test_what_is_set_aside_stays_so_across_owners_and_is_tried_again_on_request(
    stuck: Cli, defect: Defect
) -> None:
    defect.set("capture")
    work_session(stuck, "stuck-1")
    wait_until(lambda: aside(stuck), "the capture is set aside", 60)
    assert stuck.run("owner", "restart").returncode == 0
    assert aside(stuck) == ["capture:stuck-1"] and summaries(stuck) == set()
    defect.set("")
    assert "stuck-1" in stuck.run("owner", "retry").stdout
    assert summaries(stuck) == {"stuck-1"} and aside(stuck) == []
    assert "nothing is set aside" in stuck.run("owner", "retry").stdout


def test_a_capture_that_kills_the_owner_is_not_met_a_third_time(stuck: Cli, defect: Defect) -> None:
    """The attempt is written down before the work begins; the next owner counts it."""
    hook(stuck, "session-start", "deadly-1", source="startup")
    work_session(stuck, "deadly-1", end=False)
    stuck.run("memory", "list")
    defect.set("capture")
    hook(stuck, "stop", "deadly-1", last_assistant_message="Done.")
    for _ in range(6):
        if len(defect.met) >= 2:
            break
        before = len(defect.met)
        hook(stuck, "prompt-submit", "s-2", prompt="is anybody there", prompt_id=str(before))
        stuck.run("memory", "list")
    wait_until(lambda: aside(stuck) == ["capture:deadly-1"], "the capture is set aside", 60)
    pid = stuck.owner_pid()
    work_session(stuck, "s-2")
    assert "s-2" in summaries(stuck) and status(stuck)["pid"] == pid
    assert defect.met.count("capture deadly-1") == 2


@pytest.mark.thorough
def test_an_owner_killed_in_a_capture_that_hangs_does_not_hand_it_on_for_ever(
    stuck: Cli, defect: Defect
) -> None:
    """kill -9 while it hangs, again and again: the third owner has nothing to run into."""
    slow = Cli(stuck.launcher, stuck.project, {**stuck.env, "CONTEXT_GRAPH_WORK_LIMIT_S": "600"})
    hook(slow, "session-start", "stuck-1", source="startup")
    work_session(slow, "stuck-1", end=False)
    slow.run("memory", "list")
    defect.set("capture")
    hook(slow, "stop", "stuck-1", last_assistant_message="Done.")
    for number in (1, 2):
        wait_until(lambda number=number: len(defect.met) == number, "the capture begins", 60)
        found = status(slow)
        assert (found["running"], found["answers"]) == (True, False)
        assert "stuck-1" in str(found["doing"]), found
        assert int(str(found["pid"])), found
        os.kill(int(str(found["pid"])), signal.SIGKILL)
        hook(slow, "prompt-submit", "s-2", prompt="is anybody there", prompt_id=str(number))
        slow.run("session", "list")  # a hook that met the dying owner has started none
    wait_until(lambda: aside(slow) == ["capture:stuck-1"], "the capture is set aside", 60)
    assert len(defect.met) == 2
    assert "ended while doing this" in str(status(slow)["set_aside"])


def test_an_event_that_never_ends_is_logged_and_set_aside_and_the_next_ones_are_applied(
    stuck: Cli, defect: Defect
) -> None:
    """A hook's own call, then the log's line: ended once each. Nothing is lost or applied twice."""
    defect.set("event")
    hook(stuck, "session-start", "s-1", source="startup")
    hook(stuck, "prompt-submit", "stuck-1", prompt="hang", prompt_id="1")
    for number in range(4):
        hook(stuck, "prompt-submit", "s-1", prompt=f"go on {number}", prompt_id=str(number))
    for _ in range(3):
        stuck.run("session", "list")  # each has the log read: hooks may still take the owner for silent
    wait_until(lambda: aside(stuck), "the event is set aside", 60)
    (key,) = aside(stuck)
    assert key.startswith("event:")
    shown = json.loads(stuck.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["prompt-submit"] == 4, shown
    defect.set("")
    stuck.run("owner", "retry")
    shown = json.loads(stuck.run("session", "show", "--session-id", "stuck-1", "--json").stdout)
    assert shown["events_by_kind"]["prompt-submit"] == 1, "it was kept, and is applied once"


def test_a_logged_event_that_crashes_the_owner_is_set_aside(stuck: Cli, defect: Defect) -> None:
    hook(stuck, "session-start", "s-1", source="startup")
    stuck.run("owner", "stop")
    no_owner = Cli(stuck.launcher, stuck.project, {**stuck.env, "CONTEXT_GRAPH_PYTHON": "/bin/false"})
    hook(no_owner, "prompt-submit", "deadly-1", prompt="die", prompt_id="1")
    hook(no_owner, "prompt-submit", "s-1", prompt="behind it", prompt_id="2")
    defect.set("event")
    for _ in range(8):
        stuck.run("session", "list", "--json")
    (key,) = aside(stuck)
    assert key.startswith("event:") and len(defect.met) <= 5, defect.met
    shown = json.loads(stuck.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["prompt-submit"] == 1


def test_a_call_that_never_ends_is_ended_and_its_caller_told_what_it_was(stuck: Cli, defect: Defect) -> None:
    memory(stuck, "store", "the bucket refills lazily", "--rationale", "a decision of the team")
    defect.set("recall")
    done = stuck.run("memory", "recall", "stuck query")
    assert done.returncode == 1, done
    assert "memory.recall" in done.stderr and LIMIT.search(done.stderr), done.stderr
    assert memory(stuck, "recall", "bucket")["nodes"], "the store is opened again and answers"
    assert "ended" in log_of(stuck)


@pytest.mark.parametrize(
    ("place", "words"),
    [pytest.param("dream", "processor time", marks=pytest.mark.thorough), ("commit", "did not finish")],
)
def test_a_consolidation_that_computes_for_ever_is_ended_and_the_next_one_done(
    stuck: Cli, defect: Defect, place: str, words: str
) -> None:
    """Its process, or the thread of its commit; the caller is told, other projects have theirs."""
    quick = Cli(stuck.launcher, stuck.project, {**stuck.env, "CONTEXT_GRAPH_WORK_LIMIT_S": "0.3"})
    for end in (".", ",  twice."):
        memory(quick, "store", f"The bucket of the gateway refills lazily{end}", "--rationale", "ten letters")
    defect.set(place)
    done = quick.run("memory", "consolidate", timeout=120)
    assert done.returncode == 1 and words in done.stderr, done
    defect.set("")
    done = quick.run("memory", "consolidate", "--format", "json", timeout=120)
    assert done.returncode == 0, done.stderr
    assert memory(quick, "list")["nodes"]


def test_a_stopped_or_busy_owner_is_named_and_stops(stuck: Cli, defect: Defect) -> None:
    """SIGSTOP, and a loop in Python without a limit: status says which, stop ends it, no event is lost."""
    hook(stuck, "session-start", "s-1", source="startup")
    pid = stuck.owner_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        found = status(stuck)
        assert (found["running"], found["answers"], found["pid"]) == (True, False, pid)
        assert str(found["state"]).startswith("stopped"), found
        said = stuck.run("owner", "status")
        assert said.returncode == 1 and str(pid) in said.stdout and "stopped" in said.stdout
    finally:
        done = stuck.run("owner", "stop", "--timeout", "4")
    assert done.returncode == 0, done.stderr
    assert status(stuck)["running"] is False
    assert "gone" in log_of(stuck).splitlines()[-1], "it was let go on, and left by itself"

    slow = Cli(stuck.launcher, stuck.project, {**stuck.env, "CONTEXT_GRAPH_WORK_LIMIT_S": "600"})
    hook(slow, "session-start", "s-1", source="resume")
    pid = slow.owner_pid()
    defect.set("event")
    hook(slow, "prompt-submit", "stuck-1", prompt="hang", prompt_id="1")
    done = slow.run("owner", "stop", "--timeout", "6")
    assert done.returncode == 0, done.stderr
    assert "asked to stop" in log_of(slow)
    defect.set("")
    done = stuck.run("session", "show", "--session-id", "stuck-1", "--json")
    assert done.returncode == 0, done.stderr + log_of(slow)
    assert json.loads(done.stdout)["events_by_kind"]["prompt-submit"] == 1


def test_stop_kills_an_owner_that_does_not_listen_to_signals(stuck: Cli) -> None:
    """The last step: what was acknowledged is there all the same."""
    hook(stuck, "session-start", "s-1", source="startup")
    hook(stuck, "prompt-submit", "s-1", prompt="keep me", prompt_id="1")
    pid = stuck.owner_pid()
    os.kill(pid, signal.SIGSTOP)
    # Stopped again at each SIGCONT: nothing but SIGKILL reaches it.
    stopper = os.fork()
    if not stopper:
        while True:
            try:
                os.kill(pid, signal.SIGSTOP)
            except OSError:
                os._exit(0)
    try:
        done = stuck.run("owner", "stop", "--timeout", "2", timeout=60)
    finally:
        os.kill(stopper, signal.SIGKILL)
        os.waitpid(stopper, 0)
    assert done.returncode == 0, done.stderr
    shown = json.loads(stuck.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["events_by_kind"]["prompt-submit"] == 1
