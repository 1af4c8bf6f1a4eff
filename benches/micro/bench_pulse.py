"""What a store's view of itself costs at 10,000 memories: on a write, on an answer, when asked.

Goals: the figures take a few us of a write; a pulse is below 1 ms (REQ-CORE-019); an injection answers within
some milliseconds of its recall.

| workload | what |
|---|---|
| pack, place | the two kernels of a write, beside their twins |
| measure_and_count | all that a write does for the figures, no database |
| pulse_after_a_write, link_alone | a link with and without the header of the answer to it |
| pulse_with_candidates | the same, with curation candidates waiting: it looks at four |
| tell | ten memories noted as told |
| status | get_memetic_status, nothing waiting |
| inject_* | inject_context on a real store, recall included |
| snapshot_* | the figures of the store written and read |
"""

from __future__ import annotations

import random
import re
from array import array
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from uuid import UUID

import pytest
from benches.scale import scaled
from pytest_benchmark.fixture import BenchmarkFixture
from tests.oracles import topics as _reference_topics

from context_graph.memory.embed import default_provider
from context_graph.memory.memex import Memex
from context_graph.memory.metrics.metrics import LATELY, common_of
from context_graph.memory.metrics.store_metrics import JOIN_COSINE, TOPIC_SLOTS, StoreMetrics
from context_graph.model.memory import MemoryNode

MEMORIES = scaled(10_000, 1_000)
ROUNDS = scaled(300, 20)
WHY = "a memory of the bench"
WORDS_EACH = 44


def texts(count: int, seed: int) -> list[str]:
    """Texts of some 60 tokens: two or three stretches of prose each, from the standard library's sources."""
    words, chance = prose(), random.Random(seed)
    made = []
    for number in range(count):
        parts: list[str] = []
        while len(parts) < WORDS_EACH:
            at = chance.randrange(len(words) - 24)
            parts += words[at : at + chance.randint(10, 24)]
        made.append(f"{' '.join(parts[:WORDS_EACH])}. Note {number}.")
    return made


@cache
def prose() -> list[str]:
    """Words of docstrings, in order: English with a natural distribution."""
    modules = (
        "argparse",
        "asyncio.tasks",
        "difflib",
        "doctest",
        "email.message",
        "fractions",
        "heapq",
        "inspect",
    )
    more = ("logging", "mailbox", "optparse", "pathlib", "pickletools", "random", "statistics", "subprocess")
    found: list[str] = []
    for name in (*modules, *more, "tarfile", "textwrap", "threading", "turtle", "typing", "unittest.mock"):
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        found += re.findall(r"[A-Za-z][\w'-]*[,.]?", Path(spec.origin).read_text())
    return found


@pytest.fixture(scope="module")
def embeddings() -> list[bytes]:
    return [default_provider().encode(text).embedding for text in texts(2000, seed=2)]


@pytest.fixture(scope="module")
def memex(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memex]:
    """10,000 memories in sessions of 40, a tenth of them linked to the one before."""
    with Memex.open(tmp_path_factory.mktemp("store")) as made:
        contents = texts(MEMORIES, seed=1)
        for start in range(0, MEMORIES, 1000):
            batch = [
                {"content": text, "rationale": WHY, "session_id": f"s{(start + i) // 40}"}
                for i, text in enumerate(contents[start : start + 1000])
            ]
            nodes = made.store_many(batch)
            for i in range(0, len(nodes) - 1, 10):
                made.link(nodes[i].id, nodes[i + 1].id)
        made.tell([node.id for node in nodes[:LATELY]], None)
        made.status()  # nothing of the filling waits for the first pulse
        yield made


