"""Machines that die in the middle, clocks that are wrong, and changes that nobody should take."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.memory.test_deleted_for_good import holding
from tests.integration.sync.test_merge import settle, state, stores, told
from tests.support.exchange.in_memory import InMemory
from tests.support.memories import WHY, open_memex

from context_graph.errors import InvalidInputError
from context_graph.memory import editing
from context_graph.memory.core import Core
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode
from context_graph.sync.change import (
    LINK,
    MEMORY,
    TOMBSTONE,
    VERSION,
    Change,
    canonical,
    encode,
    packed,
    value_digest,
)
from context_graph.sync.exchange import Exchange, OpenStore
from context_graph.sync.folder import Folder
from context_graph.sync.run import exchange
from context_graph.sync.side import Stretch
from context_graph.sync.transport import LoggedChange
from context_graph.sync.values import EDGE_FIELDS, NODE_FIELDS

DAY_MS = 86_400_000
_LOOP = """
import sys
from pathlib import Path
from tests.support.memories import WHY, open_memex
from context_graph.sync.exchange import OpenStore
from context_graph.sync.folder import Folder
from context_graph.sync.run import exchange
from context_graph.sync.side import Stretch
memex, place, name = open_memex(Path(sys.argv[1])), Folder(Path(sys.argv[2])), sys.argv[3]
number = memex.count()
while True:
    number += 1
    node = memex.store(f"{name} says {number} of subject {number % 9}", rationale=WHY)
    memex.touch([node.id])
    if number % 3 == 0:
        memex.forget(memex.list(limit=5).nodes[-1].id, reason="by the loop")
    print(node.id, flush=True)
    exchange(OpenStore(memex), place)
"""


def test_whoever_is_killed_anywhere_nothing_is_lost_and_all_agree(
    tmp_path: Path, rounds: Callable[[int], int]
) -> None:
    """Two machines work and exchange without a pause; each is killed at random, once or four times."""
    drawn = random.Random(20261124)
    place = tmp_path / "place"
    place.mkdir()
    acknowledged: set[str] = set()
    for _ in range(rounds(4)):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", _LOOP, str(tmp_path / name), str(place), name],
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("0", "1")
        ]
        for one in running:
            assert one.stdout is not None
            acknowledged.update(one.stdout.readline().strip() for _ in range(drawn.randint(5, 20)))
            time.sleep(drawn.random() / 5)  # anywhere in what comes then
            one.send_signal(signal.SIGKILL)
        for one in running:
            out, _ = one.communicate()
            acknowledged.update(word for word in out.split() if len(word) == 36)
    assert len(acknowledged) > 8, "else nothing was tried"
    with ExitStack() as stack:
        some = stores(tmp_path, 2, stack)
        for _ in range(5):
            reports = [exchange(OpenStore(one), Folder(place)) for one in some]
        assert [report.told for report in reports] == [0, 0]
        assert state(some[0]) == state(some[1])
        for one in some:
            assert acknowledged <= {str(stored.node.id) for stored in one.stored_after()}


@pytest.mark.parametrize("at", ["put_nodes", "commit"])
def test_a_merge_that_dies_halfway_is_finished_by_the_next(tmp_path: Path, at: str) -> None:
    place = InMemory()
    with ExitStack() as stack:
        one, other = stores(tmp_path, 2, stack)
        nodes = [one.store(f"Fact {n} of the matter", rationale=WHY) for n in range(5)]
        one.link(nodes[0].id, nodes[1].id, "causes")
        told(one, place)
        target = {
            "put_nodes": "context_graph.memory.editing.put_nodes",
            "commit": "context_graph.sync.notes.SyncNotes.commit",
        }[at]
        with patch(target, side_effect=OSError("the power went")), pytest.raises(OSError, match="power"):
            told(other, place)
        settle([one, other], place)
        assert state(one) == state(other) and other.count() == 5


def test_what_was_heard_and_deleted_for_good_is_in_no_file(tmp_path: Path) -> None:
    """Not even where it had been noted before it was written, on any machine."""
    place = InMemory()
    with ExitStack() as stack:
        some = one, other = stores(tmp_path, 2, stack)
        node = one.store("the launch word is xylophonist", rationale=WHY)
        told(one, place)
        dies = patch("context_graph.memory.editing.put_nodes", side_effect=OSError("the power went"))
        with dies, pytest.raises(OSError, match="power"):
            told(other, place)
        other.flush()
        assert holding(tmp_path), "else nothing is proved"
        settle([one, other], place)
        one.forget(node.id, soft=False, reason="user_requested")
        settle([one, other], place)
        for memex in some:
            memex.flush()
    assert holding(tmp_path) == []


def test_a_clock_that_is_a_day_ahead_waits_and_is_heard_when_others_have_caught_up(tmp_path: Path) -> None:
    place = InMemory()
    with ExitStack() as stack:
        one, other = stores(tmp_path, 2, stack)
        real = time.time_ns
        with patch("time.time_ns", lambda: real() + DAY_MS * 1_000_000):
            one.store("Written with a clock that is a day ahead", rationale=WHY)
            told(one, place)
        report = told(other, place)
        assert (report.heard, report.ahead) == (0, [report_machine(one)])
        with patch("time.time_ns", lambda: real() + DAY_MS * 1_000_000):
            settle([one, other], place)
        assert state(one) == state(other) and other.count() == 1


def report_machine(memex: Any) -> str:
    return OpenStore(memex).machine()


def test_a_clock_that_is_a_day_behind_loses_no_edit(tmp_path: Path) -> None:
    """What one does after it has seen another's change comes after that change, whatever its clock says."""
    place = InMemory()
    with ExitStack() as stack:
        one, other = stores(tmp_path, 2, stack)
        node = one.store("The answer is 41", rationale=WHY)
        settle([one, other], place)
        real = time.time_ns
        with patch("time.time_ns", lambda: real() - DAY_MS * 1_000_000):
            other.forget(node.id, reason="it is 42")
            told(other, place)
        settle([one, other], place)
        assert one.get(node.id) is None and state(one) == state(other)


