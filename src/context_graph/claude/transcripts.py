"""Reads Claude Code's transcripts as hooks would have sent them: prompts, tool results, failures, stops.

Input from outside: lines and files have limits, what is malformed is counted and passed over, links are not
followed, and nothing is kept but the calls that wait for their results.
"""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Iterator, Mapping, MutableSet
from datetime import datetime
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from context_graph.config.paths import client_dir
from context_graph.system.small_files import open_regular

AGENT: Final = "agent-"
"""Files of subagents begin so; they lie beside their session's file, or in its folder `subagents`."""
MEMORY_INDEX: Final = "MEMORY.md"
"""The file of the client's own memory that it reads at each start; it names the others."""
OURS: Final = "context-graph.md"
"""The file in the client's own memory that `memory export` writes."""
MAX_LINE: Final = 4 << 20
MAX_FILE: Final = 256 << 20
MAX_FILES: Final = 10_000
_WAITING: Final = 1_000
"""Calls without a result that are remembered."""
_MOST_SEEN: Final = 1_000_000
"""Ids of lines that are remembered: some 100 MB."""
_FIRST_LINES: Final = 20
_CODEX: Final = ("session_meta", "response_item", "event_msg", "turn_context")
_TICK: Final = 200
"""Lines after which the reader gives its caller a chance to do something else."""
_SPOKEN: Final = 200
"""Texts between calls that are remembered of a turn."""
_END: Final = 2 << 20
"""Bytes that are read of a transcript while its session runs."""
_HELD_BACK: Final = "Stop hook feedback"
_NOT_RUN: Final = (
    "The user doesn't want to proceed",
    "<tool_use_error>Sibling tool call errored",
    "[Request interrupted",
)
"""What is written instead of a result where the call never ran: hooks send no event for those."""


class Told(NamedTuple):
    """What one hook would have sent; ``name`` is "" for a pause in which the caller may do other work."""

    at_ms: int
    name: str
    body: dict[str, Any]


def folder_name(project: Path) -> str:
    """Return the client's name of a project's folder: its path, dashes for all but ASCII letters, digits."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in str(project))


def folder_of(project: Path, env: Mapping[str, str]) -> Path:
    """Return where the client keeps a project's transcripts."""
    return client_dir(env) / "projects" / folder_name(project)


def memory_of(project: Path, env: Mapping[str, str]) -> Path:
    """Return where the client keeps its own memory of a project, unless its settings name another folder."""
    return folder_of(project, env) / "memory"


def sessions_in(folder: Path) -> list[Path]:
    """Return the transcripts of sessions in ``folder``, the oldest first; [] where there are none to read."""
    paths = [path for path in plain_files(folder, ".jsonl") if not path.name.startswith(AGENT)]
    return sorted(paths, key=lambda path: (path.stat().st_mtime, path.name))


def plain_files(folder: Path, suffix: str) -> list[Path]:
    """Return plain files of ``folder`` by name, no links, at most MAX_FILES; [] where it can't be read."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name
                for entry, _ in zip(entries, range(MAX_FILES), strict=False)
                if entry.name.endswith(suffix) and entry.is_file(follow_symlinks=False)
            )
    except OSError:
        return []
    return [folder / name for name in names]


def told_by(
    path: Path, odd: Counter[str] | None = None, seen: MutableSet[str] | None = None
) -> Iterator[Told]:
    """Return what hooks would have sent of the session in ``path``, its subagents' work too, in order of
    time.

    A resumed or forked session's file repeats the history of another one: each line counts once.

    Args:
        odd: Counts `lines` that are no JSON object or too long, and `files` that are too large.
        seen: Ids of lines that were read before, in other files too; this file's are added.

    Raises OSError where a file can't be read.
    """
    counted = Counter[str]() if odd is None else odd
    known = set[str]() if seen is None else seen
    files = (_file(file, counted, known) for file in (path, *_agents(path)))
    return heapq.merge(*files, key=itemgetter(0))


def what_else(path: Path) -> str:
    """Return what a file of JSON lines is that is no transcript of this client; "" for one that is, or an
    empty one.

    Raises OSError where it can't be read.
    """
    odd = Counter[str]()
    first = [line for line in islice(lines_of(path, odd), _FIRST_LINES) if line is not None]
    if not first:
        return "no JSON lines" if odd["lines"] else ""
    if any(line.keys() & {"sessionId", "uuid", "parentUuid", "leafUuid"} for line in first):
        return ""
    if any("payload" in line and str(line.get("type")).startswith(_CODEX) for line in first):
        return "a session of Codex CLI"
    return "JSON lines of another program"


def _agents(path: Path) -> list[Path]:
    """Return the files of the subagents of the session in ``path``."""
    inside = [
        file
        for folder in (path.parent / path.stem, path.parent / path.stem / "subagents")
        for file in plain_files(folder, ".jsonl")
        if file.name.startswith(AGENT)
    ]
    beside = (file for file in plain_files(path.parent, ".jsonl") if file.name.startswith(AGENT))
    return [*inside, *(file for file in beside if _session_of(file) == path.stem)]


def _session_of(path: Path) -> str:
    """Return the session that a subagent's file names in its first line."""
    for line in lines_of(path, Counter()):
        return str(line.get("sessionId") or "") if line is not None else ""
    return ""


