"""Finding every pattern of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import context_graph

__all__ = ["ENGINES", "Found", "locals_in", "mentioning", "modules", "patterns_in", "said"]

SOURCE: Final = Path(context_graph.__file__).parent
ENGINES: Final = frozenset({"re", "re2", "regex", "sre_compile", "patterns"})
_MENTION: Final = re.compile(rf"\b(?:{'|'.join(sorted(ENGINES))})\b")
_RUNS: Final = frozenset(
    {"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn", "found"}
)
_MAKES: Final = frozenset({"compile", "template", "linear"})


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern where the program makes it."""

    module: str
    name: str
    """Of the constant it is assigned to; "" for one that is made in a call."""
    line: int
    engine: str
    """The module whose function makes it: re, re2 or patterns."""
    call: str
    """compile, or what is run at once: search, sub, …"""
    runs: frozenset[str]
    """What is run on a constant in its module."""
    argument: ast.expr | None
    """The pattern, where it is given in place."""

    @property
    def where(self) -> str:
        return f"{self.module}:{self.name or self.line}"


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file of every module of the package."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def mentioning() -> tuple[str, ...]:
    """The modules that may have patterns; to parse all of them takes seconds."""
    return tuple(name for name, path in modules().items() if _MENTION.search(path.read_text("utf-8")))


@cache
def patterns_in(path: Path, module: str) -> tuple[Found, ...]:
    """Every place where the module makes a pattern or runs one."""
    if module not in mentioning():
        return ()
    tree = ast.parse(path.read_text("utf-8"))
    makers = _makers(tree)
    names = _assigned(tree)
    runs: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _RUNS:
            runs.setdefault(node.value.id, set()).add(node.attr)
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        maker = makers(node.func)
        if maker is None:
            continue
        name = names.get(id(node), "")
        argument = node.args[0] if node.args else None
        found.append(Found(module, name, node.lineno, *maker, frozenset(runs.get(name, ())), argument))
    return tuple(found)


def _makers(tree: ast.AST) -> Callable[[ast.expr], tuple[str, str] | None]:
    """(engine, function) of what a call calls, however it was imported."""
    imported = dict(_imported(tree))
    modules_ = {name: engine for name, (engine, function) in imported.items() if not function}
    functions = {name: found for name, found in imported.items() if found[1]}

    def maker(called: ast.expr) -> tuple[str, str] | None:
        if isinstance(called, ast.Name):
            engine, name = functions.get(called.id, ("", ""))
            return (engine, name) if name in _RUNS | _MAKES else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            engine = modules_.get(called.value.id, "")
            return (engine, called.attr) if engine and called.attr in _RUNS | _MAKES else None
        return None

    return maker


def _imported(tree: ast.AST) -> Iterator[tuple[str, tuple[str, str]]]:
    """(name in the module, (engine, function or "" for the engine itself))."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            whole = f"{source}.{alias.name}" if source == "context_graph" else alias.name
            engine = source.removeprefix("context_graph.")
            if engine in ENGINES:
                yield alias.asname or alias.name, (engine, alias.name)
            elif whole.removeprefix("context_graph.") in ENGINES and (
                source == "context_graph" or not source
            ):
                yield alias.asname or alias.name, (whole.removeprefix("context_graph."), "")


def _assigned(tree: ast.Module) -> dict[int, str]:
    """Each call in the value of a constant of the module -> the constant's name."""
    names = {}
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign | ast.Assign) and statement.value is not None:
            target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
            if isinstance(target, ast.Name):
                names.update({id(node): target.id for node in ast.walk(statement.value)})
    return names


def said(argument: ast.expr | None, scope: dict[str, Any]) -> Any:
    """The text of a pattern that is given in place, names taken from ``scope``; None if it is none."""
    if argument is None:
        return None
    try:
        return eval(compile(ast.Expression(argument), "<pattern>", "eval"), dict(scope))
    except NameError:
        return None


@cache
def locals_in(path: Path) -> dict[str, Any]:
    """Texts that functions of the module give names to, as far as they can be told."""
    known: dict[str, Any] = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            value = said(node.value, known)
            known.update({target.id: value for target in node.targets if isinstance(target, ast.Name)})
    return known
