"""A machine that works and exchanges without a pause, until its standard input ends or somebody kills it.

    python -m tests.support.exchange.busy_machine STORE ADDRESS PROJECT FOLDER NAME SEED CLOCK_MS

What it prints, a line of JSON each, has happened: it must not be lost.
"""

from __future__ import annotations

import json
import random
import select
import sys
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import psycopg
from tests.support.memories import WHY, open_memex

from context_graph.errors import ContextGraphError
from context_graph.memory.memex import Memex
from context_graph.sync.exchange import OpenStore
from context_graph.sync.folder import Folder
from context_graph.sync.hub import connecting
from context_graph.sync.hub import transport as hubs
from context_graph.sync.run import exchange

_ANSWER_S = 3.0


def main(store: str, address: str, project: str, folder: str, name: str, seed: str, clock_ms: str) -> None:
    """Work until told to stop."""
    drawn, real = random.Random(int(seed)), time.time_ns
    hubs.ANSWER_S, connecting.CONNECT_S = _ANSWER_S, 2
    with patch("time.time_ns", lambda: real() + int(clock_ms) * 1_000_000):
        memex = open_memex(Path(store))
        places = [hubs.Hub(address, project), Folder(Path(folder))]
        number = 0
        while not select.select([sys.stdin], [], [], drawn.uniform(0, 0.05))[0]:
            number += 1
            _work(memex, drawn, f"finding {number} of {name} with seed {seed}, in a sentence of its own")
            try:
                exchange(OpenStore(memex), places[number % 2])
            except (ContextGraphError, psycopg.Error):
                continue  # the place is away, or was put back amid it
        memex.close()


def _work(memex: Memex, drawn: random.Random, text: str) -> None:
    node = memex.store(text, rationale=WHY)
    _say(stored=str(node.id), text=text)
    known = memex.list(limit=50).nodes
    other = drawn.choice(known)
    what = drawn.random()
    if what < 0.4:
        memex.update([replace(other, importance=round(drawn.random(), 2), tags=(f"t{drawn.randrange(5)}",))])
    elif what < 0.5:
        memex.forget(other.id, reason="by the machine")
    elif what < 0.6:
        _say(deleting=str(other.id))
        memex.forget(other.id, soft=False, reason="user_requested")
        _say(deleted=str(other.id))
    elif what < 0.7:
        memex.touch([other.id])
    elif what < 0.8 and other.id != node.id:
        memex.link(node.id, other.id, "causes", weight=0.5)


def _say(**what: str) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
