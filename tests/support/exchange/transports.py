"""What every transport must do (`context_graph.sync.transport.Transport`), for tests of each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from context_graph.sync.change import MEMORY, VERSION, Change, digest, encode
from context_graph.sync.transport import PAGE_LINES, ConflictError, Head, LoggedChange, Transport

ONE, TWO = "1" * 32, "2" * 32


def line(seq: int, machine: str = ONE, *, subject: int = 0, text: str = "") -> LoggedChange:
    """A change that sets a text, or something else for each number."""
    name = f"{subject or seq:08x}-0000-4000-8000-{machine[:12]}"
    change = Change(
        VERSION, machine, seq, seq << 16, machine, MEMORY, name, {"content": text or f"text {seq}"}
    )
    return LoggedChange(change, encode(change))


def lines(first: int, last: int, machine: str = ONE) -> list[LoggedChange]:
    return [line(seq, machine) for seq in range(first, last + 1)]


def all_of(place: Transport, machine: str, after: int = 0) -> list[LoggedChange]:
    """The whole log, page by page."""
    found: list[LoggedChange] = []
    while True:
        page = place.pull(machine, after)
        assert not page.refused and page.upto >= after and len(page.changes) <= PAGE_LINES
        found += page.changes
        if not page.more:
            return found
        assert page.upto > after, "a page that leads nowhere"
        after = page.upto


class TransportKit:
    """Subclass it, with a fixture `reach` that gives a function: another machine's view of the same place."""

    @pytest.fixture
    def here(self, reach: Callable[[], Transport]) -> Transport:
        return reach()

    @pytest.fixture
    def there(self, reach: Callable[[], Transport]) -> Transport:
        return reach()

    def test_an_empty_place_has_nothing(self, here: Transport) -> None:
        assert here.head(ONE) is None and list(here.machines()) == []
        page = here.pull(ONE, 0)
        assert (list(page.changes), list(page.refused), page.upto, page.more) == ([], [], 0, False)
        assert 1 <= len(here.name) <= 64

    def test_what_was_pushed_is_pulled_elsewhere_in_order(self, here: Transport, there: Transport) -> None:
        told = lines(1, 5)
        assert here.push(ONE, told) == Head(5, digest(told[-1].line))
        assert there.head(ONE) == Head(5, digest(told[-1].line))
        assert all_of(there, ONE) == told and all_of(there, ONE, 3) == told[3:]
        assert list(there.machines()) == [ONE]
        assert here.name == there.name

    def test_logs_of_machines_are_apart(self, here: Transport, there: Transport) -> None:
        here.push(ONE, lines(1, 2))
        there.push(TWO, lines(1, 3, TWO))
        assert list(here.machines()) == [ONE, TWO]
        assert all_of(here, TWO) == lines(1, 3, TWO) and all_of(there, ONE) == lines(1, 2)

    @pytest.mark.parametrize("again", [(1, 4), (3, 6), (4, 4)])
    def test_what_is_there_already_is_not_added_twice(self, here: Transport, again: tuple[int, int]) -> None:
        here.push(ONE, lines(1, 4))
        end = here.push(ONE, lines(*again))
        assert end.seq == max(4, again[1]) and all_of(here, ONE) == lines(1, end.seq)

    @pytest.mark.parametrize("wrong", [[6], [4, 6]])
    def test_a_gap_is_refused_and_adds_nothing(self, here: Transport, wrong: Sequence[int]) -> None:
        here.push(ONE, lines(1, 3))
        with pytest.raises(ConflictError):
            here.push(ONE, [line(seq) for seq in wrong])
        assert all_of(here, ONE) == lines(1, 3)

    def test_other_lines_under_numbers_that_are_there_are_refused(self, here: Transport) -> None:
        here.push(ONE, lines(1, 3))
        for wrong in ([line(3, text="another")], [line(3, text="another"), line(4)]):
            with pytest.raises(ConflictError):
                here.push(ONE, wrong)
        assert all_of(here, ONE) == lines(1, 3)

    def test_many_small_pushes_and_long_pages(self, here: Transport, there: Transport) -> None:
        for seq in range(1, 41):
            here.push(ONE, [line(seq)])
        here.push(ONE, lines(41, 3 * PAGE_LINES))
        assert all_of(there, ONE) == lines(1, 3 * PAGE_LINES)
        assert here.head(ONE) == there.head(ONE)

    def test_text_of_all_kinds_comes_as_it_was(self, here: Transport, there: Transport) -> None:
        told = [
            line(1, text='quote " back \\ null \x00 line \n sep \u2028 emoji \U0001f600'),
            line(2, text="x" * 700_000),
        ]
        here.push(ONE, told)
        assert all_of(there, ONE) == told
