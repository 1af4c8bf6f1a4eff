"""Notices when a session goes in circles: its last tool calls repeat earlier ones, and nothing new comes.

A call repeats another if tool, input and success are the same, and so is the output but for its digits
(times, process ids, addresses). Of a shell command the model's own description does not count. One repeat is
nothing: a test is run again. STREAK of them in a row, each of one of the WINDOW results before it, are a
circle, whether one call comes again and again or several take turns. Any new call ends it, and so does a
prompt: the user may want it all again. A call that waits for something counts like any other: what is said of
it is a fact, and is said once.

After a new edit the usual checks come again with the same result, and that is no circle: the edit was new.
They count as soon as an edit itself is repeated.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from context_graph.model import EDITING, EventKind, HookEvent
from context_graph.text.patterns import linear

WINDOW: Final = 12
"""Tool results that a new one is compared with; a longer round of calls is not seen as one."""
STREAK: Final = 3
"""Repeats in a row that are a circle."""

_LABEL_CHARS: Final = 60
_LABELS: Final = 3
"""Calls that `Circles.sentence` names; of more it gives the number."""
_MASKED: Final = linear(r"\[redacted:[\w-]*\]")
"""The launcher, which masks what goes into the log, names secrets less exactly than the owner."""
_DIGITS: Final = b"0123456789"
_HEX_DIGITS: Final = b"0123456789abcdefABCDEF"

CirclesState = tuple[tuple[tuple[int, int, bool, bool, str], ...], int, int, bool]
"""(results, oldest first, as (sign, times, success, stale, label)), streak, stale in it, prompted)."""


@dataclass(slots=True)
class _Result:
    sign: int
    times: int
    """How often it has come, this one included, as far back as the window reaches without a gap."""
    success: bool
    stale: bool
    """It came before the last new edit."""
    label: str
    """The call in words, from its first repeat on."""


class Circles:
    """The last tool results of a session since its last prompt. Deterministic, not thread-safe."""

    __slots__ = ("_prompted", "_results", "_stale", "_streak")

    def __init__(self) -> None:
        self._results: deque[_Result] = deque(maxlen=WINDOW)
        self._streak = 0
        self._stale = 0
        self._prompted = False

    @property
    def streak(self) -> int:
        """Results at the end that each repeat an earlier one, those aside that only check a new edit."""
        return self._streak - self._stale

    @property
    def repeats(self) -> bool:
        """Whether the session went in circles when its last tool result came."""
        return self.streak >= STREAK

    def prompt(self) -> None:
        """Take note of a prompt: what comes after it is compared with nothing before it."""
        self._prompted = True  # and not forgotten yet: the answer to the prompt may tell the circle

    def observe(self, event: HookEvent) -> None:
        """Take in a tool result. Cost: some 5 us for 4 KB of text."""
        if self._prompted:
            self._results.clear()
            self._streak, self._stale, self._prompted = 0, 0, False
        success = event.kind is EventKind.POST_TOOL and event.success is not False
        sign = _sign(event, success)
        before = next((result for result in reversed(self._results) if result.sign == sign), None)
        if before is None:
            self._streak = self._stale = 0
            if event.tool_name in EDITING and success:
                for result in self._results:
                    result.stale = True
            self._results.append(_Result(sign, 1, success, False, ""))
            return
        self._streak += 1
        if event.tool_name in EDITING:
            self._stale = 0  # what was checked in this streak was no new edit
        elif before.stale:
            self._stale += 1
        label = before.label or label_of(event)
        self._results.append(_Result(sign, before.times + 1, success, False, label))

    def sentence(self) -> str:
        """Return what repeats, as one line of at most 400 characters; "" if the session does not go in
        circles.

        Commands and paths in it come from the event, so secrets in them are masked.
        """
        if not self.repeats:
            return ""
        signs = {result.sign: result for result in list(self._results)[-self._streak :]}
        last: dict[tuple[str, bool], int] = {}
        for result in signs.values():  # parts of a file that are read one by one have one label
            times = last.pop((result.label, result.success), 0)
            last[result.label, result.success] = times + result.times
        named = ", ".join(
            f"`{label}` {'ran' if success else 'failed'} {times} times"
            for (label, success), times in list(last.items())[-_LABELS:]
        )
        if len(last) > _LABELS:
            named += f" and {len(last) - _LABELS} more"
        same = " with the same output" if len(signs) == 1 else ", each with the same output"
        return (
            f"The last {self._streak} calls repeat earlier ones; by now {named}{same}, and none of them "
            "touched a new file."
        )

    def to_state(self) -> CirclesState:
        """Return the state as plain tuples, for from_state; at most some 1 KB."""
        results = tuple(
            (result.sign, result.times, result.success, result.stale, result.label)
            for result in self._results
        )
        return results, self._streak, self._stale, self._prompted

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> Circles:
        """Return the object that to_state described; lists do as well as tuples."""
        circles = cls()
        results, circles._streak, circles._stale, circles._prompted = state
        circles._results.extend(_Result(*result) for result in results)
        return circles


def _sign(event: HookEvent, success: bool) -> int:
    """Return a checksum that repeats share: 32 bits, so a chance likeness is one in hundreds of millions."""
    call_text = event.parts.command or event.input_text
    call = _bytes(f"{event.tool_name}\0{call_text}\0{int(success)}\0")
    output = _bytes(event.output_text)
    passing = _HEX_DIGITS if b"0x" in output else _DIGITS  # addresses of objects differ from run to run
    return zlib.crc32(output.translate(None, passing), zlib.crc32(call))


def _bytes(text: str) -> bytes:
    return (_MASKED.sub("", text) if "[redacted:" in text else text).encode("utf-8", "replace")


def label_of(event: HookEvent) -> str:
    """Return the call in at most _LABEL_CHARS characters of one line: a command, else the tool and its
    file. Any call's, with nothing in it that could end the line or its backticks."""
    # Late: few sessions need them, no start does.
    from context_graph.text.flattening import relative_path, root_of
    from context_graph.text.phrases import command_line

    command = command_line(event.parts.command)
    path = relative_path(event.parts.file_path, root_of(event.cwd))
    subject = path or event.input_text[: 4 * _LABEL_CHARS]
    words = (command or f"{event.tool_name[:40]} {subject}").split()
    if " ".join(words).count("'") % 2:  # a text for an interpreter begins there
        words = " ".join(words).rpartition("'")[0].split()
    shown = "".join(char if char.isprintable() else "?" for char in " ".join(words).replace("`", "'"))
    return shown if len(shown) <= _LABEL_CHARS else shown[: _LABEL_CHARS - 1] + "…"
