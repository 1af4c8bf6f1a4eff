"""Prints names with their values, in colour on a terminal, else plain."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from context_graph.cli.output.tables import columns


def show(rows: Sequence[tuple[str, str]]) -> None:
    """Print the pairs one below the other. rich is Typer's own dependency, and loaded for a terminal only."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        print(columns(rows))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")  # a path that ends in an ellipsis can't be copied
    for name, text in rows:
        wrong = name == "problem" or text.startswith(("✗", "⚠"))
        table.add_row(Text(name, style="bold red" if wrong else "bold cyan"), Text(text))
    Console().print(table)
