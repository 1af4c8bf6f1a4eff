"""Keeps the state of one live session: applies each event and reports what follows. No I/O, no clock.

The same events always give the same state, whether they came live or through the log, and whether or not
the session was stored and restored in between.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from context_graph.errors import CorruptedIdentityError
from context_graph.identity.across import Before, SessionLink, join_goals, part_goals
from context_graph.identity.brief import StateAndLevel
from context_graph.identity.circles import Circles
from context_graph.identity.consciousness import (
    KuramotoNetwork,
    Metrics,
    coupling_for,
    measure,
)
from context_graph.identity.continuity import (
    ICMonitor,
    classified,
    identity_continuity,
    phase_drift,
)
from context_graph.identity.earlier_work import Work
from context_graph.identity.ego import Alignment, Comparison, EventReader, Goals, Purpose, align, unit
from context_graph.identity.forecast import ForecastScore, PredictionTracker, command_head
from context_graph.identity.runtime import IC_HISTORY, Runtime, decode_runtime, encode_runtime
from context_graph.model import (
    ConsciousnessMeasures,
    DriftMetrics,
    EventKind,
    HookEvent,
    ICClassification,
    SessionIdentitySnapshot,
)
from context_graph.text.flattening import relative_paths, root_of

SYNCHRONISED: Final = 0.95
"""r above this is a part of going in circles; repeated calls have it, for nothing is as alike as they are."""

PRIOR_EVENTS: Final = 2
"""What a continued session's old goals are worth: enough to know the same task again, few enough to learn a
new one within some events."""

MEASURED: Final = frozenset({EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE})

_READER: Final = EventReader()  # the owner serves one request at a time


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of applying one event."""

    measured: bool
    """The event was compared with the session's goals; without that, nothing below is news."""
    metrics: Metrics
    """As they are now."""
    coupling: float
    crisis_entered: bool = False
    warning_entered: bool = False
    dream_requested: bool = False
    """A crisis that may ask for consolidation: none has within the cool-down."""
    work_events: int = 0
    """The session's tool results that had something to say, where the event was one of them; else 0, and in a
    session that was restored."""


