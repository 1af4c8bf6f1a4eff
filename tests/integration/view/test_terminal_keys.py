"""view.terminal: keys and mouse, search, reading, and actions that ask first and can be undone."""

from __future__ import annotations

import threading

import pytest
from tests.support.view.rows import SUCCESSOR, RowsSource, filled, memory_row
from tests.support.view.terminal import WIDE, Driver, driven

FIRST = "00000000-0000-4000-8000-000000000000"
SECOND = "00000001-0000-4000-8000-000000000000"


def searches(source: RowsSource) -> list[str]:
    return [one[1] for one in source.asked if one[0] == "memories" and one[1]]


@pytest.mark.thorough
def test_search_asks_once_for_what_was_typed_in_one_go_and_escape_ends_it() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("200 of 300 memories")
        await view.press("end", "slash")
        view.type("region 42")
        await view.sees("3 of 3 like that", "Memory 42:", "Memory 139:")
        await view.sees_no("Memory 1: the")
        assert searches(source) == ["region 42"]
        await view.press("enter", "down", "enter")
        await view.sees("Memory 139: the rate limiter", "In full.")
        await view.press("escape", "escape")
        await view.sees("200 of 300 memories", "Memory 1:")

    driven(scenario, source)


@pytest.mark.thorough
def test_the_last_search_wins_though_an_earlier_one_answers_after_it() -> None:
    source = filled()
    source.slow["limiter"] = threading.Event()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("200 of 300 memories")
        await view.press("slash", *"limiter")
        await view.until(lambda: "limiter" in searches(source), "the first search was asked")
        await view.press(*" counts per key in region 7.")
        await view.sees("Memory 7:", "4 of 4 like that")
        source.slow["limiter"].set()
        await view.pilot.pause(0.3)
        assert "4 of 4 like that" in view.text and "Memory 8:" not in view.text

    driven(scenario, source)


def test_nothing_happens_without_a_yes_and_what_was_done_can_be_undone() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("Memory 0:")
        await view.press("f")
        await view.sees("Forget this memory", "“Memory 0:", "Enter: do it")
        await view.press("escape")
        await view.sees_no("Forget this memory")
        assert source.done == []
        await view.answer("f")
        await view.sees("Done: forget. (z: restore it)", "of 299 memories")
        assert source.done == [("forget", FIRST)]
        await view.press("z")
        await view.sees("Undo the last action: restore it.")
        await view.press("enter")
        await view.sees("Done: restore.", "of 300 memories")
        assert source.done[1:] == [("restore", FIRST)]
        await view.press("z")
        await view.sees("There is nothing to undo.")

    driven(scenario, source)


def test_confirm_can_be_taken_back() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("Memory 0:")
        await view.answer("down", "c")
        await view.sees("Done: confirm.")
        await view.answer("z")
        await view.sees("Done: take_back.")
        assert source.done == [("confirm", SECOND), ("take_back", SECOND)]

    driven(scenario, source)


@pytest.mark.thorough
def test_supersede_begins_with_the_whole_text_and_stores_what_was_made_of_it() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("Memory 0:")
        await view.press("s")
        await view.sees("What holds instead", "In full.", "Ctrl+S")
        await view.press("ctrl+s")
        await view.sees_no("What holds instead")
        assert source.done == [] and "Store the new text" not in view.text, "the same text changes nothing"
        await view.press("s")
        await view.sees("What holds instead")
        await view.press(*"Now ", "ctrl+s")
        await view.sees("Store the new text in the place of this memory.")
        await view.press("enter")
        await view.sees("Done: supersede.")
        assert source.done == [("supersede", FIRST, f"Now {source.memory_rows[0].text}\nIn full.")]
        await view.press("z")
        await view.sees("Undo the last action: put the old text back.")
        await view.press("enter")
        await view.sees("Done: forget.")
        assert source.done[-1] == ("forget", SUCCESSOR)

    driven(scenario, source)


