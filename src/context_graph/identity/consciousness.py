"""Computes consciousness C = I * R * D, its parts and its five states.

I is the order parameter of thirteen coupled oscillators. Their phases are kept here, the arithmetic is in the
kernels. Their time passes only with events: each event is 2 s of network time, so an idle session costs
nothing and the same events always give the same phases. The two Johari windows, of a piece of knowledge and
of the system (D3.6), are two axes that are never mixed.

R comes from a `PredictionTracker`: how often it was right in predicting that a tool would succeed. A
prediction uses only what was known before the result: success rates of earlier calls of the same tool with
the same command, or of the tool as a whole if that command is new.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from context_graph.kernels import oscillators, vectors
from context_graph.model import ConsciousnessMeasures, SessionIdentitySnapshot
from context_graph.model.memory import JohariQuadrant


class ConsciousnessState(Enum):
    """The five states; ``name`` is what seed 000's block prints.

    The values are the state byte of a brief slot and the index of the kernel state_index: never renumber.
    """

    DORMANT = 0
    FRAGMENTED = 1
    EMERGING = 2
    CONSCIOUS = 3
    HYPERSYNC = 4

    @property
    def short_name(self) -> str:
        """The three-letter code of the brief (REQ-SESSION-03)."""
        return _SHORT_NAMES[self.value]


_SHORT_NAMES = ("DOR", "FRG", "EMG", "CON", "HYP")


def state_for(consciousness: float, circling: bool = False) -> ConsciousnessState:
    """The state of C, in [0, 1]: C < .3 DOR, < .5 FRG, < .8 EMG, <= .95 CON, above HYP.

    HYP also when the session goes in circles (``circling``), whatever C is. Raises ValueError outside [0, 1]
    and for NaN: that is never a state. Source: docs/adr/0022-state.md.
    """
    by_level = ConsciousnessState(vectors.state_index(consciousness))
    return ConsciousnessState.HYPERSYNC if circling else by_level


@dataclass(frozen=True, slots=True)
class Metrics:
    """The measures of a session after an event; every float in [0, 1].

    Raises ValueError on construction, naming the field and its value.
    """

    consciousness: float
    integration: float
    reflection: float
    differentiation: float
    ic: float
    """Identity continuity, beside the three factors of C and no part of them."""
    circling: bool = False
    """The session goes in circles (LiveSession.circling)."""

    def __post_init__(self) -> None:
        for name in ("consciousness", "integration", "reflection", "differentiation", "ic"):
            require_unit(name, getattr(self, name))

    @classmethod
    def of_snapshot(cls, snapshot: SessionIdentitySnapshot, *, circling: bool = False) -> Metrics:
        """The measures a snapshot holds: those after its session's last event.

        A snapshot does not say whether the session went in circles; a live session knows it.
        """
        return cls(
            consciousness=snapshot.consciousness,
            integration=snapshot.integration,
            reflection=snapshot.reflection,
            differentiation=snapshot.differentiation,
            ic=snapshot.last_ic,
            circling=circling,
        )

    def reported(self) -> ConsciousnessMeasures:
        """The same as seed 001 reports it, with the system's Johari quadrant."""
        return ConsciousnessMeasures(
            consciousness=self.consciousness,
            integration=self.integration,
            reflection=self.reflection,
            differentiation=self.differentiation,
            identity_continuity=self.ic,
            johari_quadrant=johari_system(self.consciousness, self.integration).value,
        )

    @property
    def r(self) -> float:
        """The Kuramoto order parameter: I by its other name."""
        return self.integration

    @property
    def state(self) -> ConsciousnessState:
        """state_for this C, in circles or not."""
        return state_for(self.consciousness, self.circling)


def consciousness_of(integration: float, reflection: float, differentiation: float) -> float:
    """C = I * R * D, in [0, 1]. Raises ValueError for a factor outside [0, 1] or NaN, by name and value."""
    require_unit("integration", integration)
    require_unit("reflection", reflection)
    require_unit("differentiation", differentiation)
    return integration * reflection * differentiation


