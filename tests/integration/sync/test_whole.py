"""A place that has lost something gets it back from whoever knows it; what was deleted does not come back."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.integration.sync.test_merge import Stores, state, stores
from tests.support.consolidation import Merge, run
from tests.support.exchange.in_memory import InMemory
from tests.support.exchange.transports import all_of
from tests.support.memories import WHY, open_memex

from context_graph.memory.memex import Memex
from context_graph.sync.change import REMOVED
from context_graph.sync.exchange import Exchange, OpenStore
from context_graph.sync.folder import Folder
from context_graph.sync.run import Report, exchange

YEAR_MS, MINUTE_MS = 31_536_000_000, 60_000


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Stores]:
    with ExitStack() as stack:
        yield stores(tmp_path, 3, stack)


def told(memex: Memex, place: Path) -> Report:
    return exchange(OpenStore(memex), Folder(place))


def settle(some: Stores, place: Path) -> None:
    for _ in range(4):
        for one in some:
            told(one, place)


def texts(memex: Memex) -> set[str]:
    return {one.node.content for one in memex.stored_after() if not one.deleted}


def segments(place: Path, memex: Memex) -> list[Path]:
    return sorted((place / OpenStore(memex).machine()).glob("*.jsonl"))


def holding(place: Path, word: str) -> list[str]:
    return [str(path) for path in place.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def facts(memex: Memex, place: Path, count: int) -> None:
    """So many, each told by itself, so that each is a segment."""
    for number in range(count):
        memex.store(f"Fact {number} in a sentence of its own", rationale=WHY)
        told(memex, place)


def damaged(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "deleted":
        path.unlink()
        return
    if how == "flipped":
        data[len(data) // 2] ^= 1
    else:
        del data[len(data) // 3 :]
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["deleted", "flipped", "cut"])
def test_a_reader_goes_on_past_a_damaged_file_names_it_and_gets_it_back(
    three: Stores, place: Path, how: str
) -> None:
    author, reader, newcomer = three
    facts(author, place, 6)
    hurt = segments(place, author)[2]
    damaged(hurt, how)
    report = told(reader, place)
    assert len(texts(reader)) == 5 and report.refused
    assert hurt.name in str(report.refused) or "lines 3 to 3 are not there" in str(report.refused)
    settle([author, reader], place)
    assert texts(reader) == texts(author) and state(author) == state(reader)
    report = told(newcomer, place)
    assert texts(newcomer) == texts(author) and not report.refused, "its author has written it anew"
    settle(three, place)
    quiet = [told(one, place) for one in three]
    assert [(one.told, one.heard, one.refused_count) for one in quiet] == [(0, 0, 0)] * 3


def test_a_file_that_goes_while_it_is_read_ends_no_exchange(
    three: Stores, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its author may be writing the log anew: the reader goes on, and reads it later."""
    author, reader, _ = three
    facts(author, place, 3)
    end = Folder._end

    def gone(folder: Folder, segment: Any) -> Any:
        whole = end(folder, segment)
        segment.path.unlink(missing_ok=True)
        return whole

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "_end", gone)
        assert told(reader, place).refused
    settle([author, reader], place)
    assert texts(reader) == texts(author) and state(author) == state(reader)


@pytest.mark.parametrize("how", ["deleted", "flipped", "cut", "all of it"])
def test_what_a_departed_machine_told_is_handed_on_by_whoever_heard_it(
    three: Stores, place: Path, how: str
) -> None:
    author, reader, newcomer = three
    facts(author, place, 6)
    told(reader, place)
    if how == "all of it":
        shutil.rmtree(place / OpenStore(author).machine())
    else:
        damaged(segments(place, author)[2], how)
        told(newcomer, place)
        assert len(texts(newcomer)) == 5
    settle([reader, newcomer], place)
    assert texts(newcomer) == texts(reader) == texts(author) and state(newcomer) == state(reader)
    assert told(reader, place).told == 0, "it was handed on once"


def test_what_was_deleted_for_good_is_in_no_file_of_the_folder(three: Stores, place: Path) -> None:
    """Whoever told it, whoever deleted it, and wherever it stood in a file."""
    author, deleter, _ = three
    node = author.store("A word that nobody may keep: xylophonist", rationale=WHY)
    last = author.store("The last line is a marimbaphone", rationale=WHY)
    told(author, place)
    told(deleter, place)
    there = deleter.get(node.id)
    assert there is not None
    deleter.update([replace(there, rationale="the xylophonist asked for it again")])
    settle([author, deleter], place)
    assert holding(place, "xylophonist") and holding(place, "marimbaphone"), "else nothing is proved"
    deleter.forget(node.id, soft=False, reason="user_requested")
    author.forget(last.id, soft=False, reason="user_requested")
    settle([author, deleter], place)
    assert holding(place, "xylophonist") == [] and holding(place, "marimbaphone") == []
    author.store("Releases go out on Tuesdays", rationale=WHY)
    settle(three, place)
    assert state(author) == state(deleter) == state(three[2]) and len(texts(three[2])) == 1


