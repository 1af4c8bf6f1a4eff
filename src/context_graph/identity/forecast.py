"""Forecasts whether the next tool call will fail, and keeps the score of those forecasts: R is made of that.

A forecast is a logistic regression of what is known before the call's result: the tool, its input, and the
outcomes of the session's calls so far. It is scored against the base rate: the Brier skill is one minus the
forecasts' squared error over that of always saying BASE_RATE, 0 for no better and 1 for perfect. The
constants are fitted by research/fit/forecast.py on recorded sessions and judged by
research/measures/forecast.py, one project left out.
"""

from __future__ import annotations

import math
import operator
import re
import zlib
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

FEATURES: Final = (
    "one",
    "failed of the last 3",
    "failed of the last 10",
    "log odds of the tool's failures",
    "log odds of the command's failures",
    "the same call failed when it came last",
    "the same call succeeded when it came last",
    "shell",
    "edit",
    "other than shell, edit and reading",
)
BASE_RATE: Final = 0.071
"""Share of tool calls that fail in the recorded sessions; what a forecast has to beat."""
WEIGHTS: Final = (-3.448, 1.068, 1.275, -0.25, 0.506, 0.845, -0.812, 1.979, -1.405, 2.133)

WINDOW: Final = 40
"""Forecasts that the score looks back on."""
LEAST_SCORED: Final = 20
"""Fewer forecasts than this have no skill that is worth telling."""
HALF_LIFE: Final = 10
"""Calls after which a forecast counts half in ``accuracy``."""
DOUBT: Final = 1
"""Calls that ``accuracy`` counts beside them, forecast as well as BASE_RATE does on average."""

MAX_KEYS: Final = 64
MAX_CALLS: Final = 64
"""Exact calls whose last outcome is kept."""
MAX_TRIALS: Final = 32
"""Calls at which a rate's counts are halved, so that it follows a tool that begins to fail."""
MAX_NAME_CHARS: Final = 128

_USUAL_ERROR: Final = BASE_RATE * (1.0 - BASE_RATE)
_FADES: Final = 0.5 ** (1.0 / HALF_LIFE)
_SESSION: Final = ("", "")
_SHELL: Final = frozenset({"Bash"})
_EDITING: Final = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
_READING: Final = frozenset({"Glob", "Grep", "LS", "Read"})
_PRIOR_CALLS: Final = (10.0, 5.0, 3.0)
"""Calls that the rate above each is worth: the base rate to the session's, that to the tool's, and so on."""

TrackerState = tuple[
    tuple[tuple[str, str, int, int], ...], int, tuple[tuple[float, bool], ...], tuple[tuple[int, bool], ...]
]
"""((tool, command, successes, calls) least recently used first, forecasts scored in all, the last of them as
(probability of failure, failed) oldest first, (checksum of a call, failed) least recently used first)."""


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """How good the last forecasts of tool failures were."""

    skill: float | None
    """Brier skill, at most 1, negative where the base rate did better; None for under LEAST_SCORED calls."""
    calls: int
    """The last calls that it is about, at most WINDOW."""


