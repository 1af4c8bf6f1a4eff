"""A name says what it holds: words that fit anything (found, one, given ...) name nothing in the product."""

from __future__ import annotations

import symtable
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "context_graph"
BANNED = frozenset({"found", "one", "given", "told", "said", "ours", "theirs", "held", "thing"})

# The scopes of each package that still bind such a name. A package that isn't here binds none.
# A row only goes down: lower it when you rename, and take it out at 0.
LEFT = {
    "kernels": 2,
    "text": 1,
    "wire": 1,
    # ---
    "identity": 1,
    "memory": 1,
    "notes": 2,
    "sync": 3,
}


def _bound(table: symtable.SymbolTable, path: str) -> list[str]:
    """Lists `path:line name` for each banned name that this scope or one inside it binds."""
    rows = [
        f"{path}:{table.get_lineno()} {symbol.get_name()}"
        for symbol in table.get_symbols()
        if symbol.get_name() in BANNED
        and symbol.is_local()
        and (symbol.is_assigned() or symbol.is_parameter() or symbol.is_imported())
    ]
    return rows + [row for child in table.get_children() for row in _bound(child, path)]


def _rows(source: str, path: str) -> list[str]:
    return _bound(symtable.symtable(source, path, "exec"), path)


def test_no_package_binds_more_empty_names_than_before() -> None:
    rows: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        rows.setdefault(place.parts[0], []).extend(_rows(path.read_text(encoding="utf-8"), str(place)))
    counts = Counter({package: len(names) for package, names in rows.items()})
    grown = {package: rows[package] for package in counts if counts[package] > LEFT.get(package, 0)}
    assert not grown, "choose the noun a reader expects (match, reply, row ...): " + repr(grown)


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "def f(one): return one",
        "class A:\n    told: str = ''",
        "x = [given for given in range(3)]",
        "import os as thing",
        "with open('a') as held: pass",
        "if (said := 1): pass",
        "f = lambda ours: ours",
        "def theirs(): pass",
    ],
)
def test_each_kind_of_binding_is_seen(source: str) -> None:
    assert len(_rows(source, "a.py")) == 1


def test_a_use_and_an_attribute_are_no_binding() -> None:
    assert _rows("def f(a):\n    a.found = a.told(one=1)\n    global one\n    return one", "a.py") == []