def test_what_was_deleted_stays_deleted_when_the_deleter_s_folder_is_gone(three: Stores, place: Path) -> None:
    author, deleter, newcomer = three
    node = author.store("A word that nobody may keep: xylophonist", rationale=WHY)
    settle([author, deleter], place)
    old = place.with_name("older")
    shutil.copytree(place, old)
    deleter.forget(node.id, soft=False, reason="user_requested")
    settle([author, deleter], place)
    shutil.rmtree(place / OpenStore(deleter).machine())
    settle([author, newcomer], place)
    assert newcomer.get(node.id) is None and state(newcomer) == state(author)
    shutil.rmtree(place)
    old.rename(place)
    settle([author, newcomer], place)
    assert newcomer.get(node.id) is None and holding(place, "xylophonist") == []


def test_deletions_are_handed_on_before_all_else(three: Stores, place: Path) -> None:
    """An exchange may be cut off anywhere: no place gets a text back before it is told what was deleted."""
    author, reader, _ = three
    nodes = [author.store(f"Fact {number} in a sentence of its own", rationale=WHY) for number in range(8)]
    settle([author, reader], place)
    last = max(node.id for node in nodes)  # in any other order it would come last
    author.forget(last, soft=False, reason="user_requested")
    settle([author, reader], place)
    for machine in place.iterdir():
        if machine.is_dir():
            shutil.rmtree(machine)
    assert told(reader, place).handed_on
    changes = [one.change for one in all_of(Folder(place), OpenStore(reader).machine())]
    texts_too = [one for one in changes if one.fields.keys() & {"content", REMOVED}]
    assert len(texts_too) == 8 and [one.subject for one in texts_too if REMOVED in one.fields] == [str(last)]
    assert REMOVED in texts_too[0].fields


def test_a_log_in_whose_place_another_lies_is_read_anew(tmp_path: Path) -> None:
    """Machine and place were both put back to the same backup, and went on from there."""
    with ExitStack() as stack:
        (reader,) = stores(tmp_path, 1, stack)
        place, author = InMemory(), open_memex(tmp_path / "author")
        author.store("Known before the backup", rationale=WHY)
        exchange(OpenStore(author), place)
        author.close()
        shutil.copytree(tmp_path / "author", tmp_path / "backup")
        logs = {machine: list(log) for machine, log in place._logs.items()}
        author = open_memex(tmp_path / "author")
        author.store("Known after the backup", rationale=WHY)
        exchange(OpenStore(author), place)
        exchange(OpenStore(reader), place)
        author.close()
        place._logs = logs
        for path in (tmp_path / "author").iterdir():  # the folder itself is the same one
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(tmp_path / "backup", tmp_path / "author", dirs_exist_ok=True)
        author = open_memex(tmp_path / "author")
        stack.callback(author.close)
        for text in ("Another after the restore", "One more after the restore"):
            author.store(text, rationale=WHY)
        for _ in range(3):
            for one in (author, reader):
                exchange(OpenStore(one), place)
        assert len(texts(reader)) == 4 and state(author) == state(reader)


# Clocks


@contextmanager
def clock(offset_ms: int) -> Iterator[None]:
    real = time.time_ns
    with patch("time.time_ns", lambda: real() + offset_ms * 1_000_000):
        yield


@pytest.mark.parametrize("is_told", [True, False])
def test_after_a_glitch_of_its_clock_a_machine_is_heard_and_beats_nobody(
    three: Stores, place: Path, is_told: bool
) -> None:
    """A year ahead for one change, whether it was told in that time or not."""
    glitched, other, third = three
    node = glitched.store("The answer is 41", rationale=WHY)
    settle([glitched, other], place)
    with clock(YEAR_MS):
        there = glitched.get(node.id)
        assert there is not None
        glitched.update([replace(there, importance=0.1)])
        if is_told:
            told(glitched, place)
    if is_told:
        assert told(other, place).ahead
    glitched.store("Said with a clock that is right", rationale=WHY)
    report = told(glitched, place)
    assert report.clock_was_wrong == is_told
    settle([glitched, other], place)
    assert len(texts(other)) == 2, "it is heard at once"
    assert not told(other, place).ahead and not told(glitched, place).clock_was_wrong, "said once"
    there = other.get(node.id)
    assert there is not None and there.importance == pytest.approx(0.1)
    other.update([replace(there, importance=0.9)])
    settle(three, place)
    assert all(one.get(node.id).importance == pytest.approx(0.9) for one in three)  # type: ignore[union-attr]
    assert state(glitched) == state(other) == state(third)


def test_what_was_changed_with_a_clock_ahead_is_stamped_with_now_if_it_is_right_again(
    three: Stores, place: Path
) -> None:
    """Nothing was told in that time, so nothing needs a new id, and the others hear it at once."""
    glitched, other, _ = three
    settle([glitched, other], place)
    before = OpenStore(glitched).machine()
    with clock(YEAR_MS):
        glitched.store("Said with a clock ahead", rationale=WHY)
    told(glitched, place)
    assert not told(other, place).ahead and len(texts(other)) == 1
    assert not told(glitched, place).clock_was_wrong and OpenStore(glitched).machine() == before


