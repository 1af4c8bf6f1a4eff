"""What is deleted for good is gone with what was merged into it: no file holds it, nothing brings it back."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.cli import Cli, end_process
from tests.support.consolidation import Merge, Prune, exported, judge, prepared_of, run
from tests.support.memories import REDACTOR, WHY, again, open_memex
from tests.support.owner.harness import wait_until
from tests.support.sessions import memory, remember
from tests.support.store import run as run_python

from context_graph.config import data_root, store_dir
from context_graph.consolidation.commit import commit
from context_graph.consolidation.consolidate import consolidate
from context_graph.consolidation.messages import leftovers
from context_graph.consolidation.plan import decode_map
from context_graph.errors import GraphQueryError
from context_graph.memory.memex import Memex
from context_graph.store.graph.history import HistoryTable
from context_graph.store.layout import GOALS_FACT, MAP_FACT
from context_graph.store.salvage.repair import salvage

WORD = b"xylophonist"
"""In the text that must be gone, and in no other."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def memex(folder: Path) -> Iterator[Memex]:
    opened = open_memex(folder)
    yield opened
    opened.close()


def secret(memex: Memex) -> UUID:
    return memex.store("the launch word is xylophonist", rationale=WHY).id


def plain(memex: Memex, number: int = 0) -> UUID:
    return memex.store(f"the launch word was said aloud {number}", rationale=WHY).id


