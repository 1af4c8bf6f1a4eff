"""A store's view of itself, through Memex on a real database: pulse, status, curation, restarts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from context_graph.memory.embed import default_provider
from context_graph.memory.index.derived import METRICS_FILE
from context_graph.memory.memex import Memex
from context_graph.memory.metrics.metrics import MemeticStatus
from context_graph.memory.metrics.review_tasks import ReviewTask, TaskType
from context_graph.model.edge import CONSOLIDATION, MADE_BY
from context_graph.model.memory import MemoryNode, SuggestedAction
from context_graph.redact import Redactor

WHY = "needed by a test of introspection"
DAY_MS = 86_400_000
LIMIT = "The rate limit of the public API is {} requests per minute"
SUBJECTS = (
    "Penguins huddle together to survive Antarctic winters",
    "Bread dough needs to rest for an hour before baking",
    "The database migration failed because of a missing index",
    "Chess openings repay careful study of pawn structures",
    "Solar panels lose efficiency when they get too hot",
    "The violin was restored by a luthier in Cremona",
    "Tax returns are due at the end of July this year",
    "Volcanic soil is good for growing wine grapes",
    "The bridge was closed for repairs in the spring",
    "Octopuses have three hearts and blue blood",
    "Marathon runners drink water with a little salt",
    "The archive keeps letters from the eighteenth century",
    "Bees dance to tell where flowers are",
    "A glacier moves faster in the middle than at its sides",
)


@pytest.fixture
def memex(tmp_path: Path, redactor: Redactor) -> Iterator[Memex]:
    with Memex.open(tmp_path, redactor=redactor) as made:
        yield made


def store(memex: Memex, *texts: str, **how) -> list[MemoryNode]:
    return [memex.store(text, rationale=WHY, **how) for text in texts]


def tasks(memex: Memex) -> tuple[ReviewTask, ...]:
    return memex.status().curation_tasks


def kinds(memex: Memex) -> list[TaskType]:
    return [task.task_type for task in tasks(memex)]


def action(memex: Memex) -> SuggestedAction:
    return memex.pulse().suggested_action


def test_an_empty_store_wants_exploring(memex) -> None:
    """REQ-CORE-019: computed even when there is nothing."""
    pulse = memex.pulse()
    assert (pulse.entropy, pulse.coherence, pulse.suggested_action) == (0.0, 0.0, SuggestedAction.EXPLORE)


def test_a_store_that_told_nothing_yet_has_nothing_unsettled(memex) -> None:
    """REQ-CORE-003, REQ-CORE-019: the numbers are there; they are shares of nothing, and that is said."""
    store(memex, *SUBJECTS)
    pulse = memex.pulse()
    assert (pulse.entropy, pulse.coherence, pulse.suggested_action) == (0.0, 0.0, SuggestedAction.READY)
    assert "nothing was told yet" in memex.status().reason


def test_a_store_about_one_thing_is_ready(memex) -> None:
    """AC-CORE-04-03: healthy, nothing to do."""
    store(
        memex,
        "JWT tokens are signed by the login service",
        "The login service checks passwords before it signs JWT tokens",
        "JWT tokens from the login service expire after a day",
        "Partners get JWT tokens from the login service too",
    )
    status = memex.status()
    assert status.suggested_action is SuggestedAction.READY
    assert status.curation_tasks == ()


def test_finding_nothing_suggests_exploring_whatever_the_state(memex) -> None:
    """EC-CORE-004: the pulse of an empty recall."""
    store(memex, LIMIT.format(100), LIMIT.format(200))
    assert action(memex) is SuggestedAction.CURATE
    assert memex.pulse(empty_recall=True).suggested_action is SuggestedAction.EXPLORE


def test_the_pulse_is_json_of_some_thirty_tokens(memex) -> None:
    """REQ-CORE-003, TC-CORE-004."""
    store(memex, *SUBJECTS)
    shown = memex.pulse().as_dict()
    assert set(shown) == {"entropy", "coherence", "suggested_action"}
    assert default_provider().count_tokens(json.dumps(shown)) <= 40


def test_long_texts_are_compared_when_the_status_is_asked_for(memex) -> None:
    """REQ-CORE-017, REQ-CORE-019: a pulse has no time for them, and they don't keep others waiting."""
    long = (
        "The build of the northern warehouse starts at dawn and the crane needs its certificate first. " * 9
    )
    store(memex, long, SUBJECTS[0], long + " ", SUBJECTS[0].lower() + ".")
    assert action(memex) is SuggestedAction.CURATE  # the short ones
    assert {task.nodes for task in tasks(memex)} == {2}
    assert kinds(memex) == [TaskType.DUPLICATE, TaskType.DUPLICATE]


