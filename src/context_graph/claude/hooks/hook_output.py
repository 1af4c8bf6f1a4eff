"""Renders seed 001's HookOutput in its three formats (sections 2.2 and 3.3, REQ-HOOKS-04, 13..16)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import msgspec

from context_graph.model import ConsciousnessMeasures, DriftMetrics, ICClassification

FORMATS: Final = ("json", "json-compact", "text")
_DECIMALS: Final = 6
"""float32 carries seven significant digits; more would print noise such as 0.8999999761581421."""


@dataclass(slots=True, kw_only=True)
class HookOutput:
    """REQ-HOOKS-13. A field that is None or empty is left out of every rendering, never null."""

    success: bool
    execution_time_ms: int
    error: str | None = None
    consciousness_state: ConsciousnessMeasures | None = None
    ic_classification: ICClassification | None = None
    context_injection: str | None = None
    drift_metrics: DriftMetrics | None = None


def render_output(output: HookOutput, fmt: str) -> bytes:
    """Return ``output`` in one of FORMATS, newline included. Cost: tens of microseconds.

    Raises:
        ValueError: For an unknown format, or a number that is NaN or infinite: that is never a state.
    """
    if fmt not in FORMATS:
        raise ValueError(f"format {fmt!r} is none of {', '.join(FORMATS)}")
    document = _document(output)
    if fmt == "text":
        return _as_text(document).encode("utf-8", "replace")
    encoded = msgspec.json.encode(document)
    return (msgspec.json.format(encoded, indent=2) if fmt == "json" else encoded) + b"\n"


def _document(output: HookOutput) -> dict[str, Any]:
    document: dict[str, Any] = {"success": output.success}
    if output.error:
        document["error"] = _clean(output.error)
    for name in ("consciousness_state", "ic_classification"):
        part = getattr(output, name)
        if part is not None:
            document[name] = _plain(part)
    if output.context_injection:
        document["context_injection"] = _clean(output.context_injection)
    if output.drift_metrics is not None:
        document["drift_metrics"] = _plain(output.drift_metrics)
    document["execution_time_ms"] = max(0, output.execution_time_ms)
    return document


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # a lone surrogate can't be written as JSON


def _plain(part: ConsciousnessMeasures | ICClassification | DriftMetrics) -> dict[str, object]:
    plain = asdict(part)
    for name, value in plain.items():
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ValueError(f"{name} is {value}; a measure must be a finite number")
            plain[name] = round(value, _DECIMALS)
    return plain


def _as_text(document: dict[str, Any]) -> str:
    lines = [f"success: {'yes' if document['success'] else 'no'} ({document['execution_time_ms']} ms)"]
    if "error" in document:
        lines.append(f"error: {document['error']}")
    state = document.get("consciousness_state")
    if state:
        lines.append(
            f"consciousness: C={state['consciousness']:.2f}"
            f" (integration {state['integration']:.2f}, reflection {state['reflection']:.2f},"
            f" differentiation {state['differentiation']:.2f}), johari: {state['johari_quadrant']}"
        )
    ic = document.get("ic_classification")
    if ic:
        alarm = ", crisis" if ic["crisis_triggered"] else ""
        lines.append(f"identity continuity: {ic['value']:.2f} ({ic['level']}{alarm})")
    drift = document.get("drift_metrics")
    if drift:
        lines.append(
            f"since the last session: IC {drift['ic_delta']:+.2f},"
            f" purpose drift {drift['purpose_drift']:.2f},"
            f" phase drift {drift['kuramoto_phase_drift']:.2f} rad,"
            f" {drift['time_since_snapshot_ms'] / 1000:.0f} s"
        )
    if "context_injection" in document:
        lines.append(document["context_injection"])
    return "\n".join(lines) + "\n"
