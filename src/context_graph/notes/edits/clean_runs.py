"""Keeps which tests fail on the tree as it was: who reads that they failed takes them for the change's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from context_graph.model.note import Note, NoteKind
from context_graph.notes.command_lines import commands_in, failed_tests, line_of
from context_graph.text import phrases

_MOST: Final = 24
_TOLD: Final = 3
_COMMANDS: Final = 3
_ERROR_CHARS: Final = 160
_COMMAND_CHARS: Final = 120


@dataclass(slots=True)
class CleanRuns:
    """Failing test, or a run's error where it names none -> the run. Bounded."""

    changed: dict[str, str] = field(default_factory=dict)
    """With the session's changes in place, as far as they did not pass since."""
    clean: dict[str, str] = field(default_factory=dict)
    """Without them: before the first, or after git had set them back."""

    def failed(self, command: str, output: str, *, is_clean: bool) -> None:
        """Note a run that failed, if it is one of tests."""
        for run in _test_runs(command)[-1:]:
            names = failed_tests(output) or [f"{run}: {phrases.error_line(output, _ERROR_CHARS)}"]
            failing = self.clean if is_clean else self.changed
            _forget(failing, run)
            failing.update(dict.fromkeys(names, run))
            for name in list(failing)[:-_MOST]:
                del failing[name]

    def worked(self, command: str) -> None:
        """Note a run that worked: what failed in it fails no more."""
        for run in _test_runs(command):
            for failing in (self.changed, self.clean):
                _forget(failing, run)

    @property
    def both(self) -> dict[str, list[str]]:
        """The runs with tests that fail with and without the changes, each with these."""
        runs: dict[str, list[str]] = {}
        for name, run in self.changed.items():
            if name in self.clean:
                runs.setdefault(run, []).append(name.removeprefix(f"{run}: "))
        return runs

    def notes(self, at_ms: int) -> Iterator[Note]:
        """Yield the note of them, if there are any."""
        lines = [
            f"`{run}` fails without the change too: {', '.join(names[:_TOLD])}{_more(names)}"
            for run, names in list(self.both.items())[-_COMMANDS:]
        ]
        if lines:
            yield Note(NoteKind.FINDING, "\n".join(lines), key="clean", at_ms=at_ms, said_by="command")


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""


def _test_runs(command: str) -> list[str]:
    runs = (each.raw for each in commands_in(line_of(command)) if each.kind == "test")
    return [phrases.command_line(run, _COMMAND_CHARS) for run in runs]


def _forget(failing: dict[str, str], run: str) -> None:
    for name in [name for name, known in failing.items() if known == run]:
        del failing[name]