def test_a_clock_that_was_a_year_behind_ends_equal_too(three: Stores, place: Path) -> None:
    one, other, newcomer = three
    node = one.store("The answer is 41", rationale=WHY)
    settle([one, other], place)
    with clock(-YEAR_MS):
        one.store("Said with a clock that is behind", rationale=WHY)
        told(one, place)
    there = other.get(node.id)
    assert there is not None
    other.update([replace(there, importance=0.9)])
    settle(three, place)
    assert len(texts(newcomer)) == 2 and state(one) == state(other) == state(newcomer)
    assert one.get(node.id).importance == pytest.approx(0.9)  # type: ignore[union-attr]


def test_all_that_was_stamped_anew_is_told_though_it_takes_several_pages(
    three: Stores, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are stamped in another order than they were stored in, and told in that of their stamps."""
    monkeypatch.setattr("context_graph.sync.exchange.PAGE_LINES", 1)
    behind, other, newcomer = three
    for number in range(8):
        behind.store(f"Fact {number} in a sentence of its own", rationale=WHY)
    told(behind, place)
    with clock(-YEAR_MS):
        told(behind, place)
    assert told(other, place).heard and len(texts(other)) == 8
    settle(three, place)
    assert state(behind) == state(other) == state(newcomer)


def test_what_another_said_while_ones_clock_was_ahead_is_heard_once_it_is_right(
    three: Stores, place: Path
) -> None:
    """It lost to the year ahead when it was heard, and is the later one: its log is read once more."""
    glitched, other, _ = three
    node = glitched.store("The answer is 41", rationale=WHY)
    settle([glitched, other], place)
    with clock(YEAR_MS):
        there = glitched.get(node.id)
        assert there is not None
        glitched.update([replace(there, importance=0.1)])
        told(glitched, place)
    with clock(MINUTE_MS):  # as far as two clocks differ
        there = other.get(node.id)
        assert there is not None
        other.update([replace(there, importance=0.9)])
        told(other, place)
    with clock(YEAR_MS):
        told(glitched, place)
    settle([glitched, other], place)
    assert state(glitched) == state(other)
    for machine in (glitched, other):
        assert machine.get(node.id).importance == pytest.approx(0.9)  # type: ignore[union-attr]


def test_two_whose_clocks_were_both_ahead_end_equal(three: Stores, place: Path) -> None:
    one, other, newcomer = three
    with clock(YEAR_MS):
        node = one.store("Said by one with a clock ahead", rationale=WHY)
        settle([one, other], place)
        there = other.get(node.id)
        assert there is not None
        other.update([replace(there, importance=0.2)])
        settle([one, other], place)
    settle(three, place)
    assert newcomer.get(node.id) is not None and state(one) == state(other) == state(newcomer)
    with one.core.operation("sync", writes=True) as core:
        work = Exchange(core).stamping
        assert not work.is_ahead() and not any(
            register.ahead(work.notes.machine.clock) for register in work.notes.registers()
        )


def test_what_was_merged_and_deleted_for_good_is_quoted_in_no_file(three: Stores, place: Path) -> None:
    """The survivor of a merge quotes what was merged into it, and was told with that by another machine."""
    author, merger, editor = three
    survivor = author.store("The launch word is said aloud", rationale=WHY)
    loser = author.store("the launch word is xylophonist", rationale=WHY)
    settle([author, merger], place)
    assert run(merger, merges=[Merge(survivor.id, (loser.id,), 0.97)]).undo_token
    settle([merger, editor], place)
    there = editor.get(survivor.id)
    assert there is not None
    editor.update([replace(there, metadata={**there.metadata, "seen": True})])
    told(editor, place)  # whose log says nothing else of the deleted one
    assert len(holding(place, "xylophonist")) == 3, "else nothing is proved"
    author.forget(loser.id, soft=False, reason="user_requested")
    for one in (author, merger, editor, author):
        told(one, place)
    assert holding(place, "xylophonist") == []
    settle(three, place)
    assert holding(place, "xylophonist") == [] and state(author) == state(merger) == state(editor)
    assert texts(editor) == {"The launch word is said aloud"}


def test_what_a_dead_process_had_begun_to_write_is_taken_away(three: Stores, place: Path) -> None:
    """A half-written file has texts too, and nothing else would ever look at it."""
    author, *_ = three
    node = author.store("A word that nobody may keep: xylophonist", rationale=WHY)
    dies = patch("context_graph.system.small_files.os.replace", side_effect=KeyboardInterrupt)
    with dies, patch("context_graph.system.small_files.os.unlink"), pytest.raises(KeyboardInterrupt):
        told(author, place)
    assert len(holding(place, "xylophonist")) == 1
    told(author, place)
    (home,) = (path for path in place.iterdir() if path.is_dir())
    assert len(holding(place, "xylophonist")) == 1 and len(list(home.iterdir())) == 1
    author.forget(node.id, soft=False, reason="user_requested")
    told(author, place)
    assert holding(place, "xylophonist") == []
