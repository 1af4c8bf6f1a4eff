"""PermissionRequest: refuse what destroys work, and note that the user is asked about the call."""

from __future__ import annotations

from context_graph.requirements.event import GateEvent, GateResult
from context_graph.requirements.passage import asked_for
from context_graph.requirements.permission import on_permission_request
from context_graph.requirements.where import acted_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.requirements.cache import GateCache

__all__ = ["at_the_dialog"]


def at_the_dialog(event: GateEvent, cache: GateCache | None, may_run: bool) -> GateResult:
    """What ``permission`` says; a call that was asked about and has no end was refused by the user."""
    if event.session_id:
        for part in acted_on(event):
            if part.project.repo is not None:
                asked_for(event, part.project.repo, cache)
    return on_permission_request(event, cache, may_run)
