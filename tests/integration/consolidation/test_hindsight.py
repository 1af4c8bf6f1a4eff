"""A deep run replays a store's sessions: what it says of them, and what it changes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pytest
from tests.support.memories import REDACTOR

from context_graph.config import Settings
from context_graph.consolidation import snapshot
from context_graph.consolidation.consolidate import consolidate
from context_graph.consolidation.finders import hindsight
from context_graph.consolidation.plan import floor_of
from context_graph.identity.earlier_work import ALIKE_ENOUGH
from context_graph.model import HookEvent
from context_graph.owner.sessions.hook_call import recorded_event
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.store.layout import ALIKE_FACT

SESSIONS = 24
PLACES = (
    ("billing/invoices.py", "parse_invoice_date", "the year of an invoice with two digits"),
    ("gallery/thumbnails.py", "rotate_picture", "the orientation of a picture from a phone"),
)
DAY_MS = 86_400_000
_LETTERS = str.maketrans("0123456789abcdef", "gh ijk mn opqrst")


def _noise(*numbers: int) -> str:
    """Some words that no other session has."""
    return blake2b(bytes(numbers), digest_size=24).hexdigest().translate(_LETTERS)


def events(number: int) -> Iterator[HookEvent]:
    """A session that works on one of the places."""
    path, function, about = PLACES[number % 2]
    bodies = [
        ("UserPromptSubmit", {"prompt": f"{_noise(number)} {about} {_noise(number, 9)}", "prompt_id": "p"}),
        *(
            (
                "PostToolUse",
                {
                    "tool_name": "Bash",
                    "tool_use_id": f"t{turn}",
                    "tool_input": {"command": f"grep -n {function} {path} | head -{turn}"},
                    "tool_response": {
                        "stdout": f"{turn}: {function}(value)  # {about}, {_noise(number, turn)}"
                    },
                },
            )
            for turn in range(1, 5)
        ),
        (
            "PostToolUse",
            {
                "tool_name": "Edit",
                "tool_use_id": "e",
                "tool_input": {
                    "file_path": path,
                    "old_string": function,
                    "new_string": f"{function}_{number}",
                },
                "tool_response": {"filePath": path},
            },
        ),
        ("Stop", {"last_assistant_message": "Done."}),
    ]
    for at, (name, body) in enumerate(bodies):
        at_ms = 1_700_000_000_000 + number * DAY_MS + at * 1000
        yield recorded_event(name, body, f"s-{number}", at, at_ms, REDACTOR)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[StoreContext]:
    """A store of sessions that work on two places by turns."""
    made = StoreContext(
        tmp_path / "store",
        project=None,
        settings=Settings(),
        log=logging.getLogger("test"),
        redactor=REDACTOR,
    )
    for number in range(SESSIONS):
        for event in events(number):
            made.sessions.apply(event)
        made.settle()
        made.memory_hooks.tidy()
    yield made
    made.close()


def test_the_right_session_would_have_been_told_and_the_run_says_so(context: StoreContext) -> None:
    memex = context.memory
    snap = snapshot.read(memex.core.store)
    result = hindsight.look_back(memex.core.store, snap, ALIKE_ENOUGH)
    assert result is not None and result.sessions == SESSIONS - 1
    assert result.shown >= SESSIONS - 4 and result.right >= result.shown - 2, (
        "the first of each kind has none"
    )
    run = consolidate(memex, "deep", salience_threshold=0.0)
    assert run.plan.hindsight == result and result.text() in run.notes
    assert run.as_dict()["hindsight"]["right"] == result.right


def test_a_better_floor_holds_from_then_on_and_an_undo_takes_it_back(context: StoreContext) -> None:
    memex = context.memory
    with memex.core.operation("test", writes=True) as core:
        core.store.put_meta(ALIKE_FACT, {"version": 1, "floor": 0.99})
    run = consolidate(memex, "deep", salience_threshold=0.0)
    result = run.plan.hindsight
    assert result is not None and result.is_moved and result.right > result.right_before
    assert run.undo_token is not None
    assert floor_of(memex.core.store.meta(ALIKE_FACT), ALIKE_ENOUGH) == result.floor < 0.99
    again = consolidate(memex, "deep", salience_threshold=0.0)
    assert again.plan.hindsight is not None and not again.plan.hindsight.is_moved
    memex.undo(run.undo_token)
    assert floor_of(memex.core.store.meta(ALIKE_FACT), ALIKE_ENOUGH) == 0.99


def test_it_takes_no_longer_than_it_may(context: StoreContext) -> None:
    store = context.memory.core.store
    assert hindsight.look_back(store, snapshot.read(store), ALIKE_ENOUGH, most_s=0.0) is None