def test_the_forgotten_ones_are_listed_and_restored() -> None:
    source = filled(5)
    source._set_forgotten(SECOND, True)

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("4 of 4 memories")
        await view.press("r")
        await view.sees("not forgotten; x shows")
        await view.press("x")
        await view.sees("1 of 1 forgotten", "Memory 1:", "r restores it")
        await view.answer("r")
        await view.sees("None is forgotten.")
        assert source.done == [("restore", SECOND)]
        await view.press("escape")
        await view.sees("5 of 5 memories")

    driven(scenario, source)


@pytest.mark.thorough
def test_a_memory_is_read_as_of_a_time_in_people_s_words() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("Memory 0:")
        await view.press("a")
        await view.sees("Read this memory as it was then")
        await view.press(*"soonish", "enter")
        await view.sees("the time is 'soonish'")
        await view.press("a", *"2026-01-31", "enter")
        await view.sees("As it was on 2026-01-31", "As it was.")
        assert ("memory", FIRST, 1_769_817_600_000) in source.asked
        await view.press("escape")
        await view.sees("In full.")

    driven(scenario, source)


def test_links_are_followed_from_memory_to_memory_and_from_screen_to_screen() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("3")
        await view.sees("log-odds")
        await view.press("enter", "n", "enter")
        await view.until(lambda: view.app.part == "memories", "the memory's screen")
        await view.sees("Memory 0: the rate limiter", "decided in review")
        await view.press("n", "n", "enter")  # the session, then the link
        await view.sees(" Memory 1: the rate limiter counts per key", "because → 0.80 [red]x[/red]")
        await view.press("N", "N", "N", "enter")  # from the last back to the session
        await view.until(lambda: view.app.part == "sessions", "the session's screen")
        await view.sees("Goal 1: fix the limiter", "fix the limiter")

    driven(scenario, source)


def test_a_session_shows_its_line_of_time_its_marks_its_chain_and_its_events() -> None:
    async def scenario(view: Driver) -> None:
        await view.press("4")
        await view.sees("Goal 0")
        await view.press("enter")
        await view.sees("▶ prompt", "! failure", "C compaction", "G gate", "compaction: auto")
        await view.sees("continues 0.91: 5e550001 Goal 1: fix the limiter")
        beside = [line.partition("│")[2] for line in view.lines]
        lanes = {sign: [line.index(sign) for line in beside if f"·{sign}·" in line] for sign in "▶!CG"}
        order = [place for (place,) in lanes.values()]
        assert order == sorted(set(order)), "each has its lane, in order of time from left to right"
        await view.press("n", "enter")
        await view.sees("Goal 1: fix the limiter")
        await view.press("end")
        await view.sees("PostToolUseFailure Bash", "UserPromptSubmit")

    driven(scenario, filled(), WIDE)


def test_a_consolidation_is_tried_first_then_run_then_undone() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("5")
        await view.sees("says the same")
        assert "g Run it" not in view.lines[-1], "nothing was tried yet"
        await view.press("d")
        await view.sees("A dry run changes nothing", "deep: also finds clusters")
        await view.press("d")
        await view.sees("A deep consolidation would do this. Nothing was changed", "merged 2, pruned 1")
        assert source.done == [] and "g Run it" in view.lines[-1]
        await view.press("g")
        await view.sees("Run this deep consolidation now. It would have merged 2, pruned 1.")
        await view.press("enter")
        await view.sees("Done: consolidate. (z: undo that run)")
        assert source.done == [("consolidate", "deep")]
        await view.answer("z")
        await view.sees("Done: undo.")
        assert source.done[1:] == [("undo", "feed0000")]

    driven(scenario, source)


def test_a_run_is_undone_once_and_only_after_a_yes() -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("5")
        await view.sees("says the same")
        await view.press("down", "u")
        await view.sees("Undo the deep consolidation of", "merged 3, pruned 1, 12 links made")
        await view.press("enter")
        await view.sees("Done: undo.")
        await view.press("down", "u")
        await view.sees("This was undone already.")
        assert source.done == [("undo", "feed0001")]

    driven(scenario, source)


