"""Defines each operation on memories once: its arguments, what it does, how its answer looks.

`memories` and `whole_stores` hold the definitions, words and bounds only, so that the command line may import
them; `running` and `views` need the memory. MCP's tools, the owner's verbs, the commands' options and the
tables of docs/dev/mcp.md and docs/commands.md are made from the definitions. Start reading at `memories`.
"""

from typing import Final

from context_graph.operations import memories as memories
from context_graph.operations import whole_stores as whole_stores
from context_graph.operations.operation import DEFINED, Operation

OPERATIONS: Final[tuple[Operation, ...]] = tuple(DEFINED)
"""All operations, in the order in which tools and commands are shown: that of the modules above."""