MACHINE = "a" * 32
NAME = "0badc0de-0000-4000-8000-000000000000"


LEAST = {"content": "a poisoned text", "rationale": WHY, "created_at_ms": 5}


def nested(depth: int) -> Any:
    """An object in which so many others stand in one another."""
    return {"a": nested(depth - 1)} if depth else {}


def change(seq: int, **given: Any) -> Change:
    whole: dict[str, Any] = {
        **{"v": VERSION, "machine": MACHINE, "seq": seq, "clock": packed(1000) + seq, "by": MACHINE},
        **{"kind": MEMORY, "subject": NAME, "fields": LEAST},
    }
    return Change(**{**whole, **given})


POISON: dict[str, bytes] = {
    "no JSON": b"{",
    "deep": b'{"v":' + b"[" * 100_000,
    "another version": encode(change(1, v=VERSION + 1)),
    "another's log": encode(change(1, machine="b" * 32)),
    "no id": encode(change(1, subject="../../etc/passwd")),
    "unknown field": encode(change(1, fields={"seq": 1})),
    "wrong type": encode(change(1, fields={"content": 7})),
    "importance": encode(change(1, fields={"importance": 1e9})),
    "huge": encode(change(1, fields={"content": "x" * 1_900_000, "rationale": WHY, "created_at_ms": 1})),
    "a source of a sentence": encode(change(1, fields=LEAST | {"source": "s" * 33})),
    "a number of 400 digits": encode(change(1, fields=LEAST | {"importance": 7})).replace(
        b":7", b":7" + b"0" * 400
    ),
    "a number in metadata": encode(change(1, fields=LEAST | {"metadata": {"a": 7}})).replace(
        b":7", b":7" + b"0" * 20
    ),
    "metadata that no line can tell": encode(change(1, fields=LEAST | {"metadata": {"a": 7}})).replace(
        b":7", b":" + b"[" * 300 + b"]" * 300
    ),
    "metadata that is deep": encode(change(1, fields=LEAST | {"metadata": nested(65)})),
    "a link's metadata that is deep": encode(
        change(
            1, kind=LINK, subject=f"{NAME}/{NAME[:-1]}1/causes", fields={"id": NAME, "metadata": nested(65)}
        )
    ),
    "a reason of a book": encode(change(1, fields={"tombstone": {"at_ms": 1, "reason": "x" * 501}})),
    "a removal that is none": encode(change(1, fields={"removed": False})),
    "a link to itself": encode(
        change(1, kind=LINK, subject=f"{NAME}/{NAME}/causes", fields={"id": NAME, "weight": 0.5})
    ),
    "a link without ends": encode(change(1, kind=LINK, subject="nowhere", fields={})),
    "uses": canonical({**{"v": 1}, "uses": {"x": [1, 2]}}),
}


