"""A live session: what its events make of it, its alarms, its life across restarts and sessions."""

from __future__ import annotations

import copy
import math
from array import array
from dataclasses import replace

import msgspec
import pytest
from tests.support.agent_events import LABELS, SHADER, TARIFF, prompt, tool

from context_graph.errors import CorruptedIdentityError
from context_graph.identity.brief import COLD_BRIEF, brief_line
from context_graph.identity.continuity import DREAM_COOLDOWN_MS, identity_continuity
from context_graph.identity.live import LiveSession, Outcome
from context_graph.identity.runtime import Runtime
from context_graph.model import KURAMOTO_N, NOTIFICATION, EventKind, HookEvent, SessionIdentitySnapshot

DRIFT = TARIFF + SHADER[1:7]
RETURN = DRIFT + TARIFF[1:]


def fresh(session_id: str = "one") -> LiveSession:
    return LiveSession(SessionIdentitySnapshot(session_id=session_id, timestamp_ms=0))


def play(live: LiveSession, events: list[HookEvent]) -> list[Outcome]:
    return [live.apply(event) for event in events]


def state(live: LiveSession) -> tuple[SessionIdentitySnapshot, bytes, bytes]:
    """All there is of a session."""
    return copy.deepcopy(live.snapshot), live.runtime_bytes(), live.goals_bytes()


def restored(live: LiveSession) -> LiveSession:
    return LiveSession.restore(*state(live))


def other_kinds(at_ms: int = 5) -> list[HookEvent]:
    kinds = (
        EventKind.SESSION_START,
        EventKind.PRE_TOOL,
        EventKind.STOP,
        EventKind.PRE_COMPACT,
        EventKind.SESSION_END,
    )
    return [
        HookEvent(
            kind, "s", f"{kind}", at_ms=at_ms, tool_name="Bash", input_text="cargo run", output_text="frame"
        )
        for kind in kinds
    ]


# --- evidence ---


def test_a_fresh_session_says_that_it_knows_nothing() -> None:
    """REQ-SESSION-09: the brief stays cold until there is something to say."""
    live = fresh()
    assert not live.has_evidence
    assert brief_line(live.metrics if live.has_evidence else None) == COLD_BRIEF
    assert (live.metrics.ic, live.metrics.consciousness) == (1.0, 0.0)
    assert live.snapshot.kuramoto_phases == [0.0] * KURAMOTO_N
    assert live.snapshot.coupling == 0.5
    assert live.snapshot.trajectory == []


def test_the_first_event_of_a_session_without_prompt_has_nothing_to_be_measured_against() -> None:
    live = fresh()
    first, second = play(live, TARIFF[1:3])
    assert (first.measured, second.measured) == (False, True)
    assert live.has_evidence


def test_an_event_without_text_is_not_measured() -> None:
    live = fresh()
    play(live, TARIFF[:4])
    before = state(live)[0].trajectory
    assert not live.apply(tool(("TodoRead", "", ""), at_ms=99)).measured
    assert live.snapshot.trajectory == before


def test_only_tool_results_are_measured_and_only_prompts_move_the_goal_beside_them() -> None:
    live = fresh()
    play(live, TARIFF[:5])
    goals, ic = live.goals_bytes(), live.snapshot.last_ic
    for event in other_kinds():
        outcome = live.apply(event)
        assert not outcome.measured
        assert outcome.metrics == live.metrics
    assert (live.goals_bytes(), live.snapshot.last_ic) == (goals, ic)
    assert not live.apply(prompt("Now make the island zone cheaper", at_ms=100)).measured
    assert live.goals_bytes() != goals
    assert live.snapshot.last_ic == ic


# --- what is computed ---


def test_focused_work_stays_healthy() -> None:
    for events in (TARIFF, LABELS, SHADER):
        live = fresh()
        outcomes = play(live, events)
        measured = [outcome for outcome in outcomes if outcome.measured]
        assert len(measured) == len(events) - 1
        assert all(outcome.metrics.ic >= 0.9 for outcome in measured)
        assert not any(outcome.crisis_entered or outcome.warning_entered for outcome in outcomes)