def holding(folder: Path) -> list[str]:
    """Files below ``folder`` with the word in them."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in found if WORD in path.read_bytes()]


def merge(memex: Memex, survivor: UUID, *losers: UUID) -> UUID:
    token = run(memex, merges=[Merge(survivor, losers, 0.97)]).undo_token
    assert token is not None
    return token


def gone(memex: Memex, *ids: UUID) -> None:
    """Nothing shows these memories any more, whichever way it is asked."""
    for one in ids:
        assert memex.stored(one) is None
        with pytest.raises(GraphQueryError):
            memex.restore(one)
    for done in memex.runs():
        if done.undone_by is None:
            memex.undo(done.token)
    assert WORD not in exported(memex)
    assert [memex.stored(one) for one in ids] == [None] * len(ids)
    judge(memex)


def for_good(memex: Memex, one: UUID) -> tuple[set[UUID], dict[UUID, str]]:
    """Delete it; the twins that went with it, and those that stay with the reason."""
    told = memex.forget_with_merged(one, soft=False, reason="user_requested")
    assert not told.unscrubbed
    return {twin.id for twin in told.along}, {left.id: left.why for left in told.left}


def test_what_was_merged_into_it_goes_too(memex: Memex, folder: Path) -> None:
    lost, kept = secret(memex), plain(memex)
    merge(memex, kept, lost)
    memex.flush()
    assert for_good(memex, kept) == ({lost}, {})
    assert holding(folder) == []
    stone = memex.tombstone(lost)
    assert stone is not None and not stone.soft and stone.reason == "user_requested"
    gone(memex, lost, kept)
    memex.close()
    assert holding(folder) == []


def test_goals_and_the_map_quote_it_no_more(memex: Memex, folder: Path) -> None:
    """Goals quote one of their memories, and clusters on the map are named after words in them."""
    ids = [
        memex.store(
            f"the xylophonist plays concert {n} in hall {7 * n} of the xylophonist guild", rationale=WHY
        ).id
        for n in range(8)
    ]
    for topic in ("rate limiter bucket gateway", "database migration replica schema"):
        for n in range(8):
            memex.store(f"{topic} item {n} was changed in step {3 * n}", rationale=WHY)
    consolidate(memex, "deep")
    consolidate(memex, "rem")
    ids.append(memex.store("the xylophonist of the guild plays concert 9 in hall 63", rationale=WHY).id)
    ids.append(memex.store("the xylophonist plays concert 8 in hall 56 of the guild", rationale=WHY).id)
    consolidate(memex, "rem")
    store = memex.core.store
    assert WORD.decode() in json.dumps(store.meta(GOALS_FACT)), "else nothing is proved"
    drawn = decode_map(store.meta(MAP_FACT))
    assert drawn is not None and drawn.clusters
    for one in ids:
        for_good(memex, one)
    assert holding(folder) == []
    assert store.meta(GOALS_FACT) is None
    gone(memex, *ids)
    assert WORD.decode() not in json.dumps([store.meta(GOALS_FACT), store.meta(MAP_FACT)]), "undone runs"
    left = decode_map(store.meta(MAP_FACT))
    assert left is not None and not (left.clusters or left.patterns)
    assert [one.similarity for one in left.drift] == [one.similarity for one in drawn.drift]
    found = consolidate(memex, "rem")
    assert found.plan.goals and WORD.decode() not in json.dumps(store.meta(GOALS_FACT))
    memex.close()
    assert holding(folder) == []


def test_a_run_that_began_before_brings_no_words_back(memex: Memex, folder: Path) -> None:
    """Its goals and its map may quote what was deleted for good while it ran."""
    lost = secret(memex)
    prepared = prepared_of(memex, facts={GOALS_FACT: {"goals": [{"description": WORD.decode()}]}})
    for_good(memex, lost)
    commit(memex, prepared)
    memex.flush()
    assert memex.core.store.meta(GOALS_FACT) is None
    assert holding(folder) == []


@pytest.mark.parametrize("flushed", [True, False])
def test_a_chain_of_merges_goes_from_any_of_its_links(memex: Memex, folder: Path, flushed: bool) -> None:
    """Into first, first into second, second into third; the one in the middle is deleted."""
    lost, first, second, third = secret(memex), plain(memex, 1), plain(memex, 2), plain(memex, 3)
    for into, one in ((first, lost), (second, first), (third, second)):
        merge(memex, into, one)
        if flushed:
            memex.flush()
    assert for_good(memex, second) == ({lost, first}, {})
    assert holding(folder) == []
    node = memex.get(third)
    assert node is not None and node.metadata["merged_from"] == []
    gone(memex, lost, first, second)
    assert memex.get(third) is not None


def test_a_survivor_that_is_forgotten_itself_takes_its_twins(memex: Memex, folder: Path) -> None:
    lost, kept = secret(memex), plain(memex)
    merge(memex, kept, lost)
    memex.forget(kept, reason="by hand")
    assert for_good(memex, kept) == ({lost}, {})
    assert holding(folder) == []
    gone(memex, lost, kept)


def test_a_twin_that_was_brought_back_stays_and_is_named(memex: Memex) -> None:
    """By a restore, by the undoing of the run; and one that was forgotten by hand afterwards."""
    back, undone, later = (memex.store(f"the port is {n}", rationale=WHY).id for n in (8443, 8444, 8445))
    kept = plain(memex)
    merge(memex, kept, back)
    memex.restore(back)
    memex.undo(merge(memex, kept, undone))
    merge(memex, kept, later)
    memex.restore(later)
    memex.forget(later, reason="by hand")
    along, left = for_good(memex, kept)
    assert along == set() and set(left) == {back, undone, later}
    assert "restored" in left[back] and "restored" in left[undone] and "forgotten by itself" in left[later]
    assert memex.get(back) and memex.get(undone) and memex.restore(later)


def test_a_twin_that_was_merged_elsewhere_since_stays_there(memex: Memex) -> None:
    twin, kept, other = secret(memex), plain(memex), plain(memex, 2)
    merge(memex, kept, twin)
    memex.restore(twin)
    merge(memex, other, twin)
    along, left = for_good(memex, kept)
    assert along == set() and list(left) == [twin] and str(other) in left[twin]
    assert WORD.decode() in str(memex.get(other))


@pytest.mark.parametrize("undone", [False, True])
def test_undone_merges_leave_no_quotes_in_others(memex: Memex, folder: Path, undone: bool) -> None:
    """What held its text once, now or before an undo, holds it no more, whenever its own history ended."""
    lost, kept = secret(memex), plain(memex)
    token = merge(memex, kept, lost)
    if undone:
        memex.undo(token)
    else:
        memex.restore(lost)
        # 31 days on: that it ever was merged is known from the quote alone.
        HistoryTable(memex.core.store.engine).purge(10**14)
    for_good(memex, lost)
    assert holding(folder) == []
    gone(memex, lost)
    assert memex.get(kept) is not None


def test_what_is_deleted_between_plan_and_commit_is_not_merged(memex: Memex, folder: Path) -> None:
    """A merge that comes after the delete was asked."""
    lost, kept, third = secret(memex), plain(memex), plain(memex, 3)
    merge(memex, kept, lost)
    prepared = prepared_of(memex, merges=[Merge(third, (kept,), 0.97)], prunes=[Prune(plain(memex, 4), 0.1)])
    for_good(memex, kept)
    commit(memex, prepared)
    assert holding(folder) == []
    gone(memex, lost, kept)


def test_undoing_an_undo_hides_nothing_behind_a_memory_that_is_gone(memex: Memex) -> None:
    """Delete after undo: the twin lives; to do the run again must not merge it into nothing."""
    twin, kept = secret(memex), plain(memex)
    back = memex.undo(merge(memex, kept, twin)).token
    assert back is not None
    _, left = for_good(memex, kept)
    assert set(left) == {twin}
    assert str(twin) in memex.undo(back).kept
    assert memex.get(twin) is not None
    judge(memex)


def test_a_purged_twin_s_quote_goes_with_the_twin_it_was_merged_into(memex: Memex, folder: Path) -> None:
    """The record of the first is gone by the retention; its text is quoted in all that came after."""
    lost, first, last = secret(memex), plain(memex, 1), plain(memex, 2)
    merge(memex, first, lost)
    memex.purge(10**14)
    assert memex.stored(lost) is None
    merge(memex, last, first)
    assert WORD.decode() in str(memex.get(last))
    for_good(memex, first)
    assert holding(folder) == []
    assert memex.get(last) is not None


def test_neither_repair_nor_an_older_reading_brings_it_back(
    memex: Memex, folder: Path, tmp_path: Path
) -> None:
    lost, kept = secret(memex), plain(memex)
    merge(memex, kept, lost)
    memex.update([replace(memex.get(kept), importance=0.9)])  # type: ignore[type-var]
    before = max(one.at_ms for one in memex.core.store.changes_after(0))
    for_good(memex, kept)
    assert memex.as_of(lost, before) is None and memex.as_of(kept, before) is None
    memex.close()
    salvage(folder / "db", tmp_path / "saved" / "db", "all")
    with Memex.open(tmp_path / "saved", redactor=REDACTOR) as saved:
        gone(saved, lost, kept)
    assert holding(tmp_path / "saved") == []
    out = io.BytesIO()
    opened = again(memex, tmp_path)
    opened.export(out)
    opened.close()
    assert WORD not in out.getvalue()


_KILLED = """
    import os, sys
    from pathlib import Path
    from uuid import UUID
    from tests.support.memories import open_memex
    from context_graph.store.graph.scrub import Scrubber
    memex = open_memex(Path(sys.argv[1]))
    Scrubber.scrub = lambda self, *given: os.kill(os.getpid(), 9)
    memex.forget(UUID(sys.argv[2]), soft=False, reason="user_requested")