@pytest.mark.parametrize("what", POISON)
def test_a_poisoned_line_is_listed_and_what_follows_is_taken(tmp_path: Path, what: str) -> None:
    with ExitStack() as stack:
        memex = open_memex(tmp_path / "one")
        stack.callback(memex.close)
        good = encode(change(2, subject=NAME.replace("0bad", "900d")))
        side = OpenStore(memex)
        merged = side.merge("place", Stretch(MACHINE, [POISON[what], good], 2))
        assert len(merged.refused) == 1 and "poisoned text" not in str(merged.refused)
        assert merged.read == 2 and merged.new == 1
        assert [node.content for node in memex.list().nodes] == ["a poisoned text"]
        assert len(str(merged.refused)) < 1000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=40),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=5), parts, max_size=3),
)


@pytest.mark.timeout(600)  # each example opens two stores
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([*NODE_FIELDS, *EDGE_FIELDS, TOMBSTONE, "gone", "removed"]), json_values),
        min_size=1,
        max_size=20,
    )
)
def test_whatever_a_field_holds_the_log_is_read_on_and_told_on(
    rows: list[tuple[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each line is taken or refused by itself, and what was taken another machine hears."""
    folder, place = tmp_path_factory.mktemp("any"), InMemory()
    with ExitStack() as stack:
        one, other = stores(folder, 2, stack)
        lines = [encode(change(1)), encode(change(2, subject=NAME.replace("0bad", "900d")))]
        for seq, (name, value) in enumerate(rows, 3):
            of_link = {"kind": LINK, "subject": f"{NAME}/{NAME.replace('0bad', '900d')}/causes"}
            blank = {"id": f"{seq:08x}" + NAME[8:]} if name in EDGE_FIELDS else LEAST
            kind = of_link if blank is not LEAST or name == "gone" else {}
            line = canonical(msgspec.to_builtins(change(seq, fields={**blank, name: 0}, **kind)))
            lines.append(
                line.replace(b'"%s":0' % name.encode(), b'"%s":%s' % (name.encode(), spelled(value)))
            )
        merged = OpenStore(one).merge("place", Stretch(MACHINE, lines, len(lines)))
        assert merged.read == len(lines) and not merged.waits_for_clock
        settle([one, other], place)
        assert state(one) == state(other)


def spelled(value: Any) -> bytes:
    """As JSON, also what our own encoder refuses."""
    return json.dumps(value).encode()


def test_what_an_earlier_build_took_and_this_one_can_t_store_stops_nothing(tmp_path: Path) -> None:
    """It waits in a store that was less strict when it heard it."""
    with open_memex(tmp_path) as memex, patch("context_graph.sync.values.check"):
        good = encode(change(2, subject=NAME.replace("0bad", "900d")))
        merged = OpenStore(memex).merge("place", Stretch(MACHINE, [POISON["metadata that is deep"], good], 2))
        assert merged.read == 2 and memex.count() == 1


def test_secrets_that_another_machine_lets_through_are_masked_here(tmp_path: Path) -> None:
    secret = "ghp_" + "x1Y2" * 9
    with ExitStack() as stack:
        some = stores(tmp_path, 2, stack)
        place = InMemory()
        fields = {"content": f"the token is {secret}", "rationale": WHY, "created_at_ms": 5}
        one = change(1, fields=fields)
        place.push(MACHINE, [LoggedChange(one, encode(one))])
        settle(some, place)
        for memex in some:
            assert secret not in str([node.content for node in memex.list().nodes])
        assert state(some[0]) == state(some[1])


def test_a_link_waits_for_its_memories(tmp_path: Path) -> None:
    """They come from another machine's log, which is read later."""
    with ExitStack() as stack:
        one, other, third = stores(tmp_path, 3, stack)
        place = InMemory()
        a, b = (one.store(f"Fact {n} of the matter", rationale=WHY).id for n in (1, 2))
        settle([one, other], place)
        other.link(a, b, "causes")
        told(other, place)
        pages = {machine: place.pull(machine, 0) for machine in place.machines()}
        mine = OpenStore(third)
        for machine in sorted(pages, key=lambda name: name != OpenStore(other).machine()):
            page = pages[machine]
            mine.merge("place", Stretch(machine, [one.line for one in page.changes], page.upto))
        with third.core.operation("sync", writes=True) as core:
            assert not Exchange(core).notes.has_queued()
        assert len(third.edges(a)) == 1


def merge(memex: Memex, *changes: Change) -> None:
    """Hear them in this order."""
    lines = [encode(replace_seq(one, seq)) for seq, one in enumerate(changes, 1)]
    merged = OpenStore(memex).merge("place", Stretch(MACHINE, lines, len(lines)))
    assert not merged.refused, merged.refused


def used(memex: Memex) -> int:
    with memex.core.operation("sync") as core:
        return Exchange(core).notes.table.access(UUID(NAME).bytes).times


def replace_seq(one: Change, seq: int) -> Change:
    return msgspec.structs.replace(one, seq=seq, clock=packed(1000) + seq)


@pytest.mark.parametrize("order", [(5, 3), (3, 5), (5, 3, 5)])
def test_uses_told_by_another_never_fall(tmp_path: Path, order: tuple[int, ...]) -> None:
    with open_memex(tmp_path) as memex:
        merge(memex, change(1), *(change(2, fields={}, uses={"b" * 32: (count, 7)}) for count in order))
        assert used(memex) == 5


def test_uses_here_never_fall_by_what_another_tells(tmp_path: Path) -> None:
    """They have not been told to anybody yet."""
    with open_memex(tmp_path) as memex:
        merge(memex, change(1))
        for _ in range(5):
            memex.touch([UUID(NAME)])
        merge(memex, change(1), change(2, fields={}, uses={"b" * 32: (3, 7)}))
        assert used(memex) >= 5


def test_a_link_with_another_link_s_id_takes_nothing_away(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        ids = [memex.store(f"Fact {number} of the matter", rationale=WHY).id for number in range(4)]
        own = memex.link(ids[0], ids[1], "causes", weight=0.5)
        subject = f"{ids[2]}/{ids[3]}/causes"
        merge(memex, change(1, kind=LINK, subject=subject, fields={"id": str(own.id), "weight": 0.9}))
        (left,) = memex.all_edges()
        assert (left.source_id, left.target_id, left.weight) == (ids[0], ids[1], 0.5)


def test_a_memory_that_can_t_be_stored_takes_none_beside_it_along(tmp_path: Path) -> None:
    real = editing.put_nodes

    def put_nodes(core: Core, nodes: Sequence[MemoryNode], **given: Any) -> Any:
        if any(node.id == UUID(NAME) for node in nodes):
            raise InvalidInputError("it is unfit")
        return real(core, nodes, **given)

    others = [change(1, subject=str(UUID(int=number))) for number in range(1, 64)]
    with open_memex(tmp_path) as memex:
        with patch("context_graph.memory.editing.put_nodes", put_nodes):
            merge(memex, *others[:30], change(1), *others[30:])
        assert memex.count() == 63


def test_what_is_private_by_its_metadata_is_told_to_nobody(tmp_path: Path) -> None:
    place = InMemory()
    with ExitStack() as stack:
        one, other = stores(tmp_path, 2, stack)
        own = one.store("Only on this machine", rationale=WHY, metadata={"private": True})
        shared = one.store("On every machine", rationale=WHY)
        one.link(own.id, shared.id, "causes")
        settle([one, other], place)
        assert [stored.node.id for stored in other.stored_after()] == [shared.id] and not list(
            other.all_edges()
        )
        assert str(own.id) not in str(place._logs)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_values_with_one_stamp_all_take_the_same(tmp_path: Path, order: tuple[int, int]) -> None:
    """A clock that was wrong gives one stamp to what it stamps anew."""
    logs = ("c" * 32, "d" * 32)
    whole = {"content": "a fact in a sentence", "rationale": WHY, "created_at_ms": 5}
    drawn = [{**whole, "importance": importance} for importance in (0.25, 0.75)]
    lines = [encode(change(1, machine=log, fields=one)) for log, one in zip(logs, drawn, strict=True)]
    with ExitStack() as stack:
        memex = open_memex(tmp_path / "one")
        stack.callback(memex.close)
        for which in order:
            OpenStore(memex).merge("place", Stretch(logs[which], [lines[which]], 1))
        largest = max((0.25, 0.75), key=value_digest)
        assert [node.importance for node in memex.list().nodes] == [largest]


class Blind:
    """Knows no secret, as a build of before a rule for it."""

    def finds(self, text: str) -> bool:
        return False

    def redact(self, text: str) -> str:
        return text

    redact_id = redact

    def redact_cut(self, text: str, limit_bytes: int, window_bytes: int | None = None) -> str:
        return text


def test_a_secret_that_was_stored_before_its_rule_leaves_masked(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    place = InMemory()
    with ExitStack() as stack:
        before = Memex.open(tmp_path / "one", redactor=Blind())
        before.store(f"The deploy token is {secret}", rationale=WHY)
        before.close()
        memex = open_memex(tmp_path / "one")
        stack.callback(memex.close)
        assert secret in memex.list().nodes[0].content, "else nothing is proved"
        told(memex, place)
        lines = [one.line.decode() for machine in place.machines() for one in place.pull(machine, 0).changes]
        assert lines and secret not in "".join(lines) and "[redacted:" in "".join(lines)
