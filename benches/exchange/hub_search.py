#!/usr/bin/env python3
"""Asking a team's hub with many memories: time of an answer, and what its candidates miss.

    python benches/exchange/hub_search.py [--memories 1000000] [--projects 20] [--questions 200]

A PostgreSQL of its own with that many memories of real prose in as many projects, put there by COPY; a member
with an owner asks over MCP. `recall@10`: of the ten memories that are best in a store that holds all of them,
and of the ten whose vectors are nearest, how many are among the candidates. Exit 1 where a goal is missed.
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.exchange.hub import joined
from benches.exchange.sync_folder import run
from benches.hooks.processes import live_env
from benches.memory.mcp_calls import Client
from benches.micro.bench_recall import node, texts
from benches.report import described, grid, machine, options, save, spread
from tests.support.exchange.postgres import Postgres, Team, started, team

from context_graph.memory.elsewhere import sought
from context_graph.memory.embed import default_provider, dense_part
from context_graph.memory.index.blend import hashes
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.recall import Recaller
from context_graph.sync.change import MEMORY, VERSION, Change, encode
from context_graph.sync.hub.answering import Question, Search
from context_graph.sync.hub.memories import signed, vector_text
from context_graph.sync.hub.transport import Hub

GOAL_P95_MS, GOAL_RECALL = 150.0, 0.95
BEST = 10
_INDEXES = {
    "memory_embedding": "CREATE INDEX memory_embedding ON context_graph.memory "
    "USING hnsw (embedding halfvec_ip_ops)",
    "memory_terms": "CREATE INDEX memory_terms ON context_graph.memory USING gin (terms)",
}


def main() -> int:
    """Fill, ask, print the table; 1 where a goal is missed."""
    parser = options(__doc__)
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--projects", type=int, default=20)
    parser.add_argument("--questions", type=int, default=200)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="context-graph-bench-"))
    home = folder / "one" / "project"
    home.mkdir(parents=True)
    try:
        own = team(with_memory(started()))
        print(f"{described(machine())}; {given.memories} memories in {given.projects} projects", flush=True)
        provider, contents = default_provider(), list(islice(texts(11), given.memories))
        found: dict[str, Any] = {"filled_s": fill(own, contents, given.projects)}
        joined(own, [home], automatic=False)
        member_of_all(own)
        run(home, "memory", "store", "Something of our own, so that the store is not empty")
        asked = questions(given.questions)
        found["answer"] = answered(home, asked)
        index = MemoryIndex(provider.digest, provider.vocabulary_size)
        for number, text in enumerate(contents):
            index.add(node(number, text), provider.encode(text))
        found |= candidates(own, index, contents, asked)
    finally:
        run(home, "owner", "stop")
        shutil.rmtree(folder, ignore_errors=True)
    rows = [
        ("recall_memory scope=team, over MCP", *found["answer"].values(), GOAL_P95_MS),
        ("of it the hub's search", *found["search"].values(), None),
    ]
    print(grid(("ms", "p50", "p95", "max", "goal p95"), rows))
    missed = found["answer"]["p95_ms"] > GOAL_P95_MS
    for name in ("best", "nearest"):
        print(f"recall@10 of the {name}: {found[name]:.3f} (goal {GOAL_RECALL})")
        missed |= found[name] < GOAL_RECALL
    print(f"{found['filled_s']:.0f} s to fill the hub")
    save(given.json, found)
    return int(missed)


def with_memory(server: Postgres) -> Postgres:
    """As a hub of that size has it: 1.2 KB a memory for vectors and their graph."""
    with server.admin() as admin:
        admin.execute("ALTER SYSTEM SET shared_buffers = '2GB'")
    server.kill()
    server.start_again()
    return server


def questions(count: int) -> list[str]:
    """By turns the beginning of a text that is not there, and seven words from anywhere in one."""
    draw = random.Random(5)
    words = [text.split() for text in islice(texts(2), count)]
    asked = [some[:9] if number % 2 else draw.sample(some, 7) for number, some in enumerate(words)]
    return [" ".join(one) + "?" for one in asked]


def fill(own: Team, contents: list[str], projects: int) -> float:
    """Rows as members' machines leave them, by COPY, indexes afterwards; seconds."""
    began = time.perf_counter()
    with own.server.admin() as admin:
        admin.execute("SET maintenance_work_mem = '3GB'")
        for name in _INDEXES:
            admin.execute(f"DROP INDEX context_graph.{name}".encode())
        admin.execute("ALTER TABLE context_graph.change DISABLE TRIGGER USER")
        places = []
        for number in range(projects):
            project, log = uuid4(), uuid4().hex
            admin.execute(
                "INSERT INTO context_graph.project (id, team, name) "
                "SELECT %s, team, %s FROM context_graph.project WHERE id = %s",
                (project, f"project {number}", own.project),
            )
            admin.execute(
                "INSERT INTO context_graph.machine (project, machine, login) VALUES (%s, %s, 'somebody')",
                (project, log),
            )
            places.append((str(project), log))
        for start in range(0, len(contents), 50_000):
            some = list(_rows(places, start, contents[start : start + 50_000]))
            with admin.cursor().copy(
                "COPY context_graph.change (project, machine, seq, subject, clock, by, fields, line) "
                "FROM STDIN"
            ) as copy:
                for line, _ in some:
                    copy.write_row(line)
            with admin.cursor().copy(
                "COPY context_graph.memory (project, subject, provider, terms, embedding) FROM STDIN"
            ) as copy:
                for _, row in some:
                    copy.write_row(row)
        print(f"rows: {time.perf_counter() - began:.0f} s", flush=True)
        for name, statement in _INDEXES.items():
            admin.execute(statement.encode())
            print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
        admin.execute("ALTER TABLE context_graph.change ENABLE TRIGGER USER")
        admin.execute("ANALYZE context_graph.change, context_graph.memory")
    return time.perf_counter() - began


