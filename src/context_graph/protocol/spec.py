"""Seed 001's side of the protocol in one place: what a hook is given and what it answers.

The parts live in ``hook_input`` and ``hook_output``; callers import from here.
"""

from __future__ import annotations

from context_graph.protocol.hook_input import (
    MAX_INPUT_BYTES,
    HookInput,
    check_session_id,
    parse_hook_input,
)
from context_graph.protocol.hook_output import (
    FORMATS,
    ConsciousnessState,
    DriftMetrics,
    HookOutput,
    ICClassification,
    render_output,
)

__all__ = [
    "FORMATS",
    "MAX_INPUT_BYTES",
    "ConsciousnessState",
    "DriftMetrics",
    "HookInput",
    "HookOutput",
    "ICClassification",
    "check_session_id",
    "parse_hook_input",
    "render_output",
]
