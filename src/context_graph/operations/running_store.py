"""Runs the operations on a whole store: export and import, the index, consolidations and their undo."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from context_graph.errors import InvalidInputError, InvalidParamsError
from context_graph.memory.embed import provider
from context_graph.memory.exchange import records
from context_graph.memory.exchange.importing import Import, Imports
from context_graph.memory.runs import new_act
from context_graph.operations import views, whole_stores
from context_graph.operations.context import Answer, Context
from context_graph.operations.operation import Called

_STEPS_S: Final = 0.05
_LOOKED_THROUGH: Final = 1000
"""Changes of a store among which an undo looks for the last one, and for what concerns another store too."""
_imports: Final = Imports()


def _export(context: Context, arguments: whole_stores.Export) -> Answer:
    memex = context.host.memory()
    total = memex.count()
    if arguments.format == "markdown":
        files, following = records.markdown_page(memex, arguments.cursor)
        return Answer({"files": files, "memories": len(files), "total": total, "next_cursor": following})
    page = records.export_page(memex, arguments.cursor, embeddings=arguments.embeddings)
    view = {"text": page.text, "memories": page.memories, "total": total, "next_cursor": page.next_cursor}
    return Answer(view)


def _import(context: Context, arguments: whole_stores.Import) -> Answer:
    store = context.host.store_name
    if arguments.phase == "begin":
        work = Import(context.host.memory(), arguments.overwrite, new_act("import", context.source, store))
        return Answer({"token": _imports.begin(store, work)})
    if arguments.token is None:
        raise InvalidParamsError.of("token", "is required")
    work = _imports.get(store, arguments.token)
    if arguments.phase in ("check", "write"):
        with context.host.memory().acting(work.act):
            _import_part(work, arguments)
        return Answer({"problem_count": work.problem_count})
    if arguments.phase == "checked":
        work.checked()
        return Answer({"faults": work.faults, "problem_count": work.problem_count, "problems": work.problems})
    _imports.end(arguments.token)
    return Answer(work.report())


def _import_part(work: Import, arguments: whole_stores.Import) -> None:
    checks = arguments.phase == "check"
    if arguments.files is not None:
        (work.check_files if checks else work.write_files)(arguments.files)
    elif arguments.lines is not None:
        (work.check_lines if checks else work.write_lines)(arguments.lines, arguments.first_line)
    else:
        raise InvalidInputError("an import's part has lines or files")


def _reindex(context: Context, arguments: whole_stores.Reindex) -> Answer:
    """Reindex for a moment, then answer: the command comes again, and hooks are served in between."""
    wanted = provider(arguments.provider)
    memex, done, until = context.host.memory(), 0, time.monotonic() + _STEPS_S
    while True:
        step = memex.reindex_step(wanted)
        done += step.memories
        if step.done or time.monotonic() >= until:
            return Answer({"memories": done, "at": step.at, "total": step.total, "done": step.done})


def _stats(context: Context, arguments: whole_stores.Stats) -> Answer:
    memex = context.host.memory()
    if arguments.prometheus:
        return Answer(text=memex.prometheus())
    return Answer({"store": context.host.store_name, **views.stats_view(memex, context.host.figures())})


def _consolidate(context: Context, arguments: whole_stores.Consolidate) -> Answer:
    names = ("mode", "salience_threshold", "max_memories", "dry_run", "strict")
    job = context.host.consolidate(
        {name: getattr(arguments, name) for name in names},
        session_id=context.session_id,
        any_state=arguments.any_state,
        on_progress=context.progress,
        on_done=context.on_done,
    )
    return Answer(job=job, quotes=True)


def _goals(context: Context, arguments: whole_stores.Goals) -> Answer:
    if context.on_done is None and not arguments.discover:
        return Answer(context.host.kept_goals(context.session_id))
    job = context.host.consolidate(
        {"goals": {"min_confidence": arguments.min_confidence, "max_goals": arguments.max_goals}},
        session_id=context.session_id,
        on_progress=context.progress,
        on_done=context.on_done,
    )
    return Answer(job=job, quotes=True)


def _undo(context: Context, arguments: whole_stores.Undo) -> Answer:
    """Undo in each store that has the token: what a command did may concern the project's and the user's."""
    places = [place for place in (context.host.memory(), context.host.of_user()) if place is not None]
    here = context.host.store_name
    newest = [
        (place, run)
        for place in places
        for run in place.runs(_LOOKED_THROUGH, acts=True)
        if place is places[0] or run.details.get("store") == here
    ]
    newest.sort(key=lambda pair: pair[1].at_ms, reverse=True)
    if arguments.list:
        rows = [(views.run_view(run), place.changed_by(run)) for place, run in newest[: arguments.limit]]
        return Answer({"changes": [{**row, **views.changed_view(*changed)} for row, changed in rows]})
    token = arguments.token or next((str(run.token) for _, run in newest if run.is_open), None)
    digits = (token or "").replace("-", "").lower()
    holding = [place for place, run in newest if digits and run.token.hex.startswith(digits)]
    done = [place.undo(token, context.source) for place in dict.fromkeys(holding) or places[:1]]
    return Answer(views.undone_view(done[0]))


def _runs(context: Context, arguments: whole_stores.Runs) -> Answer:
    return Answer({"runs": [views.run_view(run) for run in context.host.memory().runs(arguments.limit)]})


STORE_RUNS: Final[dict[type[Called], Callable[[Context, Any], Answer]]] = {
    whole_stores.Export: _export,
    whole_stores.Import: _import,
    whole_stores.Reindex: _reindex,
    whole_stores.Stats: _stats,
    whole_stores.Consolidate: _consolidate,
    whole_stores.Goals: _goals,
    whole_stores.Undo: _undo,
    whole_stores.Runs: _runs,
}
