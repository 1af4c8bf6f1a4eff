"""Lists all operations, in the order in which tools and commands are shown."""

from __future__ import annotations

from typing import Final

from context_graph.operations import consolidations, memories
from context_graph.operations.operation import DEFINED, Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    *DEFINED[memories.__name__],
    *DEFINED[consolidations.__name__],
)
