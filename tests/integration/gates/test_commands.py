"""What the command line does with requirements."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from tests.support.gates.in_process import A, B, Gate, git, named

from context_graph.errors import UsageError
from context_graph.gates.commands import commands, setup, upkeep
from context_graph.gates.commands.setup import PRESETS


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    made = Gate(tmp_path)
    made.config(
        {"plan": {"trigger_tools": ["Edit", "Write"]}, "t": {"scope": "branch"}, "off": {"enabled": False}}
    )
    return made


def test_status_has_every_requirement_with_what_counts(gate: Gate) -> None:
    """The document of rf_replay's check; Status."""
    gate.edit()
    shown = commands.status(gate.place(), session=A)
    assert (
        shown["branch"] == "feature/auth"
        and shown["session_id"] == A
        and shown["governed"]
        and not shown["why"]
    )
    plan = shown["requirements"]["plan"]
    assert plan["satisfied"] is False and plan["triggered"] is False and plan["scope"] == "session"
    assert plan["enabled"] is True and plan["type"] == "blocking" and plan["triggers"] == ["Edit", "Write"]
    assert shown["requirements"]["off"]["enabled"] is False
    commands.satisfy(gate.place(), ["plan", "t"], session=A, metadata={"ticket": 7})
    gate.edit()
    shown = commands.status(gate.place(CLAUDE_CODE_SESSION_ID=A))
    plan = shown["requirements"]["plan"]
    assert plan["satisfied"] and plan["triggered"] and plan["satisfied_by"] == "cli"
    assert plan["satisfied_at"] == int(gate.clock)
    other = commands.status(gate.place(), session=B, branch="elsewhere")["requirements"]
    assert not other["plan"]["satisfied"] and not other["t"]["satisfied"]


def test_status_says_why_nothing_is_enforced(gate: Gate) -> None:
    gate.config("enabled: false\n")
    assert commands.status(gate.place())["why"] == "enabled is false"
    gate.config("a: [")
    assert "can't be used" in commands.status(gate.place())["why"]
    (gate.repo / ".claude" / "requirements.yaml").unlink()
    shown = commands.status(gate.place())
    assert not shown["governed"] and "req init" in shown["why"]


def test_a_session_is_found_by_environment_process_or_word(gate: Gate) -> None:
    """Through CLAUDE_CODE_SESSION_ID; ambiguous aliases refused with the list."""
    with pytest.raises(UsageError, match="no live session"):
        commands.satisfy(gate.place(), ["plan"])
    gate.edit(A, pid=os.getpid())
    assert commands.satisfy(gate.place(pid=os.getpid()), ["plan"])["session_id"] == A
    assert commands.clear(gate.place(), ["plan"])["session_id"] == A, "the only one that lives here"
    assert commands.satisfy(gate.place(CLAUDE_CODE_SESSION_ID=B), ["plan"])["session_id"] == B
    twin = A[:8] + B[8:]
    commands.satisfy(gate.place(), ["plan"], session=twin)
    with pytest.raises(UsageError, match=f"several sessions.*{twin}"):
        commands.satisfy(gate.place(), ["plan"], session=A[:8])
    with pytest.raises(UsageError, match="control character"):
        commands.satisfy(gate.place(), ["plan"], session="a\nb")


def test_an_unknown_name_is_refused_with_the_likely_one(gate: Gate) -> None:
    """The original recorded it with a warning."""
    with pytest.raises(UsageError, match="did you mean plan"):
        commands.satisfy(gate.place(), ["plam"], session=A)
    with pytest.raises(UsageError, match="did you mean plan"):
        commands.clear(gate.place(), ["plam"], session=A)
    assert commands.satisfy(gate.place(), ["future"], session=A, force=True)["satisfied"] == ["future"]
    with pytest.raises(UsageError, match="name the requirements"):
        commands.satisfy(gate.place(), [], session=A)


def test_a_ttl_ends_a_satisfaction(gate: Gate) -> None:
    commands.satisfy(gate.place(), ["plan", "t"], session=A, ttl=60)
    gate.later(59)
    assert not gate.edit().decision
    gate.later(2)
    assert named(gate.edit()) == {"plan", "t"}
    with pytest.raises(UsageError, match="--ttl"):
        commands.satisfy(gate.place(), ["plan"], session=A, ttl=0)


