"""Takes a session's events one by one and keeps what may become a note, bounded and as JSON in between.

A message that answers the client's own notification is no turn's last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from context_graph.claude.hooks.origin import is_of_the_client, is_report, own_words
from context_graph.model import EDITING, SHELLS, EventKind, HookEvent
from context_graph.notes.answers import answered, answering, still_told
from context_graph.notes.asked import details_of, gist_of
from context_graph.notes.changes import MAX_FILES, Files, changed_lines, is_test, touch
from context_graph.notes.command_lines import failed_by, hides_failure
from context_graph.notes.commits import commits_in
from context_graph.notes.compaction import bullets_of
from context_graph.notes.edit_tracker import EditTracker
from context_graph.notes.edits.clean_runs import CleanRuns
from context_graph.notes.edits.looks import shown_file
from context_graph.notes.edits.reverts import Reverts, is_in, reverts_last, reverts_of, shows_worktree
from context_graph.notes.edits.rows import are_incidental
from context_graph.notes.edits.swaps import swaps_in, texts_written
from context_graph.notes.failure import exchanged
from context_graph.notes.failures import Failures, is_trial, tried
from context_graph.notes.message import (
    LEAST_WORTH,
    Unit,
    best_of,
    is_progress,
    most_informative,
    units_of,
    worth_of,
)
from context_graph.notes.remarks import REMARK_CHARS, lasting
from context_graph.notes.rules import UserSentence, pointer_in, user_sentences, without_the_users_own
from context_graph.notes.turn import Turn
from context_graph.notes.worked_files import Effects, effects_of, may_write, named_of, note_script, paths_in
from context_graph.text import phrases
from context_graph.text.definitions import defined_in
from context_graph.text.flattening import relative_path, relative_paths, root_of
from context_graph.text.sentences import shortened

VERSION: Final = 2
_TURNS: Final = 16
_PROMPT_CHARS: Final = 600
_TITLE_CHARS: Final = 160
_GIST_CHARS: Final = 260
_SAID: Final = 24
_CHOSEN: Final = 12
_FOUND: Final = 10
_POINTED: Final = 8
_GONE: Final = 24
_PROGRAMS: Final = 24
_NAMED: Final = 64
_COMMITTED: Final = 12
_LINE_CHARS: Final = 160
"""Characters of a command line that is told whole as what solved an error."""
_TELLING: Final = frozenset({"Agent", "Task", "TaskOutput", "WebFetch"})
"""Tools whose answer is somebody's text about a question."""
_LEAST_WORDS: Final = 4


