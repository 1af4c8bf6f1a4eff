"""`memory consolidate` and what belongs to it: undo, the runs, what became of a memory, goals."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from context_graph.cli.bar import updating
from context_graph.cli.calling import Finished
from context_graph.cli.dream_text import (
    consolidation_text,
    goals_text,
    history_text,
    runs_text,
    undone_text,
)
from context_graph.cli.memory_call import ask_memory, print_found
from context_graph.cli.memory_options import Format, Id, Output
from context_graph.cli.options import DbPath, Json
from context_graph.errors import ContextGraphError, InvalidInputError

__all__ = ["add_to"]

_POLL_S: Final = (0.02, 0.05, 0.1, 0.1, 0.1, 0.2)
"""Pauses between two looks at a run, the last one from then on: a light one is over in a moment."""
_INTERRUPTED: Final = 130
"""Exit code of what Ctrl-C ended, as in shells."""


class Mode(StrEnum):
    """How much a consolidation does."""

    LIGHT = "light"
    DEEP = "deep"
    REM = "rem"


def consolidate(
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="light: merge duplicates, forget what says little. deep: also cluster and link. "
            "rem: also patterns, goals, drift, replay.",
        ),
    ] = Mode.LIGHT,
    salience_threshold: Annotated[
        float,
        typer.Option(
            "--salience-threshold",
            min=0.0,
            max=1.0,
            metavar="X",
            help="Forget what is less salient, 0 to 1; 0 forgets nothing.",
        ),
    ] = 0.3,
    max_memories: Annotated[
        int,
        typer.Option("--max-memories", min=0, metavar="N", help="Look at the newest N only; 0 looks at all."),
    ] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be done; change nothing.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Fail if the mode is not allowed now, instead of running a lesser one."
        ),
    ] = False,
    any_state: Annotated[
        bool, typer.Option("--any-state", help="Run the mode asked for, whatever the consciousness level is.")
    ] = False,
    session_id: Annotated[
        str | None,
        typer.Option(
            "--session-id",
            metavar="ID",
            help="Session whose consciousness counts; default: $CLAUDE_CODE_SESSION_ID, else the latest.",
        ),
    ] = None,
    output: Output = Format.TEXT,
    as_json: Json = False,
    db_path: DbPath = None,
) -> None:
    """Consolidate this project's memory: merge duplicates, forget what says little, link what goes together.

    Nothing is changed until the end, when all of it comes into force in one step. Ctrl-C ends it with nothing
    changed; `memory undo` takes it back for 30 days.

    Exit codes: 0 done, also with nothing to do; 1 a wrong argument, a mode that --strict refuses, or it could
    not be done; 2 the database is corrupt; 130 interrupted, nothing changed.

    Example: context-graph-cli memory consolidate --mode deep --dry-run
    """
    if strict and any_state:
        raise InvalidInputError("--strict and --any-state contradict each other: give one of them")
    given = {
        "mode": mode.value,
        "salience_threshold": salience_threshold,
        "max_memories": max_memories,
        "dry_run": dry_run,
        "strict": strict,
        "any_state": any_state,
        "session_id": session_id,
    }
    found = _followed("memory.consolidate", given, "consolidating", db_path)
    _print(found, output, as_json, consolidation_text)


def undo(
    token: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOKEN]",
            help="What the run told, or as much of its beginning as fits no other; default: the last run.",
        ),
    ] = None,
    output: Output = Format.TEXT,
    as_json: Json = False,
    db_path: DbPath = None,
) -> None:
    """Take a consolidation back: memories, links and weights are again what they were before it.

    What was changed since stays as it is, and is listed. An undo is a run of its own and can be undone.

    Exit codes: 0; 1 there is no such run, it is older than 30 days, or it was undone already; 2 the database
    is corrupt.

    Example: context-graph-cli memory undo 5f3c1a2b
    """
    _print(ask_memory("memory.undo", {"token": token}, db_path), output, as_json, undone_text)


def history(
    node_id: Id,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, metavar="N", help="Changes at most, newest first.")
    ] = 100,
    output: Output = Format.TEXT,
    as_json: Json = False,
    db_path: DbPath = None,
) -> None:
    """Show what became of one memory: each change of the last 30 days, newest first, and what was before it.

    `memory show ID --as-of TIME` shows it as it was then.

    Exit codes: 0; 1 no such memory, or the id fits several; 2 the database is corrupt.

    Example: context-graph-cli memory history 5f3c1a2b
    """
    _print(
        ask_memory("memory.history", {"id": node_id, "limit": limit}, db_path), output, as_json, history_text
    )


def runs(
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, metavar="N", help="Runs at most, newest first.")
    ] = 20,
    output: Output = Format.TEXT,
    as_json: Json = False,
    db_path: DbPath = None,
) -> None:
    """List the consolidations of the last 30 days, newest first: when, why, what they did, whether undone.

    Exit codes: 0; 1 the store can't be used; 2 the database is corrupt.

    Example: context-graph-cli memory runs --limit 5
    """
    _print(ask_memory("memory.runs", {"limit": limit}, db_path), output, as_json, runs_text)


def goals(
    discover: Annotated[
        bool,
        typer.Option("--discover", help="Look for goals now, instead of showing those of the last rem run."),
    ] = False,
    min_confidence: Annotated[
        float,
        typer.Option(
            "--min-confidence",
            min=0.0,
            max=1.0,
            metavar="X",
            help="With --discover: at least so sure, 0 to 1.",
        ),
    ] = 0.3,
    max_goals: Annotated[
        int, typer.Option("--max-goals", min=1, max=50, metavar="N", help="With --discover: at most so many.")
    ] = 10,
    output: Output = Format.TEXT,
    as_json: Json = False,
    db_path: DbPath = None,
) -> None:
    """Show what the memories are about: goals that a rem run found in them, or those found now.

    Exit codes: 0, also when there are none; 1 the store can't be used; 2 the database is corrupt; 130
    interrupted.

    Example: context-graph-cli memory goals --discover --min-confidence 0.6
    """
    if discover:
        given = {"discover": True, "min_confidence": min_confidence, "max_goals": max_goals}
        found = _followed("memory.goals", given, "looking for goals", db_path)
    else:
        found = ask_memory("memory.goals", {}, db_path)
    _print(found, output, as_json, goals_text)


def add_to(app: typer.Typer) -> None:
    """Give ``app`` these commands."""
    app.command("consolidate", short_help="Merge, forget and link: a consolidation")(consolidate)
    app.command("undo", short_help="Take a consolidation back")(undo)
    app.command("history", short_help="What became of one memory")(history)
    app.command("runs", short_help="List consolidations")(runs)
    app.command("goals", short_help="What the memories are about")(goals)


def _print(found: Any, output: Format, as_json: bool, text: Callable[[Any], str]) -> None:
    print_found(found, Format.JSON if as_json else output, text(found))


def _followed(verb: str, given: dict[str, Any], what: str, db_path: str | None) -> Any:
    """The result of a run that ``verb`` starts in the owner; a signal ends it, with nothing changed."""
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
    """Ctrl-C, SIGTERM and SIGHUP as KeyboardInterrupt: a run that nobody waits for must not come into force.

    Until `come` is called, the first of them only waits: a run whose name is not known yet can't be ended.
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
        """From now on they come at once, and one that waits comes now."""
        self._wait = False
        if self._waiting:
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: object) -> None:
        if not self._wait or self._waiting:
            raise KeyboardInterrupt
        self._waiting = True


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A progress bar that is told jobs."""
    with updating(what) as update:

        def tell(job: dict[str, Any]) -> None:
            stage = "waiting for another run" if job["state"] == "queued" else job.get("stage") or what
            update(description=stage, total=job["total"], completed=job["done"])

        yield tell