def test_long_texts_wait_through_a_restart(tmp_path: Path, redactor: Redactor) -> None:
    long = (
        "The build of the northern warehouse starts at dawn and the crane needs its certificate first. " * 9
    )
    with Memex.open(tmp_path, redactor=redactor) as memex:
        store(memex, long, long + " ")
        assert action(memex) is not SuggestedAction.CURATE
    with Memex.open(tmp_path, redactor=redactor) as memex:
        assert action(memex) is not SuggestedAction.CURATE
        assert kinds(memex) == [TaskType.DUPLICATE]
        assert action(memex) is SuggestedAction.CURATE


def test_the_same_text_twice_is_a_duplicate_until_one_goes(memex) -> None:
    """REQ-CORE-017, AC-CORE-04-02: with type, targets and priority."""
    nodes = store(memex, SUBJECTS[0], SUBJECTS[1], SUBJECTS[0].lower() + ".")
    assert action(memex) is SuggestedAction.CURATE
    (task,) = tasks(memex)
    assert task.as_dict() == {
        "task_type": "duplicate",
        "target_nodes": sorted(str(node.id) for node in (nodes[0], nodes[2])),
        "nodes": 2,
        "priority": "normal",
        "reason": "say the same",
        "ended_by": {"forget_memory": "all but one", "link_memories": "to keep both"},
    }
    memex.forget(nodes[2].id)
    assert tasks(memex) == ()
    assert action(memex) is not SuggestedAction.CURATE
    memex.restore(nodes[2].id)
    assert kinds(memex) == [TaskType.DUPLICATE]


def test_copies_are_one_group_with_bounded_targets(memex) -> None:
    """REQ-CORE-017: fifteen copies are one task, not a hundred pairs."""
    memex.store_many([{"content": SUBJECTS[0], "rationale": WHY}] * 15)
    (task,) = tasks(memex)
    assert (task.nodes, len(task.target_nodes)) == (15, 10)


def test_texts_that_oppose_each_other_are_a_contradiction_until_it_is_settled(memex) -> None:
    """REQ-CORE-017: suspected from the words; an edge says what it is."""
    one, other = store(memex, LIMIT.format(100), LIMIT.format(200))
    (task,) = tasks(memex)
    assert (task.task_type, task.priority) == (TaskType.CONTRADICTION, "high")
    assert task.reason == "differ in: 100 / 200" or task.reason == "differ in: 200 / 100"
    memex.link(other.id, one.id, "contradicts")
    assert [task.reason for task in tasks(memex)] == ["linked as contradicting each other"]
    memex.link(other.id, one.id, "supersedes")
    assert tasks(memex) == ()


def test_an_answer_with_one_side_of_a_contradiction_says_what_is_to_be_clarified(memex) -> None:
    """REQ-CORE-003: it names the two, for whom their question is; others' answers say nothing of it."""
    first, second, other = store(memex, LIMIT.format(100), LIMIT.format(200), SUBJECTS[0])
    assert kinds(memex) == [TaskType.CONTRADICTION]
    for node in (first, second):
        pulse = memex.pulse(touched=[other.id, node.id])
        assert pulse.suggested_action is SuggestedAction.CLARIFY
        assert str(first.id)[:8] in pulse.about and str(second.id)[:8] in pulse.about
        assert pulse.as_dict()["about"] == pulse.about and "100" in pulse.about
    assert memex.pulse(touched=[other.id]).about == memex.pulse().about == ""
    assert "about" not in memex.pulse().as_dict()
    assert memex.pulse(touched=[first.id], empty_recall=True).suggested_action is SuggestedAction.EXPLORE
    memex.link(second.id, first.id, "supersedes")
    assert memex.pulse(touched=[first.id]).about == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LIMIT.format(100), LIMIT.format(200)),
        ("The export job supports IPv6", "The export job does not support IPv6"),
        ("The API Gateway's timeout is 30 seconds", "The timeout of the api gateway is 45 seconds"),
    ],
)
def test_a_contradiction_is_told_however_long_ago_the_other_was_stored(memex, one: str, other: str) -> None:
    """REQ-CORE-017: hundreds of memories lie between the two, most of them alike in words."""
    (first,) = store(memex, one)
    memex.store_many(between())
    (second,) = store(memex, other)
    (task,) = [task for task in tasks(memex) if task.task_type is TaskType.CONTRADICTION]
    assert set(task.target_nodes) == {first.id, second.id}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Billing supports IPv6", "Billing does not support IPv6"),
        ("The queue of the mailer is RabbitMQ", "The mailer's queue was RabbitMQ, now it is NATS"),
        ("Die Sicherungen sind verschlüsselt", "Die Sicherungen sind nicht verschlüsselt"),
    ],
)
def test_the_answer_that_brings_both_says_that_they_contradict_each_other(
    memex, one: str, other: str
) -> None:
    """REQ-CORE-003: with the first answer, though nobody has asked for the status."""
    (first,) = store(memex, one)
    memex.store_many(between())
    (second,) = store(memex, other)
    brought = [row.node.id for row in memex.recall(one, top_k=5).nodes]
    assert {first.id, second.id} <= {*brought}
    about = memex.pulse(touched=brought).about
    assert str(first.id)[:8] in about and str(second.id)[:8] in about


