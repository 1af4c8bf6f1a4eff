"""Measure which statements end or repeat earlier ones, on the pairs of `cases/`.

python -m research.said.pairs tune|left_out [--verbose]
"""

from __future__ import annotations

import sys

from research.said.cases import FOLDER

from context_graph.notes.said import Statement, repeated, replaces
from context_graph.notes.said.content import read_content
from context_graph.notes.said.language import language_of


def read(text: str) -> Statement:
    return read_content("rule", text, language_of(text), 0.0)


def main(part: str, *, verbose: bool) -> None:
    right: dict[str, int] = {}
    total: dict[str, int] = {}
    for line in (FOLDER / f"pairs_{part}.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        sign, _, pair = line.partition(" ")
        new, old = (read(one) for one in pair.split(" :: "))
        found = ">" if replaces(new, old) else "=" if repeated(new, old) else "|"
        total[sign] = total.get(sign, 0) + 1
        right[sign] = right.get(sign, 0) + (found == sign)
        if verbose and found != sign:
            print(sign, "found", found, "--", new.text, "::", old.text)
            print("    ", new.wants, new.chosen, "/", new.instead_of, new.about.topics)
            print("    ", old.wants, old.chosen, "/", old.instead_of, old.about.topics)
    for sign, name in ((">", "ended"), ("=", "said again"), ("|", "neither")):
        print(f"{name}: {right[sign]} of {total[sign]}")


if __name__ == "__main__":
    main(sys.argv[1], verbose="--verbose" in sys.argv)