def test_clear_takes_back_for_oneself_what_holds_for_the_whole_branch(gate: Gate) -> None:
    """Others keep it; once one's own is used up it still does not count, but the branch's next one does."""
    commit = {"tool": "Bash", "command_pattern": "git commit"}
    gate.config({"plan": {}, "review": {"scope": "single_use", "trigger_tools": [commit]}})

    def commits(session: str) -> set[str]:
        given = {"command": "git commit"}
        return named(gate.event("PreToolUse", session, tool_name="Bash", tool_input=given))

    commands.satisfy(gate.place(), ["plan", "review"], branch="feature/auth")
    assert commands.clear(gate.place(), ["plan", "review"], session=A)["cleared"] == ["plan", "review"]
    assert named(gate.edit(A)) == {"plan"} and commits(A) == {"review"}
    assert not gate.edit(B).decision and not commits(B)
    shown = commands.status(gate.place(), session=A)["requirements"]["plan"]
    assert (shown["satisfied"], shown["why"]) == (False, "not satisfied")
    commands.satisfy(gate.place(), ["plan", "review"], session=A[:8])
    assert not gate.edit(A).decision and not commits(A)
    gate.after("Bash", {"command": "git commit"})
    assert commits(A) == {"review"} and not commits(B)
    commands.clear(gate.place(), ["plan"], session=A)
    assert named(gate.edit(A)) == {"plan"}
    commands.satisfy(gate.place(), ["plan", "review"], branch="feature/auth")
    assert not gate.edit(A).decision and not commits(A)


def test_clear_takes_back_the_session_s_own_alone(gate: Gate) -> None:
    """The original deleted every session's."""
    for session in (A, B):
        commands.satisfy(gate.place(), ["plan", "t"], session=session)
    assert commands.clear(gate.place(), ["plan"], session=A[:8])["cleared"] == ["plan"]
    assert named(gate.edit(A)) == {"plan"} and not gate.edit(B).decision
    assert commands.clear(gate.place(), ["t"], session=A)["cleared"] == ["t"]
    assert commands.clear(gate.place(), [], every=True, session=B)["cleared"] == ["plan", "t"]
    assert commands.clear(gate.place(), ["plan"], session=B)["cleared"] == []
    commands.satisfy(gate.place(), ["plan"], session=A)
    assert commands.clear(gate.place(), ["plan"], branch="feature/auth")["cleared"] == ["plan"]
    assert named(gate.edit(A)) == {"plan", "t"}
    with pytest.raises(UsageError, match="--all"):
        commands.clear(gate.place(), [], session=A)


def test_check_says_what_the_gate_would_say_and_leaves_no_trace(gate: Gate) -> None:
    found = commands.check(gate.place(), "Edit", {"file_path": "src/a.py"}, session=A)
    assert found["decision"] == "deny" and found["requirements"] == ["plan", "t"]
    assert commands.check(gate.place(), "Read", {}, session=A)["decision"] == "allow"
    assert (
        commands.check(gate.place(), "Edit", {"file_path": "docs/plans/p.md"}, session=A)["decision"]
        == "allow"
    )
    commands.pause(gate.place(), session=A)
    assert commands.check(gate.place(), "Edit", {"file_path": "src/a.py"}, session=A)["decision"] == "allow"
    assert not (gate.state_folder / "feature-auth.json").exists()


def test_enable_and_disable_keep_every_comment(gate: Gate) -> None:
    """User files are never rewritten so that comments are lost."""
    local = gate.repo / ".claude" / "requirements.local.yaml"
    before = (gate.repo / ".claude" / "requirements.yaml").read_bytes()
    setup.set_enabled(gate.place(), "plan", False)
    assert named(gate.edit()) == {"t"}
    local.write_text(local.read_text() + "# mine\nhooks: {stop: {verify_scopes: [branch]}}   # why not\n")
    setup.set_enabled(gate.place(), "plan", True)
    setup.set_enabled(gate.place(), "off", True)
    text = local.read_text()
    assert "# mine" in text and "# why not" in text
    assert named(gate.edit()) == {"plan", "t", "off"}
    setup.set_enabled(gate.place(), "", False)
    assert not gate.edit().decision
    assert (gate.repo / ".claude" / "requirements.yaml").read_bytes() == before
    with pytest.raises(UsageError, match="no requirement"):
        setup.set_enabled(gate.place(), "plam", False)


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_is_sound(tmp_path: Path, preset: str) -> None:
    made = Gate(tmp_path / "p")
    shown = setup.init(made.place(), preset=preset, preview=True)
    assert not shown["written"] and not Path(shown["path"]).exists()
    setup.init(made.place(cwd=made.repo / "src"), preset=preset)
    rules = made.place().rules
    assert rules.readable and rules.problems == []
    assert bool(made.edit().decision) is (preset not in ("minimal", "inherit"))


