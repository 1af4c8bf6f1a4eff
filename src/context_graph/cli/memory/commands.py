"""Registers the `memory …` commands: store, find, show, link and forget what this project remembers."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

import typer

from context_graph.cli.calling import Finished, ask, finish
from context_graph.cli.memory import files as memory_files
from context_graph.cli.memory import text
from context_graph.cli.memory.call import CALL_S, add_command, ask_memory
from context_graph.cli.terminal import shown, updating
from context_graph.errors import ContextGraphError, InvalidInputError
from context_graph.operations import OPERATIONS

_POLL_S: Final = (0.02, 0.05, 0.1, 0.1, 0.1, 0.2)
"""Pauses between two looks at a run, the last one from then on: a light one is over in a moment."""
_INTERRUPTED: Final = 130
"""Exit code of what Ctrl-C ended, as in shells."""


def followed(verb: str, given: dict[str, Any], what: str, db_path: str | None) -> Any:
    """Run ``verb`` in the owner and wait for its result; a signal ends the run, with nothing changed."""
    with _Interrupts() as interrupts:
        job = ask_memory(verb, given, db_path)
        try:
            interrupts.come()
            with _bar(what) as tell:
                job = _awaited(job, tell, db_path)
        except KeyboardInterrupt:
            job = ask_memory("memory.consolidate.cancel", {"job": job["job"]}, db_path)
            job = _awaited(job, lambda _: None, db_path)  # what is being committed already goes through
            if job["state"] != "done":  # else it came too late: what was done is told
                print("interrupted; nothing was changed", file=sys.stderr)
                raise Finished(_INTERRUPTED) from None
    if job["state"] == "done":
        return job["result"]
    raise ContextGraphError(job.get("error") or f"the run was {job['state']}; nothing was changed")


def _awaited(job: dict[str, Any], tell: Callable[[dict[str, Any]], None], db_path: str | None) -> Any:
    looks = 0
    while job["state"] in ("queued", "running"):
        tell(job)
        time.sleep(_POLL_S[min(looks, len(_POLL_S) - 1)])
        looks += 1
        job = ask_memory("memory.consolidate.status", {"job": job["job"]}, db_path)
    return job


class _Interrupts:
    """Turns Ctrl-C, SIGTERM and SIGHUP into KeyboardInterrupt, so that a run nobody waits for is not
    committed.

    Until `come` is called the first of them is held back, because a run without a known name can't be ended.
    """

    _SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._wait = True
        self._waiting = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> _Interrupts:
        self._before = {number: signal.signal(number, self._on_signal) for number in self._SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def come(self) -> None:
        """Raise signals at once from now on, and the one that was held back."""
        self._wait = False
        if self._waiting:
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: object) -> None:
        if not self._wait or self._waiting:
            raise KeyboardInterrupt
        self._waiting = True


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A progress bar for jobs."""
    with updating(what) as update:

        def tell(job: dict[str, Any]) -> None:
            stage = "waiting for another run" if job["state"] == "queued" else job.get("stage") or what
            update(description=stage, total=job["total"], completed=job["done"])

        yield tell


app = typer.Typer(
    help="Store, find, show, link and forget what this project remembers; consolidate it; move it as files.",
    rich_markup_mode=None,
)

_VIEWS: Final = {
    "deleted": (
        Annotated[bool, typer.Option("--deleted", help="List what was forgotten, when and why.")],
        False,
    ),
    "injected": (
        Annotated[
            bool,
            typer.Option(
                "--injected",
                help="List the last injections: which memory, into which session, and whether it was used.",
            ),
        ],
        False,
    ),
}


def _list(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    views = [name for name in _VIEWS if given.pop(name)]
    if len(views) > 1:
        raise InvalidInputError("--deleted and --injected are two lists; give one of them")
    return ask_memory(verb, {**given, "view": views[0] if views else None}, db_path)


def _forget(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    """Asks first where somebody pinned it; whoever deletes by a command wants it so."""
    if not given["pinned"] and sys.stdin is not None and sys.stdin.isatty():
        there = ask_memory("memory.show", {"id": given["id"]}, db_path)
        if there["pinned"] and "tombstone" not in there:
            print(shown(f"{there['id'][:8]} is pinned: {there['content']}"))
            pinned = typer.confirm("Forget it anyway?", abort=True)
            given |= {"id": there["id"], "pinned": pinned}
    return ask_memory(verb, {"reason": "user_requested", **given}, db_path)


def _consolidate(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    if given["strict"] and given["any_state"]:
        raise InvalidInputError("give either --strict or --any-state, not both")
    return followed(verb, given, "consolidating", db_path)


def _goals(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    return (
        followed(verb, given, "looking for goals", db_path)
        if given["discover"]
        else ask_memory(verb, given, db_path)
    )


def _stats(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    if given["prometheus"]:
        finish(ask(verb, given, db_path=db_path, timeout_s=CALL_S))
    return ask_memory(verb, given, db_path)


_COMMANDS: Final[dict[str, dict[str, Any]]] = {
    "store": {"text": lambda found: found["id"]},
    "recall": {"text": text.recall_text},
    "inject": {"text": lambda found: found["context"] or "nothing is remembered about that"},
    "list": {"text": text.list_text, "work": _list, "more": _VIEWS},
    "show": {"text": text.node_text},
    "forget": {"text": text.forget_text, "work": _forget},
    "restore": {"text": lambda found: f"restored: {found['id']}"},
    "link": {"text": text.edge_text},
    "stats": {"text": text.stats_text, "work": _stats},
    "consolidate": {"text": text.consolidation_text, "work": _consolidate},
    "undo": {"text": text.undone_text},
    "history": {"text": text.history_text},
    "runs": {"text": text.runs_text},
    "goals": {"text": text.goals_text, "work": _goals},
}

for _one in OPERATIONS:
    if _one.short:
        add_command(app, _one, **_COMMANDS[_one.verb.removeprefix("memory.")])
memory_files.add_to(app)
