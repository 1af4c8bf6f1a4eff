"""Predicts tool success and counts how often it was right: the accuracy behind reflection R (D3.2).

The prediction for a call uses only what was known before its result: success rates of earlier calls of the
same tool with the same command, or of the tool as a whole if that command is new.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any, Final

WINDOW: Final = 20
"""Predictions that the running accuracy looks back on."""
MAX_KEYS: Final = 64
MAX_TRIALS: Final = 32
"""At this many calls a rate's counts are halved, so that it follows a tool that begins to fail."""
MAX_NAME_CHARS: Final = 128

TrackerState = tuple[tuple[tuple[str, str, int, int], ...], tuple[int, ...], int]
"""((tool, head, successes, trials) least recently used first, hits oldest first as 0 or 1, scored in all)."""


class PredictionTracker:
    """Predicts whether tool calls succeed, and keeps score; holds at most MAX_KEYS rates and WINDOW hits."""

    __slots__ = ("_hits", "_rates", "_scored")

    def __init__(self) -> None:
        self._rates: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()
        self._hits: deque[bool] = deque(maxlen=WINDOW)
        self._scored = 0

    @property
    def accuracy(self) -> float:
        """Share of hits among the last WINDOW predictions; 0.5, knowing nothing, while there is none."""
        return sum(self._hits) / len(self._hits) if self._hits else 0.5

    @property
    def scored(self) -> int:
        """Predictions scored so far; 0 means that ``accuracy`` is not a measurement yet."""
        return self._scored

    def probability(self, tool_name: str, head: str = "") -> float:
        """Probability in (0, 1), from the calls so far, that ``tool_name`` with command ``head`` succeeds.

        Laplace: the tool's rate starts at 1/2, the command's starts at the tool's, each worth two calls.
        """
        tool, head = _key(tool_name, head)
        successes, trials = self._rates.get((tool, ""), (0, 0))
        of_tool = (successes + 1) / (trials + 2)
        if not head:
            return of_tool
        successes, trials = self._rates.get((tool, head), (0, 0))
        return (successes + 2 * of_tool) / (trials + 2)

    def record(self, tool_name: str, head: str, success: bool) -> bool:
        """Score the prediction that stood before this result, then learn from it; True for a hit.

        A probability of exactly 1/2 predicts success, as most tool calls do succeed.
        """
        hit = (self.probability(tool_name, head) >= 0.5) is success
        self._hits.append(hit)
        self._scored += 1
        tool, head = _key(tool_name, head)
        if head:
            self._learn((tool, head), success)
        self._learn((tool, ""), success)
        return hit

    def to_state(self) -> TrackerState:
        """All of it as plain tuples; from_state gives it back."""
        rates = tuple((tool, head, good, trials) for (tool, head), (good, trials) in self._rates.items())
        return rates, tuple(int(hit) for hit in self._hits), self._scored

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> PredictionTracker:
        """The tracker that to_state described; lists do as well as tuples.

        Raises:
            ValueError: Not such a state.
        """
        tracker = cls()
        try:
            rates, hits, scored = state
            for tool, head, good, trials in rates:
                if not (
                    isinstance(tool, str) and isinstance(head, str) and 0 <= good <= trials <= MAX_TRIALS
                ):
                    raise ValueError(f"rate {(tool, head, good, trials)!r}")
                tracker._rates[tool, head] = (int(good), int(trials))
            tracker._hits.extend(bool(hit) for hit in hits)
            tracker._scored = int(scored)
            if len(tracker._rates) > MAX_KEYS or tracker._scored < len(tracker._hits):
                raise ValueError(f"{len(tracker._rates)} rates, {scored!r} scored")
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a prediction state: {error}") from error
        return tracker

    def _learn(self, key: tuple[str, str], success: bool) -> None:
        good, trials = self._rates.pop(key, (0, 0))
        good, trials = good + success, trials + 1
        if trials >= MAX_TRIALS:
            good, trials = good // 2, trials // 2
        self._rates[key] = (good, trials)
        while len(self._rates) > MAX_KEYS:
            self._rates.popitem(last=False)


def _key(tool_name: str, head: str) -> tuple[str, str]:
    return tool_name[:MAX_NAME_CHARS], head[:MAX_NAME_CHARS]


_SEPARATORS: Final = re.compile(r"&&|\|\||[;\n]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*+=")
_PREAMBLES: Final = frozenset({"cd", "export", "pushd", "set", "source", "."})
_WRAPPERS: Final = frozenset({"command", "env", "exec", "nice", "nohup", "sudo", "time", "timeout"})
_WITH_SUBCOMMAND: Final = frozenset(
    {"cargo", "docker", "gh", "git", "go", "kubectl", "make", "npm", "npx", "pip", "pnpm", "uv", "yarn"}
)
_SUBCOMMAND: Final = re.compile(r"[a-z][\w:-]{0,31}\Z")
_MAX_COMMAND_CHARS: Final = 400


def command_head(command: str) -> str:
    """The program a shell command runs, as a key for success rates: "pytest" of "cd x && A=1 /bin/pytest -q".

    Steps that only prepare (cd, export, ...), assignments and wrappers (sudo, env, ...) are passed over;
    programs with subcommands keep theirs ("git commit", "python -m pytest"). At most 70 characters; "" when
    there is none. A heuristic, not a shell parser: it never fails, and reads only the first 400 characters.
    """
    fallback = ""
    for step in _SEPARATORS.split(command[:_MAX_COMMAND_CHARS]):
        words = _program_words(step.split())
        if not words:
            continue
        program = words[0].strip("\"'").rsplit("/", 1)[-1][:32]
        if program in _PREAMBLES:
            fallback = fallback or program
            continue
        if program in _WITH_SUBCOMMAND and len(words) > 1 and _SUBCOMMAND.match(words[1]):
            return f"{program} {words[1]}"
        if program.startswith("python") and words[1:2] == ["-m"] and len(words) > 2:
            return f"{program} -m {words[2][:32]}"
        return program
    return fallback


def _program_words(words: list[str]) -> list[str]:
    wrapped = False
    for i, word in enumerate(words):
        if word in _WRAPPERS:
            wrapped = True
        elif not (_ASSIGNMENT.match(word) or (wrapped and (word.startswith("-") or word[0].isdigit()))):
            return words[i:]
    return []