def test_every_number_of_the_snapshot_comes_from_the_event() -> None:
    """REQ-SESSION-05, IDENTITY-001, GWT-001: IC = cos(PV_t, PV_{t-1}) * r; C = I * R * D."""
    live = fresh()
    play(live, TARIFF[:8])
    identity, before = list(live._purpose.identity), copy.deepcopy(live.snapshot)
    metrics = live.apply(TARIFF[8]).metrics
    snapshot = live.snapshot
    assert snapshot.purpose_vector != before.purpose_vector
    assert snapshot.trajectory[:-1] == before.trajectory
    assert snapshot.trajectory[-1] == snapshot.purpose_vector
    assert snapshot.kuramoto_phases != before.kuramoto_phases
    ic = identity_continuity(snapshot.purpose_vector, identity, snapshot.integration)
    assert snapshot.last_ic == pytest.approx(ic)
    assert 0.9 < snapshot.integration < 1.0
    assert math.isclose(
        snapshot.consciousness, snapshot.integration * snapshot.reflection * snapshot.differentiation
    )
    assert (metrics.ic, metrics.consciousness) == (snapshot.last_ic, snapshot.consciousness)
    assert snapshot.timestamp_ms == TARIFF[8].at_ms
    assert len(snapshot.purpose_vector) == KURAMOTO_N
    assert all(map(math.isfinite, snapshot.purpose_vector))


def test_coupling_follows_the_coherence_of_the_work() -> None:
    """D3.1: K from 0.5 to 4."""
    live = fresh()
    play(live, TARIFF)
    focused = live.snapshot.coupling
    couplings = [live.apply(event).coupling for event in SHADER[1:7]]
    assert focused > 3.5
    assert min(couplings) < 2.0
    assert all(0.5 <= coupling <= 4.0 for coupling in couplings)


def test_the_trajectory_keeps_fifty_vectors() -> None:
    """REQ-SESSION-02."""
    live = fresh()
    play(live, (TARIFF * 6)[:70])
    assert len(live.snapshot.trajectory) == 50
    assert live.snapshot.trajectory[-1] == live.snapshot.purpose_vector


def test_the_ic_history_keeps_two_hundred_single_precision_values() -> None:
    live = fresh()
    play(live, TARIFF * 20)
    assert len(live.ic_history) == 200
    assert live.ic_history[-1] == array("f", [live.snapshot.last_ic])[0]
    assert list(restored(live).ic_history) == list(live.ic_history)


def test_reflection_falls_with_a_failure_nobody_foresaw_and_recovers_with_those_that_were() -> None:
    live = fresh()
    for i in range(12):
        live.apply(tool(("Bash", "pytest tests/tariff", "8 passed in parcel_tariff"), at_ms=i))
    before = live.metrics.reflection
    assert before > 0.5
    assert live.predictions_scored == 12
    live.apply(tool(("Bash", "pytest tests/tariff", "!1 failed in parcel_tariff"), at_ms=100))
    surprised = live.metrics.reflection
    assert surprised < before - 0.1
    for i in range(20):
        live.apply(tool(("Bash", "pytest tests/tariff", "!1 failed in parcel_tariff"), at_ms=101 + i))
    assert live.metrics.reflection > surprised


def test_a_session_in_which_nothing_fails_reads_emerging_or_conscious() -> None:
    """From its first event on, and with four passing runs a rem consolidation is allowed."""
    live, names = fresh(), []
    for i in range(40):
        outcome = live.apply(
            tool(("Bash", f"pytest tests/tariff -k {i}", "8 passed in parcel_tariff"), at_ms=i)
        )
        if outcome.measured:
            names.append(outcome.metrics.state.name)
        if i == 3:
            assert outcome.metrics.consciousness >= 0.6
    assert set(names) == {"EMERGING", "CONSCIOUS"} and names[-1] == "CONSCIOUS"