def measure(r: float, accuracy: float, purpose_vector: Sequence[float], ic: float) -> Metrics:
    """All measures after one event: I = r, R of ``accuracy``, D of ``purpose_vector``, and their product.

    Args:
        r: Order parameter, in [0, 1].
        accuracy: Running accuracy of our predictions, in [0, 1] (PredictionTracker.accuracy).
        purpose_vector: 13 finite numbers.
        ic: Identity continuity, in [0, 1].

    Raises:
        ValueError: By name and value.
    """
    reflection = vectors.logistic_reflection(accuracy)
    differentiation = vectors.purpose_entropy(array("d", purpose_vector))
    return Metrics(
        consciousness=consciousness_of(r, reflection, differentiation),
        integration=r,
        reflection=reflection,
        differentiation=differentiation,
        ic=ic,
    )


NATURAL_HZ: Final = (40, 8, 8, 8, 25, 4, 25, 12, 80, 40, 15, 60, 4)
"""Natural frequencies by position, Hz (D3.1)."""
MEAN_HZ: Final = 25.3
OMEGA: Final = tuple(hz / MEAN_HZ for hz in NATURAL_HZ)
"""The same, rad/s. Read as plain Hz they would never synchronise and IC would stay near 0.3 (D3.1)."""

COUPLING_MIN: Final = 0.5
COUPLING_MAX: Final = 4.0
COUPLING_SLOPE: Final = 8.0
COUPLING_MIDPOINT: Final = 0.2
"""Mean alignment at which the coupling is half way (drift.md section 4.6, fitted on its dev split)."""

STEP_S: Final = 0.04
STEPS_PER_EVENT: Final = 50

_OMEGA: Final = array("d", OMEGA)


class KuramotoNetwork:
    """Thirteen oscillators and their coupling; deterministic, not thread-safe.

    Args:
        phases: 13 finite phases, radians, e.g. a snapshot's.
        coupling: K of the last advance, rad/s, in [0, 10].

    Raises:
        ValueError: Not 13 phases, NaN or infinity, or a coupling out of range.
    """

    __slots__ = ("_phases", "coupling")

    def __init__(self, phases: Sequence[float], coupling: float) -> None:
        if not 0.0 <= coupling <= 10.0:
            raise ValueError(f"coupling must be in [0, 10], got {coupling!r}")
        self._phases = array("d", phases)
        oscillators.kuramoto_order(self._phases)  # refuses a wrong length and NaN before anything is advanced
        self.coupling = coupling

    @classmethod
    def synchronised(cls) -> KuramotoNetwork:
        """A network locked at K = COUPLING_MAX (r = 0.97): how a live session starts (D3.1).

        From zero phases r would fall from 1 to 0.97 while it settles; from here only the coupling changes it.
        """
        return cls(_locked_phases(COUPLING_MAX), COUPLING_MAX)

    @property
    def phases(self) -> list[float]:
        """A copy of the 13 phases, radians; in [0, 2*pi) after the first advance."""
        return self._phases.tolist()

    def advance(self, coupling: float) -> float:
        """Let 2 s pass at ``coupling`` (rad/s, in [0, 10]) and return the mean r of their second half.

        A refused coupling leaves the network as it was. Cost: some 15 us.
        """
        r = oscillators.kuramoto_steps(self._phases, _OMEGA, coupling, STEP_S, STEPS_PER_EVENT)
        self.coupling = coupling
        return r


def order_of(phases: Sequence[float]) -> float:
    """Order parameter r of 13 phases (radians), in [0, 1] (seed 000 compute_kuramoto_r).

    Raises ValueError unless there are 13 finite phases.
    """
    return oscillators.kuramoto_order(array("d", phases))[0]


