"""detect-secrets' rules: read from the installed package, rewritten for RE2, cached, never lost silently."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import warnings
from pathlib import Path

import pytest
import re2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_graph.redact import Redactor, rules
from context_graph.redact.extract import collect, to_re2
from context_graph.redact.rules import Rule, load_imported


def detector_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Every pattern of every detect-secrets plugin that has patterns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from detect_secrets import plugins

        found = []
        for info in pkgutil.iter_modules(plugins.__path__):
            module = importlib.import_module(f"{plugins.__name__}.{info.name}")
            for kind in vars(module).values():
                if isinstance(kind, type) and kind.__module__ == module.__name__:
                    patterns = getattr(kind, "denylist", ())
                    if isinstance(patterns, (list, tuple)):
                        found += [(kind.secret_type, pattern) for pattern in patterns]
        return found


NOT_SECRETS = {"Public IP (ipv4)"}
HEADER_ONLY = {"Private Key"}
"""Their rule marks the header's words; ours wants the dashes of a real block around them."""
PATTERNS = [row for row in detector_patterns() if row[0] not in NOT_SECRETS | HEADER_ONLY]


@pytest.fixture(scope="module")
def redactor(tmp_path_factory: pytest.TempPathFactory) -> Redactor:
    return Redactor.load(tmp_path_factory.mktemp("cache"))


PATTERN_IDS = [f"{at}-{name}" for at, (name, _) in enumerate(PATTERNS)]
TYPED = st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters='`\\<>"')
"""What a line of text is made of; no user name in a URL holds quotes or brackets."""


@pytest.mark.parametrize(("name", "pattern"), PATTERNS, ids=PATTERN_IDS)
def test_whatever_the_detector_would_report_is_redacted(
    name: str, pattern: re.Pattern[str], redactor: Redactor
) -> None:
    """REQ-HOOKS-33: rules of ours that stand for theirs are as wide, rewritten ones no narrower."""
    plain = pattern.pattern.replace("(?:(?<=\\W)|(?<=^))", "")
    if name == "Discord Bot Token":
        plain = plain.replace("[MNO][a-zA-Z\\d_-]", "[MNO][a-zA-Z\\d]")  # it is base64 of a number, all ASCII
    lines = st.from_regex(re.compile(plain, pattern.flags), fullmatch=True, alphabet=TYPED)

    @settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck), database=None)
    @given(lines)
    def redacts(line: str) -> None:
        assert redactor.redact(line) != line

    redacts()


def test_every_rule_of_the_installed_detector_is_taken_or_named() -> None:
    """A later version's new rules come in by themselves; what RE2 can't take is said."""
    document = collect()
    taken = {name for name, _, _ in document["rules"]}
    named = {name for name, _ in document["skipped"]}
    slugs = {re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name, _ in detector_patterns()}
    named_slugs = {re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name in named}
    assert slugs == taken | named_slugs
    assert not [why for _, why in document["skipped"] if why.startswith("failed")]
    assert "api_?key" in document["keywords"]
    for _, pattern, _ in document["rules"]:
        re2.compile(pattern)


@pytest.mark.parametrize(
    ("pattern", "flags", "rewritten"),
    [
        (r"(?:(?<=\W)|(?<=^))key(?!\w)", 0, r"(?m)(?:|)key"),
        (r"a(?=b(c|\)))d[(?=x)]", 0, r"(?m)ad[(?=x)]"),
        (r"x{50,1024}y{1,9}", 0, r"(?m)x{50,}y{1,9}"),
        (r"end\Z", re.IGNORECASE, r"(?mi)end\z"),
        ("a b # comment\n [ #] \\ c", re.VERBOSE, r"(?m)ab[ #]\ c"),
        (r"a.b", re.DOTALL, r"(?ms)a.b"),
    ],
)
def test_a_pattern_is_rewritten_towards_matching_more(pattern: str, flags: int, rewritten: str) -> None:
    """RE2 has no look-around; dropping one can only widen a rule."""
    assert to_re2(pattern, flags) == rewritten


def test_a_pattern_that_stays_foreign_is_refused_by_name() -> None:
    """Backreferences have no linear-time equivalent."""
    with pytest.raises(ValueError, match="RE2 does not take"):
        to_re2(r"(['\"])x\1")


def test_the_rules_are_read_once_and_then_come_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One helper process per installed version."""
    first = load_imported(tmp_path / "cache", timeout_s=20)
    assert first.rules and first.keywords and not first.problems
    (path,) = (tmp_path / "cache").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600

    def no_helper(*_: object) -> tuple[bytes, str]:
        raise AssertionError("the cache should have been enough")

    monkeypatch.setattr(rules, "_run_helper", no_helper)
    assert load_imported(tmp_path / "cache", timeout_s=20) == first


OLD_FORMAT = b'{"format":0,"rules":[],"keywords":[],"skipped":[]}'


@pytest.mark.parametrize("damage", [b"", b"{", OLD_FORMAT, b"[]", b"\xff"])
def test_a_damaged_cache_is_written_anew(tmp_path: Path, damage: bytes) -> None:
    """Fewer rules because of a torn file would be a silent loss."""
    first = load_imported(tmp_path, timeout_s=20)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert load_imported(tmp_path, timeout_s=20) == first
    assert json.loads(path.read_bytes())["rules"]


def test_a_cached_rule_that_this_re2_refuses_is_told_and_the_others_hold() -> None:
    """The cache is keyed by the detector's version, not by RE2's."""
    made = Redactor([Rule("bad-rule", r"x(?=y)"), Rule("odd-thing", "odd[0-9]{6}")])
    assert "rule bad-rule does not compile" in made.problems[0]
    assert made.redact("odd123456") == "[redacted:odd-thing]"


def test_without_the_detector_our_own_rules_hold_and_the_problem_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No silent loss: the owner logs and reports `problems`."""
    monkeypatch.setattr(rules, "installed_version", lambda: None)
    made = Redactor.load(tmp_path)
    assert "detect-secrets is not installed; only our own rules are used" in made.problems[0]
    assert "Tr0ub4dor" not in made.redact("password=Tr0ub4dor")


def test_a_failing_helper_is_told_and_does_not_stop_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper's own last words are in the problem."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "no-such-python"))
    assert "No such file" in load_imported(tmp_path / "c", timeout_s=20).problems[0]
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'it broke' >&2\nexit 3\n")
    script.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(script))
    assert "it broke; only our own rules are used" in load_imported(tmp_path / "c", timeout_s=20).problems[0]
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_cache_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The rules hold; only the next start pays again."""
    tmp_path.chmod(0o500)
    found = load_imported(tmp_path / "cache", timeout_s=20)
    assert found.rules and "not cached" in found.problems[0]


def test_a_cache_path_below_a_file_is_told(tmp_path: Path) -> None:
    """Root or not: a file stands where the folder should be."""
    (tmp_path / "cache").write_text("")
    found = load_imported(tmp_path / "cache", timeout_s=20)
    assert found.rules and "not cached" in found.problems[0]
