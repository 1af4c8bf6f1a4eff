"""Another embedding provider comes into a store in use; what stops that leaves one whole set of vectors."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.memories import REDACTOR, WHY, open_memex
from typing_extensions import Buffer

from context_graph import Memex
from context_graph.errors import ProviderMismatchError
from context_graph.kernels.tokens import Encoded
from context_graph.memory.embed import PROVIDER, default_provider, record_of
from context_graph.memory.reindex import BATCH, Step


class Backwards:
    """A provider of its own: it embeds texts read from their end."""

    name = "backwards"
    digest = sha256(b"backwards").hexdigest()
    dim = 1536

    def __init__(self) -> None:
        self._inner = default_provider()

    @property
    def vocabulary_size(self) -> int:
        return self._inner.vocabulary_size

    def encode(self, text: str) -> Encoded:
        return self._inner.encode(text[::-1])

    def query(self, text: str, counts: Buffer, total: int) -> Encoded:
        return self._inner.query(text[::-1], counts, total)

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def cut_tokens(self, text: str, tokens: int) -> str:
        return self._inner.cut_tokens(text, tokens)


@pytest.fixture
def other() -> Backwards:
    return Backwards()


def filled(path: Path, count: int) -> Memex:
    memex = open_memex(path)
    memex.store_many([{"content": f"memory number {i} of parcels", "rationale": WHY} for i in range(count)])
    return memex


def providers_of(memex: Memex, other: Backwards) -> set[str]:
    """Whose embeddings the store has."""
    found = set()
    for stored in memex.stored_after():
        embedding = memex.embedding_at(stored.node.commit_seq)
        for provider in (default_provider(), other):
            if embedding == provider.encode(stored.node.content).embedding:
                found.add(provider.name)
    return found


def test_every_memory_gets_the_new_providers_embedding(tmp_path: Path, other: Backwards) -> None:
    """D4.3: reindex migrates, soft-deleted memories and what was stored meanwhile too."""
    steps: list[Step] = []
    with filled(tmp_path / "s", BATCH + 10) as memex:
        memex.forget(memex.list().nodes[0].id, reason="to see")
        assert not memex.reindex_step(other).done
        late = memex.store("stored in between", rationale=WHY)
        assert memex.reindex(other, steps.append) == 11
        assert [step.done for step in steps] == [False, True]
        assert steps[-1].at == steps[-1].total
        assert providers_of(memex, other) == {"backwards"}
        assert memex.provider_record() == record_of(other)
        assert memex.recall("stored in between").nodes[0].node == late
        memex.store("stored afterwards", rationale=WHY)
        assert providers_of(memex, other) == {"backwards"}


def test_until_the_end_the_old_provider_serves(tmp_path: Path, other: Backwards) -> None:
    with filled(tmp_path / "s", BATCH + 1) as memex:
        memex.reindex_step(other)
        assert providers_of(memex, other) == {"static"}
        assert memex.recall("number 7").nodes[0].node.content == "memory number 7 of parcels"
        assert memex.provider_record() == record_of(default_provider())


def test_a_store_of_another_provider_is_refused_and_the_way_out_is_named(
    tmp_path: Path, other: Backwards
) -> None:
    """D4.3: vectors are never mixed."""
    with filled(tmp_path / "s", 3) as memex:
        memex.reindex(other)
    with open_memex(tmp_path / "s") as memex:
        for call in (lambda: memex.recall("parcels"), lambda: memex.store("another", rationale=WHY)):
            with pytest.raises(ProviderMismatchError, match="memory reindex --provider static"):
                call()
        assert memex.reindex(default_provider()) == 3
        assert memex.recall("parcels").total == 3
        assert providers_of(memex, other) == {"static"}


def test_the_same_provider_again_changes_nothing_and_gives_up_what_was_begun(
    tmp_path: Path, other: Backwards
) -> None:
    with filled(tmp_path / "s", BATCH + 1) as memex:
        memex.reindex_step(other)
        assert memex.reindex(default_provider()) == 0
        assert providers_of(memex, other) == {"static"}
        assert memex.reindex(other) == BATCH + 1  # from the beginning


def test_what_is_removed_meanwhile_leaves_no_vector_behind(tmp_path: Path, other: Backwards) -> None:
    """REQ-CORE-013: a permanent deletion takes everything of a memory along."""
    with filled(tmp_path / "s", BATCH + 1) as memex:
        first = next(iter(memex.stored_after())).node
        memex.reindex_step(other)
        memex.forget(first.id, soft=False, reason="user_requested")
        memex.reindex(other)
        assert memex.embedding_at(first.commit_seq) is None
        assert memex.recall("parcels", top_k=100).total == BATCH


KILLED = """
import os, sys
from tests.integration.memory.test_reindex import Backwards
from tests.support.memories import open_memex
memex = open_memex(sys.argv[1])
steps = int(sys.argv[2])
for _ in range(steps):
    memex.reindex_step(Backwards())
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_killed_at_any_step_it_goes_on_from_there(tmp_path: Path, other: Backwards, steps: int) -> None:
    """REQ-CORE-008: one whole set of vectors before and after, and no step is done twice."""
    count = 2 * BATCH + 5
    filled(tmp_path / "s", count).close()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "s"), str(steps)],
        timeout=60,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == -signal.SIGKILL
    switched = steps == 4
    with Memex.open(tmp_path / "s", redactor=REDACTOR, provider=other if switched else None) as memex:
        assert providers_of(memex, other) == {"backwards" if switched else "static"}
        assert memex.reindex(other) == max(0, count - BATCH * steps)
        assert providers_of(memex, other) == {"backwards"}
        assert memex.recall("number 77").nodes[0].node.content == "memory number 77 of parcels"


def test_an_export_with_other_spaces_comes_in_with_those_of_today(tmp_path: Path) -> None:
    exported = io.BytesIO()
    with open_memex(tmp_path / "s") as memex:
        embedding = default_provider().encode("something else").embedding
        memex.store("the green bottle of water", rationale=WHY, embedding=embedding)
        record = record_of(default_provider())
        del record["spaces"]
        memex.core.store.put_meta(PROVIDER, record)
        memex.export(exported, embeddings=True)
    exported.seek(0)
    with open_memex(tmp_path / "t") as memex:
        assert memex.import_(exported)["added"] == 1
        (stored,) = memex.stored_after()
        made = default_provider().encode(stored.node.content).embedding
        assert memex.embedding_at(stored.node.commit_seq) == made
