"""Makes the files that a build needs and git does not have: the man page, which the wheel installs, the table
of the `memory …` commands' options, read without Typer and msgspec, and that of the events, without TOML.

    python tools/docs/built.py

setup.py and `make build` run it. It needs no kernel, so it may run before they are compiled.
"""

from __future__ import annotations

import json
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_graph.cli.memory.typed import Row

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]  # of this tree, whatever is installed

MAN = ROOT / "build/man/context-graph-cli.1"
EVENTS = ROOT / "src/context_graph/claude/events.toml"
EVENT_TABLE = EVENTS.with_name("event_table.py")
MEMORY_TABLE = ROOT / "src/context_graph/cli/memory/table.py"


def event_table() -> str:
    """The module that has the rows of `events.toml`."""
    rows = tomllib.loads(EVENTS.read_text(encoding="utf-8"))["event"]
    return "\n".join(
        [
            '"""Lists the client\'s events, as `events.toml` has them.',
            "",
            "Made by tools/docs/built.py; `make build` makes it again where that changed.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import Any, Final",
            "",
            "# fmt: off",
            "ROWS: Final[tuple[dict[str, Any], ...]] = (",
            *(f"    {row!r}," for row in rows),
            ")",
            "",
        ]
    )


def memory_table() -> str:
    """The module that lists the options of the `memory …` commands."""
    lines = [
        '"""Lists the options of the `memory …` commands: name, name in a request, kind (see `call.word`).',
        "",
        "Made by tools/docs/built.py from the operations; `make build` makes it again where they changed.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        "# fmt: off",
        "TABLE: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {",
    ]
    for word, rows in import_module("context_graph.cli.memory.typed").table().items():
        lines += [f'    "{word}": (', *(f"        {_tuple(row)}," for row in rows), "    ),"]
    return "\n".join([*lines, "}", ""])


def _tuple(row: Row) -> str:
    return f"({', '.join(json.dumps(value, ensure_ascii=False) for value in row)})"


def main() -> None:
    """Write each where it differs, the events first: the commands need them."""
    _write(EVENT_TABLE, event_table())
    _write(MEMORY_TABLE, memory_table())
    _write(MAN, import_module("tools.docs.man").page())


def _write(path: Path, text: str) -> None:
    """Write ``text`` unless it is there: a module that did not change keeps its bytecode."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
