"""Runs an owner of another version: `owner_of.py VERSION -P -m context_graph.owner …`."""

from __future__ import annotations

import sys


def main() -> None:
    """Be the owner."""
    at = sys.argv.index("context_graph.owner")
    import context_graph

    context_graph.__version__ = sys.argv[1]
    from context_graph.owner.__main__ import main as owner

    sys.exit(owner(sys.argv[at + 1 :]))


if __name__ == "__main__":
    main()
