"""Runs `python -m context_graph.front`."""

from context_graph.front.main import main

if __name__ == "__main__":
    main()
