"""Does what the `memory …` commands are for: asks the owner, follows long work, prints figures."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from context_graph.cli.console.calling import Finished, ask, finish
from context_graph.cli.console.tables import ago, columns, counted, size, span
from context_graph.cli.console.terminal import confirmed, print_folded, shown, updating
from context_graph.cli.memory import text
from context_graph.cli.memory.call import (
    CALL_S,
    Action,
    ask_memory,
    edit,
    edited_text,
    finished,
    follow_memory,
    last_of,
    perform,
    word,
)
from context_graph.cli.words import DB_PATH, JSON, OUTPUT, Argument, Command, Option
from context_graph.errors import CommandLineError, UsageError


def stats_text(stats: Mapping[str, Any]) -> str:
    """Return what is kept, how it is found, what was shown and used, what consolidations do."""
    memory, cache = stats["memory"], stats["cache"]
    reads = cache["hits"] + cache["misses"]
    lines = [
        ("store", stats["store"]),
        (
            "memories",
            f"{memory['nodes']} kept, {memory['deleted']} forgotten, {counted(memory['edges'], 'link')}",
        ),
        ("size", f"{size(memory['content_bytes'])} of text, {size(memory['table_bytes'])} on disk"),
        ("search", _search(stats)),
        ("cache", f"{cache['hits']} of {counted(reads, 'read')} needed no disk" if reads else "not used yet"),
        *_shown(stats["injections"]),
        *_dreams(stats["dreams"]),
        *_slow(stats["operations"]),
        ("more", "--json has every figure, --prometheus those for a scraper"),
    ]
    return columns(lines)


def _search(stats: Mapping[str, Any]) -> str:
    embedding, index = stats["embedding"], stats.get("index")
    if "dim" not in embedding:
        return "nothing yet: no memory was stored"
    index_size = f", index of {size(index['bytes'])}" if index else ""
    return f"embedding {embedding['name']}, {embedding['dim']} numbers a memory{index_size}"


def _shown(stats: Mapping[str, Any]) -> list[tuple[str, str]]:
    waiting = stats.get("captures_due", 0)
    lines = [("to capture", counted(waiting, "session"))] if waiting else []
    if not stats.get("injections"):
        return [*lines, ("shown", "nothing yet: no session was brought a memory")]
    sums = f"{counted(stats['memories'], 'memory', 'memories')} on {counted(stats['injections'], 'occasion')}"
    lines.append(("shown", f"{sums}, {stats['used']} used, {stats['tokens']} tokens"))
    if stats.get("by_event"):
        lines.append(("", ", ".join(f"{name} {_count(uses)}" for name, uses in stats["by_event"].items())))
    return lines


def _count(counts: Any) -> str:
    if isinstance(counts, Mapping):
        return f"{counts.get('used', 0)} of {counts.get('memories', 0)} used"
    return str(counts)


def _dreams(dreams: Mapping[str, Any]) -> list[tuple[str, str]]:
    idle = span(dreams["idle_s"])
    by_itself = (
        f"{dreams['after_session_end']} after a session, {dreams['when_idle']} after {idle} of quiet"
        if dreams["automatic"]
        else "only when asked for"
    )
    last = dreams.get("last")
    lines = [("consolidation", by_itself)]
    if last:
        did = {
            "merged": last["merged_count"],
            "forgotten": last["pruned_count"],
            "linked": last["links_made_count"],
            "reweighted": last["reweighted_count"],
        }
        done = ", ".join(f"{count} {name}" for name, count in did.items() if count) or "nothing to do"
        lines.append(("", f"the last one {ago(last['ended_ms'])} ago, {last['mode']}: {done}"))
    return lines


def _slow(operations: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return how long the commands that people ask took; failures of any."""
    lines = [
        (name, f"{operation['count']} times, {1000 * operation['seconds'] / operation['count']:.1f} ms each")
        for name, operation in operations.items()
        if name in ("store", "recall", "inject") and operation["count"]
    ]
    failed = ", ".join(
        f"{name} {operation['failed']}" for name, operation in operations.items() if operation["failed"]
    )
    return [*lines, *([("failed", failed)] if failed else [])]