class PredictionTracker:
    """Forecasts failures and keeps score: at most MAX_KEYS rates, MAX_CALLS calls and WINDOW forecasts.

    Deterministic, not thread-safe.
    """

    __slots__ = ("_calls", "_errors", "_forecasts", "_rates", "_reference", "_scored")

    def __init__(self) -> None:
        self._rates: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()
        self._calls: OrderedDict[int, bool] = OrderedDict()
        self._forecasts: deque[tuple[float, bool]] = deque(maxlen=WINDOW)
        self._errors: deque[float] = deque(maxlen=WINDOW)
        """Squared errors of the forecasts."""
        self._reference: deque[float] = deque(maxlen=WINDOW)
        """Squared errors of the base rate in their place."""
        self._scored = 0

    @property
    def scored(self) -> int:
        """Forecasts scored so far; 0 means that ``accuracy`` is not a measurement yet."""
        return self._scored

    @property
    def score(self) -> ForecastScore:
        """How good the last WINDOW forecasts were."""
        calls = len(self._forecasts)
        if calls < LEAST_SCORED:
            return ForecastScore(None, calls)
        error, reference = math.fsum(self._errors), math.fsum(self._reference)
        return ForecastScore(1.0 - error / reference, calls)

    @property
    def accuracy(self) -> float:
        """How well the session is foreseen just now, in (0, 1): b / (b + e).

        e is the mean squared error of the last forecasts, the newest counting most; b is what the base rate
        errs by on average. So it is 0.5 before any forecast, more while what was said comes about, and less
        after failures that nobody foresaw or while many calls are as likely to fail as not.
        """
        error, weight, share = DOUBT * _USUAL_ERROR, float(DOUBT), 1.0
        for squared in reversed(self._errors):
            error += share * squared
            weight += share
            share *= _FADES
        return _USUAL_ERROR / (_USUAL_ERROR + error / weight)

    def features(self, tool_name: str, head: str = "", text: str = "") -> tuple[float, ...]:
        """FEATURES of a call of ``tool_name`` with command ``head`` and input ``text``, not yet made."""
        return self._features(*_key(tool_name, head), _checksum(tool_name, text))

    def _features(self, tool: str, head: str, call: int) -> tuple[float, ...]:
        latest = [failed for _, failed in islice(reversed(self._forecasts), 10)]
        of_session = self._failure_rate(_SESSION, BASE_RATE, _PRIOR_CALLS[0])
        of_tool = self._failure_rate((tool, ""), of_session, _PRIOR_CALLS[1])
        of_command = self._failure_rate((tool, head), of_tool, _PRIOR_CALLS[2]) if head else of_tool
        before = self._calls.get(call)
        shell, edit = tool in _SHELL, tool in _EDITING
        return (
            1.0,
            sum(latest[:3]) / 3.0,
            sum(latest) / 10.0,
            _log_odds(of_tool),
            _log_odds(of_command),
            float(before is True),
            float(before is False),
            float(shell),
            float(edit),
            float(not (shell or edit or tool in _READING)),
        )

    def probability(self, tool_name: str, head: str = "", text: str = "") -> float:
        """Probability in (0, 1), from the calls so far, that this call fails."""
        return _forecast(self.features(tool_name, head, text))

    def record(self, tool_name: str, head: str, success: bool, text: str = "") -> float:
        """Score the forecast that stood before this result, then learn from it; returns that forecast."""
        (tool, head), call = _key(tool_name, head), _checksum(tool_name, text)
        probability = _forecast(self._features(tool, head, call))
        self._keep(probability, not success)
        self._scored += 1
        for key in dict.fromkeys(((tool, head), (tool, ""), _SESSION)):
            self._learn(key, success)
        self._calls.pop(call, None)
        self._calls[call] = not success
        if len(self._calls) > MAX_CALLS:
            self._calls.popitem(last=False)
        return probability

    def to_state(self) -> TrackerState:
        """Return the state as plain tuples, for from_state."""
        rates = tuple((tool, head, good, trials) for (tool, head), (good, trials) in self._rates.items())
        return rates, self._scored, tuple(self._forecasts), tuple(self._calls.items())

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> PredictionTracker:
        """Return the tracker that to_state described; lists do as well as tuples."""
        tracker = cls()
        rates, tracker._scored, forecasts, calls = state
        tracker._rates.update(((tool, head), (good, trials)) for tool, head, good, trials in rates)
        for probability, failed in forecasts:
            tracker._keep(probability, failed)
        tracker._calls.update(calls)
        return tracker

    def _keep(self, probability: float, failed: bool) -> None:
        self._forecasts.append((probability, failed))
        self._errors.append((probability - failed) ** 2)
        self._reference.append((BASE_RATE - failed) ** 2)

    def _failure_rate(self, key: tuple[str, str], prior: float, worth: float) -> float:
        good, trials = self._rates.get(key, (0, 0))
        return (trials - good + worth * prior) / (trials + worth)

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


def _checksum(tool: str, text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"), zlib.crc32(tool.encode("utf-8", "replace")))


def _log_odds(rate: float) -> float:
    bounded = max(0.001, min(0.999, rate))
    return math.log(bounded / (1.0 - bounded))


def _forecast(features: tuple[float, ...]) -> float:
    score = math.fsum(map(operator.mul, WEIGHTS, features))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))


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
    """Return the program a shell command runs, as a key for success rates: "pytest" of "cd x && A=1
    /bin/pytest -q".

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