def test_init_replaces_nothing_unless_told_and_keeps_the_old_file(gate: Gate) -> None:
    with pytest.raises(UsageError, match="--force"):
        setup.init(gate.place())
    with pytest.raises(UsageError, match="--preset"):
        setup.init(gate.place(), preset="lax", force=True)
    old = (gate.repo / ".claude" / "requirements.yaml").read_text()
    setup.init(gate.place(), preset="strict", force=True)
    assert (gate.repo / ".claude" / "requirements.yaml.bak").read_text() == old
    assert setup.init(gate.place(), preset="minimal", local=True)["path"].endswith("requirements.local.yaml")


def test_config_show_tells_where_each_value_comes_from(gate: Gate) -> None:
    gate.config({"plan": {"message": "m"}}, inherit=True)
    gate.everywhere({"requirements": {"plan": {"scope": "branch", "message": "g"}}})
    gate.local({"requirements": {"plan": {"enabled": False}}})
    shown = setup.config_show(gate.place(), name="plan", sources=True)
    assert shown["config"] == {
        "requirements": {"plan": {"enabled": False, "message": "m", "scope": "branch"}}
    }
    assert shown["sources"] == {
        "requirements.plan.enabled": "local",
        "requirements.plan.message": "project",
        "requirements.plan.scope": "global",
    }
    assert [state for _, _, state in shown["files"]] == ["used", "used", "used"]
    gate.config({"plan": {}})
    assert setup.config_show(gate.place())["files"][0][2] == "not inherited"
    with pytest.raises(UsageError, match="no requirement"):
        setup.config_show(gate.place(), name="nope")


def test_doctor_names_what_is_wrong_with_its_cure(gate: Gate) -> None:
    """A dropped entry is named in status and doctor."""
    assert upkeep.doctor(gate.place()) == []
    gate.config({"plan": {}, "bad": {"type": "x"}})
    gate.state_folder.mkdir()
    (gate.state_folder / "broken.json").write_text("[")
    commands.satisfy(gate.place(), ["plan"], branch="gone")
    git(gate.repo, "checkout", "-q", "--detach")
    found = upkeep.doctor(gate.place(CLAUDE_SKIP_REQUIREMENTS="1"))
    told = " | ".join(one["what"] for one in found)
    for word in ("requirements.bad", "broken.json", "1 branches that are gone", "CLAUDE_SKIP", "no branch"):
        assert word in told
    assert all(one["cure"] for one in found)
    (gate.repo / ".claude" / "requirements.yaml").unlink()
    assert "req init" in upkeep.doctor(gate.place())[0]["cure"]


def test_settings_that_are_a_pipe_hold_no_doctor_up(gate: Gate) -> None:
    os.mkfifo(gate.claude / "settings.json")
    (problem,) = [
        one for one in upkeep.installation(gate.place(), str(gate.home)) if one["level"] == "error"
    ][:1]
    assert "settings.json" in problem["what"] and "no regular file" in problem["what"]


def test_list_counts_what_is_satisfied(gate: Gate) -> None:
    commands.satisfy(gate.place(), ["plan", "t"], session=A)
    commands.satisfy(gate.place(), ["plan"], session=B, ttl=5)
    gate.later(6)
    (one,) = upkeep.branches(gate.place())
    assert one["branch"] == "feature/auth" and one["requirements"] == one["satisfied"] == 2
    assert one["current"] and one["exists"]


def test_sessions_are_listed_in_order_of_coming(gate: Gate) -> None:
    gate.edit(B, pid=os.getppid())
    gate.edit(A, pid=os.getpid())
    assert [one["alias"] for one in upkeep.sessions(gate.place())] == [B[:8], A[:8]]
    assert upkeep.sessions(gate.place(), project=True)[0]["branch"] == "feature/auth"


