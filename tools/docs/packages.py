"""Draws ARCHITECTURE.md's figure of the packages from what their modules import.

    python tools/docs/packages.py            rewrites the figure
    python tools/docs/packages.py --check    exit 1 if the figure is another

An arrow that follows from two others is left out (the transitive reduction of the imports). A module that
the package loads when a name of it is first used counts as an import too.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import grimp

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "ARCHITECTURE.md"
PACKAGE: Final = "context_graph"
FIGURE: Final = re.compile(r"```mermaid\nflowchart TD\n.*?```", re.DOTALL)


def imports() -> dict[str, set[str]]:
    """Which packages each package below ``context_graph`` imports, by their short names."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    names = [child.removeprefix(f"{PACKAGE}.") for child in graph.find_children(PACKAGE)]
    return {
        name: {
            other
            for other in names
            if other != name
            and graph.direct_import_exists(
                importer=f"{PACKAGE}.{name}", imported=f"{PACKAGE}.{other}", as_packages=True
            )
        }
        for name in names
    }


def _below(name: str, arrows: dict[str, set[str]]) -> set[str]:
    below: set[str] = set()
    waiting = list(arrows[name])
    while waiting:
        other = waiting.pop()
        if other not in below:
            below.add(other)
            waiting.extend(arrows[other])
    return below


def reduced(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that do not follow from others. Needs a graph without cycles."""
    below = {name: _below(name, arrows) for name in arrows}
    return {
        name: {to for to in ends if not any(to in below[other] for other in ends)}
        for name, ends in arrows.items()
    }


def figure() -> str:
    """The figure as Mermaid, packages that most follow from first."""
    arrows = imports()
    left = reduced(arrows)
    order = sorted(left, key=lambda name: (-len(_below(name, arrows)), name))
    lines = [f"  {name} --> {' & '.join(sorted(left[name]))}" for name in order if left[name]]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def page(text: str) -> str:
    """The page with today's figure in it."""
    return FIGURE.sub(lambda _: figure(), text, count=1)


def main() -> int:
    """Writes the page, or compares it."""
    before = PAGE.read_text(encoding="utf-8")
    after = page(before)
    if "--check" in sys.argv[1:]:
        return int(before != after)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
