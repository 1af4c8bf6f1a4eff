"""The cascade of configuration files, and its compiled form that hooks read.

Later files go before earlier ones: the global file in the client's folder, the project's
.claude/requirements.yaml, its requirements.local.yaml. Mappings merge deeply, lists and single values
replace; what is no mapping where one must stand replaces none. ``inherit: false`` in the project's file
leaves the global one out. Without a project file nothing holds.

Compiled form: one JSON file a project below the data root. It names every file it was made from with its
signature, absent ones too, and is made anew when any differs; so YAML is parsed once a change.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import is_settled, read_bytes, signature, write_atomic
from context_graph.requirements.project import CONFIG, LOCAL_CONFIG
from context_graph.requirements.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["compile_rules", "compiled_path", "deep_merge", "fitting", "inputs_hold", "layers", "load_rules"]

FORMAT = 3
"""Of the compiled file; a different one is made anew."""

_COMPILED_BYTES = 4 << 20

_SECTIONS = ("requirements", "hooks")
"""Top-level keys that must be mappings of mappings."""


def load_rules(root: str, claude_dir: str, cache_dir: str) -> tuple[Rules, list[list[Any]]]:
    """The rules of the project at ``root``, and the files they come from with their signatures.

    Cost: one small read and a stat a file when nothing changed; some tens of milliseconds otherwise.
    """
    path = compiled_path(root, claude_dir, cache_dir)
    if path:
        try:
            document = plain_json.loads(read_bytes(path, _COMPILED_BYTES))
            if document["format"] == FORMAT and document["root"] == root and inputs_hold(document["inputs"]):
                return Rules(document["rules"]), document["inputs"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # missing, damaged or of another version: made anew below
    compiled, inputs = compile_rules(root, claude_dir)
    if path and all(is_settled(sign) for _, sign in inputs):
        _keep(path, {"format": FORMAT, "root": root, "inputs": inputs, "rules": compiled})
    return Rules(compiled), inputs


def compiled_path(root: str, claude_dir: str, cache_dir: str) -> str:
    """Where the compiled form is kept; empty without a folder for it."""
    if not cache_dir:
        return ""
    value = 0xCBF29CE484222325
    for byte in os.fsencode(f"{root}\0{claude_dir}"):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{cache_dir}/{value:016x}.json"


def inputs_hold(inputs: list[list[Any]]) -> bool:
    """Whether every file is still as it was."""
    return all(signature(path) == sign for path, sign in inputs)


def _keep(path: str, document: dict[str, Any]) -> None:
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        write_atomic(path, plain_json.dumps(document).encode(), sync=False)
    except (OSError, ValueError, TypeError):
        pass  # the next call compiles again; the decision is the same


def layers(root: str, claude_dir: str) -> list[tuple[str, str]]:
    """(label, path) of the cascade's files, weakest first."""
    files = [("project", root.rstrip("/") + CONFIG), ("local", root.rstrip("/") + LOCAL_CONFIG)]
    return [("global", claude_dir + "/requirements.yaml"), *files] if claude_dir else files


def compile_rules(root: str, claude_dir: str) -> tuple[dict[str, Any], list[list[Any]]]:
    """Parse, merge and check the cascade.

    Returns:
        The compiled rules, and [path, signature] of all that was looked at.
    """
    from context_graph.requirements import schema
    from context_graph.requirements.yaml_files import read_messages, read_yaml, repeated_keys

    inputs: list[list[Any]] = []
    problems: list[list[str]] = []
    found: dict[str, dict[object, object]] = {}
    for label, path in layers(root, claude_dir):
        inputs.append([path, signature(path)])
        content, problem = read_yaml(path)
        if problem:
            problems.append(["error", f"{path}: {problem}"])
        if content is not None:
            found[label] = content
            problems += [["error", f"{path}: {text}"] for text in repeated_keys(path)]
    merged: dict[object, object] = {}
    readable = "project" in found
    if readable:
        if found["project"].get("inherit", True) is False:
            found.pop("global", None)
        for label, path in layers(root, claude_dir):
            part, wrong = fitting(merged, found.get(label, {}))
            merged = deep_merge(merged, part)
            problems += [["error", f"{path}: {text}"] for text in wrong]
    templates, looked_at, more = read_messages(root, claude_dir, merged.get("requirements"))
    compiled = schema.check(merged, templates)
    compiled["problems"] = problems + more + compiled["problems"]
    compiled["readable"] = readable
    return compiled, inputs + looked_at


def fitting(
    under: dict[object, object], over: dict[object, object]
) -> tuple[dict[object, object], list[str]]:
    """``over`` without what is no mapping where ``under`` has one and one must be, and what was wrong there.

    So a slip in a later file (``plan: false``, a key with nothing below it) switches nothing off. An empty
    key says nothing and is not wrong.
    """
    wrong: list[str] = []
    kept = dict(over)
    for section in _SECTIONS:
        given, below = over.get(section), under.get(section)
        if section not in over or not isinstance(below, dict):
            continue
        if isinstance(given, dict):
            kept[section] = {
                key: value
                for key, value in given.items()
                if _fits(below.get(key), value, f"{section}.{key}", wrong)
            }
        elif not _fits(below, given, section, wrong):
            del kept[section]
    return kept, wrong


def _fits(below: object, value: object, where: str, wrong: list[str]) -> bool:
    if isinstance(value, dict) or not isinstance(below, dict):
        return True
    if value is not None:
        from context_graph.requirements.fields import show

        wrong.append(f"{where}: {show(value)} is no mapping; what the file before says holds")
    return False


def deep_merge(
    under: dict[object, object],
    over: dict[object, object],
    depth: int = 0,
    known: dict[tuple[int, int, int], dict[object, object]] | None = None,
) -> dict[object, object]:
    """``over`` upon ``under``; neither is changed. Below 32 levels the upper one replaces.

    What is one mapping under several names (a YAML alias) is merged once, so a few lines that would unfold
    to billions of values cost a few steps. ``known``: what has been merged, by what it was made of.
    """
    known = {} if known is None else known
    made_of = (id(under), id(over), depth)
    if made_of in known:
        return known[made_of]
    merged = known[made_of] = dict(under)
    for key, value in over.items():
        below = under.get(key)
        if isinstance(value, dict) and isinstance(below, dict) and depth < 32:
            merged[key] = deep_merge(below, value, depth + 1, known)
        else:
            merged[key] = value
    return merged