def lines_of(path: Path, odd: Counter[str]) -> Iterator[dict[str, Any] | None]:
    """Yield the JSON objects of a file, a line each; None for what is none, which ``odd`` counts."""
    try:
        file = open_regular(os.fspath(path), follow=False)
    except ValueError:
        odd["files"] += 1
        return
    with file:
        if os.fstat(file.fileno()).st_size > MAX_FILE:
            odd["files"] += 1
            return
        while text := file.readline(MAX_LINE):
            if not text.endswith(b"\n") and len(text) == MAX_LINE:
                while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                odd["lines"] += 1
                yield None
                continue
            try:
                line = orjson.loads(text)
            except orjson.JSONDecodeError:
                line = None
            odd["lines"] += bool(text.strip()) and not isinstance(line, dict)
            yield line if isinstance(line, dict) else None


def _file(path: Path, odd: Counter[str], seen: MutableSet[str]) -> Iterator[Told]:
    calls: dict[str, dict[str, Any]] = {}
    delegated = path.name.startswith(AGENT)
    last, spoken = Told(0, "", {}), Spoken()
    at_ms = 0
    for number, line in enumerate(lines_of(path, odd), start=1):
        if number % _TICK == 0:
            yield Told(at_ms, "", {})
        if line is None or _is_repeated(line, path, seen) or _is_synthetic(line):
            continue
        at_ms = milliseconds(line.get("timestamp")) or at_ms
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        common = {
            "cwd": str(line.get("cwd") or ""),
            "agent_id": str(line.get("agentId") or path.stem) if delegated or line.get("isSidechain") else "",
        }
        for block in _blocks(content):
            yield from _block(line, block, common, calls, seen, at_ms)
        prompt = "" if common["agent_id"] else _prompt(line, content)
        if line.get("isCompactSummary") and not common["agent_id"]:
            yield last
            last = Told(0, "", {})
            yield Told(at_ms, "PostCompact", {**common, "compact_summary": _text(content)})
        if prompt:
            yield last
            last = Told(0, "", {})
            yield Told(at_ms, "UserPromptSubmit", {**common, "prompt": prompt})
            spoken = Spoken()
        if _is_held_back(line, content):
            yield last
            last, spoken.last = Told(0, "", {}), ""
        if line.get("type") == "assistant" and not common["agent_id"]:
            spoken.add(content)
            body = {**common, "last_assistant_message": spoken.last, "between": spoken.between[:]}
            last = Told(at_ms, "Stop" if spoken.last else "", body)
    yield last


class Spoken:
    """What the assistant said since a prompt: its last words, and before them those between its calls."""

    def __init__(self) -> None:
        self.last = ""
        """"" where a call came after."""
        self.between: list[str] = []

    def add(self, content: object) -> None:
        """Take in the content of the assistant's next line."""
        text = _text(content).strip()
        calls = any(block.get("type") == "tool_use" for block in _blocks(content))
        if self.last:
            self.between.append(self.last)
        if calls and text:
            self.between.append(text)
        self.last = "" if calls else text
        del self.between[:-_SPOKEN]


