"""Handles `memory import --from`: a request begins it, further ones go on for a moment each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import orjson

from context_graph.errors import InvalidInputError
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.commands.memory import body_of
from context_graph.owner.sessions.import_from import SESSIONS, ImportFrom, Place, begun
from context_graph.wire.frames import Reply


def _import_from(call: Call) -> Reply:
    body, open_ones = body_of(call), call.context.imports
    token = body.get("token")
    if token is None:
        token = begun(
            _place(call),
            open_ones,
            source=_text(body, "source"),
            path=Path(_text(body, "path")) if body.get("path") else None,
            dry_run=body.get("dry_run") is True,
        )
        return reply(orjson.dumps({"token": token, "total": len(open_ones[token].files)}))
    work = open_ones.get(token) if isinstance(token, str) else None
    if work is None:
        raise InvalidInputError("no such import is on its way; run it again: what is there is skipped")
    done = work.step()
    if done:
        del open_ones[token]
        _end(call, work)
    return reply(orjson.dumps({"at": work.at, "done": done, **(work.report() if done else {})}))


def _place(call: Call) -> Place:
    context, works = call.context, call.context.memory_hooks.works
    works.serve(call.request.env)
    return Place(
        memex=context.memory,
        redactor=call.redactor,
        project=context.project,
        is_known=context.store.has,
        leaves_out=works.client_s_own_files(),
        env=works.env,
        users=lambda account: context.users(account, True),
    )


def _end(call: Call, work: ImportFrom) -> None:
    """Have the project's profile count the sessions that came."""
    if not work.dry_run and work.source in SESSIONS and work.done["added"] + work.done["updated"]:
        call.context.memory_hooks.works.profiles.count_anew()


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value or "\0" in value or len(os.fsencode(value)) > 4096:
        raise InvalidInputError(f"{name} must be text of 1 to 4096 bytes without NUL")
    return value


HANDLERS: Final = {"memory.import-from": _import_from}