"""


def test_a_kill_before_the_files_are_rewritten_is_made_up_at_the_next_opening(
    memex: Memex, folder: Path, tmp_path: Path
) -> None:
    lost, kept = secret(memex), plain(memex)
    merge(memex, kept, lost)
    memex.close()
    assert run_python(_KILLED, folder, kept).returncode == -9
    assert holding(folder)
    opened = again(memex, tmp_path)
    assert opened.stored(lost) is None
    assert holding(folder / "db") == []
    opened.close()
    assert holding(folder) == []


def test_many_twins_go_at_once(memex: Memex, folder: Path) -> None:
    kept, lost = plain(memex), [secret(memex) for _ in range(40)]
    merge(memex, kept, *lost)
    memex.flush()
    assert for_good(memex, kept) == (set(lost), {})
    assert holding(folder) == []


# Through the owner


@pytest.fixture
def store(cli: Cli) -> Path:
    return store_dir(data_root(cli.env), cli.project)


def twins(cli: Cli) -> tuple[str, str]:
    """Two memories that a consolidation merges into one: the loser and the survivor."""
    text = "The staging gateway of the billing service takes the code word xylophonist, and no other"
    old = ("--occurred-at", "2025-01-31T09:30:00Z")
    low = remember(cli, f"{text}.", *old, "--importance", "0.4")
    kept = remember(cli, text, *old, "--importance", "0.6")
    found = memory(cli, "consolidate")
    assert [(one["survivor"], one["losers"]) for one in found["merged"]] == [(kept, [low])]
    return low, kept


def test_the_command_tells_what_went_along_and_no_file_holds_it(cli: Cli, store: Path) -> None:
    lost, kept = twins(cli)
    told = memory(cli, "forget", kept, "--permanent", "--yes")
    assert told["also_deleted"] == [lost] and told["left"] == []
    assert holding(store) == []
    assert cli.run("memory", "undo").returncode == 0
    assert memory(cli, "list")["nodes"] == []
    cli.run("owner", "stop")
    assert holding(store) == []


def test_the_command_names_a_twin_that_stays(cli: Cli) -> None:
    lost, kept = twins(cli)
    memory(cli, "restore", lost)
    done = cli.run("memory", "forget", kept, "--permanent", "--yes")
    assert done.returncode == 0 and lost in done.stdout and "restored" in done.stdout
    assert [node["id"] for node in memory(cli, "list")["nodes"]] == [lost]


@pytest.mark.parametrize("killed", [False, True])
def test_a_delete_while_a_consolidation_runs_leaves_nothing_when_that_has_ended(
    cli: Cli, store: Path, killed: bool
) -> None:
    """The run's copy of the store goes with the run, and with an owner that is killed in its midst."""
    lost, kept = twins(cli)
    with subprocess.Popen(
        [str(cli.launcher), "memory", "consolidate"],
        cwd=cli.project, env=cli.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        wait_until(lambda: leftovers(store), "the run to begin", 20)
        memory(cli, "forget", kept, "--permanent", "--yes")
        if killed:
            end_process(cli.owner_pid())
        process.wait(timeout=60)
    assert memory(cli, "list")["nodes"] == [] and lost
    cli.run("owner", "stop")
    wait_until(lambda: not leftovers(store), "the run's folder to go")
    assert holding(store) == []
