"""Measure `notes/said` on marked prompts.

    python -m research.said.judge tune|left_out [--verbose]
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
    if source in ("tune", "left_out"):
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("--half", type=int)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--rules-only", action="store_true")
    options = parser.parse_args()
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0, 0])
    for one in marked(options.source, options.half):
        found = statements(one.prompt)
        if options.rules_only:
            found = [each for each in found if each.kind == "rule"]
        if one.says is None:
            right, false, missed = (
                int(bool(found) and one.any),
                int(bool(found) and not one.any),
                int(one.any and not found),
            )
        else:
            hit = {says for says in one.says if any(overlaps(each.text, says) for each in found)}
            false = sum(not any(overlaps(each.text, says) for says in one.says) for each in found)
            right, missed = len(hit), len(one.says) - len(hit)
        flagged = [int(bool(found) and one.any), int(bool(found) and not one.any), int(one.any and not found)]
        for group in (one.language, "other" if one.language != "en" else "", "all"):
            counts[group] = [
                a + b for a, b in zip(counts[group], [right, false, missed, *flagged], strict=True)
            ]
        if options.verbose and (false or missed):
            print(
                "MISS" if missed else "    ",
                "FALSE" if false else "     ",
                one.language,
                one.prompt.replace("\n", "\\n"),
            )
            for each in found:
                print(f"        {each.kind} {each.score:.1f} {each.text}")
    for group, (right, false, missed, *flag) in sorted(counts.items()):
        if group:
            print(f"{group:6} text: {_shares(right, false, missed)}   prompt: {_shares(*flag)}")


def _shares(right: int, false: int, missed: int) -> str:
    precision, recall = right / max(1, right + false), right / max(1, right + missed)
    return f"precision {precision:.2f} recall {recall:.2f} of {right + missed}"


if __name__ == "__main__":
    main()
