"""Each way to carry changes keeps the one contract; and what a folder does beyond it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.exchange.in_memory import InMemory
from tests.support.exchange.transports import ONE, TWO, TransportKit, all_of, line, lines

from context_graph.sync.folder import MAX_SEGMENTS, Folder, _lines_of
from context_graph.sync.transport import ConflictError, Transport, TransportError


class TestInMemory(TransportKit):
    @pytest.fixture
    def reach(self) -> Callable[[], Transport]:
        place = InMemory()
        return lambda: place


class TestFolder(TransportKit):
    @pytest.fixture
    def reach(self, tmp_path: Path) -> Callable[[], Transport]:
        return lambda: Folder(tmp_path)


def segments(folder: Path) -> list[Path]:
    return sorted((folder / ONE).glob("*.jsonl"))


def test_snapshots_keep_the_newest_of_each_field_and_the_end(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    for seq in range(1, 60):
        place.push(ONE, [line(seq, subject=1 + seq % 3)])
    assert len(segments(tmp_path)) <= MAX_SEGMENTS + 1
    head = place.head(ONE)
    assert head is not None and head.seq == 59 and Folder(tmp_path).head(ONE) == head
    found = all_of(Folder(tmp_path), ONE)
    assert len(found) < 40, "most were made needless"
    newest = {one.change.subject: one.change.seq for one in found}
    assert sorted(newest.values()) == [57, 58, 59]
    place.push(ONE, lines(60, 61))
    assert [one.change.seq for one in all_of(place, ONE, 59)] == [60, 61]


@pytest.mark.parametrize("damage", ["cut", "flip", "more", "empty"])
def test_a_damaged_file_ends_its_log_there_and_is_named(tmp_path: Path, damage: str) -> None:
    place = Folder(tmp_path)
    place.push(ONE, lines(1, 2))
    place.push(ONE, lines(3, 4))
    _, second = segments(tmp_path)
    data = second.read_bytes()
    wrong = {
        "cut": data[:-5],
        "flip": data.replace(b"text 3", b"text 8"),
        "more": data + b"x\n",
        "empty": b"",
    }
    second.write_bytes(wrong[damage])
    page = Folder(tmp_path).pull(ONE, 0)
    assert [one.change.seq for one in page.changes] == [1, 2]
    page = Folder(tmp_path).pull(ONE, 2)
    assert not page.changes and page.upto == 2 and second.name in page.refused[0].where and not page.more
    with pytest.raises(ConflictError):
        Folder(tmp_path).head(ONE)


def test_links_and_strange_names_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    secret.write_text("no")
    home = tmp_path / "place"
    Folder(home).push(ONE, lines(1, 2))
    (home / ("f" * 32)).symlink_to(tmp_path)
    (home / "not-a-machine").mkdir()
    (home / ONE / "000000000003-000000000009.jsonl").symlink_to(secret)
    assert list(Folder(home).machines()) == [ONE] and len(all_of(Folder(home), ONE)) == 2


def test_a_link_that_has_just_taken_the_place_of_a_segment_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the folder and the opening of what was seen there."""
    home = tmp_path / "place"
    Folder(home).push(ONE, lines(1, 2))
    place = Folder(home)
    seen = place._segments(ONE)
    monkeypatch.setattr(place, "_segments", lambda machine: seen)
    seen[0].path.symlink_to(seen[0].path.rename(tmp_path / "elsewhere"))
    page = place.pull(ONE, 0)
    assert not page.changes and page.refused
    with pytest.raises(OSError, match="symbolic link"):
        list(_lines_of(seen[0].path))


@pytest.mark.parametrize("act", ["push", "want", "rewrite", "withdraw", "pull"])
def test_a_link_in_the_place_of_a_machine_s_folder_leads_to_no_other_log(tmp_path: Path, act: str) -> None:
    """Whoever may write to the folder may set it, and it may lead to another project's."""
    elsewhere, place = Folder(tmp_path / "elsewhere"), Folder(tmp_path / "place")
    elsewhere.push(TWO, lines(1, 2, TWO))
    elsewhere.push(TWO, lines(3, 4, TWO))  # written anew, they would be one file
    elsewhere.want(TWO, {ONE: [(1, 2)]})
    place.push(TWO, lines(1, 1, TWO))
    (tmp_path / "place" / ONE).symlink_to(tmp_path / "elsewhere" / TWO)
    before = {path.name: path.read_bytes() for path in (tmp_path / "elsewhere" / TWO).iterdir()}
    calls: dict[str, Callable[[], object]] = {
        "push": lambda: place.push(ONE, lines(1, 1)),
        "want": lambda: [place.want(ONE, {TWO: [(3, 4)]}), place.want(ONE, {})],
        "rewrite": lambda: place.rewrite(ONE),
        "withdraw": lambda: place.withdraw(ONE),
        "pull": lambda: place.pull(ONE, 0),
    }
    with suppress(TransportError):
        assert not getattr(calls[act](), "told", ())
    assert {path.name: path.read_bytes() for path in (tmp_path / "elsewhere" / TWO).iterdir()} == before


def test_a_place_that_can_t_be_written_says_which_file(tmp_path: Path) -> None:
    (tmp_path / ONE).write_text("a file where a folder must be")
    with pytest.raises((TransportError, ConflictError), match=ONE):
        Folder(tmp_path).push(ONE, lines(1, 1))


@pytest.mark.parametrize("what", ["link", "pipe", "rubbish", "a book"])
def test_what_another_writes_in_the_place_of_what_it_misses_harms_nobody(tmp_path: Path, what: str) -> None:
    Folder(tmp_path).push(ONE, lines(1, 2))
    lacks = tmp_path / ONE / "lacks.json"
    if what == "link":
        lacks.symlink_to("/dev/zero")
    elif what == "pipe":
        os.mkfifo(lacks)
    else:
        lacks.write_bytes(b"{" if what == "rubbish" else b"[" * 100_000)
    place = Folder(tmp_path)
    assert len(all_of(place, ONE)) == 2 and place.wanted(TWO) == ("", False)
