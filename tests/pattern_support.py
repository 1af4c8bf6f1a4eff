"""Finding every pattern of the program, texts that are hard for it, and whether its time grows linearly."""

from __future__ import annotations

import ast
import importlib
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import context_graph

SOURCE: Final = Path(context_graph.__file__).parent
_RUNS: Final = frozenset({"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"})
_HEADS: Final = ("", "a", "git commit -m \"", "{", "`", "'", "https://u:p@h/", "- ")
_TAILS: Final = ("", "!", "\x00", "\n", '"')
_PIECES: Final = (
    *("a", "A", "1", " ", "\n", "\t", "-", "_", ".", ":", "/", "\\", "'", '"', "`", "=", "(", "<", "[", "{"),
    *(",", ";", "$", "#", "*", ">", "~", "|", "&", "…", "’", "é", "中", "。", "\u2003", "\U0001f600", "\x1b["),
    *("ab ", "Ab ", "The ", "a-", "a.", "a_", "-1", "a'", "' ", '" ', "``", "```", "\\\\", "\\n", ") ", ". "),
    *("x=1 ", "a: ", "n't", "aA", "A. ", "\r\n", " \n", "://", "--", "a/", "...", "1.", "é ", "中 ", "a,", "${"),
)


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

    @property
    def where(self) -> str:
        return f"{self.module}:{self.name or self.line}"


def modules() -> dict[str, Path]:
    """Dotted name -> file of every module of the package."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def patterns_in(path: Path, module: str) -> tuple[Found, ...]:
    """Every place where the module makes a pattern or runs one."""
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
        found.append(Found(module, name, node.lineno, *maker, frozenset(runs.get(name, ()))))
    return tuple(found)


def _makers(tree: ast.AST) -> Callable[[ast.expr], tuple[str, str] | None]:
    """(engine, function) of what a call calls, however it was imported."""
    modules_: dict[str, str] = {}
    functions: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in ("re", "re2", "regex", "sre_compile"):
                    modules_[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                engine = (node.module or "").removeprefix("context_graph.")
                if engine in ("re", "re2", "regex", "patterns"):
                    functions[alias.asname or alias.name] = (engine, alias.name)

    def maker(called: ast.expr) -> tuple[str, str] | None:
        if isinstance(called, ast.Name):
            engine, name = functions.get(called.id, ("", ""))
            return (engine, name) if name in _RUNS | {"compile", "linear"} else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            engine = modules_.get(called.value.id, "")
            return (engine, called.attr) if engine and called.attr in _RUNS | {"compile"} else None
        return None

    return maker


def _assigned(tree: ast.Module) -> dict[int, str]:
    """Each call in the value of a constant of the module -> the constant's name."""
    names = {}
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign | ast.Assign) and statement.value is not None:
            target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
            if isinstance(target, ast.Name):
                names.update({id(node): target.id for node in ast.walk(statement.value)})
    return names
