"""A name says what it holds: words that fit anything (found, one, given ...) name nothing in the product."""

from __future__ import annotations

import ast
import symtable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "context_graph"
BANNED = frozenset({"found", "one", "given", "told", "said", "ours", "theirs", "held", "thing"})

# The scopes of each package that still bind such a name. A package that isn't here binds none.
# A row only goes down: lower it when you rename, and take it out at 0.
LEFT = {"identity": 1, "kernels": 2, "memory": 1, "notes": 2, "sync": 3, "text": 1}

NOUNS = frozenset(
    {"The", "A", "An", "Whether", "What", "Where", "How", "Why", "When", "Those", "Every", "All", "Each"}
)
NAMED_LIKE_VALUES = frozenset({"property", "cached_property", "contextmanager"})
# Packages in which a function's docstring may still begin with a noun; take one out when it has none.
WITHOUT_VERBS = frozenset({"consolidation", "errors.py", "identity", "memory", "notes", "operations", "sync"})


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


def test_each_package_binds_as_many_empty_names_as_are_known() -> None:
    rows: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        rows.setdefault(place.parts[0], []).extend(_rows(path.read_text(encoding="utf-8"), str(place)))
    others = {package: names for package, names in rows.items() if len(names) != LEFT.get(package, 0)}
    assert not others, "choose the noun a reader expects (match, reply, row ...), or lower LEFT: " + repr(
        others
    )


def _without_a_verb(source: str) -> list[str]:
    """List the docstrings of functions that begin with a noun; properties are named like values."""
    rows = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = {name.rpartition(".")[2] for name in map(ast.unparse, node.decorator_list)}
            words = (ast.get_docstring(node) or "").split(maxsplit=1)
            if words and words[0] in NOUNS and not decorators & NAMED_LIKE_VALUES:
                rows.append(f"{node.lineno} {node.name}")
    return rows


def test_a_function_s_docstring_begins_with_its_verb() -> None:
    nouns = {
        str(path.relative_to(ROOT)): names
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in WITHOUT_VERBS
        and (names := _without_a_verb(path.read_text(encoding="utf-8")))
    }
    assert not nouns, "say what it does (Return, Write, Show ...): " + repr(nouns)


def test_a_docstring_without_a_verb_is_seen() -> None:
    assert _without_a_verb('def f():\n    """The size."""') == ["1 f"]
    assert _without_a_verb('def f():\n    """Return the size."""') == []
    assert _without_a_verb('@property\ndef f(self):\n    """The size."""') == []


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
