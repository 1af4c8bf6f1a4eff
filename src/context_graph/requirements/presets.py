"""The files that ``req init`` writes."""

from __future__ import annotations

__all__ = ["PRESETS"]

_HEAD = """\
# Requirements of this project: what must be met before a tool runs, or a session stops.
# `context-graph-cli req keys` tells every key, `context-graph-cli req status` what holds.
version: "1.0"
enabled: true
"""

_COMMIT_PLAN = """\
  commit_plan:
    enabled: true
    scope: session          # session, branch, permanent or single_use
    trigger_tools: [Edit, Write, MultiEdit, NotebookEdit]
    message: |
      Say first which changes you will make, commit by commit.
"""

_PROTECTED = """\
  protected_branch:
    enabled: true
    type: guard
    guard_type: protected_branch
    protected_branches: [main, master, "release/*"]
    trigger_tools: [Edit, Write, MultiEdit, NotebookEdit]
"""

_ADVANCED = """\
  pre_commit_review:
    enabled: true
    scope: single_use       # each commit needs one of its own
    trigger_tools:
      - git: commit         # however it is written: git -C . commit, sh -c 'git commit', an alias
    message: Review the staged changes, then commit.
  verified:
    enabled: true
    stop_only: true         # asked for when the session wants to stop
    message: Run the tests and read their output.
  branch_size:
    enabled: true
    type: dynamic
    calculator: branch_size_calculator
    thresholds: {warn: 250, block: 400}
    approval_ttl: 300
"""

PRESETS = {
    "relaxed": f"{_HEAD}inherit: true\nrequirements:\n{_COMMIT_PLAN}",
    "strict": f"{_HEAD}inherit: true\nrequirements:\n{_COMMIT_PLAN}{_PROTECTED}",
    "minimal": f"{_HEAD}inherit: false\nrequirements: {{}}\n",
    "advanced": f"{_HEAD}inherit: true\nrequirements:\n{_COMMIT_PLAN}{_PROTECTED}{_ADVANCED}",
    "inherit": f"{_HEAD}inherit: true         # all from the requirements.yaml in the client's own folder\n",
}
"""Preset: text of requirements.yaml."""
