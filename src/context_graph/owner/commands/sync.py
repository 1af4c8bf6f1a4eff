"""Answers the verbs `sync.*`: the store's side of an exchange with other machines, a slice a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import orjson

from context_graph.errors import InvalidInputError
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.commands.memory import body_of
from context_graph.wire.frames import Reply

if TYPE_CHECKING:
    from context_graph.sync.exchange import OpenStore

_NAMES: Final = ("stamp", "machine", "outgoing", "pushed", "read", "merge", "forget")
_MAX_LINES: Final = 256


def _stamp(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    return {"cursor": side.stamp(_text(given, "cursor", empty=True))}


def _machine(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    return {"machine": side.machine()}


def _outgoing(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    from context_graph.sync.transport import Head

    head = given.get("head")
    out = side.outgoing(_text(given, "place"), None if head is None else Head(int(head[0]), str(head[1])))
    return {
        "machine": out.machine,
        "lines": [line.decode() for line in out.lines],
        "more": out.more,
        "unfit": [list(one) for one in out.unfit],
    }


def _pushed(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    side.pushed(_text(given, "place"))
    return {}


def _read(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    return {"read": side.read(_text(given, "place"))}


def _merge(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    lines, upto = given.get("lines"), given.get("upto")
    if not isinstance(lines, list) or len(lines) > _MAX_LINES or not isinstance(upto, int):
        raise InvalidInputError(f"lines must be at most {_MAX_LINES} texts, upto a number")
    merged = side.merge(
        *(_text(given, "place"), _text(given, "machine"), [str(one).encode() for one in lines], upto),
        _text(given, "author", empty=True),
    )
    return {
        "new": merged.new,
        "read": merged.read,
        "refused": [list(one) for one in merged.refused],
        "waits_for_clock": merged.waits_for_clock,
    }


def _forget(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    return {"forgotten": side.forget_told(_text(given, "place"))}


def _text(given: dict[str, Any], name: str, *, empty: bool = False) -> str:
    value = given.get(name, "" if empty else None)
    if not isinstance(value, str) or len(value) > 128 or (not value and not empty):
        raise InvalidInputError(f"{name} must be text of 1 to 128 characters")
    return value


_ANSWERS: Final = (_stamp, _machine, _outgoing, _pushed, _read, _merge, _forget)


def _handler(answer: Callable[[OpenStore, dict[str, Any]], dict[str, Any]]) -> Callable[[Call], Reply]:
    def handle(call: Call) -> Reply:
        from context_graph.sync.exchange import OpenStore  # few owners ever need it

        return reply(orjson.dumps(answer(OpenStore(call.context.memory), body_of(call))))

    return handle


HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {
    f"sync.{name}": _handler(answer) for name, answer in zip(_NAMES, _ANSWERS, strict=True)
}
