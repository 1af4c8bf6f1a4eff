"""What users of requirement gates meet, as configurations and steps for test_gate_scenarios.

Each step is one hook, command or change of the world, and what must come of it; sessions are letters. The
cases are those in which gates of this kind are known to fail.
"""

from __future__ import annotations

from typing import Any

__all__ = ["PLAN", "SCENARIOS", "VERIFY", "Step", "rules"]

Step = tuple[Any, ...]


def rules(*entries: str, more: str = "") -> str:
    """A project file that inherits nothing; an entry is a line of YAML below ``requirements``."""
    lines = "".join(f"  {entry}\n" for entry in entries)
    return f"version: '1.0'\ninherit: false\n{more}requirements:\n{lines}"


PLAN = "plan: {enabled: true}"
VERIFY = "verify: {enabled: true, stop_only: true}"
COMMIT = r"[{tool: Bash, command_pattern: 'git\s+commit'}]"
REVIEW = f"review: {{enabled: true, scope: single_use, trigger_tools: {COMMIT}}}"
ANY_BASH = "x: {enabled: true, trigger_tools: [Bash]}"
GUARD = "pb: {enabled: true, type: guard, guard_type: protected_branch}"
ALONE = "alone: {enabled: true, type: guard, guard_type: single_session}"

SCENARIOS: dict[str, tuple[str, list[Step]]] = {
    "a tool's name counts exactly, its case too": (
        rules("plan: {enabled: true, trigger_tools: [edit]}", "adr: {enabled: true, trigger_tools: [Write]}"),
        [("edit", "A", "allow"), ("tool", "A", "Write", ["adr"]), ("tool", "A", "MultiEdit", "allow")],
    ),
    "any tool can be a trigger": (
        rules("plan: {enabled: true, trigger_tools: [NotebookEdit, mcp__fs__write, Read, Task]}"),
        [
            ("tool", "A", "NotebookEdit", ["plan"]),
            ("tool", "A", "mcp__fs__write", ["plan"]),
            ("tool", "A", "Read", ["plan"]),
            ("tool", "A", "mcp__fs__read", "allow"),
        ],
    ),
    "off unless enabled is true": (
        rules("plan: {scope: session}", "adr: {enabled: false}", "odd: {enabled: 'yes'}"),
        [("edit", "A", "allow")],
    ),
    "the whole project can be switched off": (
        rules(PLAN, more="enabled: false\n"),
        [("edit", "A", "allow"), ("stop", "A", "allow")],
    ),
    "one bad entry is dropped alone": (
        rules(PLAN, "bad: {enabled: true, scope: sometimes}", "worse: 7"),
        [("edit", "A", ["plan"])],
    ),
    "a file that is no YAML enforces nothing and says so at the start": (
        "requirements: [\n",
        [("edit", "A", "allow"), ("start", "A", "startup")],
    ),
    "a local file alone governs nothing": (
        "",
        [
            ("remove", "$REPO/.claude/requirements.yaml"),
            ("write", "$REPO/.claude/requirements.local.yaml", rules(PLAN)),
            ("edit", "A", "allow"),
        ],
    ),
    "a local file goes before the project's, a list replaces": (
        rules("plan: {enabled: true, trigger_tools: [Edit, Write]}"),
        [
            ("edit", "A", ["plan"]),
            (
                "write",
                "$REPO/.claude/requirements.local.yaml",
                "requirements: {plan: {trigger_tools: [Write]}}\n",
            ),
            ("edit", "A", "allow"),
            ("tool", "A", "Write", ["plan"]),
        ],
    ),
    "a slip in the local file switches nothing off": (
        rules(PLAN),
        [
            ("write", "$REPO/.claude/requirements.local.yaml", "requirements:\nhooks: 3\n"),
            ("edit", "A", ["plan"]),
            ("write", "$REPO/.claude/requirements.local.yaml", "requirements: {plan: false}\n"),
            ("edit", "A", ["plan"]),
            ("write", "$REPO/.claude/requirements.local.yaml", "requirements: {plan: {enabled: false}}\n"),
            ("edit", "A", "allow"),
        ],
    ),
    "plans may be written before the plan is approved, but only the project's own": (
        rules("plan: {enabled: true, trigger_tools: [Edit, Write]}"),
        [
            ("edit", "A", "allow", "$HOME/.claude/plans/p.md"),
            ("edit", "A", "allow", "$REPO/.claude/plans/p.md"),
            ("edit", "A", "allow", "$REPO/docs/plans/p.md"),
            ("edit", "A", ["plan"], "$OUT/docs/plans/p.md"),
            ("edit", "A", ["plan"], "$REPO/docs/plans/../../src/a.py"),
        ],
    ),
    "a short id and the full one are one session": (
        rules(PLAN),
        [("req", "satisfy", "plan", "--session", "$A"), ("edit", "A", "allow"), ("edit", "B", ["plan"])],
    ),
    "a branch's satisfaction is everybody's, and stays with the branch": (
        rules("t: {enabled: true, scope: branch}"),
        [
            ("req", "satisfy", "t", "--session", "$A"),
            ("edit", "B", "allow"),
            ("git", "checkout", "-q", "-b", "feature-x"),
            ("edit", "A", ["t"]),
            ("git", "checkout", "-q", "feature/x"),
            ("edit", "A", "allow"),
        ],
    ),
    "branches whose names flatten to one are two": (
        rules("t: {enabled: true, scope: branch}"),
        [
            ("req", "satisfy", "t", "--branch", "feature/a"),
            ("git", "checkout", "-q", "-b", "feature-a"),
            ("edit", "A", ["t"]),
            ("git", "checkout", "-q", "-b", "feature/a"),
            ("edit", "A", "allow"),
        ],
    ),
    "permanent does not expire": (
        rules("t: {enabled: true, scope: permanent}"),
        [("req", "satisfy", "t", "--session", "$A"), ("clock", 10**8), ("edit", "B", "allow")],
    ),
    "an override for the branch counts for sessions and is not consumed": (
        rules(REVIEW, PLAN),
        [
            ("req", "satisfy", "plan", "review", "--branch", "feature/x"),
            ("edit", "A", "allow"),
            ("edit", "B", "allow"),
            ("bash", "A", "git commit", "allow"),
            ("ran", "A", "Bash", {"command": "git commit"}),
            ("bash", "A", "git commit", "allow"),
        ],
    ),
    "a satisfaction with a ttl runs out": (
        rules(PLAN),
        [
            ("req", "satisfy", "plan", "--session", "$A", "--ttl", "60"),
            ("edit", "A", "allow"),
            ("clock", 61),
            ("edit", "A", ["plan"]),
        ],
    ),
    "single use: any tool's success consumes, another's command does not": (
        rules("once: {enabled: true, scope: single_use, trigger_tools: [Write]}", REVIEW),
        [
            ("req", "satisfy", "once", "review", "--session", "$A"),
            ("bash", "A", "git commit", "allow"),
            ("failed", "A", "Bash", {"command": "git commit"}),
            ("ran", "A", "Bash", {"command": "git status"}),
            ("bash", "A", "git commit", "allow"),
            ("tool", "A", "Write", "allow"),
            ("ran", "A", "Write", {"file_path": "x"}),
            ("tool", "A", "Write", ["once"]),
            ("bash", "A", "git commit", "allow"),
        ],
    ),
    "single use is each session's own": (
        rules(REVIEW),
        [
            ("req", "satisfy", "review", "--session", "$A"),
            ("req", "satisfy", "review", "--session", "$B"),
            ("ran", "A", "Bash", {"command": "git commit"}),
            ("bash", "A", "git commit", ["review"]),
            ("bash", "B", "git commit", "allow"),
        ],
    ),
    "nothing is armed by a refused call": (
        rules(PLAN, VERIFY),
        [("edit", "A", ["plan"]), ("stop", "A", "allow")],
    ),
    "stop is checked for the session that worked, not for one that read": (
        rules(VERIFY),
        [
            ("edit", "A", "allow"),
            ("stop", "B", "allow"),
            ("tool", "B", "Read", "allow"),
            ("stop", "B", "allow"),
            ("stop", "A", ["verify"]),
            ("stop", "A", "allow", True),
        ],
    ),
    "a subagent's edit arms its parent": (rules(VERIFY), [("edit", "A", "allow"), ("stop", "A", ["verify"])]),
    "leaving the branch does not evade stop": (
        rules(VERIFY),
        [("edit", "A", "allow"), ("git", "checkout", "-q", "-b", "away"), ("stop", "A", ["verify"])],
    ),
    "stop is not checked where the file says so": (
        rules(VERIFY, more="hooks: {stop: {verify_requirements: false}}\n"),
        [("edit", "A", "allow"), ("stop", "A", "allow")],
    ),
    "scopes that stop checks are the file's, and each session's own work": (
        rules(
            "t: {enabled: true, scope: branch, stop_only: true}",
            more="hooks: {stop: {verify_scopes: [session, branch]}}\n",
        ),
        [("edit", "A", "allow"), ("stop", "A", ["t"]), ("stop", "B", "allow")],
    ),
    "clearing mid-session is seen at stop": (
        rules(PLAN),
        [
            ("req", "satisfy", "plan", "--session", "$A"),
            ("edit", "A", "allow"),
            ("req", "clear", "plan", "--session", "$A"),
            ("edit", "A", ["plan"]),
        ],
    ),
    "clear takes the own session's only": (
        rules(PLAN),
        [
            ("req", "satisfy", "plan", "--session", "$A"),
            ("req", "satisfy", "plan", "--session", "$B"),
            ("req", "clear", "plan", "--session", "$A"),
            ("edit", "A", ["plan"]),
            ("edit", "B", "allow"),
        ],
    ),
    "clear takes back for oneself what holds for the branch": (
        rules(PLAN),
        [
            ("req", "satisfy", "plan", "--branch", "feature/x"),
            ("edit", "A", "allow"),
            ("req", "clear", "plan", "--session", "$A"),
            ("edit", "A", ["plan"]),
            ("edit", "B", "allow"),
            ("req", "satisfy", "plan", "--branch", "feature/x"),
            ("edit", "A", "allow"),
        ],
    ),
    "clear --branch takes everybody's": (
        rules(PLAN),
        [
            ("req", "satisfy", "plan", "--session", "$A"),
            ("req", "satisfy", "plan", "--session", "$B"),
            ("req", "clear", "--all", "--branch", "feature/x"),
            ("edit", "A", ["plan"]),
            ("edit", "B", ["plan"]),
        ],
    ),
    "pause takes the full id as well, and ends with the session": (
        rules(PLAN, VERIFY),
        [
            ("req", "pause", "--session", "$A", "--reason", "hotfix"),
            ("edit", "A", "allow"),
            ("stop", "A", "allow"),
            ("edit", "B", ["plan"]),
            ("end", "A"),
            ("edit", "A", ["plan"]),
        ],
    ),
    "only the command itself gets past a gate on Bash": (
        rules(ANY_BASH),
        [
            ("bash", "A", "context-graph-cli req pause", "allow"),
            ("bash", "A", "context-graph-cli req satisfy x --session $A", "allow"),
            ("bash", "A", "context-graph-cli req status; git commit -m x", ["x"]),
            ("bash", "A", "echo context-graph-cli req pause", ["x"]),
            ("bash", "A", "context-graph-cli req pause && git push", ["x"]),
            ("bash", "A", "context-graph-cli req pause\ngit push", ["x"]),
            ("bash", "A", "context-graph-cli req pause $(git push)", ["x"]),
            ("bash", "A", "echo `context-graph-cli req pause`", ["x"]),
            ("bash", "A", "git push # context-graph-cli req pause", ["x"]),
        ],
    ),
    "protected branches may be globs": (
        rules(
            "pb: {enabled: true, type: guard, guard_type: protected_branch, "
            "protected_branches: [main, 'release/*']}"
        ),
        [
            ("edit", "A", "allow"),
            ("git", "checkout", "-q", "-b", "release/1.2"),
            ("edit", "A", ["pb"]),
            ("git", "checkout", "-q", "-b", "releases"),
            ("edit", "A", "allow"),
        ],
    ),
    "a guard is looked at again when the session stops": (
        rules(GUARD, VERIFY),
        [
            ("edit", "A", "allow"),
            ("req", "satisfy", "verify", "--session", "$A"),
            ("stop", "A", "allow"),
        ],
    ),
    "a guard of a kind that nobody knows passes": (
        rules("odd: {enabled: true, type: guard, guard_type: moon_phase}", PLAN),
        [("edit", "A", ["plan"])],
    ),
    "the first session keeps the project, the second is refused": (
        rules(ALONE),
        [
            ("edit", "A", "allow"),
            ("edit", "B", ["alone"]),
            ("edit", "A", "allow"),
            ("end", "A"),
            ("edit", "B", "allow"),
        ],
    ),
    "a client that died does not keep the project": (
        rules(ALONE),
        [("edit", "A", "allow"), ("edit", "B", ["alone"]), ("dies", "A"), ("edit", "B", "allow")],
    ),
    "a second session may be let in": (
        rules(ALONE),
        [
            ("edit", "A", "allow"),
            ("edit", "B", ["alone"]),
            ("req", "satisfy", "alone", "--session", "$B"),
            ("edit", "B", "allow"),
        ],
    ),
    "a folder below is the project": (
        rules(PLAN, VERIFY),
        [
            ("req", "satisfy", "plan", "--session", "$A"),
            ("go", "$REPO/src/deep"),
            ("edit", "B", ["plan"]),
            ("edit", "A", "allow"),
            ("stop", "A", ["verify"]),
        ],
    ),
    "a folder elsewhere does not leave it": (
        rules(PLAN),
        [("go", "$OUT/elsewhere"), ("edit", "A", ["plan"]), ("start", "A", "startup")],
    ),
    "no commit yet": (rules(PLAN), [("git", "checkout", "-q", "--orphan", "new"), ("edit", "A", ["plan"])]),
    "detached: nothing is enforced, and stop lets go": (
        rules(PLAN, VERIFY),
        [("git", "checkout", "-q", "--detach"), ("edit", "A", "allow"), ("stop", "A", "allow")],
    ),
    "in the middle of a rebase the branch that is rebased counts": (
        rules("t: {enabled: true, scope: branch}"),
        [
            ("req", "satisfy", "t", "--branch", "feature/x"),
            ("conflict", "rebase"),
            ("edit", "A", "allow"),
            ("req", "clear", "--all", "--branch", "feature/x"),
            ("edit", "A", ["t"]),
        ],
    ),
    "in the middle of a merge it is enforced": (
        rules(PLAN),
        [("conflict", "merge"), ("edit", "A", ["plan"])],
    ),
    "a worktree decides by its own branch and shares the state": (
        rules(PLAN),
        [
            ("git", "add", "-A"),
            ("git", "commit", "-q", "-m", "config"),
            ("worktree", "feature/wt"),
            ("req", "satisfy", "plan", "--session", "$A"),
            ("go", "$OUT/wt"),
            ("edit", "A", ["plan"], "$OUT/wt/a.py"),
            ("req", "satisfy", "plan", "--branch", "feature/wt"),
            ("edit", "A", "allow", "$OUT/wt/a.py"),
        ],
    ),
    "an approving skill satisfies with provenance, an unknown one nothing": (
        rules(
            "plan: {enabled: true, satisfied_by_skill: 'my:planner'}",
            "off: {satisfied_by_skill: 'my:planner'}",
        ),
        [
            ("ran", "A", "Skill", {"skill": "other"}),
            ("edit", "A", ["plan"]),
            ("ran", "A", "Skill", {"skill": "my:planner"}),
            ("edit", "A", "allow"),
            ("satisfied", "plan", "A", True),
            ("edit", "B", ["plan"]),
        ],
    ),
    "a failed skill satisfies nothing": (
        rules("plan: {enabled: true, satisfied_by_skill: planner}"),
        [("failed", "A", "Skill", {"skill": "planner"}), ("edit", "A", ["plan"])],
    ),
    "what was satisfied just now follows to a fresh start, not to a resumed session": (
        rules(PLAN),
        [
            ("req", "satisfy", "plan", "--session", "$A"),
            ("start", "B", "resume"),
            ("edit", "B", ["plan"]),
            ("start", "B", "clear"),
            ("edit", "B", "allow"),
        ],
    ),
    "the carry-over window counts from the satisfaction, not from the last hop": (
        rules(PLAN),
        [
            ("req", "satisfy", "plan", "--session", "$A"),
            ("clock", 200),
            ("start", "B", "startup"),
            ("edit", "B", "allow"),
            ("clock", 200),
            ("start", "C", "startup"),
            ("edit", "C", ["plan"]),
        ],
    ),
    "carry-over can be switched off": (
        rules(PLAN, more="hooks: {session_start: {carry_over: {enabled: false}}}\n"),
        [("req", "satisfy", "plan", "--session", "$A"), ("start", "B", "clear"), ("edit", "B", ["plan"])],
    ),
    "single use is not carried over": (
        rules(REVIEW),
        [
            ("req", "satisfy", "review", "--session", "$A"),
            ("start", "B", "clear"),
            ("bash", "B", "git commit", ["review"]),
        ],
    ),
    "state outlives the session's end": (
        rules(PLAN),
        [("req", "satisfy", "plan", "--session", "$A"), ("end", "A"), ("edit", "A", "allow")],
    ),
    "which session a command means": (
        rules(PLAN),
        [
            ("fails", "satisfy", "plan"),
            ("host", "A", "satisfy", "plan"),
            ("edit", "A", "allow"),
            ("fails", "satisfy", "plam", "--session", "$A8"),
            ("req", "satisfy", "plam", "--session", "$A8", "--force"),
            ("fails", "clear", "--session", "$A8"),
            ("mistypes", "nonsense"),
        ],
    ),
    "enable and disable reach the gate": (
        rules(PLAN, "adr: {enabled: false}"),
        [
            ("req", "disable", "plan"),
            ("edit", "A", "allow"),
            ("req", "enable", "adr"),
            ("edit", "A", ["adr"]),
            ("fails", "disable", "nothing"),
            ("req", "disable"),
            ("edit", "A", "allow"),
        ],
    ),
    "prune takes what belongs to vanished branches, and nothing else": (
        rules("t: {enabled: true, scope: branch}"),
        [
            ("req", "satisfy", "t", "--branch", "feature/x"),
            ("req", "satisfy", "t", "--branch", "feature/gone"),
            ("write", "$REPO/.git/requirements/notes.json", "{}"),
            ("req", "prune"),
            ("edit", "A", "allow"),
            ("there", "$REPO/.git/requirements/notes.json"),
        ],
    ),
    "a session id is no path": (
        rules(PLAN, VERIFY),
        [("odd_session", "../../evil"), ("odd_session", "a/b\\c"), ("odd_session", "x" * 100)],
    ),
    "a damaged state file is an unsatisfied one, until the next satisfy": (
        rules(PLAN),
        [
            ("req", "satisfy", "plan", "--session", "$A"),
            ("damage", "{"),
            ("edit", "A", ["plan"]),
            ("req", "satisfy", "plan", "--session", "$A"),
            ("edit", "A", "allow"),
        ],
    ),
    "a dynamic requirement is approved for a while": (
        rules(
            "size: {enabled: true, type: dynamic, calculator: branch_size_calculator, "
            "thresholds: {warn: 3, block: 10}, approval_ttl: 300, cache_ttl: 0}"
        ),
        [
            ("edit", "A", "allow"),
            ("write", "$REPO/src/big.py", "x = 1\n" * 40),
            ("edit", "A", ["size"]),
            ("req", "approve", "size", "--session", "$A"),
            ("edit", "A", "allow"),
            ("edit", "B", ["size"]),
            ("clock", 301),
            ("edit", "A", ["size"]),
        ],
    ),
    "evidence must be there beside the flag": (
        rules(
            "plan: {enabled: true, evidence: {dirs: [notes], require_markers: ['## Plan'], "
            "require_verdict: APPROVED, max_age_seconds: 600}}"
        ),
        [
            ("req", "satisfy", "plan", "--session", "$A"),
            ("edit", "A", ["plan"]),
            ("write", "$REPO/notes/a.md", "## Plan\nx\n## Verdict\nrejected\n"),
            ("edit", "A", ["plan"]),
            ("write", "$REPO/notes/a.md", "## Plan\nx\n## Verdict\nApproved\n"),
            ("edit", "A", "allow"),
            ("clock", 601),
            ("edit", "A", ["plan"]),
        ],
    ),
}