def test_what_is_shown_moves_with_a_result_that_has_nothing_to_compare() -> None:
    live = fresh()
    play(live, TARIFF)
    before = live.metrics
    for i in range(2):
        outcome = live.apply(tool(("Bash", "", "!"), at_ms=10**6 + i))
        assert not outcome.measured
        assert outcome.metrics == live.metrics
        assert live.metrics.reflection < before.reflection
        assert live.metrics.consciousness < before.consciousness
        assert (live.metrics.ic, live.metrics.r) == (before.ic, before.r)
        before = live.metrics


def test_what_subagents_do_is_not_forecast() -> None:
    live = fresh()
    play(live, TARIFF)
    state = live._predictions.to_state()
    event = tool(("Bash", "pytest tests/tariff", "!1 failed in parcel_tariff"), at_ms=10**6)
    event.agent_id = "a1"
    live.apply(event)
    assert live._predictions.to_state() == state


def test_a_session_stored_before_forecasts_were_scored_keeps_its_rates_and_begins_the_score_afresh() -> None:
    live = fresh()
    play(live, TARIFF)
    fields = msgspec.msgpack.decode(live.runtime_bytes()[4:])
    place = list(Runtime.__struct_fields__).index("forecasts")
    old = b"CGR\x01" + msgspec.msgpack.encode(fields[:place])
    again = LiveSession.restore(live.snapshot, old, live.goals_bytes())
    rates, scored, forecasts, calls = again._predictions.to_state()
    assert rates == live._predictions.to_state()[0] != ()
    assert (scored, forecasts, calls) == (0, (), ())
    again.apply(tool(("Bash", "pytest tests/tariff", "8 passed in parcel_tariff"), at_ms=10**6))
    assert (again.predictions_scored, again.forecast.calls) == (1, 1)


def test_before_anything_was_measured_there_is_no_level() -> None:
    live = fresh()
    assert (live.classification, live.measures, live.forecast.skill) == (None, None, None)
    play(live, TARIFF[:3])
    assert live.classification is not None and live.classification.value == live.snapshot.last_ic


def test_a_result_that_says_it_failed_counts_as_a_failure() -> None:
    """REQ-HOOKS-05: --success false on post-tool."""
    told, kind = fresh("a"), fresh("b")
    for i in range(3):
        step = ("Bash", "pytest", "parcel")
        event = tool(step, at_ms=i)
        event.success = False
        told.apply(event)
        kind.apply(tool(step, at_ms=i, kind=EventKind.POST_TOOL_FAILURE))
    assert told._predictions.to_state() == kind._predictions.to_state()


def test_what_was_applied_is_counted_by_kind() -> None:
    live = fresh()
    play(live, TARIFF + other_kinds())
    live.events_duplicate += 1
    assert live.sequence == len(TARIFF) + 5
    assert live.events_applied == len(TARIFF) + 4
    assert live.events_by_kind["prompt-submit"] == 1
    assert live.events_by_kind["post-tool-failure"] == 1
    assert live.events_by_kind["session-start"] == 1
    assert live.events_duplicate == 1


def test_time_never_runs_backwards() -> None:
    """An event that waited in the log may be older than the last one."""
    live = fresh()
    play(live, [TARIFF[5], TARIFF[1]])
    assert live.snapshot.timestamp_ms == TARIFF[5].at_ms


# --- drift ---


def test_foreign_work_is_a_warning_within_three_events_a_crisis_within_six_and_the_return_ends_it() -> None:
    """REQ-SESSION-07, REQ-SESSION-14, TC-SESSION-10: reached, asks for one dream, and left again."""
    live = fresh()
    outcomes = play(live, RETURN)
    values = [outcome.metrics.ic for outcome in outcomes]
    cut, back = len(TARIFF), len(DRIFT)
    assert min(values[cut : cut + 3]) < 0.7
    assert min(values[cut : cut + 6]) < 0.5
    assert min(values[back + 2 :]) >= 0.7
    entered = [i for i, outcome in enumerate(outcomes) if outcome.crisis_entered]
    assert cut <= entered[0] < cut + 6
    assert outcomes[entered[0]].dream_requested
    assert not live._monitor.is_crisis()


