"""`memory show` tells people what they ask of a memory, not the program's own records."""

from __future__ import annotations

from typing import Any

from context_graph.cli.memory.text import RECORDS, node_text
from context_graph.memory import capture, evidence
from context_graph.model import memory, note

NODE: dict[str, Any] = {
    "id": "97cfce6f-e794-595a-8813-25e3240bf4f0", "content": "Use pnpm",
    "created_at": "2026-11-28T03:00:00+00:00",
    "source": "note", "importance": 0.7, "access_count": 0, "rationale": "said", "tags": [],
    "johari_quadrant": "blind", "metadata": {},
}  # fmt: skip


def test_what_the_program_keeps_for_itself_is_left_to_json() -> None:
    kept = {
        "kind": "rule",
        "note": {"events": [2], "wants": "fact"},
        "evidence": {"files": {"src/a.py": ["5d3f", 1, 2], "src/b.py": ["6e40", 1, 2]}, "branch": "main"},
        "confirmed": {"at_ms": 1, "before": {}},
        "accepted": True,
    }
    head, _, content = node_text({**NODE, "metadata": kept}).partition("\n\n")
    assert content == "Use pnpm" and "{" not in head and "Johari" not in head
    assert "rests on    src/a.py, src/b.py" in head and "confirmed   2" in head


def test_metadata_of_the_users_own_is_shown() -> None:
    assert '{"area": "api"}' in node_text({**NODE, "metadata": {"area": "api", "kind": "rule"}})
    assert "metadata" not in node_text(NODE)


def test_the_records_are_called_as_those_who_write_them_call_them() -> None:
    written = {
        *(note.KIND, note.NOTE, memory.SEARCHED, memory.MERGED_FROM, capture.NOTES, capture.GATHERED),
        *(memory.CONFIRMED, memory.REWORDED, evidence.KEY, memory.ACCEPTED, "capture"),
    }
    assert written == RECORDS
