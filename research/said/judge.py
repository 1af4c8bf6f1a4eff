"""Measure `notes/said` on marked prompts.

    python -m research.said.judge tune|left_out|left_out_plain|left_out_terse [--verbose]
    python -m research.said.judge FILE.json [--half 0|1] [--verbose]

FILE has below `prompts` or `cases` a list of `[prompt, says something]`, or of objects with `lang`, `prompt`,
`rule` and `says`. Precision: of the statements found, those that were meant. Recall: of those meant, those
that were found.
A statement is the one meant if most of its words are the marked ones, and most of the marked ones are in it.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from research.said.cases import read

from context_graph.notes.said import statements

_PIECE = re.compile(r"[\u3040-\u9fff]|\w+")


@dataclass(frozen=True, slots=True)
class Marked:
    """A prompt, and the words in it that hold further; None where only that there are some is known."""

    language: str
    prompt: str
    says: tuple[str, ...] | None
    any: bool


def marked(source: str, half: int | None) -> list[Marked]:
    if source in ("tune", "left_out", "left_out_plain", "left_out_terse"):
        return [
            Marked(one.language, one.prompt, one.rules + one.decisions, bool(one.rules + one.decisions))
            for one in read(source)
        ]
    given = json.loads(Path(source).read_text("utf-8"))
    rows = given.get("prompts") or given["cases"]
    if isinstance(rows[0], list):
        found = [Marked("en", prompt, None, holds) for prompt, holds in rows]
    else:
        found = [Marked(r["lang"], r["prompt"], (r["says"],) if r["rule"] else (), r["rule"]) for r in rows]
    return found if half is None else found[half::2]


def overlaps(found: str, says: str) -> bool:
    ours, theirs = _PIECE.findall(found.lower()), _PIECE.findall(says.lower())
    common = sum(min(ours.count(one), theirs.count(one)) for one in set(ours))
    return bool(common) and common >= 0.6 * len(theirs) and common >= 0.5 * len(ours)


def add(counts: dict[str, list[int]], one: Marked, *, verbose: bool = False) -> None:
    """Count what is found in a prompt: right, false, missed statements, then the same of prompts."""
    found = statements(one.prompt)
    prompt = [int(bool(found) and one.any), int(bool(found) and not one.any), int(one.any and not found)]
    text = prompt
    if one.says is not None:
        right = sum(any(overlaps(each.text, says) for each in found) for says in one.says)
        false = sum(not any(overlaps(each.text, says) for says in one.says) for each in found)
        text = [right, false, len(one.says) - right]
    for group in {one.language, "en" if one.language == "en" else "other", "all"}:
        counts[group] = [a + b for a, b in zip(counts[group], [*text, *prompt], strict=True)]
    if verbose and (text[1] or text[2]):
        print(*(["MISS"] * text[2] + ["FALSE"] * text[1]), one.language, one.prompt.replace("\n", "\\n"))
        for each in found:
            print(f"        {each.kind} {each.score:.1f} {each.text}")


def show(counts: dict[str, list[int]]) -> None:
    for group, (right, false, missed, *flag) in sorted(counts.items()):
        print(f"{group:6} text: {_shares(right, false, missed)}   prompt: {_shares(*flag)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("--half", type=int, help="0 or 1: each other prompt, from that one on")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * 6)
    for one in marked(options.source, options.half):
        add(counts, one, verbose=options.verbose)
    show(counts)


def _shares(right: int, false: int, missed: int) -> str:
    precision, recall = right / max(1, right + false), right / max(1, right + missed)
    return f"precision {precision:.2f} recall {recall:.2f} of {right + missed}"


if __name__ == "__main__":
    main()