@pytest.mark.parametrize("key", ["escape", "q"])
def test_no_to_a_consolidation_runs_none(key: str) -> None:
    source = filled()

    async def scenario(view: Driver) -> None:
        await view.press("5")
        await view.sees("says the same")
        await view.press("d", "l")
        await view.sees("A light consolidation would do this")
        await view.press("g")
        await view.sees("Enter: do it")
        await view.press(key)
        await view.sees_no("Enter: do it")
        assert source.done == []

    driven(scenario, source)


def test_a_refusal_is_told_and_leaves_nothing_to_undo() -> None:
    from context_graph.errors import StoreReadOnlyError

    source = filled()
    source.broken["confirm"] = StoreReadOnlyError("the store is read-only")

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("Memory 0:")
        await view.answer("c")
        await view.sees("the store is read-only")
        await view.press("z")
        await view.sees("There is nothing to undo.")

    driven(scenario, source)


def test_the_mouse_opens_screens_rows_and_links() -> None:
    async def scenario(view: Driver) -> None:
        tabs = view.lines[0]
        await view.pilot.click("#tabs", offset=(tabs.index("Ledger") + 1, 0))
        await view.until(lambda: view.app.part == "ledger", "the ledger")
        await view.sees("Memory 4")
        row = next(at for at, line in enumerate(view.lines) if "Memory 4" in line)
        await view.pilot.click(offset=(20, row))
        await view.sees("memory        00000004")
        await view.pilot.click(offset=(20, row))
        await view.until(lambda: view.app.query_one("#ledger").has_class("-open"), "a second click opens it")
        row = next(at for at, line in enumerate(view.lines) if "memory        00000004" in line)
        await view.pilot.click(offset=(view.lines[row].index("00000004") + 1, row))
        await view.until(lambda: view.app.part == "memories", "the memory that was clicked")
        await view.sees("Memory 4: the rate limiter", "In full.")

    driven(scenario, filled())


def test_help_names_the_keys_of_the_screen_and_q_quits() -> None:
    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("Memory 0:")
        await view.press("question_mark")
        await view.sees("search; Esc ends it", "dark or light", "undo the last action")
        await view.press("escape")
        await view.sees_no("dark or light")
        await view.press("q")
        await view.until(lambda: not view.app.is_running, "it ends")

    driven(scenario, filled())


def test_a_hostile_memory_is_shown_as_it_is_and_does_nothing() -> None:
    """No markup, no escape, no turned direction, no link of its own."""
    source = filled(5)
    source.session_rows.clear()

    async def scenario(view: Driver) -> None:
        await view.press("2")
        await view.sees("[red]x[/red] \\x1b[31mred")
        await view.press("down", "down", "enter")
        await view.sees("\\x1b[31mred\\x1b]52;c;aGk=\\x07 \\u202edesrever", "[@click=app.quit]quit[/]")
        row = next(at for at, line in enumerate(view.lines) if "quit[/]" in line)
        await view.pilot.click(offset=(view.lines[row].index("quit[/]") + 1, row))
        await view.press("f")
        await view.sees("“[red]x[/red] \\x1b")
        await view.press("escape", "1")
        await view.sees("Working")
        assert not any(ord(one) < 32 or one in "\u202e\x7f" for line in view.lines for one in line)

    driven(scenario, source)


def test_text_of_any_script_keeps_the_columns() -> None:
    source = filled(0)
    source.memory_rows = [memory_row(at, 10**12, "記憶は速い " * 30) for at in range(3)]

    async def scenario(view: Driver) -> None:
        from rich.cells import cell_len

        await view.press("2")
        await view.sees("記憶は速い")
        assert {cell_len(line) for line in view.lines} == {80}

    driven(scenario, source)


@pytest.mark.parametrize(
    ("said", "wanted", "is_dark"),
    [
        ("", "", True),
        ("15;0", "", True),
        ("0;default;15", "", False),
        ("0;15", "dark", True),
        ("", "light", False),
    ],
)
def test_it_is_as_dark_as_the_terminal_or_as_one_wants_and_t_changes_that(
    said: str, wanted: str, is_dark: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", said)

    async def scenario(view: Driver) -> None:
        assert view.app.current_theme.dark is is_dark
        await view.press("t")
        await view.until(lambda: view.app.current_theme.dark is not is_dark, "the other theme")

    driven(scenario, filled(3), theme=wanted)
