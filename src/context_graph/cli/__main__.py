"""Runs `context-graph-py` and `python -m context_graph.cli`: Ctrl-C is silent from here on."""

from __future__ import annotations

import os
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command of the command line; nothing of it is loaded before Ctrl-C ends this quietly."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # until a command's own work begins
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the launcher held it back while we started
    from context_graph.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
