"""Stands in for the interpreter of $CONTEXT_GRAPH_PYTHON and makes the owner one of another version.

`owner_of.py VERSION INTERPRETER -P -m MODULE …`: the owner's module runs with VERSION as the package's; every
other module runs in the real interpreter, as it is.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Become what the words say."""
    version, interpreter, *words = sys.argv[1:]
    if "context_graph.owner" not in words:
        os.execv(interpreter, [interpreter, *words])
    at = words.index("context_graph.owner")
    import context_graph

    context_graph.__version__ = version
    from context_graph.owner.__main__ import main as owner

    sys.exit(owner(words[at + 1 :]))


if __name__ == "__main__":
    main()
