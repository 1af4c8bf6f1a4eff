"""A pulse says what is unsettled of that which was told, on real databases; a memory's Johari beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.memory.test_introspection import LIMIT, SUBJECTS, WHY, action, store
from tests.support.memories import open_memex

from context_graph.memory.memex import Memex
from context_graph.memory.metrics.metrics import FACT, LATELY, Shares, action_for
from context_graph.model.memory import CAPTURED, MemoryNode, SuggestedAction
from context_graph.model.note import KIND, NoteKind


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project's folder with one file."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "limits.py").write_text("LIMIT = 100\n")
    return folder


def shares(memex: Memex) -> tuple[float, float]:
    pulse = memex.pulse()
    return pulse.entropy, pulse.coherence


def told(memex: Memex, nodes: list[MemoryNode], folder: Path | None = None) -> None:
    memex.tell([node.id for node in nodes], str(folder) if folder else None)


def resting(memex: Memex, text: str, folder: Path, **how) -> MemoryNode:
    return memex.store(text, rationale=WHY, evidence=memex.evidence.named(str(folder), ["limits.py"]), **how)


def test_coherence_is_the_share_of_what_was_told_that_was_used_or_confirmed(tmp_path: Path) -> None:
    """REQ-CORE-025: by a later use, a link, a confirmation; each telling has to be used anew."""
    with open_memex(tmp_path) as memex:
        nodes = store(memex, *SUBJECTS[:6])
        told(memex, nodes[:4])
        seen = [shares(memex)[1]]
        memex.use_told([nodes[0].id, nodes[5].id])
        seen.append(shares(memex)[1])
        memex.link(nodes[1].id, nodes[5].id)
        seen.append(shares(memex)[1])
        memex.accept(nodes[2].id)
        seen.append(shares(memex)[1])
        memex.store("What penguins eat in winter", rationale=WHY, link_to=[nodes[3].id])
        seen.append(shares(memex)[1])
        assert seen == [0.0, 0.25, 0.5, 0.75, 1.0]
        told(memex, nodes[:1])
        assert shares(memex)[1] == 0.75
        memex.forget(nodes[0].id)
        assert shares(memex)[1] == 1.0


def test_entropy_is_the_share_of_what_was_told_that_is_contradicted(tmp_path: Path) -> None:
    """REQ-CORE-024: until the contradiction is settled, also one that came after the telling."""
    with open_memex(tmp_path) as memex:
        first, *others = store(memex, LIMIT.format(100), *SUBJECTS[:3])
        told(memex, [first, *others])
        assert shares(memex)[0] == 0.0
        (second,) = store(memex, LIMIT.format(200))
        memex.status()
        assert shares(memex)[0] == 0.25
        memex.link(second.id, first.id, "supersedes")
        assert shares(memex)[0] == 0.0


@pytest.mark.parametrize("left", ["LIMIT = 200\n", None])
def test_what_rests_on_a_changed_file_is_in_doubt_and_named_until_somebody_confirms_it(
    tmp_path: Path, checkout: Path, left: str | None
) -> None:
    """REQ-CORE-003, REQ-CORE-024: where an answer brings it; other answers say nothing of it."""
    with open_memex(tmp_path) as memex:
        node, (other,) = resting(memex, LIMIT.format(100), checkout), store(memex, SUBJECTS[0])
        told(memex, [node, other], checkout)
        assert shares(memex)[0] == 0.0
        file = checkout / "limits.py"
        file.unlink() if left is None else file.write_text(left)
        told(memex, [node, other], checkout)
        assert shares(memex)[0] == 0.5
        pulse = memex.pulse(touched=[other.id, node.id])
        assert pulse.suggested_action is SuggestedAction.CLARIFY and str(node.id)[:8] in pulse.about
        assert action(memex) is SuggestedAction.READY
        memex.confirm(node.id, str(checkout))
        assert shares(memex) == (0.0, 0.5)
        assert memex.pulse(touched=[node.id]).about == ""


def test_a_record_of_what_was_done_stays_so_when_its_file_changes(tmp_path: Path, checkout: Path) -> None:
    """REQ-CORE-024: a session's summary, or a note of a change."""
    with open_memex(tmp_path) as memex:
        change = {"metadata": {KIND: NoteKind.CHANGE}}
        nodes = [
            resting(memex, LIMIT.format(100), checkout, source=CAPTURED),
            resting(memex, SUBJECTS[0], checkout, **change),
        ]
        (checkout / "limits.py").write_text("LIMIT = 200\n")
        told(memex, nodes, checkout)
        assert shares(memex)[0] == 0.0


def test_what_was_told_outlives_a_restart_and_is_bounded(tmp_path: Path) -> None:
    """REQ-CORE-019."""
    with open_memex(tmp_path) as memex:
        texts = [{"content": f"{SUBJECTS[0]}, year {n}", "rationale": WHY} for n in range(2 * LATELY)]
        nodes = memex.store_many(texts)
        told(memex, nodes)
        memex.use_told([node.id for node in nodes[: LATELY + LATELY // 2]])
        assert len(memex.core.store.meta(FACT)["told"]) == LATELY
        assert shares(memex)[1] == 0.5
    with open_memex(tmp_path) as memex:
        assert shares(memex)[1] == 0.5


@pytest.mark.parametrize("fact", [{"version": 1}, {"version": 2, "told": [["x"]]}, {"version": 2}])
def test_what_can_t_be_read_begins_anew(tmp_path: Path, fact: dict[str, object]) -> None:
    with open_memex(tmp_path) as memex:
        memex.core.store.put_meta(FACT, fact)
    with open_memex(tmp_path) as memex:
        told(memex, store(memex, SUBJECTS[0]))
        assert shares(memex) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("coherence", "wanted"),
    [
        (0.1, SuggestedAction.TRIGGER_DREAM),
        (0.45, SuggestedAction.CONSOLIDATE),
        (0.9, SuggestedAction.EPISTEMIC_ACTION),
    ],
)
def test_where_most_that_was_told_is_in_doubt_the_action_is_the_specification_s(coherence, wanted) -> None:
    """REQ-CORE-004: by its cut points, but not for what a few memories may show by chance."""
    assert action_for(Shares(0.95, coherence, LATELY)) is wanted
    assert action_for(Shares(0.95, coherence, 5)) is SuggestedAction.READY
    assert action_for(Shares(0.72, coherence, LATELY)) is SuggestedAction.READY
    assert action_for(Shares(0.1, coherence, LATELY)) is SuggestedAction.READY
    assert action_for(Shares(0.0, 0.0, 0)) is SuggestedAction.READY


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
