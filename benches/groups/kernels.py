"""Kernels beside what the processor can do: BLAS products, memory bandwidth, a loop over the same bytes.

BLAS gets one thread, as each kernel here does. The bandwidth is that of `memcpy` into memory that is there
already, counted once (bytes copied): a kernel that only reads may pass it.
"""

from __future__ import annotations

from array import array
from dataclasses import replace

import numpy as np
from benches.interleave import measure
from benches.report import Figure, Kind, figures
from tests.oracles import features as _reference_features
from tests.oracles import salience as _reference_salience

from context_graph.consolidation.finders import closeness
from context_graph.identity.ego import EventReader
from context_graph.kernels import dense, salience
from context_graph.kernels import pairs as pairs_kernel
from context_graph.memory.embed import default_provider
from context_graph.memory.index.index import DENSE_DIM
from context_graph.model.spaces import DIM, SLICES

SALIENCE_ROWS = 1024
CENTRES = 20
KINDS: dict[str, Kind] = {"ours": "ours", "twin": "twin"}


def run(rounds: int, rows: int, close_rows: int) -> list[Figure]:
    """Scan ``rows`` vectors, find close ones among ``close_rows``, score salience, read events and texts."""
    return [*scan(rounds, rows), *close(max(15, rounds // 20), close_rows), *score(rounds), *texts(rounds)]


def scan(rounds: int, rows: int) -> list[Figure]:
    """One query over all rows, 256 signed bytes each, as recall does it."""
    chance = np.random.default_rng(1)
    vectors = dense.Vectors(DENSE_DIM)
    for _ in range(rows):
        vectors.append(chance.standard_normal(DENSE_DIM, np.float32))
    query, live = chance.standard_normal(DENSE_DIM, np.float32), bytes([1]) * rows
    scores = array("f", bytes(4 * rows))
    packed = np.frombuffer(vectors.to_bytes(), np.uint8)
    copy, floats = np.empty_like(packed), chance.standard_normal((rows, DENSE_DIM), np.float32)
    copied, blas = "memcpy of the same bytes", "BLAS sgemv, 4 times the bytes"
    samples = measure(
        {
            copied: lambda: np.copyto(copy, packed),
            blas: lambda: floats @ query,
            "Vectors.scan": lambda: vectors.scan(query, live, scores),
        },
        rounds,
    )
    found = figures(
        f"scan of {rows:,} embeddings", {copied: "limit", blas: "rival", "Vectors.scan": "ours"}, samples
    )
    return [replace(one, extra={"GB/s": round(packed.nbytes / one.p50_s / 1e9, 1)}) for one in found]


def close(rounds: int, rows: int) -> list[Figure]:
    """All pairs of unit rows of 256 floats with a cosine of at least 0.95, one thread."""
    made = np.random.default_rng(2).standard_normal((rows, 256), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    half = rows // 2
    product, blocks = "BLAS sgemm, product alone", "NumPy blocks, product and comparison"

    def blas() -> None:  # as many products as the upper triangle has
        np.matmul(made[:half], made.T, out=out)

    out = np.empty((half, rows), np.float32)
    samples = measure(
        {
            product: blas,
            blocks: lambda: np.nonzero(np.matmul(made[:half], made.T) >= 0.95),
            "closeness.groups": lambda: closeness.groups(made, 0.95, threads=1),
        },
        rounds,
        once=True,
    )
    found = figures(
        f"close pairs among {rows:,} rows",
        {product: "limit", blocks: "rival", "closeness.groups": "ours"},
        samples,
        goals={"closeness.groups": 0.5} if rows >= 8000 else {},  # the axes' cost weighs below
    )
    flops = rows * rows * 256
    return [
        replace(one, extra={"GFLOP/s": round(flops / one.p50_s / 1e9), "with": pairs_kernel.KINDS[-1]})
        for one in found
    ]


def score(rounds: int) -> list[Figure]:
    """Salience of rows in 13 spaces against 20 centres."""
    chance = np.random.default_rng(3)

    def embeddings(count: int) -> np.ndarray:
        made = chance.standard_normal((count, DIM), np.float32)
        for part in SLICES.values():
            made[:, part] /= np.linalg.norm(made[:, part], axis=1, keepdims=True)
        return made

    rows, centres = embeddings(SALIENCE_ROWS), embeddings(CENTRES)
    out = np.empty((SALIENCE_ROWS, len(SLICES)))
    given = (
        rows,
        chance.random(SALIENCE_ROWS),
        chance.random(SALIENCE_ROWS),
        centres,
        np.full(CENTRES, 0.5),
        0.6,
    )
    product = "BLAS sgemm, products alone"
    samples = measure(
        {
            product: lambda: rows @ centres.T,
            "salience.score": lambda: salience.score(*given, out),
            "twin": lambda: _reference_salience.score(*given, out),
        },
        max(30, rounds // 4),
    )
    kinds: dict[str, Kind] = {product: "limit", "salience.score": "ours", "twin": "twin"}
    return figures(f"salience of {SALIENCE_ROWS:,} rows, {CENTRES} centres", kinds, samples)


def texts(rounds: int) -> list[Figure]:
    """One event's texts of 2 + 2 KB into features; one text of 60 tokens into all spaces."""
    reader = EventReader()
    one = ("def refill(bucket, now):  # tokens come back at a steady rate\n" * 40).encode()[:2048]
    # What any reader must do at least: look at each byte once.
    counted = "bytes.translate of the same bytes"
    plain = bytes(range(256))
    scanner, slow = reader.bags, twin_of(reader)
    event = measure(
        {
            counted: lambda: (one.translate(plain), one.translate(plain)),
            "EventFeatures.scan": lambda: scanner.scan(one, one),
            "twin": lambda: slow.scan(one, one),
        },
        rounds,
    )
    provider = default_provider()
    text = (
        "I went to the support group yesterday and it was so powerful because the stories were inspiring; "
        "it made me want to keep going and plan my career, so I'll research some programs tomorrow at "
        "7:30 pm if get_user_name() works, and write down what I find in docs/plan.md."
    )
    words = "str.split and a hash of each word"
    embed = measure(
        {words: lambda: {hash(word) for word in text.split()}, "encode": lambda: provider.encode(text)},
        rounds,
    )
    return [
        *figures(
            "features of an event, 2 + 2 KB",
            {counted: "limit", "EventFeatures.scan": "ours", "twin": "twin"},
            event,
        ),
        *figures("embedding of 60 tokens, 13 spaces", {words: "limit", "encode": "ours"}, embed),
    ]


def twin_of(reader: EventReader) -> _reference_features.EventFeatures:
    """The readable features with the same word lists."""
    from context_graph.identity import ego

    return _reference_features.EventFeatures(ego.WORK_WORDS, ego.HEADS)