@dataclass(slots=True)
class Gathered:
    """What one session's events hold for its notes. Bounded; its texts are redacted, as the events are."""

    last_event: int = 0
    root: str = ""
    account: str = ""
    """The store of what its user says of all his work."""
    turns: list[Turn] = field(default_factory=list)
    said: list[list[Any]] = field(default_factory=list)
    """[kind, text, wants, scope, chosen, instead of, number, at_ms, times] of each sentence of the user."""
    chosen: list[list[Any]] = field(default_factory=list)
    """[question, answer, number, at_ms] of what the user was asked."""
    found: list[list[Any]] = field(default_factory=list)
    """[question, units of the answer, who said it, number, at_ms]."""
    pointed: list[list[Any]] = field(default_factory=list)
    """[prompt, number, at_ms] of what the user pointed to: a page, or a place outside the project."""
    failures: Failures = field(default_factory=Failures)
    runs: CleanRuns = field(default_factory=CleanRuns)
    """Tests that fail with and without the session's changes."""
    is_aside: bool = False
    """Whether the changes are put aside."""
    compacted: list[list[Any]] = field(default_factory=list)
    """[section, text, items below] of the last compaction's summary."""
    compacted_at: int = 0
    compacted_ms: int = 0
    changed_since: list[str] = field(default_factory=list)
    """Files that were changed after it."""
    plan: str = ""
    plan_at: int = 0
    made: Files = field(default_factory=Files)
    """What the session made and ran, over all turns."""
    programs: dict[str, int] = field(default_factory=dict)
    """Command as it worked, shortened -> times."""
    scripts: dict[str, list[str]] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    """Files that were read or that commands named -> times; the last ones."""
    answers_notice: bool = False
    _edits: EditTracker = field(default_factory=EditTracker)
    """What was last read, to see what edits changed and where; not kept."""

    def absorb(
        self,
        events: Iterable[tuple[int, HookEvent]],
        leaves_out: Callable[[str], bool] | None = None,
        sentences: Sequence[UserSentence] | None = None,
    ) -> int:
        """Take in numbered events, ascending, skipping those seen before; returns how many were new.

        Args:
            leaves_out: Says whether a file, by its whole path, is not part of the project.
            said: What the one event says, where that is known.

        Cost: some 50 us an event.
        """
        new = 0
        for number, event in events:
            if number > self.last_event:
                self._take(number, event, leaves_out or (lambda path: False), sentences)
                self.last_event = number
                new += 1
        return new

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values, for from_json."""
        kept = orjson.loads(orjson.dumps(self))  # a fifth of what `asdict` takes; without what is not kept
        return {"version": VERSION, **kept}

    @classmethod
    def from_json(cls, state: object) -> Gathered:
        """Return what to_json gave; a new one for anything else, because it is derived data."""
        if not isinstance(state, dict) or state.get("version") != VERSION:
            return cls()
        fields = {name: value for name, value in state.items() if name != "version"}
        try:
            fields["turns"] = [Turn(**{**turn, "files": Files(**turn["files"])}) for turn in fields["turns"]]
            fields["failures"] = Failures.from_json(fields["failures"])
            fields["runs"] = CleanRuns(**fields.get("runs", {}))
            fields["made"] = Files(**fields["made"])
            return cls(**fields)
        except (TypeError, KeyError):
            return cls()

    def _take(
        self,
        number: int,
        event: HookEvent,
        leaves_out: Callable[[str], bool],
        sentences: Sequence[UserSentence] | None = None,
    ) -> None:
        self.root = self.root or root_of(event.cwd)
        if event.kind is EventKind.PROMPT_SUBMIT:
            self.answers_notice = is_report(event.input_text)
            if event.is_prompt:
                self._take_prompt(number, event, user_sentences(event) if sentences is None else sentences)
        elif event.kind in (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE):
            self._take_call(number, event, leaves_out)
        elif event.agent_id:
            return
        elif event.kind is EventKind.STOP:
            self._take_message(number, event)
        elif event.kind is EventKind.POST_COMPACT:
            self.compacted = [list(bullet) for bullet in bullets_of(event.parts.words or event.output_text)]
            self.compacted_at, self.compacted_ms, self.changed_since = number, event.at_ms, []

    def _turn(self, number: int, event: HookEvent) -> Turn:
        if not self.turns:
            self.turns.append(Turn(number=number, at_ms=event.at_ms))
        return self.turns[-1]

    def _take_prompt(self, number: int, event: HookEvent, sentences: Sequence[UserSentence]) -> None:
        prompt = without_the_users_own(own_words(event.parts.words or event.input_text), sentences)
        self.account = event.parts.account or self.account
        pointer = pointer_in(prompt, self.root) if self.turns else ""  # the first prompt is the task
        if pointer and all(pointer != row[0] for row in self.pointed):
            self.pointed = [*self.pointed, [pointer, number, event.at_ms]][-_POINTED:]
        if not phrases.is_small_talk(prompt):
            shown = shortened(phrases.plain(prompt) or " ".join(prompt.split()), _PROMPT_CHARS)
            # Said again after a rewind or in a resumed session, it is the same work.
            again = next((turn for turn in self.turns if turn.prompt == shown), None)
            if again is not None:
                self.turns.remove(again)
            title = len(_title_of(prompt, shown))
            for turn in self.turns[-1:]:
                turn.remark([])
            gist = details_of(prompt.partition("\n")[2]) if title else gist_of(prompt, _GIST_CHARS)
            self.turns.append(again or Turn(shown, number, event.at_ms, title=title, gist=gist))
            if len(self.turns) > _TURNS:
                del self.turns[self._least_telling()]
        for sentence in sentences:
            known = next((row for row in self.said if row[1] == sentence.text), None)
            if known is not None:
                known[8] += 1
                continue
            self.said.append(
                [
                    str(sentence.kind),
                    sentence.text,
                    sentence.wants,
                    sentence.scope,
                    sentence.chosen,
                    sentence.instead_of,
                    number,
                    event.at_ms,
                    1,
                ]
            )
        del self.said[:-_SAID]

    def _least_telling(self) -> int:
        """Return the turn that is given up where there are too many: never the first, never the last two."""
        worth = [len(turn.files.symbols) + 2 * len(turn.commits) + bool(turn.words) for turn in self.turns]
        return min(range(1, len(worth) - 2), key=lambda place: (worth[place], place))

    def _take_message(self, number: int, event: HookEvent) -> None:
        message = event.parts.words or event.output_text
        turn, units = self._turn(number, event), units_of(message)
        if not turn.came_of_it and phrases.asks_something(turn.prompt):
            units = answering(units, turn.prompt)
        remarks = event.parts.remarks
        if not message or is_of_the_client(message):
            turn.remark(remarks)
            return
        worth = worth_of(units)
        turn.heard_at, turn.heard_ms = number, event.at_ms
        turn.remark(remarks)
        if turn.said_at and self.answers_notice:
            return
        weaker = lasting([Unit(*row) for row in turn.words])
        if turn.said_at and worth < turn.worth:
            weaker = most_informative(units)
        telling = [unit for unit in weaker if unit.worth >= LEAST_WORTH and not is_progress(unit.text)]
        turn.remark([" ".join(unit.text for unit in best_of(telling, REMARK_CHARS))])
        if turn.said_at and worth < turn.worth:
            return
        turn.words = [[unit.text, unit.role, unit.worth] for unit in most_informative(units)]
        turn.worth, turn.said_at = worth, number

    def _take_call(self, number: int, event: HookEvent, leaves_out: Callable[[str], bool]) -> None:
        failed = event.kind is EventKind.POST_TOOL_FAILURE or event.success is False
        path = relative_path(event.parts.file_path, self.root)
        turn = self._turn(number, event)
        turn.calls += not event.agent_id
        if event.tool_name in EDITING and not failed and path and not leaves_out(self.root + path):
            self._take_edit(turn, event, path)
        elif event.tool_name in SHELLS:
            self._take_command(turn, number, event, failed=failed)
        elif event.agent_id or failed:
            return
        elif event.tool_name == "Read" and path:
            self._name((path,))
            if not leaves_out(self.root + path):
                self._take_look(turn, path, event.output_text.removeprefix(event.parts.file_path)[1:])
        elif event.tool_name == "Grep" and "." in path:
            self._name((path,))
        elif event.tool_name == "AskUserQuestion":
            self.chosen += [[*pair, number, event.at_ms] for pair in event.parts.answers if len(pair) == 2]
            del self.chosen[:-_CHOSEN]
        elif event.tool_name == "ExitPlanMode":
            self.plan, self.plan_at = event.parts.plan, number
        elif event.tool_name in _TELLING:
            self._take_answer(number, event)

    def _take_edit(self, turn: Turn, event: HookEvent, path: str) -> None:
        parts, is_write = event.parts, event.tool_name == "Write"
        new = is_write and path not in self._edits and not self._knows(path)
        lines = changed_lines(parts.old_text, parts.new_text)
        symbols = parts.symbols or (
            [] if are_incidental(lines) else self._edits.place_of(path, parts.old_text)
        )
        self._changed(turn, path, symbols, new=new, lines=len(lines))
        read_before = self._edits.text_of(path) if is_write else ""
        self._edits.take_edit(turn.files, path, parts, turn.number, is_write=is_write)
        if new:
            note_script(self.scripts, path, parts.writes)
            self._edits.note_script(path, event.input_text.removeprefix(parts.file_path).strip())
        if not self.made.is_scratch(path):
            put, took = exchanged(parts.old_text or read_before, parts.new_text)
            self.failures.edited(path, own=path in self.made.made, put=put, took=took)

    def _take_look(self, turn: Turn, path: str, text: str) -> None:
        """Take in what was read of a file, by which an edit is seen that no other event told."""
        is_ours = path in self.made.symbols
        own = path in self.made.made or self.made.is_scratch(path) or path.startswith("/")
        symbols = self._edits.take_look(None if own else turn.files, path, text, turn.number, changed=is_ours)
        if symbols is not None:
            self._changed(turn, path, symbols)

    def _changed(
        self, turn: Turn, path: str, symbols: list[str], *, new: bool = False, lines: int = 1
    ) -> None:
        turn.files.changed(path, symbols, new=new, lines=lines)
        self.made.changed(path, symbols, new=new, lines=lines)
        touch(turn.uncommitted, path, symbols)
        if len(turn.uncommitted) > MAX_FILES:
            del turn.uncommitted[next(iter(turn.uncommitted))]
        self._outdate(path, symbols)
        if self.compacted:
            self.changed_since = _last([*self.changed_since, path])

    def _outdate(self, path: str, symbols: Sequence[str] = ()) -> None:
        """Take out of what subagents found what a change of a file may have made untrue."""
        for row in self.found:
            row[1] = still_told(row[1], path, symbols) if row[2] == "subagent" else row[1]

    def _knows(self, path: str) -> bool:
        return path in self.made.symbols

    def _take_command(self, turn: Turn, number: int, event: HookEvent, *, failed: bool) -> None:
        command_text, output = relative_paths(event.parts.command, self.root), event.output
        failed = failed or (event.success is None and failed_by(output))
        self.made.ran = [
            *self.made.ran,
            *(path for path in self.made.made if path in command_text and path not in self.made.ran),
        ][-64:]
        if event.agent_id:
            return
        scratch = bool(named_of(command_text, self.made.scratch))
        done = None if failed else self._take_success(turn, number, event, command_text)
        if done is None:
            self._set_back_before_failing(command_text, output)
        if done is None or hides_failure(command_text, output):
            if not scratch:
                self.runs.failed(command_text, output, is_clean=self._is_clean)
            command = tried(command_text)[-1]
            unlike = scratch or is_trial(command)
            self.failures.failed(command, output, number, event.at_ms, scratch=unlike)
            return
        if scratch or named_of(command_text, self.made.scratch) or is_trial(command_text):
            edited = (path for path in done.edited if not self.made.is_scratch(path))
            writes = may_write(command_text) or any(script in command_text for script in self.scripts)
            self.failures.ran_unseen([*edited], self.made.made, writes=writes)
            return
        self.runs.worked(command_text)
        wrote = [path for path in (*done.edited, *done.written) if not self.made.is_scratch(path)]
        swaps = swaps_in(command_text) if wrote else []
        put, took = [new for _, new in swaps], [old for old, _ in swaps]
        for path in wrote:
            self.failures.edited(path, own=path in self.made.made, put=put, took=took)
        whole = "" if wrote or len(command_text) > _LINE_CHARS else command_text
        for command in tried(command_text, alone=bool(done.edited or done.written)):
            if not is_trial(command):
                self.failures.worked(command, number, event.at_ms, line=whole)

    def _take_success(self, turn: Turn, number: int, event: HookEvent, command_text: str) -> Effects:
        done = self._take_effects(turn, command_text)
        rows = [row for row in event.parts.patched if row[0] in turn.files.symbols or row[0] in self.named]
        is_whole = shows_worktree(command_text)
        self._edits.take_diff(turn.files, rows, self.made.made if is_whole else None)
        shown = shown_file(command_text)
        if shown:
            self._take_look(turn, shown, event.output)
        command = phrases.command_line(command_text, 300)
        if event.parts.words:
            self._take_answer(number, event)
        for subject, body in commits_in(event.parts.command):
            since = [path for path in turn.files.of_project() if path in turn.uncommitted][:_COMMITTED]
            turn.commits.append([subject, body, number, {path: turn.uncommitted[path] for path in since}])
            turn.uncommitted = {}
        if not (phrases.is_lookup(command) or hides_failure(command_text, event.output)):
            self.programs[command] = self.programs.pop(command, 0) + 1
            if len(self.programs) > _PROGRAMS:
                del self.programs[min(self.programs, key=lambda program: self.programs[program])]
        return done

    def _take_effects(self, turn: Turn, command: str) -> Effects:
        """Take note of what a command did to files."""
        reverts, done = reverts_of(command), self._effects_of(command)
        if not reverts_last(command):
            self._set_back(reverts)
        symbols = defined_in(command)
        texts = dict(texts_written(command)) if done.written else {}
        for path in done.written:
            self._changed(turn, path, symbols, new=path not in self.named and not self._knows(path))
            if path in texts:
                self._edits.note_script(path, texts[path])
                self._edits.take_text(turn.files, path, texts[path], turn.number)
        for script in self.scripts:
            symbols += self.made.symbols.get(script, []) if script in command else []
        for path in done.edited:
            places = self._edits.take_swaps(turn.files, path, command)
            self._changed(turn, path, list(dict.fromkeys([*symbols, *places])))
        gone = self._of_project(command, done.removed)
        turn.gone = [*(known for known in turn.gone if known not in gone), *gone][-_GONE:]
        for path in done.removed:
            self._outdate(path)
            self.made.removed(path)
            for each in self.turns:
                each.files.removed(path)
        for before, after in done.moved:
            new = before in self.made.made and after not in self.named
            self.made.removed(before)
            turn.files.removed(before)
            self._changed(turn, after, [], new=new)
        self.failures.reverted(reverts)
        if reverts_last(command):
            self._set_back(reverts)
        self._name(path for path in paths_in(command) if "/" in path)
        return done

    def _effects_of(self, command: str) -> Effects:
        return effects_of(command, self.scripts, {*self._edits, *self.made.symbols, *self.named})

    def _set_back_before_failing(self, command: str, output: str) -> None:
        """Take in what a command set back of which a later part failed."""
        if "git" in command and "pathspec" not in output and not reverts_last(command):
            self._set_back(reverts_of(command))

    @property
    def _is_clean(self) -> bool:
        """Whether the project is as it was, but for tests and what the session made."""
        changed = {path for turn in self.turns for path in turn.files.of_project()}
        return self.is_aside or all(is_test(path) for path in changed.difference(self.made.made))

    def _set_back(self, reverts: Reverts) -> None:
        """Forget what was changed in files that git set back and that no commit has."""
        self.is_aside = (self.is_aside or reverts.aside) and not reverts.back
        if not reverts.paths or reverts.aside or reverts.back:
            return
        committed = {path for turn in self.turns for commit in turn.commits for path in commit[3]}
        for path in [path for path in self.made.symbols if is_in(path, reverts.paths)]:
            self._edits.set_back(path)
            for turn in self.turns if path not in committed else ():
                turn.files.set_back(path)
                turn.uncommitted.pop(path, None)

    def _of_project(self, command: str, removed: Sequence[str]) -> list[str]:
        """Return those of the files and folders that a command removed which the session had not brought
        itself: what it had read or edited; else what went without anything of its own, unless a command
        names it that may have made it.
        """
        own = [path for path in removed if self.made.is_scratch(path) or _has(path, self.made.made)]
        there = [path for path in removed if path not in own and not path.startswith("/")]
        before = {*self._edits, *self.made.symbols}.difference(self.made.made)
        known = [path for path in there if path in self.named or _has(path, before)]
        if own:
            return known
        words = [word.strip("\"'").removeprefix("./").rstrip("/") for word in command.split()]
        words += (word.rstrip("/") for earlier in self.programs for word in set(earlier.split()))
        return [path for path in there if path in known or words.count(path) <= 1]

    def _name(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.named[path] = self.named.pop(path, 0) + 1
        while len(self.named) > _NAMED:
            del self.named[next(iter(self.named))]

    def _take_answer(self, number: int, event: HookEvent) -> None:
        question, who, units = answered(event)
        if units:
            self.found = [row for row in self.found if row[0] != question or row[2] != who]
            self.found.append([question, units, who, number, event.at_ms])
        del self.found[:-_FOUND]


def _last(files: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(files))[-MAX_FILES:]


def _has(path: str, files: Iterable[str]) -> bool:
    """Return whether a file is among ``files``, or a folder has one of them in it."""
    return any(name == path or name.startswith(f"{path}/") for name in files)


def _title_of(prompt: str, shown: str) -> str:
    """Return the first line of a prompt, as it is shown, if it says what the lines below it are about."""
    first, _, rest = prompt.strip().partition("\n")
    title = phrases.plain(first)
    heads = rest.strip() and len(title) <= _TITLE_CHARS and len(title.split()) >= _LEAST_WORDS
    return title if heads and not title.endswith((":", "：")) and shown.startswith(title) else ""
