"""Makes quotes of memories, with how what each rests on is today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from context_graph.memory.context.told_lines import Quote
from context_graph.memory.evidence import EvidenceState, Verdict
from context_graph.model.memory import MemoryNode, author_of
from context_graph.model.note import NOTE, kind_of_memory


def quotes_of(
    likely: Sequence[tuple[MemoryNode, float]],
    verdicts: Sequence[Verdict | None],
    contradicted: Mapping[UUID, UUID],
) -> list[Quote]:
    """(memory, relevance) as quotes, in their order, those last whose files are gone; what another memory
    superseded is left out.

    Args:
        verdicts: How what each rests on is today; None for what rests on nothing.
        contradicted: Which memory contradicts one of them.
    """
    quotes, gone = [], dict[str, bool]()
    for (node, score), verdict in zip(likely, verdicts, strict=True):
        if verdict is not None and verdict.state is EvidenceState.SUPERSEDED:
            continue
        weight, text = (1.0, "") if verdict is None else (verdict.weight, verdict.text())
        if node.id in contradicted:
            text = ", ".join(filter(None, (text, f"contradicted by {str(contradicted[node.id])[:8]}")))
        gone[str(node.id)] = verdict is not None and verdict.state is EvidenceState.GONE
        fields = (str(node.id), node.content, node.source, node.created_at_ms, score * weight, text)
        note, kind = node.metadata.get(NOTE), kind_of_memory(node.metadata)
        said_by = str(note.get("said_by", "")) if isinstance(note, dict) else ""
        quotes.append(Quote(*fields, author_of(node), kind=kind, said_by=said_by))
    return sorted(quotes, key=lambda quote: gone[quote.node_id])
