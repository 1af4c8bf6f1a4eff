"""Renders what can be said without the owner. Twin of ext/launcher/src/output.rs; the formats are the
owner's."""

from __future__ import annotations

import struct

from context_graph.claude.hooks.claude import document
from context_graph.front.document import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def _f32(number: float) -> float:
    """As the slots hold it: 0.7 in single precision is below 0.7."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _level(ic: float) -> str:
    """Seed 001 section 2.2: levels of identity continuity."""
    for least, word in ((0.9, "healthy"), (0.7, "normal"), (0.5, "warning")):
        if ic >= _f32(least):
            return word
    return "critical"


def _quadrant(consciousness: float, integration: float) -> str:
    """Seed 001 section 4.3: the system's Johari quadrant."""
    high = _f32(0.7)
    if integration >= high:
        return "open" if consciousness >= high else "blind"
    return "hidden" if consciousness >= high else "unknown"


def render(output: str, error: str | None, measures: Sequence[float] | None, elapsed_ms: int) -> bytes:
    """HookOutput, as far as it can be known here, in one of seed 001's formats."""
    from context_graph.claude.hooks.hook_output import HookOutput, render_output
    from context_graph.model import ConsciousnessMeasures, ICClassification

    said = HookOutput(success=error is None, error=error, execution_time_ms=elapsed_ms)
    if measures is not None:
        consciousness, integration, reflection, differentiation, ic, threshold = measures
        said.consciousness_state = ConsciousnessMeasures(
            consciousness=consciousness,
            integration=integration,
            reflection=reflection,
            differentiation=differentiation,
            identity_continuity=ic,
            johari_quadrant=_quadrant(consciousness, integration),
        )
        said.ic_classification = ICClassification(value=ic, level=_level(ic), crisis_triggered=ic < threshold)
    return render_output(said, output if output != "claude" else "json-compact")


def claude_document(event_name: str, context: str, message: str) -> bytes:
    """The client's document that tells the model ``context`` and the user ``message``; nothing if both are
    empty.
    """
    made = document(event_name, context=context, system_message=message)
    return dumps(made) + b"\n" if made else b""