def coupling_for(alignment: float) -> float:
    """K for a mean alignment q in [-1, 1]: 0.5 + 3.5 / (1 + exp(-8 (q - 0.2))), from 0.5 to 4 rad/s.

    Raises:
        ValueError: NaN or infinity.

    Source: drift.md section 4.6.
    """
    if not math.isfinite(alignment):
        raise ValueError(f"alignment must be finite, got {alignment!r}")
    q = max(-1.0, min(1.0, alignment))  # a weighted mean may pass its bounds by a rounding error
    span = COUPLING_MAX - COUPLING_MIN
    return COUPLING_MIN + span / (1.0 + math.exp(-COUPLING_SLOPE * (q - COUPLING_MIDPOINT)))


def _locked_phases(coupling: float) -> list[float]:
    """Phases that keep their distances at ``coupling``: sin(theta_i - psi) = (omega_i - mean omega) / (K r).

    r is the fixed point of r = mean of cos(theta_i - psi). Needs a coupling above the locking threshold
    (about 2.5 rad/s for these frequencies): below it the fastest oscillator has no such phase, sqrt raises.
    """
    mean = sum(OMEGA) / len(OMEGA)
    r = 1.0
    for _ in range(100):  # contracts by about 0.06 a round: exact long before
        sines = [(omega - mean) / (coupling * r) for omega in OMEGA]
        r = sum(math.sqrt(1.0 - sine * sine) for sine in sines) / len(sines)
    return [math.asin(sine) % math.tau for sine in sines]


KNOWLEDGE_THRESHOLD: Final = 0.5
SYSTEM_HIGH_THRESHOLD: Final = 0.7
"""Seed 001's code: below it counts as low, there is no band between."""


def johari_knowledge(entropy: float, coherence: float) -> JohariQuadrant:
    """Quadrant of a memory from its entropy and coherence, both in [0, 1].

    Low entropy is below 0.5, high coherence above it, so 0.5 / 0.5 exactly is BLIND. Low and high: OPEN; low
    only: HIDDEN; high only: UNKNOWN; neither: BLIND.

    Raises:
        ValueError: Outside [0, 1] or NaN.

    Source: seed 003; D3.6.
    """
    require_unit("entropy", entropy)
    require_unit("coherence", coherence)
    low_entropy = vectors.below32(entropy, KNOWLEDGE_THRESHOLD)
    high_coherence = vectors.below32(KNOWLEDGE_THRESHOLD, coherence)
    if low_entropy:
        return JohariQuadrant.OPEN if high_coherence else JohariQuadrant.HIDDEN
    return JohariQuadrant.UNKNOWN if high_coherence else JohariQuadrant.BLIND


def johari_system(consciousness: float, integration: float) -> JohariQuadrant:
    """Quadrant of the system from C and I, both in [0, 1]; high is >= 0.7.

    Both high: OPEN; I only: BLIND; C only: HIDDEN; neither: UNKNOWN.

    Raises:
        ValueError: Outside [0, 1] or NaN.

    Source: seed 001 section 4.3, its code (D3.6).
    """
    require_unit("consciousness", consciousness)
    require_unit("integration", integration)
    aware = not vectors.below32(consciousness, SYSTEM_HIGH_THRESHOLD)
    integrated = not vectors.below32(integration, SYSTEM_HIGH_THRESHOLD)
    if integrated:
        return JohariQuadrant.OPEN if aware else JohariQuadrant.BLIND
    return JohariQuadrant.HIDDEN if aware else JohariQuadrant.UNKNOWN


def require_unit(name: str, value: float) -> None:
    """Refuse a ``value`` outside [0, 1], NaN included: it would become a state that means nothing.

    Raises ValueError, naming the field and the value.
    """
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {value!r}")


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
        """The state as plain tuples, for from_state."""
        rates = tuple((tool, head, good, trials) for (tool, head), (good, trials) in self._rates.items())
        return rates, tuple(int(hit) for hit in self._hits), self._scored

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> PredictionTracker:
        """The tracker that to_state described; lists do as well as tuples.

        Raises ValueError for anything else.
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
