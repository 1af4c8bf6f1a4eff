"""Serves what a client calls all the time (hooks, brief, status line, MCP) where no native launcher is.

The twin of ext/launcher: modules and functions have the names of theirs. `context-graph-cli` is this package
where the system is not Linux, and everywhere with CONTEXT_GRAPH_FRONT=python
(docs/adr/0024-portable-front.md). A hook that an owner answers loads a handful of small modules and neither
`re` nor `json` nor `typing`; what is needed when things go wrong is imported then. Start reading at ``main``;
``hook`` is the middle.
"""
