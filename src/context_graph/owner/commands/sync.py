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
    from context_graph.sync.side import Outgoing
    from context_graph.sync.transport import Head

_MAX_LINES: Final = 256


def _stamp(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    return {"cursor": side.stamp(_text(body, "cursor", empty=True))}


def _machine(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    return {"machine": side.machine()}


def _outgoing(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    return _page(side.outgoing(_text(body, "place"), _head(body)))


def _again(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    from context_graph.sync.side import Lacking

    out, count = side.again(_text(body, "place"), _head(body), _as(list[Lacking], body, "lacking"))
    return {**_page(out), "count": count}


def _head(body: dict[str, Any]) -> Head | None:
    from context_graph.sync.transport import Head

    head = body.get("head")
    return None if head is None else Head(int(head[0]), str(head[1]))


def _page(out: Outgoing) -> dict[str, Any]:
    return {
        "machine": out.machine,
        "lines": [line.decode() for line in out.lines],
        "more": out.more,
        "unfit": [list(row) for row in out.unfit],
    }


def _pushed(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    side.pushed(_text(body, "place"))
    return {}


def _known(side: OpenStore, body: dict[str, Any]) -> list[Any]:
    return list(side.known(_text(body, "place")))


def _keep(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    from context_graph.sync.side import Kept

    side.keep(_text(body, "place"), _as(Kept, body, "kept"))
    return {}


def _stamps(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    rows, cursor = side.stamps(_text(body, "cursor", empty=True))
    return {"rows": rows, "cursor": cursor}


def _merge(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    from context_graph.sync.side import Stretch

    lines, upto, after = body.get("lines"), body.get("upto"), body.get("after")
    if not isinstance(lines, list) or len(lines) > _MAX_LINES or not isinstance(upto, int):
        raise InvalidInputError(f"lines must be at most {_MAX_LINES} texts, upto a number")
    part = Stretch(
        _text(body, "machine"),
        [str(line).encode() for line in lines],
        upto,
        after if isinstance(after, int) else None,
        _text(body, "author", empty=True),
        _as(list[tuple[int, int]], body, "missing"),
        _text(body, "mark", empty=True),
    )
    merged = side.merge(_text(body, "place"), part)
    return {
        "new": merged.new,
        "read": merged.read,
        "refused": [list(row) for row in merged.refused],
        "waits_for_clock": merged.waits_for_clock,
        "more": merged.more,
    }


def _apply(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    return {"more": side.apply()}


def _forget(side: OpenStore, body: dict[str, Any]) -> dict[str, Any]:
    return {"forgotten": side.forget_told(_text(body, "place"))}


def _text(body: dict[str, Any], name: str, *, empty: bool = False) -> str:
    value = body.get(name, "" if empty else None)
    if not isinstance(value, str) or len(value) > 128 or (not value and not empty):
        raise InvalidInputError(f"{name} must be text of 1 to 128 characters")
    return value


def _as(kind: Any, body: dict[str, Any], name: str) -> Any:
    """Return ``given[name]`` as that type. Raises InvalidInputError."""
    import msgspec

    try:
        return msgspec.convert(body.get(name, []), kind)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"{name}: {error}") from error


_Answer = Callable[["OpenStore", dict[str, Any]], Any]
_ANSWERS: Final[dict[str, _Answer]] = {
    **{"stamp": _stamp, "machine": _machine, "outgoing": _outgoing, "again": _again, "pushed": _pushed},
    **{"known": _known, "keep": _keep, "stamps": _stamps, "merge": _merge, "apply": _apply},
    "forget": _forget,
}


def _handler(answer: _Answer) -> Callable[[Call], Reply]:
    def handle(call: Call) -> Reply:
        from context_graph.sync.exchange import OpenStore  # few owners ever need it

        return reply(orjson.dumps(answer(OpenStore(call.context.memory), body_of(call))))

    return handle


HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {
    f"sync.{name}": _handler(answer) for name, answer in _ANSWERS.items()
}