def test_the_original_s_own_files_are_taken_up_unmodified(gate: Gate) -> None:
    """Its configuration as its study tells it, and state that it wrote."""
    gate.everywhere(
        {
            "version": "1.0",
            "enabled": True,
            "requirements": {
                "commit_plan": {
                    "enabled": False,
                    "type": "blocking",
                    "scope": "session",
                    "trigger_tools": ["Edit", "Write", "MultiEdit"],
                    "message": "Plan, then `req satisfy commit_plan --session {session_id}`",
                    "checklist": ["Scope", "Tests"],
                },
                "protected_branch": {
                    "enabled": True,
                    "type": "guard",
                    "guard_type": "protected_branch",
                    "protected_branches": ["main", "master"],
                },
                "branch_size_limit": {
                    "enabled": False,
                    "type": "dynamic",
                    "calculator": "branch_size_calculator",
                    "scope": "session",
                    "thresholds": {"warn": 250, "block": 400},
                    "cache_ttl": 30,
                    "approval_ttl": 300,
                    "blocking_message": "{value} lines",
                },
            },
            "hooks": {"stop": {"verify_requirements": True, "verify_scopes": ["session"]}},
            "logging": {"level": "error", "destinations": ["file"]},
        }
    )
    gate.config(
        yaml.safe_dump(
            {
                "version": "1.0",
                "inherit": True,
                "requirements": {
                    "commit_plan": {
                        "enabled": True,
                        "satisfied_by_skill": "requirements-framework:arch-review",
                    },
                    "pre_commit_review": {
                        "enabled": True,
                        "scope": "single_use",
                        "trigger_tools": [{"tool": "Bash", "command_pattern": "git\\s+(commit|cherry-pick)"}],
                        "auto_resolve_skill": "/requirements-framework:pre-commit",
                    },
                },
                "strict_preflight": False,
                "workflow": {"phases": [{"name": "plan", "gate": "commit_plan"}]},
            }
        )
    )
    gate.state_folder.mkdir()
    session = {
        "satisfied": True,
        "satisfied_at": int(gate.clock) - 9,
        "satisfied_by": "skill",
        "expires_at": None,
    }
    document = {
        "version": "1.0",
        "branch": "feature/auth",
        "project": str(gate.repo),
        "created_at": 1,
        "updated_at": 1,
        "requirements": {"commit_plan": {"scope": "session", "sessions": {A[:8]: session}}},
    }
    import json

    path = gate.state_folder / "feature-auth.json"
    path.write_text(json.dumps(document, indent=2))
    assert gate.place().rules.problem_texts("error", "warning") == []
    assert not gate.edit().decision and named(gate.edit(B)) == {"commit_plan"}
    assert named(gate.bash("git commit -m x")) == {"pre_commit_review"}
    written = json.loads(path.read_text())
    assert written["version"] == "1.0" and written["created_at"] == 1
    # The original moves each key to its first 8 characters when it loads a file.
    kept = {
        key.replace("-", "")[:8]: one
        for key, one in written["requirements"]["commit_plan"]["sessions"].items()
    }
    assert kept[A[:8]]["satisfied"] is True and kept[A[:8]]["satisfied_by"] == "skill"
    assert kept[A[:8]]["triggered"] is True


def test_prune_takes_what_killed_processes_left(gate: Gate) -> None:
    """Growth bounded."""
    gate.state_folder.mkdir()
    old, young = gate.state_folder / ".x.json.1.1.ab.tmp", gate.state_folder / ".y.json.1.1.ab.tmp"
    for path in (old, young):
        path.write_text("{}")
    os.utime(old, (gate.clock - 40 * 86400,) * 2)
    upkeep.prune(gate.place())
    assert not old.exists() and young.exists()


def test_status_runs_nothing_for_what_is_disabled(gate: Gate) -> None:
    entry = {"type": "dynamic", "command": "touch ran; echo 1", "thresholds": {"block": 9}}
    gate.config({"n": {**entry, "enabled": False}})
    assert "n" in commands.status(gate.place(), session=A)["requirements"]
    assert not (gate.repo / "ran").exists()
    gate.config({"n": entry})
    commands.status(gate.place(), session=A)
    assert (gate.repo / "ran").exists()
