"""Defines each operation on memories once: its arguments, what it does, how its answer looks.

`memories`, `transfer` and `consolidations` hold the definitions, words and bounds only, so that the command
line may import them; `running` and `views` need the memory. MCP's tools, the owner's verbs, the commands'
options and the tables of docs/dev/mcp.md and docs/commands.md are made from the definitions. Start reading at
`memories`.
"""

from typing import Final

from context_graph.operations import consolidations, memories, transfer
from context_graph.operations.operation import DEFINED, Operation

OPERATIONS: Final[tuple[Operation, ...]] = tuple(
    operation for module in (memories, transfer, consolidations) for operation in DEFINED[module.__name__]
)
"""All operations, in the order in which tools and commands are shown."""