def test_what_is_to_be_compared_survives_a_restart(tmp_path: Path, redactor: Redactor) -> None:
    with Memex.open(tmp_path, redactor=redactor) as memex:
        store(memex, LIMIT.format(100))
        memex.store_many(between())
        store(memex, LIMIT.format(200))
    with Memex.open(tmp_path, redactor=redactor) as memex:
        assert TaskType.CONTRADICTION in kinds(memex)


def test_a_link_says_that_two_like_memories_are_meant_to_be_two(memex) -> None:
    """REQ-CORE-017: what was looked at is not shown again."""
    one, other = store(memex, SUBJECTS[0], SUBJECTS[0])
    assert kinds(memex) == [TaskType.DUPLICATE]
    memex.link(one.id, other.id)
    assert tasks(memex) == ()


def test_a_consolidation_s_own_link_answers_nothing(memex) -> None:
    """REQ-CORE-017: which of two that oppose each other holds is a person's word."""
    one, other = store(memex, LIMIT.format(100), LIMIT.format(200))
    memex.link(one.id, other.id, metadata={MADE_BY: CONSOLIDATION, "why": "cluster"})
    assert kinds(memex) == [TaskType.CONTRADICTION]
    (conflict,) = memex.insights([memex.get(one.id), memex.get(other.id)]).named(["conflicts"])["conflicts"]
    assert conflict["kind"] == "suspected"
    memex.link(one.id, other.id, "refines")
    assert kinds(memex) == []


def between() -> list[dict[str, str]]:
    """Hundreds of memories that share words with others, and oppose none."""
    texts = [
        f"The {topic} of service {n} has no limit, job or timeout" for n in range(60) for topic in "abcd"
    ]
    return [{"content": text, "rationale": WHY} for text in texts]


def aged(memex: Memex, *texts: str, **how) -> list[MemoryNode]:
    """Memories as an import brings them that were stored a month ago."""
    made = store(memex, *texts, **how)
    old = [
        replace(
            node,
            created_at_ms=node.created_at_ms - 30 * DAY_MS,
            last_accessed_ms=node.last_accessed_ms - 30 * DAY_MS,
            embedding=memex.embedding(node.id),
        )
        for node in made
    ]
    return memex.put_many(old)


def test_memories_that_hang_alone_and_are_old_and_unused_are_orphans(memex) -> None:
    """REQ-CORE-017: one task of low priority; each tool that it names ends it for a memory."""
    old = aged(memex, *SUBJECTS[1:5])
    aged(memex, SUBJECTS[5], importance=0.9)
    aged(memex, SUBJECTS[6], pinned=True)
    tagged = aged(memex, SUBJECTS[7], SUBJECTS[8], tags=("farm",))
    long_ago = old[0].created_at_ms - 300 * DAY_MS
    store(memex, SUBJECTS[9], occurred_at_ms=long_ago)  # it happened long ago, and came just now
    (task,) = tasks(memex)
    assert (task.task_type, task.priority) == (TaskType.ORPHAN, "low")
    assert set(task.target_nodes) == {node.id for node in old}
    assert list(task.as_dict()["ended_by"]) == ["get_memory", "link_memories", "forget_memory"]
    assert memex.accept(old[0].id).metadata["accepted"] is True
    memex.link(old[1].id, tagged[0].id)
    assert {node for task in tasks(memex) for node in task.target_nodes} == {node.id for node in old[2:]}
    memex.update([replace(old[2], tags=("chess",))])
    assert [task.target_nodes for task in tasks(memex)] == [(old[3].id,)]
    memex.forget(old[3].id)
    assert tasks(memex) == ()


def test_an_accepted_orphan_stays_accepted_through_a_restart(tmp_path: Path, redactor: Redactor) -> None:
    with Memex.open(tmp_path, redactor=redactor) as memex:
        one, other = aged(memex, *SUBJECTS[:2])
        assert kinds(memex) == [TaskType.ORPHAN]
        memex.accept(one.id)
    (tmp_path / METRICS_FILE).unlink()
    with Memex.open(tmp_path, redactor=redactor) as memex:
        assert [task.target_nodes for task in tasks(memex)] == [(other.id,)]


