"""Recall in process, query embedding included, beside what reading all vectors costs at least."""

from __future__ import annotations

import itertools
import statistics
from itertools import islice

import numpy as np
from benches.interleave import measure
from benches.micro.bench_recall import QUESTIONS, STORE, node, texts
from benches.report import Figure, figures

from context_graph.memory.embed import default_provider, dense_part
from context_graph.memory.index.index import DENSE_DIM, MemoryIndex
from context_graph.memory.recall import Recaller

COPIES, SPARE_S = 3, 1e-3
"""A recall's goal: so many times a memcpy of the vectors that it scans, and what does not grow with them."""


def run(rounds: int, memories: int) -> list[Figure]:
    """Ten memories for a question, out of ``memories``; the ten best by vectors alone as the usual way."""
    provider = default_provider()
    index = MemoryIndex(provider.digest, provider.vocabulary_size)
    index.store_uid = STORE
    for number, text in enumerate(islice(texts(1), memories)):
        index.add(node(number, text), provider.encode(text))
    questions = itertools.cycle([" ".join(text.split()[:9]) + "?" for text in islice(texts(2), QUESTIONS)])
    recaller = Recaller(index, provider, lambda found: node(found.int - 1, ""))
    packed = np.frombuffer(index.vectors.to_bytes(), np.uint8)
    copy = np.empty_like(packed)
    scales = np.frombuffer(packed, np.float32, memories, offset=16)
    rows = np.frombuffer(packed, np.int8)[-DENSE_DIM * memories :].reshape(memories, -1) * scales[:, None]

    def vectors_alone() -> list[int]:
        query = np.array(
            dense_part(provider.query(next(questions), index.piece_counts, index.pieces).embedding)
        )
        scores = rows @ query
        best = np.argpartition(scores, -10)[-10:]
        return list(best[np.argsort(-scores[best])])

    samples = measure(
        {
            "memcpy of all vectors": lambda: np.copyto(copy, packed),
            "BLAS over float32 rows, ten best": vectors_alone,
            "recall": lambda: recaller.recall(next(questions)),
        },
        rounds,
        once=True,
    )
    least = statistics.median(samples["memcpy of all vectors"])
    return figures(
        f"recall among {memories:,} memories",
        {"memcpy of all vectors": "limit", "BLAS over float32 rows, ten best": "rival", "recall": "ours"},
        samples,
        goals_s={"recall": COPIES * least + SPARE_S},
    )