def test_another_task_of_the_project_without_prompt_dips_and_a_prompt_announces_it() -> None:
    silent, announced = fresh("a"), fresh("b")
    without = [outcome.metrics.ic for outcome in play(silent, TARIFF + LABELS[1:])][len(TARIFF) :]
    with_prompt = [outcome.metrics.ic for outcome in play(announced, TARIFF + LABELS)][len(TARIFF) + 1 :]
    assert min(without) < min(with_prompt)
    assert min(with_prompt) > 0.9


def test_persistent_foreign_work_becomes_the_work() -> None:
    """IC is an alarm of change and no state."""
    live = fresh()
    play(live, TARIFF)
    values = [live.apply(event).metrics.ic for event in SHADER[1:] * 3]
    assert min(values) < 0.5
    assert min(values[-6:]) > 0.9


def foreign_work(name: str, at_ms: int) -> list[HookEvent]:
    """Six tool results, each with words that none before it has."""

    def words(i: int) -> str:
        pairs = enumerate("fghkm")
        return " ".join(f"{name[j:]}{name[:i]}_{letter} {letter.upper()}{name[i:]}{j}" for j, letter in pairs)

    steps = [("Read", f"{name[i:]}/{words(i)}.zig", f"{words(i)} {words(i + 1)[::-1]}") for i in range(6)]
    return [tool(step, at_ms=at_ms + i) for i, step in enumerate(steps)]


