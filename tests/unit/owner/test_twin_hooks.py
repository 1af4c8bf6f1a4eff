"""Events that both the client's settings and a plugin bring."""

from __future__ import annotations

import pytest

from context_graph.model import EventKind, HookEvent
from context_graph.owner.sessions.live_sessions import DuplicateHooks

AT = 1_700_000_000_000


def stop(*, plugin: bool, at_ms: int = AT, said: str = "done", session: str = "s1") -> HookEvent:
    return HookEvent(EventKind.STOP, session, f"{at_ms}{plugin}", at_ms, output_text=said, from_plugin=plugin)


@pytest.mark.parametrize("first", [False, True])
def test_the_second_installation_s_event_is_known(first: bool) -> None:
    duplicates = DuplicateHooks()
    assert not duplicates.is_second(stop(plugin=first))
    assert duplicates.is_second(stop(plugin=not first, at_ms=AT + 900))
    assert not duplicates.is_second(stop(plugin=first, at_ms=AT + 1_000)), "the next event, as like as it is"


def test_one_installation_s_events_are_all_events() -> None:
    """A Stop that was held comes again at once, and may say the same words."""
    duplicates = DuplicateHooks()
    assert not any(duplicates.is_second(stop(plugin=False, at_ms=AT + n)) for n in range(8))


@pytest.mark.parametrize(
    "other",
    [
        stop(plugin=True, at_ms=AT + 60_000),
        stop(plugin=True, said="something else"),
        stop(plugin=True, session="s2"),
    ],
)
def test_what_differs_is_no_duplicate(other: HookEvent) -> None:
    duplicates = DuplicateHooks()
    assert not duplicates.is_second(stop(plugin=False))
    assert not duplicates.is_second(other)


def test_a_tool_call_is_known_by_its_id_and_its_prompt() -> None:
    """Ids that a gateway numbers from 1 come again in a resumed session, at another prompt."""
    call = HookEvent(EventKind.POST_TOOL, "s1", "a", AT, tool_use_id="toolu_1", prompt_id="p1")
    again = HookEvent(EventKind.POST_TOOL, "s1", "b", AT, tool_use_id="toolu_1", prompt_id="p2")
    bare = HookEvent(EventKind.POST_TOOL, "s1", "c", AT, tool_use_id="toolu_1")
    assert len({call.dedupe_key(), again.dedupe_key(), bare.dedupe_key()}) == 3
    same = HookEvent(
        EventKind.POST_TOOL, "s1", "d", AT, tool_use_id="toolu_1", prompt_id="p1", from_plugin=True
    )
    assert same.dedupe_key() == call.dedupe_key()


def test_only_the_last_events_are_held() -> None:
    duplicates = DuplicateHooks()
    for n in range(1_000):
        duplicates.is_second(stop(plugin=False, said=str(n)))
    assert not duplicates.is_second(stop(plugin=True, said="0"))
    assert duplicates.is_second(stop(plugin=True, said="999"))
