"""Lists the options of the `memory …` commands: name, name in a request, kind (see `call.Row`).

Written by tools/docs/reference.py from the operations; a test compares them.
"""

from __future__ import annotations

from typing import Final

# fmt: off
TABLE: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    "store": (
        ("TEXT", "content", "words"),
        ("--rationale", "rationale", "text"),
        ("--importance", "importance", "float"),
        ("--modality", "modality", "text|image|audio|video"),
        ("--metadata", "metadata", "json"),
        ("--link-to", "link_to", "list"),
        ("--evidence", "evidence", "list"),
        ("--supersedes", "supersedes", "list"),
        ("--tag", "tags", "list"),
        ("--agent-id", "agent_id", "text"),
        ("--occurred-at", "occurred_at", "time"),
        ("--pinned", "pinned", "flag"),
        ("--session-id", "session_id", "text"),
    ),
    "recall": (
        ("QUERY", "query", "words"),
        ("--scope", "scope", "project|team"),
        ("--top-k", "top_k", "int"),
        ("--min-importance", "min_importance", "float"),
        ("--quadrant", "johari_quadrants", "list"),
        ("--created-after", "created_after", "time"),
        ("--created-before", "created_before", "time"),
        ("--agent-id", "agent_id", "text"),
        ("--session-id", "session_id", "text"),
        ("--tag", "tags", "list"),
        ("--project", "project", "text"),
        ("--source", "source", "text"),
        ("--recency", "recency", "float"),
        ("--min-relevance", "min_relevance", "float"),
        ("--cursor", "cursor", "text"),
    ),
    "inject": (
        ("QUERY", "query", "words"),
        ("--max-tokens", "max_tokens", "int"),
        ("--priority", "priority", "low|normal|high|critical"),
        ("--mode", "distillation_mode", "auto|raw|narrative|structured|code_focused"),
        ("--include", "include_metadata", "list"),
        ("--min-importance", "min_importance", "float"),
        ("--quadrant", "johari_quadrants", "list"),
        ("--created-after", "created_after", "time"),
        ("--created-before", "created_before", "time"),
        ("--agent-id", "agent_id", "text"),
        ("--session-id", "session_id", "text"),
        ("--tag", "tags", "list"),
        ("--project", "project", "text"),
        ("--source", "source", "text"),
    ),
    "list": (
        ("--limit", "limit", "int"),
        ("--cursor", "cursor", "text"),
        ("--min-importance", "min_importance", "float"),
        ("--quadrant", "johari_quadrants", "list"),
        ("--created-after", "created_after", "time"),
        ("--created-before", "created_before", "time"),
        ("--agent-id", "agent_id", "text"),
        ("--session-id", "session_id", "text"),
        ("--tag", "tags", "list"),
        ("--project", "project", "text"),
        ("--source", "source", "text"),
    ),
    "show": (
        ("ID", "id", "word"),
        ("--as-of", "as_of", "time"),
    ),
    "forget": (
        ("ID", "id", "word"),
        ("--permanent", "permanent", "flag"),
        ("--reason", "reason", "text"),
        ("--pinned", "pinned", "flag"),
    ),
    "confirm": (
        ("ID", "id", "word"),
        ("--take-back", "take_back", "flag"),
    ),
    "restore": (
        ("ID", "id", "word"),
    ),
    "link": (
        ("FROM", "source", "word"),
        ("TO", "target", "word"),
        ("--type", "relationship_type", "text"),
        ("--weight", "weight", "float"),
        ("--confidence", "confidence", "float"),
        ("--domain", "domain", "code|legal|medical|creative|research|general"),
        ("--metadata", "metadata", "json"),
    ),
    "stats": (
        ("--prometheus", "prometheus", "flag"),
    ),
    "consolidate": (
        ("--mode", "mode", "light|deep|rem"),
        ("--salience-threshold", "salience_threshold", "float"),
        ("--max-memories", "max_memories", "int"),
        ("--dry-run", "dry_run", "flag"),
        ("--strict", "strict", "flag"),
        ("--any-state", "any_state", "flag"),
        ("--session-id", "session_id", "text"),
    ),
    "undo": (
        ("TOKEN", "token", "word?"),
    ),
    "history": (
        ("ID", "id", "word"),
        ("--limit", "limit", "int"),
    ),
    "runs": (
        ("--limit", "limit", "int"),
    ),
    "goals": (
        ("--discover", "discover", "flag"),
        ("--min-confidence", "min_confidence", "float"),
        ("--max-goals", "max_goals", "int"),
        ("--session-id", "session_id", "text"),
    ),
}
