"""The embedding provider: what it gives, what it costs before it is used, and who may write into a store."""

from __future__ import annotations

import subprocess
import sys
import threading
from array import array
from pathlib import Path

import pytest

from context_graph.errors import EmbeddingDataError, ProviderMismatchError, UsageError
from context_graph.memory import embed
from context_graph.memory.embed import (
    StaticProvider,
    TokenTable,
    default_provider,
    dense_part,
    packaged_table,
)


def test_the_packaged_table_is_identified_by_its_bytes() -> None:
    table = packaged_table()
    assert (table.pieces, table.width) == (30522, 256)
    assert default_provider().digest == table.digest
    assert len(table.digest) == 64


def test_the_licences_of_what_it_was_made_from_are_beside_it() -> None:
    """Apache-2.0 and WordNet's licence ask for their texts to go along."""
    folder = Path(embed.__file__).parents[1] / "data"
    assert "Apache License" in (folder / "LICENSE.Apache-2.0").read_text()
    assert "Princeton University" in (folder / "LICENSE.WordNet").read_text()
    notice = (folder / "NOTICE").read_text()
    assert "LICENSE.Apache-2.0" in notice
    assert "LICENSE.WordNet" in notice


def test_a_query_without_counts_is_weighted_alike() -> None:
    provider = default_provider()
    counts = array("I", bytes(4 * provider.vocabulary_size))
    query = provider.query("where is the violin", counts, 0)
    text = provider.encode("where is the violin")
    assert (query.terms, query.pieces) == (text.terms, text.pieces)
    assert dense_part(query.embedding).tolist() == pytest.approx(
        dense_part(text.embedding).tolist(), abs=1e-6
    )


def test_tokens_are_counted_and_cut_exactly() -> None:
    """REQ-CORE-016: budgets are held by a real tokenizer's count."""
    provider = default_provider()
    assert provider.count_tokens("The internationalisation of parcels") == 5
    assert (
        provider.cut_tokens("The internationalisation of parcels", 4).strip() == "The internationalisation of"
    )


def test_nothing_is_loaded_before_it_is_used() -> None:
    """The owner imports this at its start and may never need it."""
    code = (
        "import sys; from context_graph.memory.embed import default_provider, StaticProvider\n"
        "p = StaticProvider(); print('Stemmer' in sys.modules, 'numpy' in sys.modules, p._loaded)\n"
        "p.encode('a text'); print('Stemmer' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["False", "False", "None", "True", "False"]


def test_threads_get_what_one_thread_gets() -> None:
    """The encoder reuses its scratch memory: the provider's lock keeps threads apart."""
    provider = StaticProvider()
    texts = [f"memory number {i} about topic {i % 7} word{i}" for i in range(400)]
    alone = [provider.encode(text).embedding for text in texts]
    found: dict[int, list[bytes]] = {}

    def encode(which: int) -> None:
        found[which] = [provider.encode(text).embedding for text in texts]

    threads = [threading.Thread(target=encode, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[i] == alone for i in range(4))


@pytest.mark.parametrize("damage", ["missing", "magic", "cut", "empty"])
def test_damaged_data_is_an_error_that_names_the_file(tmp_path: Path, damage: str) -> None:
    data = (
        b"" if damage == "empty" else b"CGTABLE1\x20\0\0\0" + b'{"sections": {"rows": [4096, 9]}}'.ljust(32)
    )
    if damage == "magic":
        data = b"NOTATABL" + data[8:]
    path = tmp_path / "static.bin"
    if damage != "missing":
        path.write_bytes(data)
    with pytest.raises(EmbeddingDataError, match=r"static\.bin"):
        TokenTable.load(path)


def test_vectors_of_two_providers_are_never_mixed() -> None:
    """D4.3: a store remembers its provider, and the refusal names the way out."""
    provider = default_provider()
    embed.require_provider(None, provider)
    embed.require_provider(("static", provider.digest), provider)
    with pytest.raises(ProviderMismatchError, match="memory reindex --provider static"):
        embed.require_provider(("static", "0" * 64), provider)
    with pytest.raises(ProviderMismatchError, match="memory reindex --provider static"):
        embed.recorded_provider("unheard-of")


def test_providers_are_known_by_name() -> None:
    assert embed.provider("static") is default_provider()
    with pytest.raises(UsageError, match="no embedding provider 'unheard-of'; there are: static"):
        embed.provider("unheard-of")
    with pytest.raises(UsageError, match="already registered"):
        embed.register_provider("static", StaticProvider)
