"""Makes the files that a build needs and git does not have: the man page, which the wheel installs, and the
table of the `memory …` commands' options, which are read without Typer and msgspec.

    python tools/docs/built.py

setup.py and `make build` run it. It needs no kernel, so it may run before they are compiled.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]  # of this tree, whatever is installed

from tools.docs.man import page  # noqa: E402

from context_graph.cli.memory.typed import Row, table  # noqa: E402

MAN = ROOT / "build/man/context-graph-cli.1"
MEMORY_TABLE = ROOT / "src/context_graph/cli/memory/table.py"


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
    for word, rows in table().items():
        lines += [f'    "{word}": (', *(f"        {_tuple(row)}," for row in rows), "    ),"]
    return "\n".join([*lines, "}", ""])


def _tuple(row: Row) -> str:
    return f"({', '.join(json.dumps(value, ensure_ascii=False) for value in row)})"


def main() -> None:
    """Write both where they differ: a module that did not change keeps its bytecode."""
    for path, text in ((MEMORY_TABLE, memory_table()), (MAN, page())):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
