"""Summarises a session in about 1,200 characters from its recorded events, without any model.

`SessionWork` takes events one by one and can be stored as JSON in between, so a long session keeps its goal
and a refresh costs only what is new. The same events give the same text. Everything is quoted from the events
and shortened, never inferred.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from context_graph.claude.hooks.origin import own_words
from context_graph.memory.context.command_lines import failed_by
from context_graph.memory.context.steps import add_step, changing_step, command_step
from context_graph.memory.context.ways import Way, note_made, take_runs
from context_graph.memory.context.worked_files import edited_by, note_script, worked_on
from context_graph.model import EventKind, HookEvent
from context_graph.notes import said as said_in
from context_graph.text import phrases
from context_graph.text.flattening import relative_paths, root_of
from context_graph.text.phrases import Unquoted
from context_graph.text.sentences import shortened

_STATES: Final = frozenset({"pending", "in_progress"})
_DONE: Final = frozenset({"completed", "deleted"})
_MAX_TASKS: Final = 64
_SUBJECT_CHARS: Final = 100


def take(tasks: dict[str, list[str]], event: HookEvent) -> None:
    """Update ``tasks`` (id -> [state, subject] of each open task) by a tool call that succeeded."""
    if event.tool_name == "TaskCreate":
        _create(tasks, event.output_text)
    elif event.tool_name == "TaskUpdate":
        _update(tasks, event.input_text.split(), event.output_text.split())


def _create(tasks: dict[str, list[str]], answer: str) -> None:
    # "7 Add a test"; as the model is told it: "Task #7 created successfully: Add a test"
    number, _, subject = answer.strip().partition(" ")
    if number == "Task":
        number, _, rest = subject.partition(" ")
        subject = rest.partition(": ")[2]
    subject = " ".join(subject.split())
    if number and subject:
        tasks[number.lstrip("#")] = ["pending", subject[:_SUBJECT_CHARS]]
    while len(tasks) > _MAX_TASKS:
        del tasks[next(iter(tasks))]


def _update(tasks: dict[str, list[str]], given: list[str], answer: list[str]) -> None:
    # "7 status in_progress completed"; as the model is told it: "Updated task #7 status"
    told = answer[:2] == ["Updated", "task"]
    number = answer[2].lstrip("#") if told and len(answer) > 2 else (answer or given or [""])[0]
    if number not in tasks:
        return
    fields = answer[1:]
    state = next((word for word in reversed(given) if word in _STATES | _DONE), "") if told else fields[-1:]
    state = state if isinstance(state, str) else "".join(state)
    if state in _DONE:
        del tasks[number]
        return
    if state in _STATES:
        tasks[number][0] = state
    subject = [word for word in given if word != number and word not in _STATES]
    if subject and fields[:1] == ["subject"] and not {"description", "activeForm"} & set(fields):
        tasks[number][1] = " ".join(subject)[:_SUBJECT_CHARS]


SUMMARY_CHARS: Final = 1200
"""Longest summary; some 300 tokens."""
STATE_VERSION: Final = 1

_MAX_PROMPTS: Final = 4
_MAX_FILES: Final = 24
_MAX_COMMANDS: Final = 24
_MAX_FAILURES: Final = 6
_MAX_DECISIONS: Final = 6
_MAX_WISHES: Final = 12
_MAX_OPEN: Final = 5
_LOOKED_ENOUGH: Final = 5
"""Tool calls that make a session worth a summary although it changed nothing and nothing failed."""

_CHANGING: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_READING: Final = frozenset({"Read"})


@dataclass(slots=True)
class SessionWork:
    """The running record of one session. Bounded; its texts are shortened, and redacted like their events."""

    first_event: int = 0
    last_event: int = 0
    """Sequence numbers of the events it rests on; 0 while there are none."""
    began_ms: int = 0
    ended_ms: int = 0
    root: str = ""
    """The first event's folder with a slash; paths in it are shown relative to it."""
    prompts: list[str] = field(default_factory=list)
    """The first informative prompt and the last three."""
    prompt_count: int = 0
    tool_calls: int = 0
    changed: dict[str, int] = field(default_factory=dict)
    """File -> number of changes, in order of the last one."""
    read: dict[str, int] = field(default_factory=dict)
    commands: dict[str, int] = field(default_factory=dict)
    """Command -> number of runs, in order of the last one; without mere look-ups."""
    failures: dict[str, str] = field(default_factory=dict)
    """What failed and has not worked since -> the most informative line of its error."""
    overcome: dict[str, str] = field(default_factory=dict)
    """What failed and then worked."""
    decisions: list[str] = field(default_factory=list)
    wishes: list[str] = field(default_factory=list)
    """What the user decided, wants or rules out, the newest last."""
    todos: list[str] = field(default_factory=list)
    tasks: dict[str, list[str]] = field(default_factory=dict)
    """Open tasks: id -> state and subject."""
    plan: str = ""
    """The plan that was last submitted to the user."""
    last_words: str = ""
    left: list[str] = field(default_factory=list)
    reason: str = ""
    """Why the session ended, if it has."""
    steps: list[str] = field(default_factory=list)
    """What was changed and run, in order (`steps`); the last ones."""
    ways: dict[str, Way] = field(default_factory=dict)
    """How tests, builds, linters and programs were run (`ways`)."""
    failing: dict[str, str] = field(default_factory=dict)
    """Runs of tests that failed and were not repeated with success -> which tests, or the error."""
    made: list[str] = field(default_factory=list)
    """Files that the session wrote as new ones; the last ones."""
    scripts: dict[str, list[str]] = field(default_factory=dict)
    """Script that the session wrote -> files that it may change (`worked_files`)."""
    branch: str | None = None
    """The branch when it was last captured: "" off any branch, None where nobody looked."""

    def absorb(
        self, events: Iterable[tuple[int, HookEvent]], leaves_out: Callable[[str], bool] | None = None
    ) -> int:
        """Take in numbered events, ascending, skipping those seen before; returns how many were new.

        ``leaves_out`` says whether a changed file, by its whole path, is not part of the project.
        """
        new = 0
        for number, event in events:
            if number <= self.last_event:
                continue
            self._take(event, leaves_out or (lambda path: False))
            self.first_event = self.first_event or number
            self.last_event = number
            self.began_ms = self.began_ms or event.at_ms
            self.ended_ms = max(self.ended_ms, event.at_ms)
            new += 1
        return new

    def has_something_to_say(self) -> bool:
        """Whether something was asked and something was done about it."""
        if not self.prompts:
            return False
        came = self.changed or self.commands or self.failures or self.overcome or self.decisions
        return bool(came) or (self.tool_calls >= _LOOKED_ENOUGH and bool(self.last_words))

    def worked_on(self) -> list[str]:
        """The files that it worked on, relative to `root`, newest first (`worked_files`)."""
        return worked_on(self.changed, self.read, self.made)

    def open_todos(self) -> list[str]:
        """The open tasks and to-dos, those in progress first."""
        tasks = sorted(self.tasks.values(), key=lambda task: task[0] != "in_progress")[:_MAX_OPEN]
        return list(dict.fromkeys([*(subject for _, subject in tasks), *self.todos]))

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values, for from_json."""
        return {"version": STATE_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, state: object) -> SessionWork:
        """The record that to_json gave; a new one for anything else, because it is derived data."""
        if not isinstance(state, dict) or state.get("version") != STATE_VERSION:
            return cls()
        known = {item.name for item in fields(cls)}
        try:
            return cls(**{name: value for name, value in state.items() if name in known})
        except TypeError:
            return cls()

    def text(self) -> str:
        """The summary, at most SUMMARY_CHARS; "" if there is nothing to say."""
        if not self.has_something_to_say():
            return ""
        lines = [line for line in self._lines() if line]
        # The least telling parts leave first; goal and failures stay.
        for dispensable in ("Ran: ", "Then: ", "Changed: ", "Ended: "):
            if sum(map(len, lines)) + len(lines) <= SUMMARY_CHARS:
                break
            lines = [line for line in lines if not line.startswith(dispensable)]
        return shortened("\n".join(lines), SUMMARY_CHARS)

    def _take(self, event: HookEvent, leaves_out: Callable[[str], bool]) -> None:
        if not self.root:
            self.root = root_of(event.cwd)
        if event.is_prompt:
            self._take_prompt(own_words(event.input_text))
        elif event.kind in (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE):
            self._take_tool(event, leaves_out)
        elif event.agent_id:
            return  # what a subagent says is no word of this session's
        elif event.kind is EventKind.STOP:
            self._take_last_words(event.output_text)
        elif event.kind is EventKind.SESSION_END:
            self.reason = event.reason

    def _take_prompt(self, prompt: str) -> None:
        self.prompt_count += 1
        if phrases.is_small_talk(prompt):
            return
        said = shortened(phrases.plain(prompt) or " ".join(prompt.split()), 260)
        if said in self.prompts:
            return
        self.prompts.append(said)
        if len(self.prompts) > _MAX_PROMPTS:
            del self.prompts[1]
        decided = [shortened(one.text, phrases.SENTENCE_CHARS) for one in said_in.statements(prompt)]
        _append(self.decisions, decided, _MAX_DECISIONS)
        own = Unquoted(prompt)
        wished = [shortened(own.whole(one), phrases.SENTENCE_CHARS) for one in phrases.wishes_in(own.text)]
        _append(self.wishes, wished, _MAX_WISHES)

    def _take_tool(self, event: HookEvent, leaves_out: Callable[[str], bool]) -> None:
        failed = _has_failed(event)
        given = relative_paths(event.input_text, self.root)
        if event.tool_name in _CHANGING and not failed:
            self._take_change(event, given, leaves_out)
        if event.agent_id:
            return  # of a subagent's work the files stay, for they are changed
        self.tool_calls += 1
        if event.tool_name == "Bash":
            self._take_command(given, event.output_text, failed=failed)
        elif event.tool_name in _READING and not failed:
            path = phrases.path_of(given)
            if path:
                _count(self.read, path, _MAX_FILES)
        elif event.tool_name == "TodoWrite":
            self.todos = phrases.open_todos(event.input_text)[:_MAX_OPEN]
        elif event.tool_name == "ExitPlanMode":
            self.plan = shortened(phrases.plain(event.input_text), 400)
        elif not failed:
            take(self.tasks, event)

    def _take_change(self, event: HookEvent, given: str, leaves_out: Callable[[str], bool]) -> None:
        path = phrases.path_of(given, relative_paths(event.output_text, self.root))
        if not path:
            return
        if event.tool_name == "Write" and path not in self.read and path not in self.changed:
            note_made(self.made, path)
            note_script(self.scripts, path, event.input_text)
        if not leaves_out(os.path.join(self.root, path)):
            _count(self.changed, path, _MAX_FILES)
            if not event.agent_id:
                add_step(self.steps, changing_step(path, new=event.tool_name == "Write"))

    def _take_command(self, given: str, output: str, *, failed: bool) -> None:
        command = phrases.command_of(given)
        if not command:
            return
        add_step(self.steps, command_step(command))
        take_runs(self.ways, self.failing, self.made, given, output, failed=failed, root=self.root)
        if failed and not (phrases.is_lookup(command) and command not in self.failures):
            self.overcome.pop(command, None)
            _put(self.failures, command, phrases.error_line(output), _MAX_FAILURES)
        elif not failed and command in self.failures:
            _put(self.overcome, command, self.failures.pop(command), _MAX_FAILURES)
        if not failed:
            for path in edited_by(given, self.scripts, {*self.read, *self.changed}):
                _count(self.changed, path, _MAX_FILES)
        removed = [] if failed else phrases.removed_by(command)
        for path in removed:
            self.changed.pop(path, None)  # scratch files are no news to anybody
        if not removed and not phrases.is_lookup(command):
            _count(self.commands, command, _MAX_COMMANDS)

    def _take_last_words(self, message: str) -> None:
        if not message:
            return
        self.left = phrases.what_is_left(message)[:_MAX_OPEN]
        decided = [shortened(one.text, phrases.SENTENCE_CHARS) for one in said_in.decisions(message)]
        _append(self.decisions, decided, _MAX_DECISIONS)
        told = {*self.left, *decided}
        rest = [
            one for one in phrases.sentences(message) if shortened(one, phrases.SENTENCE_CHARS) not in told
        ]
        self.last_words = shortened(" ".join(rest), 220)

    def _lines(self) -> list[str]:
        goal, *others = self.prompts
        decided = [one for one in self.decisions[::-1] if not _says(goal, one)]
        decisions = _line("Decided", decided, 320)
        said = " ".join(one for one in self.decisions if one in decisions)
        later = [one for one in others if one not in said]
        runs = [f"{name} (x{count})" if count > 1 else name for name, count in self.commands.items()]
        failing = [f"{name}: {why}" for name, why in self.failures.items()]
        overcome = [f"{name}: {why} (worked later)" for name, why in self.overcome.items()]
        return [
            f"Goal: {goal}",
            _line("Then", later, 240, each=110),
            _line("Changed", _newest_first(self.changed), 200),
            "" if self.changed else _line("Looked at", _newest_first(self.read), 160),
            _line("Ran", runs[::-1], 200, each=90),
            _line("Failed", [*failing[::-1], *overcome[::-1]], 300),
            decisions,
            _line(
                "Open",
                list(dict.fromkeys([*self.open_todos(), *self.left])),
                260,
            ),
            f"Ended: {self.last_words}" if self.last_words else "",
        ]


def _has_failed(event: HookEvent) -> bool:
    """Whether the call failed. Of a command whose host tells no outcome, its output is asked."""
    untold = event.success is None and event.tool_name == "Bash" and failed_by(event.output_text)
    return event.kind is EventKind.POST_TOOL_FAILURE or event.success is False or untold


def _says(text: str, sentence: str) -> bool:
    """Whether ``text`` has the sentence word for word."""
    words = " ".join(sentence.rstrip("….!").casefold().split())
    return words in " ".join(text.casefold().split())


def _newest_first(counted: dict[str, int]) -> list[str]:
    return [f"{name} (x{count})" if count > 1 else name for name, count in reversed(counted.items())]


def _line(name: str, parts: list[str], limit: int, *, each: int = 200) -> str:
    """``name: part; part; …`` with as many parts as fit ``limit``; the first always stays."""
    shown: list[str] = []
    room = limit
    for part in parts:
        part = shortened(part, min(each, limit))
        if shown and len(part) + 2 > room:
            break
        shown.append(part)
        room -= len(part) + 2
    if not shown:
        return ""
    more = f"; {len(parts) - len(shown)} more" if len(parts) > len(shown) else ""
    return f"{name}: {'; '.join(shown)}{more}"


def _append(kept: list[str], found: list[str], most: int) -> None:
    for sentence in found:
        if sentence in kept:
            kept.remove(sentence)
        kept.append(sentence)
    del kept[:-most]


def _count(counted: dict[str, int], name: str, limit: int) -> None:
    counted[name] = counted.pop(name, 0) + 1
    if len(counted) > limit:
        del counted[next(iter(counted))]


def _put(kept: dict[str, str], name: str, value: str, limit: int) -> None:
    kept.pop(name, None)
    kept[name] = value
    if len(kept) > limit:
        del kept[next(iter(kept))]