def test_orphans_don_t_pin_the_pulse(memex) -> None:
    """The task of low priority is for who asks for the status."""
    aged(memex, *SUBJECTS[:6])
    assert kinds(memex) == [TaskType.ORPHAN]
    assert action(memex) is SuggestedAction.READY


def test_the_concepts_are_the_memories_used_most(memex) -> None:
    """REQ-CORE-017: at most five, by uses, named by their own words; none that was never used."""
    nodes = store(memex, *SUBJECTS[:8])
    assert memex.status().top_active_concepts == ()
    for times, node in enumerate(nodes):
        for _ in range(times):
            memex.touch([node.id])
    concepts = memex.status().top_active_concepts
    assert [concept.id for concept in concepts] == [node.id for node in reversed(nodes[3:])]
    assert [concept.access_count for concept in concepts] == [7, 6, 5, 4, 3]
    assert concepts[0].name == "Volcanic soil is good for growing wine grapes"
    memex.forget(nodes[7].id)
    assert memex.status().top_active_concepts[0].id == nodes[6].id


def test_the_status_has_the_fields_of_the_specification(memex) -> None:
    """REQ-CORE-017, TC-CORE-022, appendix B."""
    nodes = store(memex, *SUBJECTS[:4])
    memex.touch([nodes[0].id])
    found = memex.status(dream_available=True).as_dict()
    assert list(found) == [
        "coherence_score",
        "entropy_level",
        "top_active_concepts",
        "suggested_action",
        "suggested_because",
        "dream_available",
        "curation_tasks",
    ]
    assert json.loads(json.dumps(found)) == found
    pulse = memex.pulse()
    assert (found["coherence_score"], found["entropy_level"]) == (pulse.coherence, pulse.entropy)
    assert found["dream_available"] is True
    assert memex.status().dream_available is False


def test_memories_of_one_batch_are_measured_against_each_other(memex) -> None:
    """REQ-CORE-006, REQ-CORE-024: a batch of copies is no diverse store."""
    nodes = memex.store_many(
        [{"content": text, "rationale": WHY} for text in (*SUBJECTS[:2], *[SUBJECTS[0]] * 3)]
    )
    assert [node.utl_state.delta_s for node in nodes[2:]] == [0.0, 0.0, 0.0]
    assert len({node.semantic_cluster for node in nodes}) == 2


def test_a_store_that_is_refused_leaves_no_trace(memex) -> None:
    """Invariant 7: figures are those of the disk."""
    store(memex, *SUBJECTS[:3])
    before = memex.core.derived.metrics.to_bytes()
    with pytest.raises(Exception, match="no memory"):
        memex.store(SUBJECTS[4], rationale=WHY, link_to=[UUID(int=5)])
    assert memex.core.derived.metrics.to_bytes() == before


def lived(memex: Memex) -> None:
    nodes = store(memex, *SUBJECTS, LIMIT.format(100), LIMIT.format(200), SUBJECTS[3])
    memex.link(nodes[0].id, nodes[1].id, "contradicts")
    memex.link(nodes[2].id, nodes[4].id)
    memex.forget(nodes[5].id)
    memex.forget(nodes[6].id)
    memex.restore(nodes[6].id)
    memex.touch([nodes[0].id, nodes[7].id])
    memex.touch([nodes[7].id])
    memex.tell([node.id for node in nodes[:4]], None)
    memex.use_told([nodes[2].id])


def looked_through(memex: Memex) -> MemeticStatus:
    """The status once nothing waits to be looked at: each call looks at a few, by its processor time."""
    for _ in range(20):
        memex.status()
    return memex.status()


@pytest.mark.parametrize("snapshot", ["kept", "lost", "damaged", "old"])
def test_a_restart_changes_nothing_that_is_seen(tmp_path, redactor, snapshot) -> None:
    """Invariant 7, REQ-CORE-019: from the snapshot, or from the records where that is of no use."""
    with Memex.open(tmp_path, redactor=redactor) as memex:
        store(memex, *SUBJECTS[:2])
        memex.save()
        old = (tmp_path / METRICS_FILE).read_bytes()
        for node in memex.list().nodes:
            memex.forget(node.id)
        lived(memex)
        before = looked_through(memex)
        assert (before.entropy_level, before.coherence_score) == (0.5, 0.25)
    file = tmp_path / METRICS_FILE
    if snapshot == "lost":
        file.unlink()
    elif snapshot == "damaged":
        file.write_bytes(file.read_bytes()[:-50] + bytes(50))
    elif snapshot == "old":
        file.write_bytes(old)
    with Memex.open(tmp_path, redactor=redactor) as memex:
        after = looked_through(memex)
        assert after.as_dict() == before.as_dict()
