"""Notes of a store's last consolidation: what is told of runs that nobody asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from context_graph.owner.jobs import LastRun

TOKENS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(8)]


def notes(number: int, **counts: int) -> dict[str, Any]:
    return {"seq": number, "undo_token": TOKENS[number], "merged_count": 0, "pruned_count": 0, **counts}


def test_runs_that_nobody_asked_for_are_told_together_and_once(tmp_path: Path) -> None:
    last = LastRun(tmp_path)
    last.write(notes(1, merged_count=2), asked=False)
    last.write(notes(2, pruned_count=3), asked=True)
    last.write(notes(3, merged_count=1, pruned_count=1), asked=False)
    again = LastRun(tmp_path)
    assert again.seq == 3 and again.is_to_be_told
    said = again.tell()
    assert "3 merged, 1 forgotten" in said
    assert said.index(f"memory undo {TOKENS[3][:8]}") < said.index(f"memory undo {TOKENS[1][:8]}")
    assert TOKENS[2][:8] not in said
    assert again.tell() == "" and LastRun(tmp_path).tell() == ""
    assert LastRun(tmp_path).seq == 3


def test_a_run_that_changed_nothing_is_nothing_to_tell(tmp_path: Path) -> None:
    last = LastRun(tmp_path)
    last.write({"seq": 1, "undo_token": None, "merged_count": 0}, asked=False)
    last.write(notes(2), asked=False)
    assert not last.is_to_be_told and last.tell() == ""


def test_of_many_runs_the_last_are_told(tmp_path: Path) -> None:
    last = LastRun(tmp_path)
    for number in range(8):
        last.write(notes(number, links_made_count=1), asked=False)
    said = last.tell()
    assert said.count("memory undo") == 4 and "4 linked" in said and TOKENS[7][:8] in said


def test_notes_that_cant_be_read_are_none(tmp_path: Path) -> None:
    LastRun(tmp_path).write(notes(1, merged_count=1), asked=False)
    (path,) = (tmp_path / "dream").iterdir()
    path.write_bytes(b'{"seq": "x", "untold": [1, {"undo_token": 2}, "y"]}')
    last = LastRun(tmp_path)
    assert (last.seq, last.tell()) == (-1, "")
    path.write_bytes(b"[")
    assert LastRun(tmp_path).notes == {}
