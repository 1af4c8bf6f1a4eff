"""One value set in a YAML text, everything else left as it stands."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from context_graph.errors import UsageError
from context_graph.gates.commands.setup import set_flag
from context_graph.gates.config.config import MAX_DEPTH, MAX_EVENTS, parse_yaml

PATH = ["requirements", "plan", "enabled"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "requirements:\n  plan:\n    enabled: false\n"),
        ("# only this\n", "# only this\nrequirements:\n  plan:\n    enabled: false\n"),
        ("{}", None),
        (
            "requirements:\n  plan:\n    enabled: true  # note\n  z: {}\n",
            "requirements:\n  plan:\n    enabled: false  # note\n  z: {}\n",
        ),
        (
            "requirements:\n    plan:   # mine\n        scope: branch\n    # more\n",
            "requirements:\n    plan:   # mine\n        scope: branch\n        enabled: false\n    # more\n",
        ),
        ("requirements: {plan: {enabled: true}} # x\n", "requirements: {plan: {enabled: false}} # x\n"),
        ("requirements: {plan: {scope: branch}}", "requirements: {plan: {enabled: false, scope: branch}}"),
        ("requirements: {z: {}}\n", "requirements: {plan: {enabled: false}, z: {}}\n"),
        ("requirements:\n  # soon\nhooks: {}\n", None),
        ("requirements:\n  plan:\n", "requirements:\n  plan:\n    enabled: false\n"),
        ("version: '1.0'", "version: '1.0'\nrequirements:\n  plan:\n    enabled: false\n"),
        (
            "requirements:\n  z:\n    message: |\n      two\n      lines\nhooks: {}\n",
            "requirements:\n  z:\n    message: |\n      two\n      lines\n"
            "  plan:\n    enabled: false\nhooks: {}\n",
        ),
        ("\ufeffrequirements:\n  plan: {enabled: true}\n", "\ufeffrequirements:\n  plan: {enabled: false}\n"),
    ],
)
def test_the_text_keeps_its_layout(before: str, after: str | None) -> None:
    """User files are never rewritten so that comments are lost."""
    new = set_flag(before, PATH, False, file="f")
    assert yaml.safe_load(new)["requirements"]["plan"]["enabled"] is False
    assert after is None or new == after


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "- 1\n",
        "requirements: 7\n",
        "requirements:\n  plan: &p {enabled: true}\n  z: *p\n",
        "[" * 9999,
        "(:\t",
    ],
)
def test_what_can_t_be_set_alone_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(UsageError, match="f"):
        set_flag(text, PATH, False, file="f")


_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text("ab: #'\"\n-", max_size=8))
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab:#' ", max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    content=st.dictionaries(st.sampled_from(["requirements", "hooks", "x y", "on"]), _values, max_size=4),
    name=st.sampled_from(["plan", "a", "on", "x y", "1", "a:b"]),
    value=st.booleans(),
    flow=st.booleans(),
)
def test_either_one_value_changes_or_none(
    content: dict[str, Any], name: str, value: bool, flow: bool
) -> None:
    text = yaml.safe_dump(content, default_flow_style=flow, allow_unicode=True)
    wanted: dict[str, Any] = copy.deepcopy(content)
    try:
        new = set_flag(text, ["requirements", name, "enabled"], value, file="f")
    except UsageError:
        return
    if not isinstance(wanted.get("requirements"), dict):
        wanted["requirements"] = {}
    if not isinstance(wanted["requirements"].get(name), dict):
        wanted["requirements"][name] = {}
    wanted["requirements"][name]["enabled"] = value
    assert yaml.safe_load(new) == wanted


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"a: {'[' * MAX_DEPTH}{']' * MAX_DEPTH}", f"is nested more than {MAX_DEPTH} levels deep"),
        (f"a: [{'1,' * MAX_EVENTS}]", f"has more than {MAX_EVENTS} parts"),
    ],
)
def test_a_text_out_of_bounds_is_refused_before_it_is_built(text: str, problem: str) -> None:
    assert parse_yaml(text.encode()) == (None, problem)
