"""MCP over standard input and output: ours beside npm's @modelcontextprotocol/server-memory and an echo.

Each side gets as many memories beforehand. The work is not the same: server-memory finds by substring, so it
is asked for what one memory holds, the least it can have to answer; ours is asked eight words and answers
with the best.
The figures are what an agent waits. The echo is `cat`, which returns the request.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from benches.interleave import Work, measure
from benches.memory.mcp_calls import Bench, Client, text
from benches.report import Figure, Kind, figures

RIVALS = Path(__file__).resolve().parents[2] / ".make" / "rivals"
SERVER = RIVALS / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
ECHO, OURS = "echo of the request (cat)", "context-graph"
WITHOUT = "server-memory: not installed here (make rivals, needs npm)"


class Rival(Client):
    """server-memory over a file of entities."""

    def __init__(self, memories: Path) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(memories.parent), "MEMORY_FILE_PATH": str(memories)}
        super().__init__(env, memories.parent, ["node", str(SERVER)])


class Echo:
    """A pipe there and back."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, name: str, **arguments: Any) -> bytes:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        assert self.process.stdin and self.process.stdout
        body = {**message, "params": {"name": name, "arguments": arguments}}
        self.process.stdin.write(json.dumps(body).encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def rival_name() -> str | None:
    """Of the installed server with its version; None without it."""
    if not SERVER.exists() or shutil.which("node") is None:
        return None
    return f"server-memory {json.loads((SERVER.parents[1] / 'package.json').read_text())['version']}"


def run(rounds: int, memories: int) -> list[Figure]:
    """Start, store, search."""
    bench = Bench(memories, rounds)
    clients: list[Client | Echo] = []
    try:
        bench.fill()
        ours, echo = Client(bench.env, bench.project), Echo()
        clients += [ours, echo]
        rival, name = None, rival_name()
        file = bench.home / "rival.jsonl"
        if name:
            file.write_text("\n".join(entity(number) for number in range(memories)) + "\n")
            rival = Rival(file)
            clients.append(rival)
        else:
            print(WITHOUT)
        return [
            *starts(bench, file, name, max(15, rounds // 10)),
            *calls(ours, echo, rival, name, rounds, memories),
        ]
    finally:
        for client in clients:
            with suppress(OSError):
                client.close()
        bench.close()


def entity(number: int) -> str:
    """A memory as server-memory keeps it."""
    fields = {
        "type": "entity",
        "name": f"memory {number}",
        "entityType": "memory",
        "observations": [text(number)],
    }
    return json.dumps(fields)


def starts(bench: Bench, file: Path, rival: str | None, rounds: int) -> list[Figure]:
    """From the spawn to the tools/list answer; ours with the owner up, as in all sessions but the first."""

    def listed(client: Client) -> None:
        client.ask("tools/list", {})
        client.close()

    def echoed() -> None:
        client = Echo()
        client.call("nothing")
        client.close()

    kinds: dict[str, Kind] = {ECHO: "limit", OURS: "ours"}
    cases: dict[str, Work] = {ECHO: echoed, OURS: lambda: listed(Client(bench.env, bench.project))}
    if rival:
        kinds[rival] = "rival"
        cases[rival] = lambda: listed(Rival(file))
    return figures("MCP: spawn to tools/list", kinds, measure(cases, rounds, once=True))


def calls(
    ours: Client, echo: Echo, rival: Client | None, name: str | None, rounds: int, memories: int
) -> list[Figure]:
    """Round trips of a store and of a search."""
    numbers = itertools.count(10_000_000)

    def stored(client: Client | Echo) -> Work:
        return lambda: client.call("store_memory", content=text(next(numbers)), rationale="stored by a bench")

    def recalled(client: Client | Echo) -> Work:
        return lambda: client.call("recall_memory", query=text(next(numbers), 8))

    def created(client: Client) -> Work:
        return lambda: client.call("create_entities", entities=[json.loads(entity(next(numbers)))])

    def searched(client: Client) -> Work:
        # Of the later half: "item 5123" begins no longer number, so one memory holds it.
        return lambda: client.call("search_nodes", query=f"item {random.randrange(memories // 2, memories)}")

    kinds: dict[str, Kind] = {ECHO: "limit", OURS: "ours"}
    searches: dict[str, Work] = {ECHO: recalled(echo), OURS: recalled(ours)}
    stores: dict[str, Work] = {ECHO: stored(echo), OURS: stored(ours)}
    if rival and name:
        kinds[name] = "rival"
        searches[name], stores[name] = searched(rival), created(rival)
    return [
        *figures(f"MCP: search among {memories:,} memories", kinds, measure(searches, rounds, once=True)),
        *figures(f"MCP: store beside {memories:,} memories", kinds, measure(stores, rounds, once=True)),
    ]
