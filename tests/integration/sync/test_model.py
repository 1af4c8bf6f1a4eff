"""The merge beside a model of it: whatever is lost on the way, repeated, or comes in another order."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.memories import WHY, open_memex

from context_graph.memory.memex import Memex
from context_graph.sync.change import MEMORY, VERSION, Change, encode, packed, value_digest
from context_graph.sync.exchange import Exchange, OpenStore
from context_graph.sync.side import Stretch

MACHINES = ("a" * 32, "b" * 32, "c" * 32)
SUBJECTS = tuple(f"{number:08x}-0000-4000-8000-000000000000" for number in range(2))
STONE = {"at_ms": 5, "reason": "drawn"}
FIELDS: dict[str, Sequence[Any]] = {
    "importance": (0.25, 0.5, 0.75),
    "pinned": (True, False),
    "tags": (["a"], ["b"], []),
    "tombstone": (STONE, None),
    "removed": (True,),
}
WHOLE = {"content": "a fact in a sentence", "rationale": WHY, "created_at_ms": 5}

# Few subjects and clocks, so that stamps meet; few deletions for good, which hide all else.
names = st.sampled_from([*(name for name in sorted(FIELDS) if name != "removed")] * 3 + ["removed"])
fields = st.dictionaries(names, st.integers(0, 2), max_size=3)
drawn_change = st.tuples(
    *(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2), st.booleans(), fields),
    st.dictionaries(st.sampled_from(MACHINES), st.integers(1, 5), max_size=2),
)


def changes_of(drawn: list[Any]) -> list[Change]:
    """Numbered in each machine's log; several may have one clock."""
    seqs = dict.fromkeys(MACHINES, 0)
    found = []
    for who, which, clock, is_whole, names, uses in drawn:
        machine = MACHINES[who]
        seqs[machine] += 1
        told = {name: FIELDS[name][at % len(FIELDS[name])] for name, at in names.items()}
        found.append(
            Change(
                *(VERSION, machine, seqs[machine], packed(1000 + clock), machine),
                *(MEMORY, SUBJECTS[which]),
                {**(WHOLE if is_whole else {}), **told},
                {user: (times, times) for user, times in uses.items()},
            )
        )
    return found


def modelled(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """What all machines agree on: of each field the largest stamp; what is removed is nothing else."""
    found = []
    for subject in SUBJECTS:
        of_it = [one for one in changes if one.subject == subject]
        newest: dict[str, tuple[tuple[int, str, str], Any]] = {}
        uses: dict[str, tuple[int, int]] = {}
        for one in of_it:
            for name, value in one.fields.items():
                stamp = (one.clock, one.by, value_digest(value))
                if name not in newest or newest[name][0] < stamp:
                    newest[name] = stamp, value
            for user, (times, last) in one.uses.items():
                uses[user] = max((times, last), uses.get(user, (0, 0)))
        if "removed" in newest:
            newest, uses = {"removed": newest["removed"]}, {}
        buried = "tombstone" in newest and newest["tombstone"][1] is not None
        shown = {
            name: [value, *stamp[:2]]
            for name, (stamp, value) in sorted(newest.items())
            if not buried or name == "tombstone"
        }
        if newest or uses:
            found.append(
                {"kind": MEMORY, "subject": subject, "fields": shown, "uses": dict(sorted(uses.items()))}
            )
    return found


def hear(memex: Memex, one: Change) -> None:
    side = OpenStore(memex)
    merged = side.merge("place", Stretch(one.machine, [encode(one)], one.seq, one.seq - 1))
    assert not merged.refused, merged.refused


def agreed(memex: Memex) -> list[dict[str, Any]]:
    with memex.core.operation("sync") as core:
        return Exchange(core).state()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(drawn_change, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_whatever_comes_in_whatever_order_a_store_is_what_the_model_is(drawn: list[Any], chance: Any) -> None:
    told = changes_of(drawn)
    with tempfile.TemporaryDirectory() as folder, open_memex(folder) as memex:
        arrived = [one for one in chance.sample(told, len(told)) if chance.random() < 0.7]  # the rest is lost
        for one in [*arrived, *chance.choices(told, k=3)]:
            hear(memex, one)
        for one in chance.sample(told, len(told)):  # what was lost is told again, and what was not
            hear(memex, one)
        assert agreed(memex) == modelled(told)
