"""Loads the cascade of configuration files.

Later files override earlier ones: the global file in the client's folder, the project's
.claude/requirements.yaml, its requirements.local.yaml. Mappings merge deeply, lists and single values
replace; a value that should be a mapping but is not replaces none. ``inherit: false`` in the project's file
leaves out the global one. Without a project file there are no requirements.
"""

from __future__ import annotations

from context_graph.gates.config import schema
from context_graph.gates.config.fields import show
from context_graph.gates.config.yaml_files import read_messages, read_yaml, repeated_keys
from context_graph.gates.files import Inputs, signature
from context_graph.gates.rules import Rules
from context_graph.gates.state.project import CONFIG, LOCAL_CONFIG

_SECTIONS = ("requirements", "hooks")
"""Top-level keys that must be mappings of mappings."""


def layers(root: str, claude_dir: str) -> list[tuple[str, str]]:
    """(label, path) of the cascade's files, weakest first."""
    files = [("project", root.rstrip("/") + CONFIG), ("local", root.rstrip("/") + LOCAL_CONFIG)]
    return [("global", claude_dir + "/requirements.yaml"), *files] if claude_dir else files


def load_rules(root: str, claude_dir: str) -> Rules:
    """The rules of the project at ``root``. Cost: some tens of milliseconds, for YAML is parsed."""
    return compile_rules(root, claude_dir)[0]


def compile_rules(root: str, claude_dir: str) -> tuple[Rules, Inputs]:
    """Parse, merge and check the cascade: the rules, and all that was looked at."""
    inputs: Inputs = []
    problems: list[list[str]] = []
    found: dict[str, dict[object, object]] = {}
    for label, path in layers(root, claude_dir):
        inputs.append((path, signature(path)))
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
    rules = schema.check(merged, templates)
    rules.readable, rules.problems = readable, problems + more + rules.problems
    return rules, inputs + looked_at


def fitting(
    under: dict[object, object], over: dict[object, object]
) -> tuple[dict[object, object], list[str]]:
    """``over`` without values that are no mapping where ``under`` has one and needs one; and these faults.

    So a slip in a later file (``plan: false``, a key with nothing below it) disables nothing. An empty key
    counts as absent and is no fault.
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
        wrong.append(f"{where}: {show(value)} is no mapping; what the file before says holds")
    return False


def deep_merge(
    under: dict[object, object],
    over: dict[object, object],
    depth: int = 0,
    known: dict[tuple[int, int, int], dict[object, object]] | None = None,
) -> dict[object, object]:
    """``over`` merged into ``under``; neither is changed. Below 32 levels the upper value replaces.

    A mapping that has several names (a YAML alias) is merged once, so that a few lines that would expand to
    billions of values cost a few steps. ``known``: results so far, by the mappings they were made from.
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
