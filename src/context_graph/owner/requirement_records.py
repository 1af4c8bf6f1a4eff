"""What the gates and the `req` commands report, as entries of the store's log: checked, redacted, dated."""

from __future__ import annotations

from collections.abc import Mapping

from context_graph.errors import InvalidInputError
from context_graph.redact import TextRedactor

__all__ = ["entries_of"]

_MOST = 200
_HARMLESS_CHARS = 12


def entries_of(
    records: object, common: Mapping[str, object], redactor: TextRedactor
) -> list[dict[str, object]]:
    """One entry a record, with ``common`` where it says nothing itself.

    A record is an object as requirements.journal writes it: ``kind`` and ``at`` (Unix seconds), and what is
    known of requirements, session, tool, branch, by and detail.

    Raises:
        InvalidInputError: If ``records`` is no list of at most _MOST objects.
    """
    if not isinstance(records, list) or len(records) > _MOST:
        raise InvalidInputError(f"records: must be a list of at most {_MOST} objects")
    entries = []
    for record in records:
        if not isinstance(record, dict):
            raise InvalidInputError("records: must be objects, as `requirements.journal.record` makes them")
        entry = {**common, **record}
        at = entry.pop("at", None)
        if isinstance(at, (int, float)) and not isinstance(at, bool) and 0 <= at < 1e11:
            entry["at_ms"] = int(at * 1000)
        for name in ("detail", "tool"):
            value = entry.get(name)
            if isinstance(value, str) and len(value) > _HARMLESS_CHARS:
                entry[name] = redactor.redact(value[:1000])
        entries.append(entry)
    return entries
