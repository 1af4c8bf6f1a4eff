"""Registers the `memory …` commands: store, find, show, link and forget what this project remembers."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final

import typer

from context_graph.cli.calling import ask, finish
from context_graph.cli.memory import files as memory_files
from context_graph.cli.memory import text
from context_graph.cli.memory.call import CALL_S, add_command, ask_memory
from context_graph.cli.memory.runs import followed
from context_graph.cli.output.shown import shown
from context_graph.errors import InvalidInputError
from context_graph.operations import OPERATIONS

app = typer.Typer(
    help="Store, find, show, link and forget what this project remembers; consolidate it; move it as files.",
    rich_markup_mode=None,
)

_VIEWS: Final = {
    "deleted": (
        Annotated[bool, typer.Option("--deleted", help="What was forgotten, with when and why.")],
        False,
    ),
    "injected": (
        Annotated[
            bool,
            typer.Option("--injected", help="The last injections: what went into which session, its use."),
        ],
        False,
    ),
}


def _list(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    views = [name for name in _VIEWS if given.pop(name)]
    if len(views) > 1:
        raise InvalidInputError("--deleted and --injected are two lists: give one of them")
    return ask_memory(verb, {**given, "view": views[0] if views else None}, db_path)


def _forget(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    """Asks first where somebody pinned it; whoever deletes by a command wants it so."""
    if not given["pinned"] and sys.stdin is not None and sys.stdin.isatty():
        there = ask_memory("memory.show", {"id": given["id"]}, db_path)
        if there["pinned"] and "tombstone" not in there:
            print(shown(f"{there['id'][:8]} is pinned: {there['content']}"))
            pinned = typer.confirm("Forget it all the same?", abort=True)
            given |= {"id": there["id"], "pinned": pinned}
    return ask_memory(verb, {"reason": "user_requested", **given}, db_path)


def _consolidate(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    if given["strict"] and given["any_state"]:
        raise InvalidInputError("--strict and --any-state contradict each other: give one of them")
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