@pytest.fixture
def measure(benchmark: BenchmarkFixture) -> Callable[..., None]:
    def run(group: str, use: Callable[[], object], rounds: int = ROUNDS) -> None:
        benchmark.group = group
        benchmark.pedantic(use, rounds=rounds, warmup_rounds=5)
        if benchmark.stats is None:  # --benchmark-disable
            return
        times = sorted(benchmark.stats.stats.data)
        for share in (50, 95):
            benchmark.extra_info[f"p{share}_us"] = round(times[share * (len(times) - 1) // 100] * 1e6, 1)
        print(f"\n{benchmark.name}: {benchmark.extra_info}")

    return run


@pytest.fixture(params=["compiled", "reference"])
def kernel(request: pytest.FixtureRequest) -> ModuleType:
    return import_module("context_graph.kernels.topics") if request.param == "compiled" else _reference_topics


def test_pack(measure, kernel, embeddings) -> None:
    common = common_of(default_provider())
    measure("topics.pack: one memory", lambda: kernel.pack(embeddings[7], common))


def test_place(measure, kernel) -> None:
    chance = random.Random(7)
    scattered = [array("f", [chance.gauss(0, 1) for _ in range(1536)]).tobytes() for _ in range(400)]
    packed = [_reference_topics.pack(one, b"") for one in scattered]
    topics = kernel.Topics(TOPIC_SLOTS, JOIN_COSINE)
    for number, one in enumerate(packed):
        topics.add(number.to_bytes(16, "big"), topics.place(one)[0], one)
    assert all(topics.members(slot) for slot in range(TOPIC_SLOTS))
    measure("topics.place: one memory, all topics in use", lambda: topics.place(packed[7]))


def test_measure_and_count(measure, embeddings) -> None:
    figures = StoreMetrics(common_of(default_provider()))
    numbers = iter(range(1, 10**9))

    def write() -> None:
        number = next(numbers)
        node_id, embedding = UUID(int=number), embeddings[number % len(embeddings)]
        found = figures.measure(node_id, embedding, importance=0.5, session_id="s")
        node = MemoryNode(
            id=node_id,
            content="",
            rationale=WHY,
            created_at_ms=0,
            last_accessed_ms=0,
            utl_state=found.state,
            semantic_cluster=found.topic,
            session_id="s",
        )
        figures.added(node, embedding, measured=found)

    measure("figures: one write, the record made included", write, rounds=3000)


def _linking(memex, apart: int):
    """Makes a link that is not there yet at each call, between memories that are so far ``apart``."""
    nodes = memex.list(limit=1000).nodes
    numbers = iter(range(10**9))

    def link() -> None:
        at = next(numbers)
        memex.link(nodes[at % 900].id, nodes[at % 900 + apart].id, f"kind {at // 900}")

    return link


def test_pulse_after_a_write(measure, memex) -> None:
    """The link before each pulse is in the figure; what a link costs stands beside it."""
    link = _linking(memex, 2)

    def link_and_pulse() -> None:
        link()
        memex.pulse()

    measure("pulse", link_and_pulse, rounds=400)


def test_link_alone(measure, memex) -> None:
    measure("pulse", _linking(memex, 3), rounds=400)


def test_pulse_with_candidates(benchmark, memex) -> None:
    """Each has eight pairs of like memories waiting; a pulse looks at four."""
    benchmark.group = "pulse"
    numbers = iter(range(10**9))

    def candidates() -> None:
        text = texts(1, seed=1000 + next(numbers))[0]
        memex.store_many([{"content": f"{text} Case {i}.", "rationale": WHY} for i in range(9)])

    benchmark.pedantic(memex.pulse, setup=candidates, rounds=60, warmup_rounds=2)


def test_tell(measure, memex) -> None:
    nodes = memex.list(limit=1000).nodes
    starts = iter(range(10**9))

    def tell() -> None:
        start = next(starts) % 990
        memex.tell([node.id for node in nodes[start : start + 10]], None)

    measure("pulse", tell)


def test_status(measure, memex) -> None:
    memex.status()
    measure("status", memex.status)


@pytest.mark.parametrize("mode", ["auto", "raw", "narrative", "structured"])
@pytest.mark.parametrize("max_tokens", [400, 2048])
def test_inject(measure, memex, mode, max_tokens) -> None:
    queries = iter(" ".join(text.split()[:9]) for text in texts(10**4, seed=4))
    measure(
        "inject_context",
        lambda: memex.inject(next(queries), mode=mode, max_tokens=max_tokens),
        rounds=min(200, ROUNDS),
    )


def test_inject_with_everything(measure, memex) -> None:
    queries = iter(" ".join(text.split()[:9]) for text in texts(10**4, seed=5))
    include = ("causal_links", "entailment_cones", "neighborhood", "conflicts")
    measure(
        "inject_context",
        lambda: memex.inject(next(queries), priority="high", max_tokens=8192, include=include),
        rounds=100,
    )


def test_recall_of_the_same_depth(measure, memex) -> None:
    """What of an injection is its recall."""
    queries = iter(" ".join(text.split()[:9]) for text in texts(10**4, seed=6))
    measure("inject_context", lambda: memex.recall(next(queries), top_k=24), rounds=min(200, ROUNDS))


@pytest.fixture(scope="module")
def figures(embeddings) -> StoreMetrics:
    made = StoreMetrics(common_of(default_provider()))
    for number in range(MEMORIES):
        node = MemoryNode(
            id=UUID(int=number + 1), content="", rationale=WHY, created_at_ms=0, last_accessed_ms=0
        )
        made.added(node, embeddings[number % len(embeddings)])
    return made


def test_snapshot_written(measure, figures) -> None:
    measure("snapshot of the figures", figures.to_bytes, rounds=20)


def test_snapshot_read(measure, figures) -> None:
    packed, common = figures.to_bytes(), common_of(default_provider())
    measure("snapshot of the figures", lambda: StoreMetrics.from_bytes(packed, common), rounds=20)
