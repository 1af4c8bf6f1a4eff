"""Starts the view in the terminal: `view`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Final

from context_graph.cli.console.moments import moment
from context_graph.cli.view.source import OwnerSource
from context_graph.cli.words import DB_PATH, Command, Option
from context_graph.errors import ConfigError, UsageError
from context_graph.view.rows import Health

EXTRA: Final = (
    "`view` needs Textual, which is not installed; `uv tool install 'context-graph-cli[view]'` or "
    "`pip install 'context-graph-core[view]'` brings it; `context-graph-cli status` works without"
)


def view(theme: str | None, db_path: str | None) -> None:
    """Show this project in the terminal: health, memories, ledger, sessions, runs, gates, map and effect.

    It is live while a session runs. 1 to 8 choose the screen, ? shows the keys, q ends it. Whatever changes
    something asks first and can be undone. Needs the extra `view`:
    `uv tool install 'context-graph-cli[view]'`.

    Exit codes: 0 ended by the person; 1 no terminal, or the extra is missing; 2 a wrong option.

    Example: context-graph-cli view
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("`view` needs a terminal; `context-graph-cli status` prints the state as text")
    if find_spec("textual") is None:
        raise ConfigError(EXTRA)
    source = OwnerSource(db_path)
    first = _asked(source.health)  # the owner answers while Textual is loaded
    from context_graph.view.terminal.app import ViewApp

    app = ViewApp(source, source, partial(moment, "the time"), first, theme or "")
    app.run()
    if app.return_code:
        raise SystemExit(app.return_code)


def _asked(call: Callable[[], Health]) -> Callable[[], Health]:
    """Run ``call`` in a thread now; what is returned waits for its answer and gives it, or its error."""
    answer: list[Health] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            answer.append(call())
        except Exception as error:  # raised again where the answer is awaited
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait() -> Health:
        thread.join()
        if failed:
            raise failed[0]
        return answer[0]

    return wait


COMMANDS: Final = (
    Command(
        "view",
        view,
        "Look at everything in the terminal",
        (
            Option(
                "--theme",
                "dark or light. Default: as the terminal says of itself in $COLORFGBG, else dark.",
                choices=("dark", "light"),
            ),
            DB_PATH,
        ),
    ),
)
