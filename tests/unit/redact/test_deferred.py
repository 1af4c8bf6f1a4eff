"""Rules that are still on their way redact like rules that are there."""

from __future__ import annotations

import logging
from pathlib import Path

from context_graph.redact import Redactor, load_redactor
from context_graph.redact.detector import DeferredRedactor

LOG = logging.getLogger("test")
SECRET = "AKIA" + "7LRWFVEALKXWKKXZ"


def test_the_first_text_waits_for_the_rules_and_is_redacted_by_all_of_them(tmp_path: Path) -> None:
    """REQ-HOOKS-33: nothing is let through because the rules were not there yet."""
    deferred = load_redactor(tmp_path, LOG)
    assert isinstance(deferred, DeferredRedactor)
    assert SECRET not in deferred.redact(f"key {SECRET}")
    assert SECRET not in deferred.redact_cut(f"key {SECRET}", 100)
    loaded = load_redactor(tmp_path, LOG)
    assert type(loaded) is Redactor
    assert (deferred.rule_count, deferred.problems) == (loaded.rule_count, loaded.problems) != (0, ())


def test_without_rules_our_own_hold_and_the_log_says_so(tmp_path: Path) -> None:
    """REQ-HOOKS-33: no silent loss."""
    (tmp_path / "cache").write_text("in the way of the folder")
    redactor = load_redactor(tmp_path / "cache", LOG)
    assert SECRET not in redactor.redact(f"key {SECRET}")
    assert redactor.problems