def test_two_crises_within_the_cool_down_request_one_dream() -> None:
    """D3.7."""
    live = fresh()
    play(live, TARIFF)
    asked = []
    for i, name in enumerate(("quokkaforest", "zephyrwindow", "brambleshelf")):
        crisis = [
            outcome
            for outcome in play(live, foreign_work(name, 1_000_000 + i * DREAM_COOLDOWN_MS // 2))
            if outcome.crisis_entered
        ]
        assert crisis, "the case must show something"
        asked.append(sum(outcome.dream_requested for outcome in crisis))
        play(live, TARIFF[1:])
    assert asked == [1, 0, 1]


def test_the_snapshots_own_threshold_decides_what_a_crisis_is() -> None:
    snapshot = SessionIdentitySnapshot(session_id="strict", timestamp_ms=0, crisis_threshold=0.99)
    live = LiveSession(snapshot)
    assert play(live, TARIFF[:2])[1].crisis_entered


# --- restarts ---


@pytest.mark.parametrize("at", [0, 1, 2, 7, len(DRIFT) - 3])
def test_a_restart_at_any_event_changes_nothing(at: int) -> None:
    """Invariant 6; REQ-SESSION-04: what was stored goes on exactly."""
    straight, stopped = fresh(), fresh()
    play(straight, RETURN)
    play(stopped, RETURN[:at])
    stopped = restored(stopped)
    play(stopped, RETURN[at:])
    assert state(stopped) == state(straight)


@pytest.mark.parametrize("checkpoint", [0, 3, 16])
def test_goals_replayed_from_a_checkpoint_are_bit_for_bit_the_live_ones(checkpoint: int) -> None:
    live = fresh()
    play(live, RETURN[:checkpoint])
    goals = live.goals_bytes()
    after = RETURN[checkpoint:] + other_kinds()
    play(live, after)
    again = LiveSession.restore(copy.deepcopy(live.snapshot), live.runtime_bytes(), goals)
    for event in after:
        again.replay_goals(event)
    assert state(again) == state(live)


def test_replay_reads_paths_as_they_were_read() -> None:
    """The root of relative paths is fixed by the first event, and is known before anything is replayed."""
    moved = [copy.copy(event) for event in TARIFF]
    for i, event in enumerate(moved):
        event.cwd = "/home/u/harbor" if i < 4 else "/home/u/harbor/tests"
        event.output_text = event.output_text.replace("harbor/", "/home/u/harbor/harbor/")
    live = fresh()
    play(live, moved[:6])
    goals = live.goals_bytes()
    play(live, moved[6:])
    again = LiveSession.restore(copy.deepcopy(live.snapshot), live.runtime_bytes(), goals)
    for event in moved[6:]:
        again.replay_goals(event)
    assert again.goals_bytes() == live.goals_bytes()


def test_absolute_and_relative_paths_are_the_same_file() -> None:
    relative, absolute = fresh("a"), fresh("b")
    play(relative, TARIFF)
    moved = [copy.copy(event) for event in TARIFF]
    for event in moved:
        event.cwd = "/home/u/work/harbor-repo"
        event.output_text = event.output_text.replace("\nharbor/", "\n/home/u/work/harbor-repo/harbor/")
        event.input_text = event.input_text.replace(
            "harbor/tariff", "/home/u/work/harbor-repo/harbor/tariff", 1
        )
    play(absolute, moved)
    assert absolute.goals_bytes() == relative.goals_bytes()


def test_an_imported_session_goes_on_from_its_purpose_vector() -> None:
    live = fresh()
    play(live, DRIFT)
    imported = LiveSession.restore(copy.deepcopy(live.snapshot), None, None)
    assert imported.has_evidence
    assert imported.metrics == live.metrics
    vector = list(imported._purpose.vector)
    assert [value / math.hypot(*vector) for value in vector] == pytest.approx(live.snapshot.purpose_vector)
    untouched = LiveSession.restore(SessionIdentitySnapshot(session_id="new"), None, None)
    assert not untouched.has_evidence


def test_damaged_state_is_an_error_and_never_a_fresh_start() -> None:
    """REQ-SESSION-17: corruption is named."""
    live = fresh()
    play(live, TARIFF)
    snapshot, runtime, goals = state(live)
    for bad_runtime, bad_goals in [
        (b"", goals),
        (b"CGR\x02" + runtime[4:], goals),
        (runtime[:-1], goals),
        (runtime + b"\0", goals),
        (runtime[:60], goals),
        (runtime, b""),
        (runtime, goals[:-1]),
    ]:
        with pytest.raises(CorruptedIdentityError):
            LiveSession.restore(copy.deepcopy(snapshot), bad_runtime, bad_goals)


# --- from session to session ---


CGR = b"CGR\x01"


def continued(live: LiveSession, session_id: str = "two", at_ms: int = 500_000) -> LiveSession:
    return LiveSession.continue_from(live, SessionIdentitySnapshot(session_id=session_id, timestamp_ms=at_ms))


def test_a_continued_session_carries_the_purpose_and_is_its_own() -> None:
    """REQ-SESSION-06, REQ-SESSION-12, REQ-HOOKS-24: linked, with vector, phases and trajectory."""
    one = fresh()
    play(one, TARIFF)
    before = state(one)
    two = continued(one)
    snapshot = two.snapshot
    assert (snapshot.session_id, snapshot.previous_session_id) == ("two", "one")
    assert snapshot.purpose_vector == one.snapshot.purpose_vector
    assert snapshot.trajectory == one.snapshot.trajectory
    assert snapshot.coupling == one.snapshot.coupling
    assert two.predictions_scored == one.predictions_scored
    assert (two.events_applied, list(two.ic_history)) == (0, [])
    play(two, SHADER)
    assert state(one) == before


def test_what_was_taken_over_is_no_evidence() -> None:
    """D3.5 as it is now: nothing is known of a session that only has another's numbers."""
    one = fresh()
    play(one, TARIFF)
    two = continued(one)
    assert (two.has_evidence, two.measures, two.continuity, two.drift) == (False, None, None, None)
    two.apply(TARIFF[0])
    two.apply(TARIFF[1])
    assert two.has_evidence and two.continuity is None


def test_it_takes_a_prompt_and_three_results_to_measure_the_session_before() -> None:
    one = fresh()
    play(one, TARIFF)
    without_prompt, two = continued(one), continued(one)
    play(without_prompt, TARIFF[1:9])
    assert without_prompt.continuity is None
    for event in TARIFF[:3]:
        two.apply(event)
        assert two.continuity is None and two.drift is None
    two.apply(TARIFF[3])
    measured = two.continuity
    assert measured is not None and measured > 0.9
    drift = two.drift
    assert drift is not None and drift.purpose_drift == pytest.approx(1.0 - measured)
    assert drift.time_since_snapshot_ms == 500_000 - one.snapshot.timestamp_ms
    assert drift.ic_delta == pytest.approx(two.snapshot.last_ic - one.snapshot.last_ic)
    assert 0.0 < drift.kuramoto_phase_drift <= math.pi
    play(two, SHADER)
    assert two.continuity == measured  # it is said of how a session began


def test_other_work_is_new_work_whether_or_not_the_prompt_says_so() -> None:
    for task in (LABELS, SHADER):
        for opening in (task[0], prompt("continue", at_ms=1)):
            one = fresh()
            play(one, TARIFF)
            two = continued(one)
            play(two, [opening, *task[1:]])
            assert two.continuity is not None and two.continuity < 0.5
            drift = two.drift
            assert drift is not None and drift.purpose_drift > 0.5


def test_the_comparison_survives_a_restart_at_any_event() -> None:
    one = fresh()
    play(one, TARIFF)
    whole = continued(one)
    play(whole, LABELS)
    for at in range(6):
        two = continued(one)
        play(two, LABELS[:at])
        two = restored(two)
        play(two, LABELS[at:])
        assert state(two) == state(whole)


def test_events_replayed_on_old_goals_measure_the_same() -> None:
    one = fresh()
    play(one, TARIFF)
    two = continued(one)
    goals = two.goals_bytes()
    play(two, TARIFF)
    again = LiveSession.restore(copy.deepcopy(two.snapshot), two.runtime_bytes(), goals)
    for event in TARIFF:
        again.replay_goals(event)
    assert state(again) == state(two)


def test_a_session_stored_before_this_was_measured_opens_and_stays_unknown() -> None:
    """Its goals have no link behind them, its runtime no session before; a new one measures against it."""
    one = fresh()
    play(one, TARIFF)
    old = continued(one)
    play(old, TARIFF[:2])
    snapshot = copy.deepcopy(old.snapshot)
    snapshot.cross_session_ic = None  # as a record of version 1 reads
    runtime = CGR + msgspec.msgpack.encode(msgspec.msgpack.decode(old.runtime_bytes()[4:])[:-1])
    live = LiveSession.restore(snapshot, runtime, old._goals.to_bytes())
    play(live, TARIFF[2:])
    assert (live.continuity, live.drift) == (None, None)
    following = continued(live, "three")
    play(following, TARIFF)
    assert following.continuity is not None and following.continuity > 0.9


def test_damaged_links_are_errors() -> None:
    one = fresh()
    play(one, TARIFF)
    two = continued(one)
    play(two, TARIFF[:2])
    snapshot, runtime, goals = state(two)
    for bad in (goals[:6], goals[:-1], goals + b"\0", goals[:8]):
        with pytest.raises(CorruptedIdentityError):
            LiveSession.restore(copy.deepcopy(snapshot), runtime, bad)


def test_the_same_task_goes_on_in_a_new_session_without_alarm() -> None:
    one = fresh()
    play(one, TARIFF[:7])
    two = continued(one)
    outcomes = play(two, TARIFF[7:])
    assert all(outcome.measured and outcome.metrics.ic >= 0.9 for outcome in outcomes)


def test_a_new_task_announced_in_a_new_session_raises_no_alarm() -> None:
    for task in (LABELS, SHADER):
        one = fresh()
        play(one, TARIFF)
        two = continued(one)
        assert not any(o.crisis_entered or o.warning_entered for o in play(two, task))


def test_a_session_that_continues_one_without_evidence_has_none() -> None:
    two = continued(fresh())
    assert not two.has_evidence
    assert two.metrics.consciousness == 0.0
    play(two, TARIFF)
    assert (two.continuity, two.drift) == (None, None)


def test_a_chain_of_sessions_survives_restarts() -> None:
    live = fresh()
    play(live, TARIFF)
    for i in range(4):
        live = continued(restored(live), f"s{i}", at_ms=1_000_000 * (i + 1))
        play(live, LABELS)
    assert live.snapshot.previous_session_id == "s2"
    assert len(live.snapshot.trajectory) == len(TARIFF) - 1 + 4 * (len(LABELS) - 1)
    assert min(live.ic_history) > 0.9


# --- size ---


def test_runtime_is_compact_and_goals_are_bounded() -> None:
    live = fresh()
    assert len(live.runtime_bytes()) < 600
    assert len(live.goals_bytes()) < 500
    for i in range(300):
        words = " ".join(f"name{i}x{j} folder{i % 50}/file{j}.py" for j in range(60))
        live.apply(tool(("Bash", f"run{i % 40} {words}"[:2048], words[:2048]), at_ms=i))
    assert len(live.runtime_bytes()) < 4096
    assert len(live.goals_bytes()) < 13 * (4096 * 6 + 30) + 4


# --- whose work it is ---

RECIPES = [
    "Traduire: battre les oeufs avec le sucre, ajouter la farine et le beurre fondu, laisser reposer la pate",
    "crepes.md Mix the eggs with sugar, add flour and melted butter, let the batter rest for an hour",
    "ratatouille.md aubergines, courgettes, tomates et poivrons; cuire a feu doux quarante minutes",
    "tarte.md pommes, cannelle, pate brisee; enfourner a 180 degres pendant trente-cinq minutes",
]


def by_an_agent() -> list[HookEvent]:
    """A subagent that translates recipes: its calls, the call that had it work, and how that is reported."""
    calls = [
        replace(tool(("Write", text, text.upper())), agent_id="a1", event_id=f"a{n}")
        for n, text in enumerate(RECIPES)
    ]
    pre = replace(calls[0], kind=EventKind.PRE_TOOL, event_id="pre")
    failed = replace(calls[1], kind=EventKind.POST_TOOL_FAILURE, success=False, event_id="failed")
    delegated = [tool(("Agent", RECIPES[0], " ".join(RECIPES)))]
    report = replace(prompt(f"<task-notification>{RECIPES[2]}</task-notification>"), source=NOTIFICATION)
    stop = HookEvent(EventKind.SUBAGENT_STOP, "s", "stop", at_ms=0, agent_id="a1", output_text=RECIPES[3])
    return [pre, *calls, failed, *calls, stop, *delegated, report]


def measures(live: LiveSession) -> tuple[object, ...]:
    """All that is measured of a session, to the bit."""
    shown = copy.deepcopy(live.snapshot)
    shown.timestamp_ms = 0
    return shown, live.goals_bytes(), list(live.ic_history), live.predictions_scored, live.metrics


def test_a_subagent_s_work_does_not_move_the_session_by_a_bit() -> None:
    """Delegated work took the session that delegated it to an IC of 0.59, and told it so."""
    alone, with_agent, as_its_own = fresh(), fresh(), fresh()
    half = len(TARIFF) // 2
    play(alone, TARIFF)
    outcomes = play(with_agent, [*TARIFF[:half], *by_an_agent(), *TARIFF[half:]])
    assert measures(with_agent) == measures(alone)
    assert not any(one.measured for one in outcomes[half : half + len(by_an_agent())])
    own = [replace(event, agent_id="", source="") for event in by_an_agent()]
    play(as_its_own, [*TARIFF[:half], *own])
    assert min(as_its_own.ic_history) < 0.75 < min(with_agent.ic_history), "the case must show something"
    assert with_agent.events_by_kind["subagent"] == 10 and with_agent.events_by_kind["notification"] == 1
    assert with_agent.sequence == len(TARIFF) + len(by_an_agent())


def test_a_session_that_is_loaded_leaves_the_subagent_s_work_out_as_well() -> None:
    """Goals are made up from events: the same ones must move them."""
    events = [*TARIFF[:4], *by_an_agent(), *TARIFF[4:]]
    live = fresh()
    play(live, events[:3])
    old_goals = live.goals_bytes()
    play(live, events[3:])
    again = LiveSession.restore(copy.deepcopy(live.snapshot), live.runtime_bytes(), old_goals)
    for event in events[3:]:
        again.replay_goals(event)
    assert state(again) == state(live)
