"""Takes a hook's input apart: path, command, edit, answers, to-dos, each redacted and bounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from context_graph.claude.hooks.hook_input import HookInput
from context_graph.model import EDITING, EVENT_TEXT_BYTES, SHELLS, EventKind, EventParts
from context_graph.notes.changes import changed_lines
from context_graph.notes.edits.rows import are_incidental
from context_graph.notes.remarks import remarks_of
from context_graph.notes.worked_files import written_in
from context_graph.redact import TextRedactor
from context_graph.text.definitions import around, changed_by, defined_in
from context_graph.text.diffs import patched_in
from context_graph.text.patterns import linear

_PATHS: Final = ("file_path", "notebook_path", "path")
_PATH_CHARS: Final = 1024
_COMMAND_CHARS: Final = 4096
_NAME_CHARS: Final = 300
_EDIT_CHARS: Final = 1500
_SYMBOLS: Final = 16
_EDITS: Final = 32
_TAIL_CHARS: Final = 1000
_TASK_CHARS: Final = 1500
_ANSWERS: Final = 8
_ANSWER_CHARS: Final = 600
_TODOS: Final = 40
_TODO_CHARS: Final = 160
_PLAN_CHARS: Final = 6000
_RESULT_CHARS: Final = 5000
_TICKET_CHARS: Final = 9000
_WORDS_CHARS: Final = 16_384
_WINDOW: Final = 4
"""How many times what is kept is looked at by the redactor, so that the cut finds no half of a secret."""
_OUTPUT_CHARS: Final = 262_144
_BETWEEN: Final = "\n\n"
_TOLD_BY_OTHERS: Final = frozenset({"Agent", "Task", "TaskOutput", "WebFetch", "WebSearch"})
"""Tools whose answer is somebody else's text."""
_TICKET: Final = linear(
    r"(?:^|[;&|]\s*|\s)(?:bd|br|tk|jira|linear|glab issue|glab mr|gh issue|gh pr|acli jira workitem) "
    r"(?:show|view|get|describe)\s"
)
"""Commands that print a task's description, which has much that nobody says again."""
_NUMBERS: Final = linear(r"(?m)^\s*\d+(?:\t|→)")
_EXIT: Final = "Exit code "


def parts_of(hook: HookInput, redactor: TextRedactor) -> EventParts:
    """Return the parts of one hook call. Cost: some 10 us, and a pass of the redactor over what is kept."""
    if hook.kind is EventKind.PROMPT_SUBMIT:
        return EventParts(words=_long(hook.prompt, redactor))
    if hook.kind is EventKind.STOP:
        remarks = [redactor.redact(text) for text in remarks_of(hook.between)]
        return EventParts(words=_long(hook.last_message, redactor), remarks=remarks)
    if hook.kind in (EventKind.POST_COMPACT, EventKind.SUBAGENT_STOP):
        return EventParts(words=_long(hook.last_message, redactor))
    call = hook.tool_input if isinstance(hook.tool_input, Mapping) else {}
    path = _first(call, _PATH_CHARS, *_PATHS)
    command = _first(call, _COMMAND_CHARS, "command") if hook.tool_name in SHELLS else ""
    if not hook.tool_name or hook.kind is EventKind.PRE_TOOL:  # its result tells the rest
        return _clean(EventParts(file_path=path, command=command), redactor)
    answer = hook.tool_response
    parts = EventParts(
        file_path=path,
        command=command,
        description=_first(call, _NAME_CHARS, "description"),
        pattern=_first(call, _NAME_CHARS, "pattern", "query"),
        url=_first(call, _PATH_CHARS, "url"),
    )
    if hook.tool_name in EDITING:
        _take_edit(parts, call, answer if isinstance(answer, Mapping) else {})
    elif hook.tool_name in SHELLS:
        _take_output(parts, hook, redactor)
    else:
        _take_rest(parts, hook.tool_name, call, answer)
    return _clean(parts, redactor)


