"""`python -m context_graph.cli`: what the launcher starts when $CONTEXT_GRAPH_PYTHON names an interpreter."""

from context_graph.cli.main import main

if __name__ == "__main__":
    main()
