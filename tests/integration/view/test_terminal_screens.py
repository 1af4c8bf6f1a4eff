"""view.terminal: each screen, at two sizes, over stores of all sizes, and with damage in them."""

from __future__ import annotations

import re

import pytest
from tests.support.view.rows import RowsSource, filled, memory_row, session_id
from tests.support.view.terminal import NARROW, WIDE, Driver, driven

from context_graph.errors import DatabaseCorruptionError
from context_graph.view import rows
from context_graph.view.graph import matrix
from context_graph.view.rows import PARTS
from context_graph.view.terminal.ledger import shown_page
from context_graph.view.terminal.sessions import session_page
from context_graph.view.terminal.table import Table

SHOWS = {
    "health": ("Working: last event 3 s ago.", "the disk is full"),
    "memories": ("Memory 0: the rate limiter", "verified", "decided in review", "of 300 memories"),
    "ledger": ("prompt", "startup", "0.90", "told again", "no sign", "log-odds"),
    "sessions": ("5e550000", "Goal 0: fix the limiter", "0.90", "Identity continuity", "0.7 ", "0.5 "),
    "runs": ("light", "merged 3", "12 links made", "undone; it had", "says the same"),
    "gates": ("commit_plan", "feature/limits", "satisfied", "waits for a plan", "denied"),
    "map": ("decisions", "src/gateway/limits.py", "█", "what the memories are about", "superseded by"),
    "effect": ("told 59 memories", "2026-11-16", "31", "Broken again", "Never sleep in tests"),
}
EMPTY = {
    "health": ("Working",),
    "memories": ("No memories yet.",),
    "ledger": ("Nothing was put before the model yet.",),
    "sessions": ("No sessions yet.",),
    "runs": ("No consolidation ran yet.",),
    "gates": ("No requirements here",),
    "map": ("Nothing yet. A session that changed something",),
    "effect": ("Nothing was told yet.",),
}


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "160x50"])
@pytest.mark.parametrize("part", PARTS)
def test_each_screen_shows_its_rows(part: str, size: tuple[int, int]) -> None:
    async def scenario(view: Driver) -> None:
        await view.press(str(PARTS.index(part) + 1))
        await view.sees(*SHOWS[part], "q Quit")
        assert {len(line) for line in view.lines} <= {size[0], size[0] - 1}, "each line fills the width"
        assert "q Quit" in view.lines[-1], "the keys fit"

    driven(scenario, filled(), size)


def test_the_ledger_says_what_brought_a_memory_and_what_was_near() -> None:
    ledger = filled(4).ledger()
    words = shown_page(ledger.rows[0], ledger.days, 80).text.plain
    assert "Brought by\nhow are requests limited?" in words
    (drawn,) = re.findall(r"Near, and not shown\n0 (.*) 1\n● shown, ○ not\n0\.30 ", words)
    assert (drawn.count("●"), drawn.count("○")) == (1, len(ledger.rows[0].near))
    assert drawn.index("○") == round(0.3 * (len(drawn) - 1)) < drawn.index("●")
    assert "Brought by" not in shown_page(ledger.rows[1], ledger.days, 80).text.plain


@pytest.mark.parametrize(
    "size",
    [pytest.param(NARROW, id="80x24"), pytest.param(WIDE, marks=pytest.mark.thorough, id="160x50")],
)
@pytest.mark.parametrize("part", PARTS)
def test_each_screen_says_what_an_empty_store_lacks(part: str, size: tuple[int, int]) -> None:
    async def scenario(view: Driver) -> None:
        await view.press(str(PARTS.index(part) + 1))
        await view.sees(*EMPTY[part])
        await view.press("enter", "end", "j", "k", "n", "escape")  # nothing to open, nowhere to go
        await view.sees(*EMPTY[part])

    driven(scenario, RowsSource(), size)


def test_the_arrows_go_around_the_screens_and_the_tab_of_the_open_one_is_marked() -> None:
    async def scenario(view: Driver) -> None:
        for part in (*PARTS[1:], PARTS[0]):
            await view.press("right")
            await view.until(lambda part=part: view.app.part == part, f"{part} is open")  # type: ignore[misc]
        await view.press("left")
        assert view.app.part == PARTS[-1]

    driven(scenario, filled())


@pytest.mark.thorough
def test_of_ten_thousand_memories_only_pages_are_asked_for_as_they_come_into_sight() -> None:
    source = filled(10_000)

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("200 of 10000 memories")
        assert [one for one in source.asked if one[0] == "memories"] == [("memories", "", False, "", 200)]
        await view.press("end")
        await view.sees("400 of 10000 memories", "Memory 199")
        for at in range(2, 50):
            await view.press("end")
            await view.sees(f"{200 * at + 200} of 10000 memories", f"Memory {200 * at - 1}")
        await view.press("end")
        await view.sees("Memory 9999")
        assert len([one for one in source.asked if one[0] == "memories"]) == 50, "and each only once"
        await view.press("home")
        await view.sees("Memory 0:")

    driven(scenario, source)


