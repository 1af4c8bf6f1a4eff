"""Edges learn what they were worth: through the installed hooks, and through the library on a real store."""

from __future__ import annotations

import dataclasses
from uuid import uuid4

import pytest
from tests.support.cli import Cli
from tests.support.memories import WHY
from tests.support.owner.harness import wait_until
from tests.support.sessions import context_of, hook, memory, remember

from context_graph.errors import InvalidParamsError
from context_graph.memory.context.ledger import USE_WINDOW
from context_graph.memory.memex import Memex
from context_graph.model.edge import GraphEdge

ASK = "which port does the staging gateway listen on?"
FIRST = "The staging gateway listens on port 8443"
SECOND = "The port that the staging gateway listens on stands in deploy/routes/staging.yaml"


def linked(cli: Cli) -> tuple[str, str]:
    """Two memories that one prompt brings, and the second's id first: an edge leads to it."""
    one, other = remember(cli, FIRST), remember(cli, SECOND)
    memory(cli, "link", one, other, "--type", "leads_to")
    text = context_of(hook(cli, "prompt-submit", "s-1", prompt=ASK, prompt_id="p-1"))
    assert FIRST in text and SECOND in text
    return one, other


def edge_of(cli: Cli, node_id: str) -> dict[str, float]:
    (edge,) = memory(cli, "show", node_id)["edges"]
    found: dict[str, float] = edge
    return found


def edit(cli: Cli, path: str, session: str = "s-1") -> None:
    given = {"file_path": f"{cli.project}/{path}", "old_string": "a", "new_string": "b"}
    hook(cli, "post-tool", session, tool_name="Edit", tool_input=given, tool_response={"filePath": path})


def used(cli: Cli) -> dict[str, str]:
    (entry,) = memory(cli, "list", "--injected")["injections"]
    return {one["id"]: one["used"] for one in entry["memories"]}


def test_the_edge_that_led_to_a_memory_gets_a_reward_when_a_session_touches_the_memory_s_file(
    cli: Cli,
) -> None:
    one, other = linked(cli)
    assert edge_of(cli, one)["steering_reward"] == 0.0
    edit(cli, "deploy/routes/staging.yaml")
    wait_until(lambda: "deploy/routes/staging.yaml" in used(cli)[other], "the use")
    wait_until(lambda: edge_of(cli, one)["steering_reward"] == pytest.approx(0.1), "the reward")
    assert "reward 0.10" in cli.run("memory", "show", other).stdout
    assert used(cli)[one] == "", "what the edge led from was not used"


def test_an_edge_whose_memory_a_session_did_not_use_gets_none_and_loses_of_what_it_had(cli: Cli) -> None:
    one, _ = linked(cli)
    edit(cli, "deploy/routes/staging.yaml")
    wait_until(lambda: edge_of(cli, one)["steering_reward"] > 0.0, "the reward")
    hook(cli, "prompt-submit", "s-2", prompt=ASK, prompt_id="p-2")
    edit(cli, "src/other.py", "s-2")
    hook(cli, "session-end", "s-2", reason="other")
    wait_until(lambda: edge_of(cli, one)["steering_reward"] == pytest.approx(0.09), "the decay")


def test_the_mean_is_bounded_and_decays_and_no_reward_changes_what_is_known(memex: Memex) -> None:
    nodes = [memex.store(text, rationale=WHY).id for text in (FIRST, SECOND)]
    edge = memex.link(*nodes, "leads_to")
    before, weight = memex.seq, edge.effective_weight()
    memex.reward([(edge.id, 1.0)] * 100 + [(uuid4(), 1.0)])
    (now,) = memex.all_edges()
    assert 0.99 < now.steering_reward <= 1.0
    assert now.effective_weight() == pytest.approx(weight * (1 + 0.2 * now.steering_reward))
    memex.reward([(edge.id, 0.0)] * 10)
    assert [one.steering_reward for one in memex.all_edges()] == [
        pytest.approx(now.steering_reward * 0.9**10)
    ]
    assert memex.seq == before
    assert dataclasses.replace(now, steering_reward=0.0) == edge
    for wrong in (1.5, float("nan")):
        with pytest.raises(InvalidParamsError):
            memex.reward([(edge.id, wrong)])


def test_a_rewarded_edge_lifts_what_it_leads_to_more(memex: Memex) -> None:
    nodes = [memex.store(text, rationale=WHY).id for text in (FIRST, "Routes are kept in one file")]
    edge = memex.link(*nodes, "leads_to")

    def lift() -> float:
        return next(one.parts["others"] for one in memex.recall(ASK).nodes if one.node.id == nodes[1])

    plain = lift()
    memex.reward([(edge.id, 1.0)] * 10)
    assert lift() > plain > 0.0


def test_four_uses_make_a_shortcut_valuable_and_three_do_not() -> None:
    edge = GraphEdge(
        id=uuid4(),
        source_id=uuid4(),
        target_id=uuid4(),
        is_amortized_shortcut=True,
        traversal_count=USE_WINDOW,
    )
    worth = [edge := edge.rewarded(1.0) for _ in range(4)]
    assert [one.is_valuable_shortcut() for one in worth] == [False, False, False, True]