def said_between(path: Path, session_id: str, until_ms: int | None) -> list[str]:
    """Return what the assistant said between its calls since the last prompt before ``until_ms``.

    Of the session's own transcript alone, of its last 2 MB, and no link is followed: the path is the
    client's word. [] where there is nothing to read. Cost: some 2 ms a megabyte.
    """
    spoken = Spoken()
    for line in _last_lines(path) if path.name == f"{session_id}.jsonl" else ():
        if line.get("isSidechain") or _is_synthetic(line):
            continue
        if until_ms is not None and milliseconds(line.get("timestamp")) > until_ms:
            break
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if _prompt(line, content):
            spoken = Spoken()
        elif _is_held_back(line, content):
            spoken.last = ""  # a Stop of its own has told it
        elif line.get("type") == "assistant":
            spoken.add(content)
    return spoken.between


def _last_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects at a file's end but for results of calls; none where it is no plain file."""
    try:
        with open_regular(str(path), follow=False) as file:
            begin = max(0, os.fstat(file.fileno()).st_size - _END)
            file.seek(begin)
            lines = file.read(_END).split(b"\n")
    except (OSError, ValueError):
        return
    for text in lines[1 if begin else 0 :]:
        try:
            line = None if b'"tool_use_id"' in text else orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
        if isinstance(line, dict):
            yield line


def _is_held_back(line: Mapping[str, Any], content: object) -> bool:
    """Return whether a Stop hook had the assistant go on, which the client tells it in a line of its own."""
    return line.get("isMeta") is True and _text(content).startswith(_HELD_BACK)


def _is_repeated(line: Mapping[str, Any], path: Path, seen: MutableSet[str]) -> bool:
    """Return whether the line was read before, or belongs to the session that this one was forked from."""
    forked = line.get("forkedFrom")
    parent = str(forked.get("sessionId") or "") if isinstance(forked, dict) else ""
    if parent and parent != path.stem and "/" not in parent and (path.parent / f"{parent}.jsonl").is_file():
        return True
    number = line.get("uuid")
    if not isinstance(number, str) or len(seen) >= _MOST_SEEN:
        return False
    if number in seen:
        return True
    seen.add(number)
    return False


def _is_synthetic(line: Mapping[str, Any]) -> bool:
    """Return whether the client itself wrote the line in the model's place: an API error, "No response"."""
    message = line.get("message")
    model = message.get("model") if isinstance(message, dict) else ""
    return line.get("isApiErrorMessage") is True or model == "<synthetic>"


def _block(
    line: Mapping[str, Any],
    block: Mapping[str, Any],
    common: Mapping[str, str],
    calls: dict[str, dict[str, Any]],
    seen: MutableSet[str],
    at_ms: int,
) -> Iterator[Told]:
    if block.get("type") == "tool_use":
        calls[str(block.get("id"))] = {"tool_name": block.get("name"), "tool_input": block.get("input")}
        if len(calls) > _WAITING:
            del calls[next(iter(calls))]
    elif block.get("type") == "tool_result":
        call = calls.pop(str(block.get("tool_use_id")), None)
        outcome = _result(line, block)
        # A history that is repeated may have new uuids, but has its times.
        stamp = line.get("timestamp", line.get("uuid"))
        key = f"{bool(common['agent_id'])} {block.get('tool_use_id')} {stamp}"
        if key in seen:
            return
        if call is not None and outcome is not None and isinstance(call["tool_name"], str):
            if len(seen) < _MOST_SEEN:
                seen.add(key)
            name, result = outcome
            yield Told(at_ms, name, {**common, **call, "tool_use_id": str(block["tool_use_id"]), **result})


def _result(line: Mapping[str, Any], block: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return (name of the hook, its fields); None for a call that was refused or cancelled."""
    text = _text(block.get("content"))
    if not block.get("is_error"):
        return "PostToolUse", {"tool_response": line.get("toolUseResult") or text}
    return None if text.startswith(_NOT_RUN) else ("PostToolUseFailure", {"error": text})


def _prompt(line: Mapping[str, Any], content: object) -> str:
    """Return what somebody typed; "" for everything else."""
    generated = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
    if line.get("type") != "user" or any(line.get(name) for name in generated):
        return ""
    return _text(content)


def _blocks(content: object) -> list[dict[str, Any]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = (block for block in _blocks(content) if block.get("type") == "text")
    return "\n".join(str(block.get("text") or "") for block in texts)


def milliseconds(stamp: object) -> int:
    """Return Unix ms of an ISO time; 0 for anything else."""
    try:
        return max(0, round(datetime.fromisoformat(str(stamp)).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0
