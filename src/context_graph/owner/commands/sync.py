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


def _stamp(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    return {"cursor": side.stamp(_text(given, "cursor", empty=True))}


def _machine(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    return {"machine": side.machine()}


def _outgoing(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    return _page(side.outgoing(_text(given, "place"), _head(given)))


def _again(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    from context_graph.sync.side import Lacking

    out, count = side.again(_text(given, "place"), _head(given), _as(list[Lacking], given, "lacking"))
    return {**_page(out), "count": count}


def _head(given: dict[str, Any]) -> Head | None:
    from context_graph.sync.transport import Head

    head = given.get("head")
    return None if head is None else Head(int(head[0]), str(head[1]))


def _page(out: Outgoing) -> dict[str, Any]:
    return {
        "machine": out.machine,
        "lines": [line.decode() for line in out.lines],
        "more": out.more,
        "unfit": [list(one) for one in out.unfit],
    }


def _pushed(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    side.pushed(_text(given, "place"))
    return {}


def _known(side: OpenStore, given: dict[str, Any]) -> list[Any]:
    return list(side.known(_text(given, "place")))


def _keep(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    from context_graph.sync.side import Kept

    side.keep(_text(given, "place"), _as(Kept, given, "kept"))
    return {}


def _stamps(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    rows, cursor = side.stamps(_text(given, "cursor", empty=True))
    return {"rows": rows, "cursor": cursor}


def _merge(side: OpenStore, given: dict[str, Any]) -> dict[str, Any]:
    from context_graph.sync.side import Stretch

    lines, upto, after = given.get("lines"), given.get("upto"), given.get("after")
    if not isinstance(lines, list) or len(lines) > _MAX_LINES or not isinstance(upto, int):
        raise InvalidInputError(f"lines must be at most {_MAX_LINES} texts, upto a number")
    part = Stretch(
        _text(given, "machine"),
        [str(one).encode() for one in lines],
        upto,
        after if isinstance(after, int) else None,
        _text(given, "author", empty=True),
        _as(list[tuple[int, int]], given, "missing"),
        _text(given, "mark", empty=True),
    )
    merged = side.merge(_text(given, "place"), part)
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


def _as(kind: Any, given: dict[str, Any], name: str) -> Any:
    """``given[name]`` as that type. Raises InvalidInputError."""
    import msgspec

    try:
        return msgspec.convert(given.get(name, []), kind)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"{name}: {error}") from error


_Answer = Callable[["OpenStore", dict[str, Any]], Any]
_ANSWERS: Final[dict[str, _Answer]] = {
    **{"stamp": _stamp, "machine": _machine, "outgoing": _outgoing, "again": _again, "pushed": _pushed},
    **{"known": _known, "keep": _keep, "stamps": _stamps, "merge": _merge, "forget": _forget},
}


def _handler(answer: _Answer) -> Callable[[Call], Reply]:
    def handle(call: Call) -> Reply:
        from context_graph.sync.exchange import OpenStore  # few owners ever need it

        return reply(orjson.dumps(answer(OpenStore(call.context.memory), body_of(call))))

    return handle


HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {
    f"sync.{name}": _handler(answer) for name, answer in _ANSWERS.items()
}
