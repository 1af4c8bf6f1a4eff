# ruff: noqa: E501  # rows of a table
"""The keys of requirements.yaml, for projects that do not have docs/requirements.md: its tables, as `req keys` shows them.

A test keeps both alike.
"""

from __future__ import annotations

__all__ = ["KEYS"]

KEYS = (
    ("version", "", "", '"1.0"; not looked at'),
    ("enabled", "", "true", "false switches everything off"),
    ("inherit", "", "true", "whether the global file counts (project file only)"),
    (
        "requirements",
        "",
        "none",
        "name to requirement, at most 200; a name is printable text of at most 100 characters",
    ),
    ("hooks", "", "", "see below"),
    ("requirements.NAME.enabled", "true, false", "false", "only true enables"),
    ("requirements.NAME.type", "blocking, guard, dynamic", "blocking", "types"),
    ("requirements.NAME.scope", "session, branch, permanent, single_use", "session", "scopes"),
    ("requirements.NAME.trigger_tools", "list", "[Edit, Write, MultiEdit, NotebookEdit]", "triggers"),
    ("requirements.NAME.stop_only", "true, false", "false", "never denies a call; asked for at Stop"),
    ("requirements.NAME.human_only", "true, false", "false", "only a person may satisfy it"),
    (
        "requirements.NAME.message",
        "text",
        "",
        "what the denial says; {session_id}, {branch}, {project_dir}, {auto_resolve_skill} and {name} are filled in, for a dynamic one {value}, {warn_threshold} and {block_threshold} too",
    ),
    (
        "requirements.NAME.short_message",
        "text",
        "",
        "what lists say; also the denial's text where there is no message",
    ),
    (
        "requirements.NAME.description",
        "text",
        "",
        "what lists say; also the denial's text where there is no message",
    ),
    ("requirements.NAME.checklist", "list of texts", "", "shown below the message, the first 12"),
    (
        "requirements.NAME.satisfied_by_skill",
        "name or list of names",
        "",
        "skills whose success satisfies it, beside those of the original",
    ),
    ("requirements.NAME.auto_resolve_skill", "text", "", "the skill that a denial recommends"),
    ("requirements.NAME.replan_ttl", "seconds", "0", "how long a skill's satisfaction holds; 0 for ever"),
    ("requirements.NAME.evidence", "mapping", "", "evidence"),
    ("requirements.NAME.guard_type", "protected_branch, single_session", "", "guards: which condition"),
    (
        "requirements.NAME.protected_branches",
        "list of names or globs",
        "[master, main]",
        "guards: *, ? and […] as in release/*",
    ),
    (
        "requirements.NAME.calculator",
        "branch_size_calculator",
        "",
        "dynamic: lines changed since the branch left its base",
    ),
    (
        "requirements.NAME.command",
        "shell line, or list of words",
        "",
        "dynamic: a program that prints the number, instead of calculator",
    ),
    (
        "requirements.NAME.thresholds",
        "{warn, block}",
        "",
        "dynamic: from block on the call is denied; warn shows in req status",
    ),
    ("requirements.NAME.cache_ttl", "seconds", "60", "dynamic: how long a number is kept"),
    ("requirements.NAME.approval_ttl", "seconds", "300", "dynamic: how long an approval holds"),
    (
        "requirements.NAME.timeout",
        "seconds, at most 1",
        "1",
        "dynamic: time for one calculation; all of one call together have 0.8 s",
    ),
    ("requirements.NAME.blocking_message", "text", "", "dynamic: the same as message"),
    ("requirements.NAME.evidence.dirs", "", "[.claude/plans]", "folders, searched for *.md at any depth"),
    ("requirements.NAME.evidence.require_markers", "", "", "texts that the file must hold, all of them"),
    (
        "requirements.NAME.evidence.require_verdict",
        "",
        "",
        "a word that must stand in its section ## Verdict or in that heading's line (## Verdict: APPROVED), case not counting",
    ),
    ("requirements.NAME.evidence.max_age_seconds", "", "0", "how old the file may be; 0 for any age"),
    ("hooks.session_start.inject_context", "", "true", "the status at a session's start"),
    ("hooks.session_start.briefing_format", "", "compact", "standard gives each open requirement a line"),
    ("hooks.session_start.custom_header", "", "", "a line before it"),
    (
        "hooks.session_start.carry_over.enabled",
        "",
        "true",
        "carry satisfactions to a new session (sources startup, clear and fork)",
    ),
    (
        "hooks.session_start.carry_over.window_seconds",
        "",
        "300",
        "how old they may be, counted from the first satisfaction however often carried",
    ),
    ("hooks.session_start.carry_over.scopes", "", "[session]", "never guards, single_use or human_only"),
    ("hooks.stop.verify_requirements", "", "true", "whether Stop asks at all"),
    ("hooks.stop.verify_scopes", "", "[session]", "for which scopes"),
    (
        "hooks.session_end.clear_session_state",
        "",
        "false",
        "forget this session's own satisfactions when it ends",
    ),
    ("hooks.prompt_submit.reminder", "", "false", "what is open, with each prompt"),
    ("hooks.plan_exit.summary", "", "true", "what is open, when plan mode is left"),
    (
        "hooks.tool_failure.guidance",
        "",
        "true",
        "when a tool has failed three times in a row, and each time after: what is open, and that a failed call meets nothing",
    ),
    (
        "hooks.permission_request.auto_deny_dangerous",
        "",
        "true",
        "refuse rm -r of /, ~, ., *, .git or the whole project, forced pushes (+main too), hard resets, git clean -f and tables dropped by a database's program at the permission dialog",
    ),
    ("hooks.permission_request.deny", "", "", "more of them, as regular expressions"),
)
"""(key, type, default, meaning) of each; empty where there is nothing to say. NAME stands for a requirement's."""