_SURE_DIGITS: Final = 8
"""Of the id of what is deleted for good: so many are no slip of the hand."""
_INTERRUPTED: Final = 130
"""Exit code of what Ctrl-C ended, as in shells."""


def followed(verb: str, arguments: dict[str, Any], what: str, db_path: str | None) -> Any:
    """Run ``verb`` in the owner and wait for its result; a signal ends the run, with nothing changed."""
    job: Mapping[str, Any] = {}
    with _interrupted():
        following = None
        try:
            following = follow_memory(verb, arguments, db_path)
            with _bar(what) as tell:
                for job in following:
                    tell(job)
        except KeyboardInterrupt:
            if following is not None:
                following.give_up()
                job = last_of(following)  # what is being committed already goes through
            if job.get("state") != "done":  # else it came too late: what was done is told
                print("interrupted; nothing was changed", file=sys.stderr)
                raise Finished(_INTERRUPTED) from None
    return finished(job)


@contextlib.contextmanager
def _interrupted() -> Iterator[None]:
    """Raise KeyboardInterrupt for Ctrl-C, SIGTERM and SIGHUP: the run ends with its connection."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A progress bar for jobs."""
    with updating(what) as update:

        def tell(job: Mapping[str, Any]) -> None:
            stage = "waiting for another run" if job["state"] == "queued" else job.get("stage") or what
            update(description=stage, total=job["total"], completed=job["done"])

        yield tell


_VIEWS: Final = (
    Option("--deleted", "List what was forgotten, when and why."),
    Option("--injected", "List what sessions were shown last: which memory, when, and whether it was used."),
)


