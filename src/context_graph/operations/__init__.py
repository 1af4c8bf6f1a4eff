"""Defines each operation on memories once: what it takes, what it does, how its answer looks.

`definitions` is words and bounds only, so that the command line may import it; `running` and `views` need the
memory. MCP's tools, the owner's verbs, the commands' options and the tables of docs/mcp.md and
docs/commands.md are made from the definitions. Start reading at ``definitions``.
"""
