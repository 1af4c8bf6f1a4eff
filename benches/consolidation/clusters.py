"""What clusters, causal links and goals cost, and how well planted topics and near neighbours are found.

    .venv/bin/python benches/consolidation/clusters.py [--memories 1000 10000 100000]
        [--kind topics facts noise] [--json FILE]

Kinds: *topics* are planted groups of 25 texts that share words drawn for them, *noise* texts share words
by chance only, *facts* are those of planted.py: thousands of neighbours that differ in a name,
*neighbours* counts what is missed in cells. One process a line: its peak of memory is its own. CPU time
above wall time: two cores were at work; below it: the machine was shared.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.report import described, machine, options, peak_mib, save

PER_TOPIC = 25


def words() -> list[str]:
    from context_graph.memory.embed import packaged_table

    vocabulary = bytes(packaged_table().sections["vocabulary"]).decode().split("\n")
    return [word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 3]


def topics(count: int, *, per: int = PER_TOPIC) -> tuple[list[str], list[int]]:
    """Each text: 7 of its topic's 10 words, 5 common ones. ``per`` = 1 is noise."""
    draw = random.Random(1)
    known = words()
    draw.shuffle(known)
    common, rare = known[:400], known[400:]
    pairs = []
    for topic in range(count // per):
        own = draw.sample(rare, 10)
        for _ in range(per):
            text = draw.sample(own, 7) + draw.sample(common, 5)
            draw.shuffle(text)
            pairs.append((" ".join(text), topic))
    draw.shuffle(pairs)
    return [text for text, _ in pairs], [topic for _, topic in pairs]


def facts(count: int) -> tuple[list[str], list[int]]:
    from benches.consolidation import planted

    made = planted.planted(count, 0.0)
    return [one.text for one in made][:count], []


KINDS: dict[str, Callable[[int], tuple[list[str], list[int]]]] = {
    "topics": topics,
    "noise": lambda count: topics(count, per=1),
    "facts": facts,
}


def quality(found: Sequence, labels: Sequence[int]) -> dict[str, float]:
    """Pairs of members that are of one topic, and pairs of one topic that are in one cluster."""
    from collections import Counter

    together = right = 0
    for cluster in found:
        counts = Counter(labels[member.int - 1] for member in cluster.members)
        together += comb(len(cluster.members), 2)
        right += sum(comb(n, 2) for n in counts.values())
    there = sum(comb(n, 2) for n in Counter(labels).values())
    return {"pair_precision": right / max(1, together), "pair_recall": right / max(1, there)}


def one(kind: str, count: int) -> dict[str, object]:
    from benches.consolidation.snapshots import of_memories

    from context_graph.consolidation.finders import causal, clusters, goals
    from context_graph.memory.embed import default_provider
    from context_graph.model.memory import MemoryNode

    texts, labels = KINDS[kind](count)
    provider = default_provider()
    snap = of_memories(
        [
            MemoryNode(
                id=UUID(int=row + 1),
                content=text,
                rationale="planted for a bench",
                created_at_ms=row,
                last_accessed_ms=row,
                embedding=provider.encode(text).embedding,
            )
            for row, text in enumerate(texts)
        ]
    )
    snap.load("Terms", "Causal")
    told: dict[str, object] = {"kind": kind, "memories": len(texts)}
    rows = range(len(texts))
    found = _timed(told, "clusters", lambda: clusters.find(snap, rows))
    links = _timed(told, "links", lambda: causal.links(snap, found))
    shown = _timed(told, "goals", lambda: goals.discover(snap, found))
    members = sum(len(cluster.members) for cluster in found)
    told |= {
        "clusters": len(found),
        "covered": members / len(texts),
        "links": len(links),
        "goals": len(shown),
    }
    if kind == "topics":
        told |= quality(found, labels)
    return told


def _timed(told: dict[str, object], name: str, run: Callable[[], list]) -> list:
    before = peak_mib(), time.perf_counter(), time.process_time()
    made = run()
    told[f"{name}_s"] = time.perf_counter() - before[1]
    told[f"{name}_cpu_s"] = time.process_time() - before[2]
    told[f"{name}_more_mib"] = peak_mib() - before[0]
    return made


def missed(count: int) -> dict[str, object]:
    """How many of the neighbours that comparing all finds are found in cells."""
    import numpy as np

    from context_graph.consolidation.finders import clusters
    from context_graph.consolidation.snapshot import unit_rows
    from context_graph.memory.embed import default_provider
    from context_graph.model.spaces import SLICES

    if count <= clusters.EXACT_ROWS:  # so few are all compared, and make no cells to speak of
        return {"kind": "neighbours", "memories": count, "found_in_cells": 1.0}
    encode = default_provider().encode
    texts = topics(count)[0]
    space = np.stack([np.frombuffer(encode(text).embedding, np.float32)[SLICES["Terms"]] for text in texts])
    unit = clusters.rarity_weighted(unit_rows(space))
    least = clusters.chance(unit)
    told: dict[str, object] = {"kind": "neighbours", "memories": len(texts)}
    edges = []
    for name, exact in (("cells", 0), ("all", 1 << 60)):
        clusters.EXACT_ROWS = exact
        begin = time.perf_counter()
        graph = clusters.nearest(unit, clusters.NEIGHBOURS, least)
        told[f"{name}_s"] = time.perf_counter() - begin
        edges.append(set((graph.source.astype(np.int64) * len(unit) + graph.target).tolist()))
    return told | {"found_in_cells": len(edges[0] & edges[1]) / max(1, len(edges[1]))}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--memories", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--kind", nargs="+", default=["topics", "noise", "facts", "neighbours"])
    parser.add_argument("--one", action="store_true", help="in this process")
    given = parser.parse_args()
    if given.one:
        (kind,), (count,) = given.kind, given.memories
        told = missed(count) if kind == "neighbours" else one(kind, count)
        print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in told.items()}))
        return
    print(described(machine()))
    found = []
    for kind in given.kind:
        for count in given.memories:
            command = [sys.executable, __file__, "--one", "--kind", kind, "--memories", str(count)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            found.append(json.loads(done.stdout))
            print(done.stdout.decode(), end="", flush=True)
    save(given.json, {"cases": found})


if __name__ == "__main__":
    main()