class LiveSession:
    """A session's snapshot and what keeps it up to date. Not thread-safe, in the whole process.

    Made by itself it continues nothing, with the measures of its snapshot until there is evidence; otherwise
    make one with ``restore`` or ``continue_from``.
    """

    def __init__(self, snapshot: SessionIdentitySnapshot) -> None:
        self.snapshot = snapshot
        """Kept up to date; the caller stores it."""
        self.has_evidence = False
        """Something was measured in this session; else nothing can be said about it."""
        self.events_by_kind: dict[str, int] = {}
        """Events applied, by `HookEvent.counted_as`."""
        self.events_duplicate = 0
        self.ic_history: deque[float] = deque(maxlen=IC_HISTORY)
        """The last IC values of this session, oldest first, as 32-bit floats."""
        self.told: StateAndLevel | None = None
        """What the model was told last; None for nothing, or for what a compaction has dropped."""
        self._goals = Goals()
        self._purpose = Purpose()
        self._circles = Circles()
        self._network = _network_of(snapshot)
        self._predictions = PredictionTracker()
        self._monitor = ICMonitor(snapshot.crisis_threshold)
        self._root = ""
        self._link = SessionLink()
        self._before: Before | None = None
        self._work: Work | None = Work()
        """None in a session that was restored, until somebody asks."""

    @classmethod
    def restore(
        cls, snapshot: SessionIdentitySnapshot, runtime: bytes | None, goals: bytes | None
    ) -> LiveSession:
        """Return the session that gave these bytes; replay_goals what came after the goals were written.

        Without ``runtime`` (an imported snapshot) the alignments are those of its purpose vector. Without
        ``goals`` the next event is the first. Raises CorruptedIdentityError: Bytes that can't be read;
        nothing is guessed in their place.
        """
        live = cls(snapshot)
        live._work = None
        if goals is not None:
            try:
                goals, link = part_goals(goals)
                live._goals, live._link = Goals.from_bytes(goals), SessionLink.from_bytes(link)
            except ValueError as error:
                raise CorruptedIdentityError(
                    f"goals of session {snapshot.session_id!r} can't be read: {error}"
                ) from error
        if runtime is not None:
            live._take(decode_runtime(runtime))
        elif snapshot.trajectory:
            live.has_evidence = True
            live._purpose.assume(snapshot.purpose_vector)
        return live

    @classmethod
    def continue_from(cls, previous: LiveSession, snapshot: SessionIdentitySnapshot) -> LiveSession:
        """Return a new session that follows ``previous``; ``snapshot`` gives its id and time (D3.5).

        Purpose, identity, oscillators, trajectory and predictions are the earlier session's to begin with; so
        are the goals, but as a prior only, so that a new task does not look foreign for long. None of it says
        anything about the new session: it has no evidence and no cross-session IC before it has events.
        """
        before = previous.snapshot
        snapshot.previous_session_id = before.session_id
        snapshot.crisis_threshold = before.crisis_threshold
        snapshot.purpose_vector = list(before.purpose_vector)
        snapshot.trajectory = [list(vector) for vector in before.trajectory]
        snapshot.cross_session_ic = None
        live = cls(snapshot)
        live._goals = previous._goals.as_prior(PRIOR_EVENTS)
        live._link = SessionLink.after(previous._link, previous._goals)
        live._before = Before(
            before.last_ic if previous.has_evidence else None,
            max(0, snapshot.timestamp_ms - before.timestamp_ms),
            array("d", before.kuramoto_phases).tobytes(),
        )
        live._purpose = previous._purpose.continued()
        live._predictions = PredictionTracker.from_state(previous._predictions.to_state())
        live._network = KuramotoNetwork(previous._network.phases, previous._network.coupling)
        live._network.advance(live._network.coupling)
        snapshot.kuramoto_phases, snapshot.coupling = live._network.phases, live._network.coupling
        return live

    @classmethod
    def begin_afresh(cls, previous: LiveSession | None, snapshot: SessionIdentitySnapshot) -> LiveSession:
        """Return a session that continues nothing; ``previous`` tells what all work shares."""
        snapshot.cross_session_ic = None
        live = cls(snapshot)
        if previous is not None:
            live._link.common = previous._link.common.copy()
        return live

    @property
    def continuity(self) -> float | None:
        """The cross-session IC, in [0, 1]; None where no session came before, or nothing is measured yet."""
        return self.snapshot.cross_session_ic if self.snapshot.previous_session_id else None

    @property
    def drift(self) -> DriftMetrics | None:
        """How far it is from the session before, by measured numbers only; None until all of them are."""
        measured, before = self.continuity, self._before
        if measured is None or before is None or before.ic is None or not self.has_evidence:
            return None
        return DriftMetrics(
            ic_delta=self.snapshot.last_ic - before.ic,
            purpose_drift=1.0 - measured,
            time_since_snapshot_ms=before.ago_ms,
            kuramoto_phase_drift=phase_drift(self.snapshot.kuramoto_phases, array("d", before.phases)),
        )

    @property
    def metrics(self) -> Metrics:
        """The measures after the last event; a session without evidence has the snapshot's defaults."""
        return Metrics.of_snapshot(self.snapshot, circling=self.circling)

    @property
    def circling(self) -> bool:
        """Whether the session goes in circles: the last tool results repeat each other, and r > 0.95."""
        return self._circles.repeats and self.snapshot.integration > SYNCHRONISED

    @property
    def circle(self) -> str:
        """What repeats, in a sentence (Circles.sentence); "" unless ``circling``."""
        return self._circles.sentence() if self.circling else ""

    @property
    def measures(self) -> ConsciousnessMeasures | None:
        """Seed 001's consciousness_state; None while nothing has been measured."""
        return self.metrics.reported() if self.has_evidence else None

    @property
    def classification(self) -> ICClassification | None:
        """Seed 001's ic_classification of the session's last IC; None while nothing has been measured."""
        if not self.has_evidence:
            return None
        return classified(self.snapshot.last_ic, self.snapshot.crisis_threshold)

    @property
    def sequence(self) -> int:
        """Number of this session's last event, its start included; counts from 1."""
        return sum(self.events_by_kind.values())

    @property
    def events_applied(self) -> int:
        """Events applied in this session, its starts aside: those make a session, the others befall it."""
        return self.sequence - self.events_by_kind.get(EventKind.SESSION_START.value, 0)

    @property
    def predictions_scored(self) -> int:
        """Forecasts of tool failure scored so far, those of continued sessions included."""
        return self._predictions.scored

    @property
    def forecast(self) -> ForecastScore:
        """How good the last of those forecasts were."""
        return self._predictions.score

    def apply(self, event: HookEvent) -> Outcome:
        """Take in one event; the caller has made sure that it is not one applied before.

        Tool results are measured against the goals and then absorbed by them. A prompt moves the goals and is
        not measured. Anything else only counts: a call that has not run yet says nothing that its result will
        not say, and the prediction of its success rests on the results before it. What a subagent does, and
        what the client says in the place of a prompt, counts too and does nothing else: it is not what the
        session is about.

        Cost: some 120 us for 4 KB of text.
        """
        if not self.events_by_kind:
            self._root = root_of(event.cwd)
        self.events_by_kind[event.counted_as] = self.events_by_kind.get(event.counted_as, 0) + 1
        self.snapshot.timestamp_ms = max(self.snapshot.timestamp_ms, event.at_ms)
        if event.kind is EventKind.SESSION_START and event.source == "compact":
            self.told = None
        if event.is_prompt:
            self._read(event)
            self._absorb(prompt=True)
            self._purpose.prompt()
            self._circles.prompt()
        elif _is_own_result(event):
            self._predict(event)
            self._circles.observe(event)
            self._read(event)
            comparison = self._goals.compare(_READER)
            before = self._work.events if self._work is not None else 0
            self._absorb()
            now = self._work.events if self._work is not None else 0
            if not comparison.is_empty:
                return replace(self._measure(event, comparison), work_events=now if now > before else 0)
            self._reflect()
        return Outcome(measured=False, metrics=self.metrics, coupling=self.snapshot.coupling)

    def replay_goals(self, event: HookEvent) -> None:
        """Let an event that was applied before the restore move the goals again, and nothing else.

        After the events since the goals were written, the goals are bit for bit what they were, and so is
        what ties the session to the one before.
        """
        if event.is_prompt or _is_own_result(event):
            self._read(event)
            self._absorb(prompt=event.is_prompt)

    def work(self, events: Callable[[], Iterable[HookEvent]]) -> Work:
        """Return what the session itself has been about.

        Args:
            events: Its last events, oldest first; asked once, in a session that was restored.
        """
        if self._work is None:
            self._work = Work()
            for event in events():
                if event.is_prompt or _is_own_result(event):
                    self._read(event)
                    self._work.absorb(_READER, prompt=event.is_prompt)
        return self._work

    def alignment(self, texts: Iterable[str]) -> Alignment | None:
        """Return how the purpose vector aligns with what ``texts`` are about; changes nothing.

        Returns:
            None while the session has no goals yet, or where the texts share no view with them.

        Cost: some 60 us a text of 4 KB.
        """
        comparisons = []
        for text in texts:
            _READER.read(relative_paths(text, self._root), "")
            comparisons.append(self._goals.compare(_READER))
        return align(self._purpose, comparisons)

    def claim_dream(self, at_ms: int) -> bool:
        """Return whether the crisis may request a dream at ``at_ms``; True starts the cool-down (D3.7)."""
        return self._monitor.claim_dream(at_ms)

    def close_crisis(self) -> bool:
        """Close the answered crisis; False if there is none. The next low IC opens another."""
        if not self._monitor.is_crisis():
            return False
        self._monitor.reset_crisis()
        return True

    def runtime_bytes(self) -> bytes:
        """Return the state that restore needs beside snapshot and goals; some 2 KB."""
        purpose = self._purpose
        rates, scored, forecasts, calls = self._predictions.to_state()
        return encode_runtime(
            Runtime(
                alignment=purpose.alignment.tobytes(),
                level=purpose.level.tobytes(),
                identity=purpose.identity.tobytes(),
                since_prompt=purpose.events,
                has_evidence=self.has_evidence,
                root=self._root,
                predictions=(list(rates), [], scored),
                monitor=self._monitor.to_state(),
                events_by_kind=self.events_by_kind,
                events_duplicate=self.events_duplicate,
                ic_history=array("f", self.ic_history).tobytes(),
                before=self._before,
                circles=self._circles.to_state(),
                told=self.told,
                forecasts=(list(forecasts), list(calls)),
            )
        )

    def goals_bytes(self) -> bytes:
        """Return the goals and what ties it to the session before, lossless; 40 to 160 KB."""
        return join_goals(self._goals.to_bytes(), self._link.to_bytes())

    def _take(self, runtime: Runtime) -> None:
        purpose = self._purpose
        purpose.alignment = array("d", runtime.alignment)
        purpose.level = array("d", runtime.level)
        purpose.identity = array("d", runtime.identity)
        purpose.events = runtime.since_prompt
        self.has_evidence = runtime.has_evidence
        self.events_by_kind = runtime.events_by_kind
        self.events_duplicate = runtime.events_duplicate
        self.ic_history.extend(array("f", runtime.ic_history))
        self._root = runtime.root
        self._before = runtime.before
        self.told = runtime.told
        self._predictions = PredictionTracker.from_state(_predictions_of(runtime))
        self._monitor = ICMonitor.from_state(runtime.monitor, self.snapshot.crisis_threshold)
        self._circles = Circles() if runtime.circles is None else Circles.from_state(runtime.circles)

    def _absorb(self, *, prompt: bool = False) -> None:
        """Take the text just read into the goals, and compare it with the session before if that is open."""
        self._goals.absorb(_READER, prompt=prompt)
        if self._work is not None:
            self._work.absorb(_READER, prompt=prompt)
        continuity = self._link.absorb(_READER, prompt=prompt)
        if continuity is not None:
            self.snapshot.cross_session_ic = array("f", [continuity])[0]  # as it will be stored

    def _read(self, event: HookEvent) -> None:
        """Absolute paths below the session's first folder read as relative ones.

        Tools name a file both ways, and the folders above a project are the same for all of its work. The
        root stays when the session changes its folder; one that began without a folder has each event's own.
        """
        root = self._root or root_of(event.cwd)
        _READER.read(relative_paths(event.input_text, root), relative_paths(event.output_text, root))

    def _predict(self, event: HookEvent) -> None:
        success = event.kind is EventKind.POST_TOOL and event.success is not False
        head = command_head(event.parts.command)
        self._predictions.record(event.tool_name, head, success, event.input_text)

    def _measure(self, event: HookEvent, comparison: Comparison) -> Outcome:
        reading = self._purpose.observe(comparison)
        r = self._network.advance(coupling_for(reading.coherence))
        ic = identity_continuity(reading.purpose_vector, reading.identity, r)
        metrics = measure(r, self._predictions.accuracy, reading.purpose_vector, ic)
        self.has_evidence = True
        self.ic_history.append(array("f", [ic])[0])
        snapshot = self.snapshot
        snapshot.purpose_vector = unit(reading.purpose_vector)
        snapshot.append_to_trajectory(snapshot.purpose_vector)
        snapshot.kuramoto_phases, snapshot.coupling = self._network.phases, self._network.coupling
        snapshot.last_ic = ic
        self._note(metrics)
        change = self._monitor.observe(ic)
        return Outcome(
            measured=True,
            metrics=self.metrics,
            coupling=snapshot.coupling,
            crisis_entered=change.entered_crisis,
            warning_entered=change.entered_warning,
            dream_requested=change.entered_crisis and self.claim_dream(event.at_ms),
        )

    def _reflect(self) -> None:
        """Let R, and C with it, follow a result in which nothing could be compared; the rest stays."""
        if self.has_evidence:
            now = self.snapshot
            accuracy = self._predictions.accuracy
            self._note(measure(now.integration, accuracy, now.purpose_vector, now.last_ic))

    def _note(self, metrics: Metrics) -> None:
        snapshot = self.snapshot
        snapshot.consciousness, snapshot.integration = metrics.consciousness, metrics.integration
        snapshot.reflection, snapshot.differentiation = metrics.reflection, metrics.differentiation


def _is_own_result(event: HookEvent) -> bool:
    """Return whether it is the result of a call of the session itself: what subagents do is not its work."""
    return event.kind in MEASURED and not event.is_delegated


def _predictions_of(runtime: Runtime) -> Sequence[Any]:
    rates, _, scored = runtime.predictions
    return (rates, 0, (), ()) if runtime.forecasts is None else (rates, scored, *runtime.forecasts)


def _network_of(snapshot: SessionIdentitySnapshot) -> KuramotoNetwork:
    """Return the snapshot's oscillators; zero phases mean one that starts synchronised (D3.1)."""
    if not any(snapshot.kuramoto_phases):
        return KuramotoNetwork.synchronised()
    return KuramotoNetwork(snapshot.kuramoto_phases, snapshot.coupling)
