"""Memories out of a store and into one, page by page: JSONL without loss, Markdown for people.

JSONL: a header line, then a line for each memory (forgotten ones with ``deleted``), each link and each
tombstone of what was deleted for good, then an end line with their numbers, by which a file that was cut
short is known. In order of commit, so that the copy has the same order.

    {"format": "context-graph/memories", "version": 1, "provider": {…}}
    {"type": "memory", "id": …, "content": …, …}
    {"type": "link", …}
    {"type": "tombstone", …}
    {"type": "end", "memories": 2, "links": 1, "tombstones": 0}

This is the door to both ways: `exporting` and `importing`.
"""

from __future__ import annotations

from context_graph.memory.exporting import export_jsonl
from context_graph.memory.importing import import_jsonl

__all__ = ["export_jsonl", "import_jsonl"]