def _rows(places: list[tuple[str, str]], start: int, some: list[str]) -> Iterator[tuple[Any, Any]]:
    provider, clock = default_provider(), time.time_ns() // 1_000_000 << 16
    for number, text in enumerate(some, start):
        project, log = places[number % len(places)]
        subject, seq = str(UUID(int=number + 1)), number // len(places) + 1
        fields = {"content": text, "rationale": "a memory of the bench", "created_at_ms": number + 1}
        line = encode(Change(VERSION, log, seq, clock, log, MEMORY, subject, fields)).decode()
        encoded = provider.encode(text)
        terms = [signed(term) for term in hashes(encoded.terms)]
        vector = vector_text(dense_part(encoded.embedding))
        yield (
            (project, log, seq, subject, clock, log, sorted(fields), line),
            (project, subject, provider.digest, terms, vector),
        )


def member_of_all(own: Team) -> None:
    """The one member reads all projects."""
    with own.server.admin() as admin:
        admin.execute(
            "INSERT INTO context_graph.member (project, login, role) SELECT p.id, m.login, 'reader' "
            "FROM context_graph.project AS p, context_graph.member AS m ON CONFLICT DO NOTHING"
        )


def answered(home: Path, asked: list[str]) -> dict[str, float]:
    """Milliseconds of whole answers over MCP; the first, which starts the process that asks, is left out."""
    client = Client(live_env(home), home)
    try:
        client.call("recall_memory", query=asked[0], scope="team")
        took, nothing = [], 0
        for query in asked:
            began = time.perf_counter()
            answer = client.call("recall_memory", query=query, scope="team")
            took.append(1000 * (time.perf_counter() - began))
            nothing += b"did not answer" in answer or b'"from"' not in answer
        print(f"{nothing} of {len(asked)} questions brought nothing of the hub", flush=True)
        return spread(took)
    finally:
        client.close()


def candidates(own: Team, index: MemoryIndex, contents: list[str], asked: list[str]) -> dict[str, Any]:
    """Shares of the best and of the nearest ten among the candidates; milliseconds of the search alone."""
    provider, took = default_provider(), list[float]()
    shares: dict[str, list[float]] = {"best": [], "nearest": []}
    recaller = Recaller(index, provider, lambda one: node(one.int - 1, contents[one.int - 1]))
    with own.server.admin() as admin:
        row = admin.execute("SELECT login FROM context_graph.member LIMIT 1").fetchone()
        hub = Hub(own.server.login(str(row and row[0])), own.project)
        search = Search(hub)
        for query in asked:
            wanted = sought(index, provider, query)
            began = time.perf_counter()
            held = {one.id for one in search.find(Question(*wanted), own=False)}
            took.append(1000 * (time.perf_counter() - began))
            best = [str(one.node.id) for one in recaller.recall(query, top_k=BEST).nodes]
            rows = admin.execute(
                "SELECT subject FROM context_graph.memory ORDER BY (embedding <#> %s::halfvec) + 0 LIMIT %s",
                (vector_text(wanted.vector), BEST),
            ).fetchall()
            for name, ids in (("best", best), ("nearest", [str(one[0]) for one in rows])):
                shares[name].append(sum(one in held for one in ids) / BEST)
        hub.close()
    return {name: statistics.mean(some) for name, some in shares.items()} | {"search": spread(took[1:])}


if __name__ == "__main__":
    sys.exit(main())