def _take_edit(parts: EventParts, call: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    edits = call.get("edits")
    edits = edits[:_EDITS] if isinstance(edits, list) else [call]
    pairs = [
        (_text(edit.get("old_string")), _text(edit.get("new_string")))
        for edit in edits
        if isinstance(edit, Mapping)
    ]
    whole = _text(call.get("content")) or _text(call.get("new_source"))
    original = _text(answer.get("originalFile"))
    symbols: dict[str, None] = {}
    for old, new in pairs:
        if are_incidental(changed_lines(old, new)):
            continue
        at = original.find(old) if old and original else -1
        if at >= 0:
            symbols |= dict.fromkeys(_around(original, at, old, new))
        symbols |= dict.fromkeys(changed_by(old, new))
    if whole:
        symbols |= dict.fromkeys(changed_by(original, whole) if original else defined_in(whole))
    parts.writes = [path[:_PATH_CHARS] for path in written_in(whole)] if whole else []
    parts.symbols = [name[:_NAME_CHARS] for name in symbols][:_SYMBOLS]
    old = next((old for old, _ in pairs if old), "")
    new = next((new for _, new in pairs if new), whole)
    if original:
        old, new, parts.is_whole = _whole_lines(original, old, new, is_all=bool(whole))
    parts.old_text, parts.new_text = _head(old, _EDIT_CHARS), _head(new, _EDIT_CHARS)


def _whole_lines(original: str, old: str, new: str, *, is_all: bool) -> tuple[str, str, bool]:
    """Return an edit's texts as whole lines of the file, and whether they are: of one that was written anew
    what differs, if it is short.
    """
    if is_all:
        before, after = original.splitlines(keepends=True), new.splitlines(keepends=True)
        first = _common_lines(before, after)
        before, after = before[first:], after[first:]
        same = _common_lines(before[::-1], after[::-1])
        took, put = "".join(before[: len(before) - same]), "".join(after[: len(after) - same])
        is_short = max(len(took), len(put)) <= _EDIT_CHARS
        return (took, put, True) if is_short else ("", new, False)
    at = original.find(old) if old else -1
    if at < 0:
        return old, new, False
    head = original[original.rfind("\n", 0, at) + 1 : at]
    tail = original[at + len(old) :].partition("\n")[0] if not old.endswith("\n") else ""
    return f"{head}{old}{tail}", f"{head}{new}{tail}", True


def _common_lines(lines: Sequence[str], others: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, others, strict=False)))


def _around(original: str, at: int, old: str, new: str) -> list[str]:
    """Return what an edit is in: what it puts behind a line need not be in what that line is in."""
    begin = _common(old, new)
    end = begin + len(old[begin:])
    if new[begin:].startswith(old[begin:]) and new[end : end + 1] == "\n":
        return around(original[:at] + new, at + end + 1)
    return around(original, at + begin)


def _common(old: str, new: str) -> int:
    """Return where two texts begin to differ, at a line's begin."""
    at = 0
    while (end := old.find("\n", at) + 1) > 0 and old[at:end] == new[at:end]:
        at = end
    return at


def _take_output(parts: EventParts, hook: HookInput, redactor: TextRedactor) -> None:
    output = hook.error or _output(hook.tool_response)
    if output.startswith(_EXIT):
        number = output[len(_EXIT) : len(_EXIT) + 6].split(None, 1)
        parts.exit_code = int(number[0]) if number and number[0].isdecimal() else None
    if "\n@@ -" in output[:_OUTPUT_CHARS]:
        parts.patched = patched_in(output[:_OUTPUT_CHARS])
    if _TICKET.found(parts.command):
        parts.words = _head(output, _TICKET_CHARS)
    if len(output) > EVENT_TEXT_BYTES:
        clean = redactor.redact(output[-_WINDOW * _TAIL_CHARS :])[-_TAIL_CHARS:]
        whole = clean.split(None, 1)[1:]  # its first word may be torn
        parts.tail = whole[0] if whole else ""


def _take_rest(parts: EventParts, tool: str, call: Mapping[str, Any], answer: Any) -> None:
    result = answer if isinstance(answer, Mapping) else {}
    if tool == "Read":
        parts.symbols = [name[:_NAME_CHARS] for name in defined_in(_read_text(result), _SYMBOLS)]
    elif tool == "AskUserQuestion":
        parts.answers = _answers(call, result)
    elif tool == "TodoWrite":
        parts.todos = [
            [_head(_text(task.get("status")), 20), _head(_text(task.get("content")), _TODO_CHARS)]
            for task in _mappings(call.get("todos"))[:_TODOS]
        ]
    elif tool in ("TaskCreate", "TaskUpdate"):
        parts.todo = _todo(call, result, _text(answer))
    elif tool == "ExitPlanMode":
        parts.plan = _head(_text(call.get("plan")) or _text(result.get("plan")), _PLAN_CHARS)
    elif tool in _TOLD_BY_OTHERS:
        parts.agent = _first(call, _NAME_CHARS, "subagent_type")
        parts.task = _first(call, _TASK_CHARS, "prompt")
        parts.words = _head(_result(answer), _RESULT_CHARS)