def _recall(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    if arguments.get("scope") == "team":
        return followed(verb, arguments, "asking the hub", db_path)
    return ask_memory(verb, arguments, db_path)


def _list(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    views = [view.parameter for view in _VIEWS if arguments.pop(view.parameter, False)]
    if len(views) > 1:
        raise CommandLineError("--deleted and --injected are two lists; give one of them")
    return ask_memory(verb, {**arguments, "view": views[0] if views else None}, db_path)


_YES: Final = Option("--yes", "With --permanent: ask nothing, for scripts.")


def _forget(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    """Asks first before it deletes for good, and where somebody pinned it."""
    sure, for_good = arguments.pop(_YES.parameter, False), arguments.get("permanent", False)
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    if for_good and len(arguments["id"].replace("-", "")) < _SURE_DIGITS:
        raise CommandLineError(
            f"ID is {arguments['id']!r:.60}; --permanent needs {_SURE_DIGITS} digits of it"
        )
    if for_good and not (sure or at_terminal):
        raise UsageError("--permanent shows the text and asks, so run it in a terminal; or see --help")
    if at_terminal and not (sure if for_good else arguments.get("pinned")):
        arguments |= _agreed(ask_memory("memory.show", {"id": arguments["id"]}, db_path), for_good=for_good)
    return ask_memory(verb, {"reason": "user_requested", **arguments}, db_path)


def _agreed(there: Mapping[str, Any], *, for_good: bool) -> dict[str, Any]:
    """Return what to ask of the owner once the person at the terminal has seen the text and said yes."""
    pinned = there["pinned"] and "tombstone" not in there
    if not (pinned or for_good):
        return {}
    print_folded(shown(f"{there['id'][:8]}{' is pinned' if pinned else ''}: {there['content']}"))
    if not confirmed("Delete it for good? Nothing brings it back." if for_good else "Forget it anyway?"):
        print("kept", file=sys.stderr)
        raise Finished(1)
    return {"id": there["id"], "pinned": True}


_SURE: Final = Option("--yes", "Do not ask.")


def _undo(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    """At a terminal says first which change is meant, and asks."""
    sure = arguments.pop(_SURE.parameter, False)
    if not arguments.get("list") and not sure and sys.stdin is not None and sys.stdin.isatty():
        changes = ask_memory(verb, {"list": True, "limit": 1000}, db_path)["changes"]
        digits = arguments.get("token", "").replace("-", "")
        meant = (
            change
            for change in changes
            if (change["token"].replace("-", "").startswith(digits) if digits else text.is_open(change))
        )
        change = next(meant, None)
        if change is not None:
            print_folded(shown(text.change_text(change)))
            if not confirmed("Undo this?"):
                print("left as it is", file=sys.stderr)
                raise Finished(1)
            arguments["token"] = change["token"]
    return ask_memory(verb, arguments, db_path)


def _consolidate(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    if arguments.get("strict") and arguments.get("any_state"):
        raise CommandLineError("give either --strict or --any-state, not both")
    return followed(verb, arguments, "consolidating", db_path)


def _goals(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    return (
        followed(verb, arguments, "looking for goals", db_path)
        if arguments.get("discover")
        else ask_memory(verb, arguments, db_path)
    )


def _stats(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    if arguments.get("prometheus"):
        finish(ask(verb, arguments, db_path=db_path, timeout_s=CALL_S))
    return ask_memory(verb, arguments, db_path)


_EDIT: Final = (("ID", "id", "word"), ("--content", "content", "text"))
"""What `memory edit` takes, which is made of other operations."""
SAME: Final = {"search": "recall"}
"""Second names of commands."""
COMMANDS: Final[dict[str, Action]] = {
    "store": Action(lambda reply: str(reply["id"])),
    "recall": Action(text.recall_text, _recall),
    "search": Action(text.recall_text, _recall),
    "edit": Action(edited_text, edit),
    "inject": Action(lambda brief: brief["context"] or str(brief["note"])),
    "list": Action(text.list_text, _list, _VIEWS),
    "show": Action(text.node_text),
    "forget": Action(text.forget_text, _forget, (_YES,)),
    "confirm": Action(text.confirmed_text),
    "reword": Action(text.reworded_text),
    "restore": Action(lambda memory: f"restored: {memory['id']}\n{memory['content']}"),
    "link": Action(text.edge_text),
    "stats": Action(stats_text, _stats),
    "consolidate": Action(text.consolidation_text, _consolidate),
    "undo": Action(text.undone_text, _undo, (_SURE,)),
    "history": Action(text.history_text),
    "runs": Action(text.runs_text),
    "goals": Action(text.goals_text, _goals),
}


def plain(words: Sequence[str]) -> tuple[Command, Sequence[str]] | None:
    """Return the command that ``words`` (behind `memory`) name, and what is left of them; it has no help."""
    if not words:
        return None
    name = words[0]
    if name not in COMMANDS:
        return next(((command, words[1:]) for command in _of_files(name) if command.word == name), None)
    # The build makes the table out of the commands, and so imports this module before there is one.
    from context_graph.cli.memory.table import TABLE

    rows = _EDIT if name == "edit" else TABLE[SAME.get(name, name)]
    return command(name, [word(*row) for row in rows]), words[1:]


def _of_files(name: str) -> tuple[Command, ...]:
    if name == "adopt":
        from context_graph.cli.memory import moved

        return moved.COMMANDS
    from context_graph.cli.memory import files

    return files.COMMANDS


def command(name: str, takes: Sequence[Option | Argument], short: str = "", help: str = "") -> Command:
    """Return the command `memory` ``name``, which takes these words and those that every one does."""
    action = COMMANDS[name]

    def run(**values: Any) -> None:
        perform(f"memory.{SAME.get(name, name)}", action, made, values)

    made = Command(name, run, short, (*takes, *action.more, OUTPUT, JSON, DB_PATH), help)
    return made
