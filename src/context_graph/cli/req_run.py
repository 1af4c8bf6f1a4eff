"""What each `req` command does: asks `requirements`, shows the answer, reports what changed; no Typer."""

from __future__ import annotations

import os
import sys

from context_graph.errors import UsageError
from context_graph.requirements import plain_json
from context_graph.requirements.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Site", "run"]


class Site:
    """Where the data is: data root, this project's store and top folder, as the launcher works them out."""

    __slots__ = ("project", "root", "store")

    def __init__(self, root: str, store: str, project: str) -> None:
        self.root, self.store, self.project = root, store, project

    @classmethod
    def found(cls) -> Site:
        """Worked out here, where no launcher has done it."""
        from context_graph.config import locate

        place = locate(None)
        return cls(os.fspath(place.root), os.fspath(place.store), os.fspath(place.project))


def run(command: str, given: dict[str, Any], site: Site | None = None) -> int:
    """Run ``command`` (a key of req_words.COMMANDS) with the parameters that read_words gives; its exit code.

    Raises:
        UsageError: What the user has to mend; exit code 1.
    """
    as_json = bool(given.pop("json", False))
    try:
        return _run(command, given, site or Site.found(), as_json=as_json)
    except OSError as error:
        from context_graph.requirements.unwritable import unwritable

        raise unwritable(f"`req {command}` could not be done", error) from error


def _run(command: str, given: dict[str, Any], site: Site, *, as_json: bool) -> int:
    try:
        here = os.getcwd()
    except FileNotFoundError as error:
        raise UsageError(
            "the working folder has been removed; change to one that is there, and try again"
        ) from error
    place = Place(
        here,
        os.environ,
        cache_dir=site.root + "/cache/requirements",
        pid=os.getppid(),
        terminal=sys.stdin is not None and sys.stdin.isatty(),
        session=given.get("session", ""),
    )
    found, code = _RUN[command](place, site, given)
    if isinstance(found, dict):
        _report(found.pop("records", []), site)
    if as_json:
        print(plain_json.dumps(found))
    else:
        from context_graph.cli import req_text
        from context_graph.cli.shown import shown

        text = req_text.TEXT[command](found, given, place)
        if text:
            print(shown(text))
    return code


def _report(records: list[dict[str, Any]], site: Site) -> None:
    if records:
        from context_graph.cli.req_report import report

        problem = report(records, store=site.store, project=site.project)
        if problem:
            print(f"context-graph-cli: {problem}", file=sys.stderr)


def _status(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.commands import status

    found = status(place, session=given.get("session", ""), branch=given.get("branch", ""))
    if not found["session_id"]:
        print("context-graph-cli: no session is known here; give --session ID", file=sys.stderr)
    return found, 0


def _satisfy(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.commands import satisfy

    metadata = given.get("metadata")
    return satisfy(
        place,
        given["names"],
        session=given.get("session", ""),
        branch=given.get("branch", ""),
        ttl=given.get("ttl"),
        metadata=_object(metadata, "--metadata") if metadata is not None else None,
        force=given.get("force", False),
    ), 0


def _clear(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.commands import clear

    return clear(
        place,
        given["names"],
        everything=given.get("all", False),
        session=given.get("session", ""),
        branch=given.get("branch", ""),
    ), 0


def _pause(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.commands import pause

    return pause(place, session=given.get("session", ""), reason=given.get("reason", "")), 0


def _resume(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.commands import resume

    return resume(place, session=given.get("session", "")), 0


def _list(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.upkeep import branches

    return {"branches": branches(place)}, 0


def _prune(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.upkeep import prune

    return prune(place, preview=given.get("preview", False)), 0


def _sessions(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.upkeep import sessions

    return {"sessions": sessions(place, project=given.get("project", False))}, 0


def _switch(enabled: bool) -> Callable[[Place, Site, dict[str, Any]], tuple[Any, int]]:
    def handle(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
        from context_graph.requirements.setup import set_enabled

        return set_enabled(place, given.get("name", ""), enabled), 0

    return handle


def _config_show(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.setup import config_show

    found = config_show(place, name=given.get("name", ""))
    if not given.get("sources"):
        found.pop("sources", None)
    return found, 0


def _init(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.cli.req_doctor import missing_hooks
    from context_graph.requirements.setup import init

    made = init(
        place,
        preset=given.get("preset", "relaxed"),
        local=given.get("local", False),
        force=given.get("force", False),
        preview=given.get("preview", False),
    )
    return {**made, "missing_hooks": missing_hooks(place)}, 0


def _check(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.commands import check

    tool_input = _object(given.get("input", "{}"), "--input")
    found = check(place, given.get("name") or "Edit", tool_input, session=given.get("session", ""))
    return found, 0 if found["decision"] == "allow" else 1


def _keys(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.requirements.reference import KEYS

    name = given.get("name", "")
    found = [one for one in KEYS if not name or name in (one[0], one[0].rpartition(".")[2])]
    if not found:
        raise UsageError(f"no key {name!r}; `context-graph-cli req keys` lists them")
    shown = [
        {"key": key, "type": kind, "default": default, "meaning": text} for key, kind, default, text in found
    ]
    return {"keys": shown}, 0


def _doctor(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.cli.req_doctor import installation
    from context_graph.requirements.upkeep import doctor, sound

    findings = [*installation(place, site.root), *doctor(place)]
    if not any(one["level"] in ("error", "warning") for one in findings):
        findings.append(sound())
    is_sound = not any(one["level"] == "error" for one in findings)
    return {"sound": is_sound, "findings": findings}, 0 if is_sound else 1


def _log(place: Place, site: Site, given: dict[str, Any]) -> tuple[Any, int]:
    from context_graph.cli.req_log import entries

    return entries(place, given), 0


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        value = plain_json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{option}: must be a JSON object, such as {{}}")
    return value


_RUN: dict[str, Callable[[Place, Site, dict[str, Any]], tuple[Any, int]]] = {
    "status": _status,
    "satisfy": _satisfy,
    "approve": _satisfy,
    "clear": _clear,
    "pause": _pause,
    "resume": _resume,
    "list": _list,
    "prune": _prune,
    "sessions": _sessions,
    "enable": _switch(True),
    "disable": _switch(False),
    "config show": _config_show,
    "init": _init,
    "check": _check,
    "keys": _keys,
    "doctor": _doctor,
    "log": _log,
}
