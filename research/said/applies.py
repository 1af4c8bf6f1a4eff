"""Measure `concerns`: is a rule told at the work it was meant for, and which others are told there too?

    python -m research.said.applies FILE.json [--half 0|1]

FILE has below `prompts` objects with `lang`, `prompt`, `rule`, `says` and `applies`: a prompt, a path or a
command of later work.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from context_graph.notes.said import concerns
from context_graph.notes.said.about import names
from context_graph.notes.said.concerns import FLOOR
from context_graph.notes.said.content import read_content
from context_graph.notes.said.language import language_of


def given(applies: str) -> dict[str, str]:
    """What kind of work it is."""
    if " " not in applies and ("/" in applies or "." in applies):
        return {"path": applies}
    first = applies.split()[0]
    known = names().programs | {"rm", "cat", "mv", "cd", "mysql", "ssh"}
    return {"command" if first in known or first.startswith("./") else "prompt": applies}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("--half", type=int, help="0 or 1: each other rule, from that one on")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = [
        one for one in json.loads(options.source.read_text("utf-8"))["prompts"] if one["rule"]
    ]
    rows = rows if options.half is None else rows[options.half :: 2]
    rules = [read_content("rule", one["says"], language_of(one["prompt"]), 0.0) for one in rows]
    right = others = pairs = 0
    for at, row in enumerate(rows):
        work = given(row["applies"])
        right += concerns(rules[at], **work) >= FLOOR
        beside = [
            rule
            for rule, one in zip(rules, rows, strict=True)
            if one is not row and one["lang"] == row["lang"]
        ]
        others += sum(concerns(rule, **work) >= FLOOR for rule in beside)
        pairs += len(beside)
    print(f"told where it was meant: {right} of {len(rows)}; other rules told there: {others} of {pairs}")


if __name__ == "__main__":
    main()
