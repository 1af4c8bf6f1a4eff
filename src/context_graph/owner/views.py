"""A live session as the records and JSON that commands print."""

from __future__ import annotations

from dataclasses import asdict

from context_graph.identity.continuity import ICLevel, is_ic_crisis
from context_graph.identity.johari import johari_system
from context_graph.identity.live import LiveSession
from context_graph.owner.store_context import StoreContext
from context_graph.protocol.spec import ConsciousnessState, ICClassification
from context_graph.store.listing import SessionRow

__all__ = ["classification_of", "row_view", "session_view", "state_of", "status_view"]

CHAIN_LIMIT = 20


def state_of(live: LiveSession) -> ConsciousnessState | None:
    """Seed 001's consciousness_state; None while nothing has been measured."""
    if not live.has_evidence:
        return None
    metrics = live.metrics
    return ConsciousnessState(
        consciousness=metrics.consciousness,
        integration=metrics.integration,
        reflection=metrics.reflection,
        differentiation=metrics.differentiation,
        identity_continuity=metrics.ic,
        johari_quadrant=johari_system(metrics.consciousness, metrics.integration).value,
    )


def classification_of(live: LiveSession) -> ICClassification:
    """Seed 001's ic_classification of the session's last IC."""
    ic = live.snapshot.last_ic
    return ICClassification(
        value=ic,
        level=ICLevel.from_value(ic).value,
        crisis_triggered=is_ic_crisis(ic, live.snapshot.crisis_threshold),
    )


def session_view(context: StoreContext, live: LiveSession) -> dict[str, object]:
    """The snapshot by its seed field names, and what the store knows beside it."""
    snapshot = live.snapshot
    chain = context.store.chain(snapshot.session_id, limit=CHAIN_LIMIT)
    return {
        **asdict(snapshot),
        "events_applied": live.events_applied,
        "events_duplicate": live.events_duplicate,
        "events_by_kind": dict(live.events_by_kind),
        "spool_pending": context.spool_pending(),
        "ic_history": list(live.ic_history),
        "has_evidence": live.has_evidence,
        "chain": [row_view(row) for row in chain.sessions],
        "chain_end": chain.end,
        "dreams_pending": len(context.store.dream_queue.pending()),
    }


def row_view(row: SessionRow) -> dict[str, object]:
    """One row of a listing; what is not known is left out."""
    return {name: value for name, value in asdict(row).items() if value is not None and value != ""}


def status_view(context: StoreContext, live: LiveSession | None) -> dict[str, object]:
    """`consciousness status`: one session's numbers and the store's."""
    view: dict[str, object] = {
        "store": str(context.folder),
        "project": str(context.project) if context.project else "",
        "sessions": context.store.count(),
        "spool_pending": context.spool_pending(),
        "dreams_pending": context.store.dream_queue.pending(),
    }
    if live is None:
        return view
    state = state_of(live)
    view["session_id"] = live.snapshot.session_id
    view["previous_session_id"] = live.snapshot.previous_session_id
    view["has_evidence"] = live.has_evidence
    view["events_applied"] = live.events_applied
    if state is not None:
        view["state"] = live.metrics.state.name
        view["consciousness_state"] = {name: getattr(state, name) for name in state.__struct_fields__}
        view["coupling"] = live.snapshot.coupling
        view["predictions_scored"] = live.predictions_scored
        view["ic_classification"] = classification_of(live).level
    return view
