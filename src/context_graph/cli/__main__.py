"""Runs `python -m context_graph.cli`: the launcher does if $CONTEXT_GRAPH_PYTHON names an interpreter."""

from context_graph.cli.main import main

if __name__ == "__main__":
    main()
