"""Makes records of the event log as the launcher does."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from context_graph.errors import MalformedFrameError
from context_graph.owner.sessions.log_reader import LoggedEvent
from context_graph.wire.store_folder import FOLDER, frame


def encode_event(event: LoggedEvent) -> bytes:
    """The bytes to append, both newlines included. Raises MalformedFrameError if a value has no JSON form."""
    value = {name: one for name, one in asdict(event).items() if one is not None or name == "body"}
    parent, params, body = value.pop("parent"), value.pop("params"), value.pop("body")
    return frame(value.pop("id"), _json({**value, "parent": parent, "params": params, "body": body}))


def write_segment(store: Path, *parts: LoggedEvent | bytes, name: str = "0000000000001-00000000.log") -> Path:
    """Append records, or bytes as they are, to a segment of the store's log; its path."""
    folder = store / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(folder / name, "ab") as sink:
        for part in parts:
            sink.write(part if isinstance(part, bytes) else encode_event(part))
    return folder / name


def _json(value: object) -> bytes:
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        # A path may hold bytes that are not UTF-8; os.fsdecode made lone surrogates of them, which only an
        # escape can carry.
        return text.encode() if _is_utf8(text) else json.dumps(value, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedFrameError(f"a record can't be encoded: {error}") from error


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