def _read_text(result: Mapping[str, Any]) -> str:
    """Return what a Read gave, without line numbers."""
    file = result.get("file")
    text = _text(file.get("content")) if isinstance(file, Mapping) else ""
    return _NUMBERS.sub("", text[:_OUTPUT_CHARS]) if _NUMBERS.match(text) else text


def _answers(call: Mapping[str, Any], result: Mapping[str, Any]) -> list[list[str]]:
    answers = result.get("answers") or call.get("answers")
    if not isinstance(answers, Mapping):
        return []
    pairs = list(answers.items())[:_ANSWERS]
    return [
        [
            _head(str(question), _ANSWER_CHARS),
            _head(chosen if isinstance(chosen, str) else str(chosen), _ANSWER_CHARS),
        ]
        for question, chosen in pairs
    ]


def _todo(call: Mapping[str, Any], result: Mapping[str, Any], text: str) -> list[str]:
    """[id, state, subject]; only the answer has a new task's id."""
    if result.get("success") is False:
        return []
    task = result.get("task")
    number = str(task.get("id") or "") if isinstance(task, Mapping) else ""
    number = number or str(result.get("taskId") or call.get("taskId") or "")
    if not number and "#" in text:
        number = text.split("#", 1)[1].split(None, 1)[0]
    return [
        number.lstrip("#")[:40],
        _head(_text(call.get("status")), 20),
        _head(" ".join(_text(call.get("subject")).split()), _TODO_CHARS),
    ]


def _result(answer: Any) -> str:
    """Return the text that a subagent, a page or a search gave."""
    if isinstance(answer, str):
        return answer[: _WINDOW * _RESULT_CHARS]
    if not isinstance(answer, Mapping):
        return ""
    for name in ("result", "content", "results", "task"):
        value = answer.get(name)
        if isinstance(value, str) and value:
            return value[: _WINDOW * _RESULT_CHARS]
        if isinstance(value, list):
            texts = (
                item if isinstance(item, str) else _text(item.get("text")) for item in value[:_EDITS] if item
            )
            joined = "\n".join(text for text in texts if text)
            if joined:
                return joined[: _WINDOW * _RESULT_CHARS]
        if isinstance(value, Mapping) and "agent" in _text(value.get("task_type")):
            return _text(value.get("result")) or _text(value.get("output"))
    return ""


def _output(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    if not isinstance(answer, Mapping):
        return ""
    texts = (_text(answer.get(name)) for name in ("stdout", "output", "stderr"))
    return "\n".join(text for text in texts if text)


def _long(message: str, redactor: TextRedactor) -> str:
    """Return a message that is longer than an event's text, up to 16 KB; "" for a shorter one."""
    if len(message.encode("utf-8", "replace")) <= EVENT_TEXT_BYTES:
        return ""
    return redactor.redact_cut(message, _WORDS_CHARS)


def _first(call: Mapping[str, Any], limit: int, *names: str) -> str:
    for name in names:
        value = call.get(name)
        if isinstance(value, str) and value:
            return _head(value, limit)
    return ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _head(text: str, limit: int) -> str:
    """Return the first ``limit`` characters, after a whole word: half a secret is one that nobody knows."""
    if len(text) <= limit:
        return text
    return text[:limit].rsplit(None, 1)[0] if not text[:limit].isspace() else ""


def _clean(parts: EventParts, redactor: TextRedactor) -> EventParts:
    """Return ``parts`` without secrets: one look at all of them tells, and is all that most calls cost."""
    content = parts.to_json()
    if not redactor.finds(_BETWEEN.join(_strings(content.values()))):
        return parts
    return EventParts.from_json({name: _redacted(value, redactor) for name, value in content.items()})


def _strings(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _strings(value)


def _redacted(value: Any, redactor: TextRedactor) -> Any:
    if isinstance(value, str):
        return redactor.redact(value)
    return [_redacted(item, redactor) for item in value] if isinstance(value, list) else value
