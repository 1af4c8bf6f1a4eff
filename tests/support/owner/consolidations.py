"""A store with something to consolidate, and its owner as a consolidation's tests and benches ask it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.cli import Cli
from tests.support.memories import open_memex

from context_graph.config import Location, locate
from context_graph.consolidation.messages import leftovers
from context_graph.errors import OwnerError, OwnerUnavailableError
from context_graph.memory.memex import Memex
from context_graph.wire.client.request import Following, follow, request
from context_graph.wire.frames import FOLLOWS, Reply

__all__ = ["Owner", "twins", "until"]

WAIT_S = 240.0
"""A run takes idle time only, and beside other work there may be little."""
_THINGS = ("bucket", "parser", "ledger", "cache", "socket", "index", "schema", "gate", "queue", "spool")
_PLACES = ("staging", "production", "the nightly build", "the review branch", "the release train")


def until(condition: Callable[[], Any], what: str, seconds: float = WAIT_S) -> Any:
    """What ``condition`` gives as soon as that is true; fails after ``seconds``."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)
    return found


def twins(memex: Memex, facts: int, pairs: int) -> list[tuple[str, str]]:
    """Store ``facts`` different memories, and of the first ``pairs`` a copy that says the same.

    Returns:
        Pairs of ids that say the same.
    """

    def item(number: int, end: str) -> dict[str, Any]:
        thing, place = _THINGS[number % len(_THINGS)], _PLACES[number // len(_THINGS) % len(_PLACES)]
        content = f"The {thing} of service {number} on {place} keeps its settings in file {number}.toml{end}"
        return {"content": content, "rationale": "planted by a test", "importance": 0.6}

    made: list[str] = []
    for items in (
        [item(number, ", not in the environment.") for number in range(facts)],
        [item(number, ",  not in the environment") for number in range(pairs)],
    ):
        for start in range(0, len(items), 1000):
            made += [str(node.id) for node in memex.store_many(items[start : start + 1000])]
    return list(zip(made, made[facts:], strict=False))


class Waiting:
    """A consolidation, and what the owner says of it."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self.views: list[dict[str, Any]] = [json.loads(following.reply.stdout)]
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OwnerError):  # a test that has ended took its owner with it, or left it stopped
            self.views.extend(self._following)

    @property
    def state(self) -> str:
        """How far it is, by what was said last."""
        return str(self.views[-1]["state"])

    def cancel(self) -> dict[str, Any]:
        """Wait no longer; what the owner says to that."""
        self._following.give_up()
        return self.end()

    def leave(self) -> None:
        """Go, as a process does that ends."""
        self._following.close()

    def end(self) -> dict[str, Any]:
        """The last that is said of it."""
        until(lambda: not self._thread.is_alive(), "the consolidation's end")
        return self.views[-1]

    def result(self) -> Mapping[str, Any]:
        """Its result, waited for."""
        view = self.end()
        assert view["state"] == "done", view
        found: Mapping[str, Any] = view["result"]
        return found


@dataclass(frozen=True)
class Owner:
    """The owner of a test's data root, asked as its clients ask it."""

    cli: Cli
    location: Location

    @classmethod
    def of(cls, cli: Cli) -> Owner:
        """Of the project that ``cli`` works in; not started yet."""
        return cls(cli, locate(None, cli.env, cli.project))

    @contextmanager
    def memex(self) -> Iterator[Memex]:
        """The project's store, opened in this process: while no owner runs."""
        with open_memex(self.location.store) as memex:
            yield memex

    def ask(self, verb: str, **given: Any) -> dict[str, Any]:
        """The answer to one request that must succeed."""
        return _succeeded(self.reply(verb, **given))

    def reply(self, verb: str, **given: Any) -> Any:
        """The reply to one request, whatever it says; an owner is started by command, with its settings."""
        body = json.dumps(given).encode()
        ask = partial(request, verb, {}, body, location=self.location, autostart=False, timeout_s=30.0)
        try:
            return ask(env=self.cli.env)
        except OwnerUnavailableError:
            assert self.cli.run("owner", "start").returncode == 0
            return ask(env=self.cli.env)

    def start(self, **given: Any) -> Waiting:
        """Start a consolidation and wait for it in a thread, as the command does."""
        following = self.follow("memory.consolidate", **given)
        _succeeded(following.reply)
        return Waiting(following)

    def hold_next(self) -> None:
        """Stop the next run where it begins: the one that `held` returns."""
        self._hold.touch()

    def held(self) -> int:
        """The pid of the process that computes the run that was to be held."""
        pid = int(until(self.running, "a run")["pid"])
        self._hold.unlink()
        return pid

    @property
    def _hold(self) -> Path:
        return Path(self.cli.env["HOLD_RUNS"])

    def follow(self, verb: str, **given: Any) -> Following:
        """Ask for long work, to be told how far it is."""
        self.ask("owner.ping")
        body, env = json.dumps(given).encode(), self.cli.env
        return follow(verb, {FOLLOWS: True}, body, location=self.location, timeout_s=30.0, env=env)

    def dreams(self) -> dict[str, Any]:
        """What `owner status` says of consolidations."""
        found: dict[str, Any] = self.ask("owner.status")["dreams"]
        return found

    def running(self) -> dict[str, Any] | None:
        """The run that is under way."""
        found: dict[str, Any] | None = self.dreams()["running"]
        return found

    def stats(self) -> dict[str, Any]:
        """What `memory stats` says of consolidations."""
        found: dict[str, Any] = self.ask("memory.stats")["dreams"]
        return found

    def folders(self) -> list[Path]:
        """Folders of runs below the store."""
        return leftovers(self.location.store)

    def pid(self) -> int:
        """Of the owner's process."""
        return int(self.ask("owner.ping")["pid"])

    def log(self) -> str:
        """What the owner has written down."""
        return (self.location.root / "log" / "owner.log").read_text()


def _succeeded(reply: Reply) -> dict[str, Any]:
    assert reply.exit_code == 0, reply.stderr.decode()
    found: dict[str, Any] = json.loads(reply.stdout)
    return found
