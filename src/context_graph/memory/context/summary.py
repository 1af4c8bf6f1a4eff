"""Summarises a session in about 1,200 characters from its recorded events, without any model.

`SessionWork` takes events one by one and can be stored as JSON in between, so a long session keeps its goal
and a refresh costs only what is new. The same events give the same text. Everything is quoted from the events
and shortened, never inferred.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import Any, Final

import orjson

from context_graph.claude.hooks.origin import is_of_the_client, is_report, own_words
from context_graph.memory.context.ways import Way, note_made, open_todos, take, take_runs
from context_graph.model import EDITING, SHELLS, EventKind, HookEvent
from context_graph.model.note import EVERYWHERE, NoteKind
from context_graph.notes.changes import is_scratch
from context_graph.notes.command_lines import failed_by
from context_graph.notes.failures import TRIVIAL
from context_graph.notes.message import most_informative, units_of, worth_of
from context_graph.notes.rules import UserSentence, user_sentences, without_the_users_own
from context_graph.notes.worked_files import effects_of, note_script, paths_in, worked_on
from context_graph.text import phrases
from context_graph.text.flattening import relative_path, relative_paths, root_of
from context_graph.text.patterns import linear
from context_graph.text.phrases import unquoted
from context_graph.text.sentences import shortened

SUMMARY_CHARS: Final = 1200
"""Longest summary; some 300 tokens."""
STATE_VERSION: Final = 1

_MAX_PROMPTS: Final = 4
_MAX_FILES: Final = 24
_MAX_COMMANDS: Final = 24
_MAX_NAMED: Final = 48
_MAX_FAILURES: Final = 6
_MAX_DECISIONS: Final = 6
_MAX_WISHES: Final = 12
_MAX_OPEN: Final = 5
_SAID_BY_NOTES: Final = {
    NoteKind.CHANGE: ("Touched", "Cause", "Fix", "Done", "Decided", "Ended"),
    NoteKind.FINDING: ("Cause", "Fix", "Done", "Ended"),
    NoteKind.DECISION: ("Decided",),
    NoteKind.OPEN: ("Open",),
}
"""Lines that a session's notes have in full."""
_MAX_LEFT: Final = 2
_MAX_SYMBOLS: Final = 16
_TOLD_CHARS: Final = 700
_AS_TELLING: Final = 0.8
"""Share of what the most informative words say: a later message that says as much is the one that holds."""
_TESTS_NAMED: Final = linear(
    r"(?i)::|\w \([\w.]+\)|[1-9]\d* (?:tests? )?(?:failed|failing|failures?)(?:\W|$)"
)
"""What a run says that has failing tests; else something else is broken."""
_LOOKED_ENOUGH: Final = 5
"""Tool calls that make a session worth a summary although it changed nothing and nothing failed."""

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
    told: list[list[Any]] = field(default_factory=list)
    """[text, role, worth] of what its most telling last words say (`notes.message`)."""
    worth: float = 0.0
    """How much those words say."""
    symbols: list[str] = field(default_factory=list)
    """Functions and classes that were touched, the last ones."""
    ways: dict[str, Way] = field(default_factory=dict)
    """How tests, builds, linters and programs were run (`ways`)."""
    failing: dict[str, str] = field(default_factory=dict)
    """Runs of tests that failed and were not repeated with success -> which tests, or the error."""
    passed: list[str] = field(default_factory=list)
    """Runs of tests that worked, the last ones."""
    made: list[str] = field(default_factory=list)
    """Files that the session wrote as new ones; the last ones."""
    ran: list[str] = field(default_factory=list)
    """Files among `made` that the session ran."""
    answers_notice: bool = False
    """Whether the last prompt was the report of something that ran by itself."""
    named: list[str] = field(default_factory=list)
    """Files that commands named; the last ones."""
    scripts: dict[str, list[str]] = field(default_factory=dict)
    """Script that the session wrote -> files that it may change (`worked_files`)."""
    branch: str | None = None
    """The branch when it was last captured: "" off any branch, None where nobody looked."""

    def absorb(
        self,
        events: Iterable[tuple[int, HookEvent]],
        leaves_out: Callable[[str], bool] | None = None,
        sentences: Sequence[UserSentence] | None = None,
    ) -> int:
        """Take in numbered events, ascending, skipping those seen before; returns how many were new.

        Args:
            leaves_out: Says whether a changed file, by its whole path, is not part of the project.
            said: What the one event says, where that is known.
        """
        new = 0
        for number, event in events:
            if number <= self.last_event:
                continue
            self._take(event, leaves_out or (lambda path: False), sentences)
            self.first_event = self.first_event or number
            self.last_event = number
            self.began_ms = self.began_ms or event.at_ms
            self.ended_ms = max(self.ended_ms, event.at_ms)
            new += 1
        return new

    def has_something_to_say(self) -> bool:
        """Return whether something was asked and something was done about it."""
        if not self.prompts:
            return False
        came = self.changed or self.commands or self.failures or self.overcome or self.decisions
        return bool(came) or (self.tool_calls >= _LOOKED_ENOUGH and bool(self.last_words))

    def worked_on(self) -> list[str]:
        """Return the files that it worked on, relative to `root`, newest first (`worked_files`)."""
        return worked_on(self.changed, self.read, self.made)

    def open_todos(self) -> list[str]:
        """Return the open tasks and to-dos, those in progress first."""
        tasks = sorted(self.tasks.values(), key=lambda task: task[0] != "in_progress")[:_MAX_OPEN]
        return list(dict.fromkeys([*(subject for _, subject in tasks), *self.todos]))

    def left_failing(self) -> dict[str, str]:
        """Return the failing runs of tests that are the session's own to mend, as far as can be told: they
        worked in it before, it changed these tests, or its last words name them. The others may fail for
        everybody.
        """
        words = f"{self.last_words} {' '.join(str(row[0]) for row in self.told)}"

        def is_own(run: str, why: str) -> bool:
            paths = list(paths_in(f"{run} {why.replace('::', ' ')}"))
            if not _TESTS_NAMED.found(why) or any(map(self.is_scratch, paths)):
                return False
            files = [os.path.basename(path) for path in paths]
            names = [part.rsplit("::", 1)[-1].split("[")[0] for part in why.split(", ") if "::" in part]
            changed = {os.path.basename(path) for path in self.changed}
            return run in self.passed or any(
                name in changed or name in words for name in (*files, *names) if len(name) > len("t.py")
            )

        return {run: why for run, why in self.failing.items() if is_own(run, why)}

    def is_unexplained(self) -> bool:
        """Whether it changed something of the project, and its last words say neither why nor how."""
        changed = any(not self.is_scratch(path) for path in self.changed)
        return changed and not self._words("cause", "fix")

    def left(self) -> list[str]:
        """Return what its last words say is left to do."""
        return self._words("left")[:_MAX_LEFT]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values, for from_json."""
        kept: dict[str, Any] = orjson.loads(orjson.dumps(self))  # a fifth of what `asdict` takes
        return {"version": STATE_VERSION, **kept}

    @classmethod
    def from_json(cls, state: object) -> SessionWork:
        """Return the record that to_json gave; a new one for anything else, because it is derived data."""
        if not isinstance(state, dict) or state.get("version") != STATE_VERSION:
            return cls()
        known = {item.name for item in fields(cls)}
        try:
            # Its lists are the reader's own: a memory's metadata is shared by all who read it.
            return cls(**{name: deepcopy(value) for name, value in state.items() if name in known})
        except TypeError:
            return cls()

    def text(
        self,
        noted: Collection[NoteKind] = (),
        *,
        has_notes: bool = False,
        anyway: Collection[str] = (),
        changed: Iterable[str] = (),
    ) -> str:
        """Return the summary, at most SUMMARY_CHARS; "" if there is nothing to say.

        Args:
            noted: Kinds of the session's notes that have its last words: what they say is said once.
            has_notes: Whether it left any, also others: then it is worth a line.
            anyway: Runs of tests that fail without its changes too: a note says so.
            changed: Files that its notes say it changed, by what was seen of them later.
        """
        if not (self.has_something_to_say() or ((noted or has_notes) and self.prompts)):
            return ""
        labels = {name for kind in noted for name in _SAID_BY_NOTES.get(kind, ())}
        every = self._lines(labels, anyway, changed)
        lines = [line for line in every if line and line.split(": ", 1)[0] not in labels]
        # The least telling parts leave first; goal and failures stay.
        for dispensable in ("Ran: ", "Then: ", "Touched: ", "Changed: ", "Ended: "):
            if sum(map(len, lines)) + len(lines) <= SUMMARY_CHARS:
                break
            lines = [line for line in lines if not line.startswith(dispensable)]
        return shortened("\n".join(lines), SUMMARY_CHARS)

    def _take(
        self, event: HookEvent, leaves_out: Callable[[str], bool], sentences: Sequence[UserSentence] | None
    ) -> None:
        if not self.root:
            self.root = root_of(event.cwd)
        if event.kind is EventKind.PROMPT_SUBMIT:
            self.answers_notice = is_report(event.input_text)
        if event.is_prompt:
            self._take_prompt(
                own_words(event.input_text), user_sentences(event) if sentences is None else sentences
            )
        elif event.kind in (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE):
            self._take_tool(event, leaves_out)
        elif event.agent_id:
            return  # what a subagent says is no word of this session's
        elif event.kind is EventKind.STOP:
            self._take_last_words(event.parts.words or event.output_text)

    def _take_prompt(self, prompt: str, statements: Sequence[UserSentence]) -> None:
        prompt = without_the_users_own(prompt, statements)
        if phrases.is_small_talk(prompt):
            return
        sentence = shortened(phrases.plain(prompt) or " ".join(prompt.split()), 260)
        if sentence in self.prompts:
            return
        self.prompts.append(sentence)
        if len(self.prompts) > _MAX_PROMPTS:
            del self.prompts[1]
        here = (statement.text for statement in statements if statement.scope != EVERYWHERE)
        decided = [shortened(text, phrases.SENTENCE_CHARS) for text in here]
        _append(self.decisions, decided, _MAX_DECISIONS)
        own = unquoted(prompt)
        wished = [
            shortened(own.whole(wish), phrases.SENTENCE_CHARS) for wish in phrases.instructions_in(own.text)
        ]
        _append(self.wishes, wished, _MAX_WISHES)

    def _take_tool(self, event: HookEvent, leaves_out: Callable[[str], bool]) -> None:
        failed, path = _has_failed(event), relative_path(event.parts.file_path, self.root)
        if event.tool_name in EDITING and not failed:
            self._take_change(event, path, leaves_out)
        if event.agent_id:
            return  # of a subagent's work the files stay, for they are changed
        self.tool_calls += 1
        if event.tool_name in SHELLS:
            command = relative_paths(event.parts.command, self.root)
            self._take_command(command, event.output, failed=failed)
        elif event.tool_name in _READING and not failed:
            if path:
                _count(self.read, path, _MAX_FILES)
        elif event.tool_name == "TodoWrite":
            self.todos = open_todos(event.parts)[:_MAX_OPEN]
        elif event.tool_name == "ExitPlanMode":
            self.plan = shortened(phrases.plain(event.parts.plan), 400)
        elif not failed:
            take(self.tasks, event.parts)

    def _take_change(self, event: HookEvent, path: str, leaves_out: Callable[[str], bool]) -> None:
        if not path:
            return
        if event.tool_name == "Write" and path not in self.read and path not in self.changed:
            note_made(self.made, path)
            note_script(self.scripts, path, event.parts.writes)
        if not leaves_out(os.path.join(self.root, path)):
            _count(self.changed, path, _MAX_FILES)
            names = [name for name in event.parts.symbols if not name.lower().startswith("test")]
            _append(self.symbols, names, _MAX_SYMBOLS)

    def _take_command(self, command_text: str, output: str, *, failed: bool) -> None:
        command = phrases.command_line(command_text)
        if not command:
            return
        self.ran = [
            *self.ran,
            *(path for path in self.made if path in command_text and path not in self.ran),
        ][-_MAX_FILES:]
        runs = self.ways, self.failing, self.passed, self.made
        take_runs(*runs, command_text, output, failed=failed, root=self.root)
        error = phrases.error_line(output) if failed else ""
        if failed and TRIVIAL.found(error):
            return
        if failed and not (phrases.is_lookup(command) and command not in self.failures):
            self.overcome.pop(command, None)
            _put(self.failures, command, error, _MAX_FAILURES)
        elif not failed and command in self.failures:
            _put(self.overcome, command, self.failures.pop(command), _MAX_FAILURES)
        if not failed and self._only_clears_up(command_text):
            return
        if not phrases.is_lookup(command):
            _count(self.commands, command, _MAX_COMMANDS)

    def _only_clears_up(self, command: str) -> bool:
        """Take note of what a command does to files; whether that was only to remove scratch files."""
        done = effects_of(command, self.scripts, {*self.read, *self.changed, *self.named})
        self.named = [*self.named, *(path for path in paths_in(command) if "/" in path)][-_MAX_NAMED:]
        for path in (*done.edited, *(path for path in done.written if path in self.read)):
            _count(self.changed, path, _MAX_FILES)
        for before, after in done.moved:
            self.changed.pop(before, None)
            _count(self.changed, after, _MAX_FILES)
        own = 0
        for path in done.removed:
            gone = [
                known
                for known in {*self.changed, *self.made}
                if known == path or known.startswith(f"{path}/")
            ]
            own += bool(gone) or self.is_scratch(path)
            for known in gone:
                self.changed.pop(known, None)
        return bool(done.removed) and own == len(done.removed) and not (done.edited or done.moved)

    def _take_last_words(self, message: str) -> None:
        """Take the words of a stop; the most telling ones stay, of equals the later that says something."""
        if not message or is_of_the_client(message):
            return
        units = units_of(message)
        worth = worth_of(units)
        says_less = worth < _AS_TELLING * self.worth or not (worth or any(unit.role for unit in units))
        if self.told and (self.answers_notice or says_less):
            return
        self.told, self.worth = (
            [[unit.text, unit.role, unit.worth] for unit in most_informative(units, _TOLD_CHARS)],
            worth,
        )
        self.last_words = shortened(" ".join(unit.text for unit in units), 220)

    def is_scratch(self, path: str) -> bool:
        """Return whether a file is no part of the project (`notes.changes`)."""
        return is_scratch(path, self.made, self.ran)

    def _lines(
        self, elsewhere: Collection[str] = (), anyway: Collection[str] = (), seen: Iterable[str] = ()
    ) -> list[str]:
        goal, *others = self.prompts
        decided = [decision for decision in self.decisions[::-1] if not _says(goal, decision)]
        decisions = _line("Decided", [*decided, *self._words("decision")], 320)
        decided_text = " ".join(
            decision for decision in self.decisions if decision in decisions and "Decided" not in elsewhere
        )
        later = [prompt for prompt in others if prompt not in decided_text]
        runs = [f"{name} (x{count})" if count > 1 else name for name, count in self.commands.items()]
        failing = [
            f"{name}: {why}"
            for name, why in self.failures.items()
            if not any(path in name for path in (*self.made, *anyway))
        ]
        changed = {path: count for path, count in self.changed.items() if not self.is_scratch(path)}
        changed = changed or dict.fromkeys(seen, 1)
        fix = "Fix" if self._words("cause") else "Done"
        core = [_line("Cause", self._words("cause"), 300), _line(fix, self._words("fix", ""), 420)]
        return [
            f"Goal: {goal}",
            _line("Then", later, 240, each=110),
            _line("Changed", _newest_first(changed), 200),
            _line("Touched", self.symbols[::-1], 120) if changed else "",
            "" if changed else _line("Looked at", _newest_first(self.read), 160),
            *core,
            "" if self.told and changed else _line("Ran", runs[::-1], 200, each=90),
            _line("Failed", failing[::-1], 200),
            decisions,
            _line("Open", [*self.open_todos(), *self.left()], 260),
            f"Ended: {self.last_words}" if self.last_words and not self.told else "",
        ]

    def chosen(self) -> list[str]:
        """Return what was decided and is not the goal itself, the user's words first."""
        goal = self.prompts[0] if self.prompts else ""
        return [
            decision for decision in (*self.decisions, *self._words("decision")) if not _says(goal, decision)
        ]

    def _words(self, *roles: str) -> list[str]:
        return [text for text, role, _ in self.told if role in roles]


def _has_failed(event: HookEvent) -> bool:
    """Return whether the call failed. Of a command whose host tells no outcome, its output is asked."""
    untold = event.success is None and event.tool_name in SHELLS and failed_by(event.output)
    return event.kind is EventKind.POST_TOOL_FAILURE or event.success is False or untold


def _says(text: str, sentence: str) -> bool:
    """Return whether ``text`` has the sentence word for word."""
    words = " ".join(sentence.rstrip("….!").casefold().split())
    return words in " ".join(text.casefold().split())


def _newest_first(counted: dict[str, int]) -> list[str]:
    return [f"{name} (x{count})" if count > 1 else name for name, count in reversed(counted.items())]


def _line(name: str, parts: list[str], limit: int, *, each: int = 200) -> str:
    """Return ``name: part; part; …`` with as many parts as fit ``limit``; the first always stays."""
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


def _append(kept: list[str], sentences: list[str], most: int) -> None:
    for sentence in sentences:
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
