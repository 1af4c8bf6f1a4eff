"""A pulse suggests from the store's own past, and what was followed is over; on real databases."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from tests.integration.memory.test_introspection import SUBJECTS, WHY, action, store
from tests.support.memories import open_memex

from context_graph.consolidation.consolidate import consolidate
from context_graph.memory.memex import Memex
from context_graph.memory.metrics.pulse import FACT, LEAST_PAST, MAX_PAST, Deed, PulsePast, rank
from context_graph.memory.metrics.review_tasks import Pending
from context_graph.model.memory import SuggestedAction

NOTHING = Pending(pairs=False, orphans=False)
PLACES = ("login", "billing", "search", "export", "mail")
FAULTS = ("signs tokens", "refuses tokens", "renews tokens", "logs tokens", "caches tokens")
ONE_SUBJECT = [f"The {place} service {fault} of its users" for place, fault in product(PLACES, FAULTS)]
STRANGE = (
    *SUBJECTS,
    *(f"{text} too, as {name} said" for text, name in zip(SUBJECTS, PLACES * 3, strict=False)),
)


def grown(memex: Memex) -> None:
    """A store about one thing, then of everything."""
    store(memex, *ONE_SUBJECT)
    assert action(memex) is not SuggestedAction.TRIGGER_DREAM
    store(memex, *STRANGE[:8])


def test_a_store_that_leaves_its_usual_state_is_to_be_consolidated_once(tmp_path: Path) -> None:
    """REQ-CORE-004: relative to the store's past; a run ends it, through a restart, until more has come."""
    with open_memex(tmp_path) as memex:
        grown(memex)
        assert action(memex) is SuggestedAction.TRIGGER_DREAM
        status = memex.status().as_dict()
        assert "of this store's last" in str(status["suggested_because"])
        assert "consolidate_memories" in str(status["ended_by"])
    with open_memex(tmp_path) as memex:
        assert action(memex) is SuggestedAction.TRIGGER_DREAM
        consolidate(memex, "deep", dry_run=True)
        assert action(memex) is SuggestedAction.TRIGGER_DREAM
        consolidate(memex, "light")
        assert action(memex) is SuggestedAction.READY
    with open_memex(tmp_path) as memex:
        assert action(memex) is SuggestedAction.READY
        store(memex, STRANGE[8])
        assert action(memex) is SuggestedAction.READY
        store(memex, *STRANGE[9:14])
        assert action(memex) is SuggestedAction.TRIGGER_DREAM


def test_a_past_that_can_t_be_read_begins_anew(tmp_path: Path) -> None:
    facts = ({"version": 2}, {"version": 1, "entropy": "x"}, {"version": 1, "entropy": [1]})
    for text, fact in zip(SUBJECTS, facts, strict=False):
        with open_memex(tmp_path) as memex:
            memex.core.store.put_meta(FACT, fact)
        with open_memex(tmp_path) as memex:
            store(memex, text)
            assert action(memex) is SuggestedAction.READY


def past_of(*values: float) -> PulsePast:
    made = PulsePast()
    for seq, value in enumerate(values):
        made.sample(value, value, seq)
    return made


@pytest.mark.parametrize(
    ("entropy", "coherence", "wanted", "deeds"),
    [
        (0.9, 0.1, SuggestedAction.TRIGGER_DREAM, [Deed.CONSOLIDATED]),
        (0.9, 0.47, SuggestedAction.CONSOLIDATE, [Deed.CONSOLIDATED]),
        (0.9, 0.9, SuggestedAction.EPISTEMIC_ACTION, [Deed.STORED, Deed.RECALLED]),
        (0.1, 0.1, SuggestedAction.EXPLORE, [Deed.STORED, Deed.RECALLED]),
        (0.505, 0.1, SuggestedAction.CLARIFY, [Deed.LINKED, Deed.FORGOT, Deed.ACCEPTED, Deed.CONSOLIDATED]),
    ],
)
def test_each_action_ends_by_what_follows_it_and_by_nothing_else(entropy, coherence, wanted, deeds) -> None:
    """REQ-CORE-004: and comes back with a sixteenth of the store, at least four memories."""
    usual = [0.3 + 0.02 * at for at in range(LEAST_PAST + 4)]
    for deed in Deed:
        past = past_of(*usual)

        def ask(memories: int, arrived: int, past: PulsePast = past) -> SuggestedAction:
            return past.suggestion(entropy, coherence, memories, NOTHING, lambda seq: arrived).action

        assert ask(100, 0) is wanted
        past.did(deed, 7)
        again = PulsePast.from_fact(past.as_fact())
        assert again.as_fact() == past.as_fact()
        assert ask(100, 5) is (SuggestedAction.READY if deed in deeds else wanted)
        assert ask(100, 6) is ask(20, 4) is wanted


def test_what_was_not_asked_for_was_not_followed() -> None:
    past = past_of(*(0.5 for _ in range(LEAST_PAST)))
    past.did(Deed.RECALLED, 3)
    assert past.suggestion(0.1, 0.1, 50, NOTHING, lambda seq: 0).action is SuggestedAction.EXPLORE


def test_a_state_as_usual_is_ready_and_the_past_is_bounded() -> None:
    past = past_of(*(0.5 + 0.001 * (at % 3) for at in range(10 * MAX_PAST)))
    assert len(past.as_fact()["entropy"]) == MAX_PAST
    assert past.suggestion(0.5, 0.5, 50, NOTHING, lambda seq: 99).action is SuggestedAction.READY
    assert [rank(value, [1, 2, 2, 3]) for value in (0, 2, 4)] == [0.0, 0.5, 1.0]


def test_a_value_is_kept_for_each_64th_of_growth() -> None:
    past = PulsePast()
    assert [past.due(*given) for given in ((7, 7), (8, 1), (128, 1), (128, 2))] == [False, True, False, True]


# Memory's Johari


SHARED = (
    "The gateway Frankfurt-7 drops packets",
    "Replace the fan of Frankfurt-7",
    "Frankfurt-7 runs FlintOS",
)


def test_what_a_memory_shares_with_few_others_connects_it(tmp_path: Path) -> None:
    """REQ-CORE-006: names and tags that few have; not what all have, nor how like the texts are."""
    with open_memex(tmp_path) as memex:
        filler = store(memex, *SUBJECTS, tags=("note",))
        assert {node.utl_state.delta_c for node in filler[2:]} < {0.0, 0.2, 1 / 9, 3 / 11}
        alone = memex.store("Quagga herds graze", rationale=WHY, tags=("note",))
        first = memex.store(SHARED[0], rationale=WHY, tags=("net",))
        second = memex.store(SHARED[1], rationale=WHY, tags=("net",))
        assert alone.utl_state.delta_c == 0.0 == first.utl_state.delta_c
        assert second.utl_state.delta_c > 0.0