def test_a_change_keeps_the_cursor_on_its_memory() -> None:
    source = filled(1000)

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("200 of 1000")
        table = view.app.query_one("#memories Table", Table)
        await view.press("end")
        await view.sees("400 of 1000")
        await view.press("down", "down")
        row = table.row
        assert row is not None and table.at == 201
        source.memory_rows.insert(0, memory_row(5000, source.memory_rows[0].created_ms, "A new memory"))
        source.change("memories")
        await view.sees("of 1001")
        assert table.row == row and table.at == 202
        await view.press("home")
        await view.sees("A new memory")

    driven(scenario, source)


def test_a_store_that_can_t_be_read_is_told_where_it_matters_and_the_rest_goes_on() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("Memory 0")
        source.broken["memories"] = DatabaseCorruptionError("block checksum mismatch in 000012.sst")
        source.change("memories")
        await view.sees("block checksum mismatch", "Memory 0: the rate limiter")  # rows stay
        await view.press("4")
        await view.sees("Goal 0")
        del source.broken["memories"]
        await view.press("2")
        await view.sees_no("block checksum mismatch")

    driven(scenario, source)


@pytest.mark.thorough
def test_a_damaged_record_says_so_and_its_neighbours_are_shown() -> None:
    source = filled()
    source.broken["memory"] = DatabaseCorruptionError("record 00000000 is damaged")

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("record 00000000 is damaged", "Memory 1")
        await view.press("4")
        await view.sees("damaged: checksum is wrong", "Goal 6")
        await view.press(*["down"] * 5, "enter")
        await view.sees("Damaged: checksum is wrong")

    driven(scenario, source)


def test_what_no_store_may_hold_is_told_too() -> None:
    source = filled()
    source.broken["map"] = ValueError("not a number")

    async def scenario(view: Driver) -> None:
        await view.press("7")
        await view.sees("not a number")
        await view.press("1")
        await view.sees("Working")

    driven(scenario, source)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "160x50"])
def test_a_session_has_a_lane_for_each_kind_of_mark_over_the_whole_width(size: tuple[int, int]) -> None:
    detail = filled(4).session(session_id(0))
    width = size[0] - 2
    lines = session_page(detail, width).text.plain.splitlines()
    lanes = {line[:15].strip(): line[16:] for line in lines if re.match(r" *[\w., ]+ [^ ]{40,}$", line)}
    assert lanes.keys() >= {"prompts", "limits.py", "tests", "told, used", "compactions", "gates"}
    assert {len(lane) for lane in lanes.values()} == {width - 16}
    assert lanes["tests"].replace("·", "") == "✗✓" and lanes["told, used"].count("●") == 1
    marks = [lane.find(sign) for lane, sign in ((lanes["prompts"], "▶"), (lanes["limits.py"], "■"))]
    assert 0 <= marks[0] < marks[1] < lanes["tests"].index("✓"), "in order of time"
    levels = [line for line in lines if line.lstrip().startswith(("0.7", "0.5"))]
    assert len(levels) == 2 and all("┄" in line for line in levels), "its limits are drawn where it is below"


def test_the_map_leads_from_a_file_to_sessions_notes_and_what_replaced_them() -> None:
    source = filled(12)

    async def scenario(view: Driver) -> None:
        await view.press("7")
        await view.sees("decisions")
        await view.press("slash", *"limits", "enter")
        await view.sees("src/gateway/limits.py", "Changed in 9 sessions", "said in", "superseded by")
        await view.press("slash", *["backspace"] * 6, *"no such file", "enter")
        await view.sees("Nothing like that.")
        await view.press("escape")
        await view.sees("decisions", "9 sessions")
        await view.press("slash", *"4h", "enter")
        await view.sees("4 sessions")

    driven(scenario, source, WIDE)


def test_a_map_of_many_sessions_and_files_keeps_one_line_for_each_file() -> None:
    drawn = rows.Map(
        sessions=[
            rows.MapSession(
                id=str(at),
                memory_id="",
                at_ms=at,
                goal=f"goal {at}",
                files={f"src/{at % 700}.py": 1 + at % 5},
            )
            for at in range(1, 5001)
        ]
    )
    graph = matrix(drawn)
    assert len(graph.rows) == 700 and len(graph.sessions) == 5000
    counts = [len(row.marks) for row in graph.rows]
    assert counts == sorted(counts, reverse=True) and sum(counts) == 5000
    (only,) = matrix(drawn, "SRC/13.PY").rows
    assert only.id == "src/13.py" and all(int(name) % 700 == 13 for name in only.marks)
    assert len(matrix(drawn, since_ms=4991).sessions) == 10
