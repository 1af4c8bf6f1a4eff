"""What doctor finds in the owner's view of a store."""

from __future__ import annotations

from importlib.machinery import ModuleSpec

import pytest

from context_graph.cli.doctor import owner_view


@pytest.mark.parametrize(
    ("live", "model", "is_there", "offers"),
    [(500, "auto", False, 1), (20, "auto", False, 0), (500, "off", False, 0), (500, "auto", True, 0)],
)
def test_the_extra_is_offered_where_there_is_much_to_find_and_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, live: int, model: str, is_there: bool, offers: int
) -> None:
    spec = ModuleSpec("onnxruntime", None) if is_there else None
    monkeypatch.setattr(owner_view, "find_spec", lambda name: spec)
    found = list(owner_view.look_findings({"memory": {"live": live}, "settings": {"memory_model": model}}))
    assert [one.level for one in found] == ["note"] * offers
    assert all("minilm" in one.what and "minilm" in one.cure for one in found)
