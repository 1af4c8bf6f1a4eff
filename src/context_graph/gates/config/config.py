"""Loads the cascade of configuration files, untrusted YAML within bounds.

Later files override earlier ones: the global file in the client's folder, the project's
.claude/requirements.yaml, its requirements.local.yaml. Mappings merge deeply, lists and single values
replace; a value that should be a mapping but is not replaces none. ``inherit: false`` in the project's file
leaves out the global one. Without a project file there are no requirements.
"""

from __future__ import annotations

import os
from typing import Any

from context_graph.gates.config import schema
from context_graph.gates.config.fields import TEMPLATE_FIELDS, show
from context_graph.gates.rules import GateCache, Inputs, Rules
from context_graph.gates.state.project import CONFIG, LOCAL_CONFIG
from context_graph.system.small_files import read_bytes, signature

MAX_BYTES = 1 << 20
MAX_DEPTH = 50
"""The C parser recurses once a level and has no guard of its own: deeper files would end the process."""
MAX_EVENTS = 100_000
_REPEATED = 20
_SECTIONS = ("requirements", "hooks")
"""Top-level keys that must be mappings of mappings."""


def layers(root: str, claude_dir: str) -> list[tuple[str, str]]:
    """Return (label, path) of the cascade's files, weakest first."""
    files = [("project", root.rstrip("/") + CONFIG), ("local", root.rstrip("/") + LOCAL_CONFIG)]
    return [("global", claude_dir + "/requirements.yaml"), *files] if claude_dir else files


def load_rules(root: str, claude_dir: str, cache: GateCache) -> Rules:
    """Return the rules of the project at ``root``. Cost: a stat a file, or `compile_rules` after a change."""
    return cache.rules(root, claude_dir, compile_rules)


def compile_rules(root: str, claude_dir: str) -> tuple[Rules, Inputs]:
    """Parse, merge and check the cascade: the rules, and all that was looked at.

    Cost: some tens of milliseconds, for YAML is parsed.
    """
    inputs: Inputs = []
    problems: list[list[str]] = []
    contents: dict[str, dict[object, object]] = {}
    for label, path in layers(root, claude_dir):
        inputs.append((path, signature(path)))
        content, problem = read_yaml(path)
        if problem:
            problems.append(["error", f"{path}: {problem}"])
        if content is not None:
            contents[label] = content
            problems += [["error", f"{path}: {text}"] for text in repeated_keys(path)]
    merged: dict[object, object] = {}
    readable = "project" in contents
    if readable:
        if contents["project"].get("inherit", True) is False:
            contents.pop("global", None)
        for label, path in layers(root, claude_dir):
            part, wrong = fitting(merged, contents.get(label, {}))
            merged = deep_merge(merged, part)
            problems += [["error", f"{path}: {text}"] for text in wrong]
    templates, looked_at, more = read_messages(root, claude_dir, merged.get("requirements"))
    rules = schema.check(merged, templates)
    rules.readable, rules.problems = readable, problems + more + rules.problems
    return rules, inputs + looked_at


def fitting(
    under: dict[object, object], over: dict[object, object]
) -> tuple[dict[object, object], list[str]]:
    """Return ``over`` without values that are no mapping where ``under`` has one and needs one; and these
    faults.

    So a slip in a later file (``plan: false``, a key with nothing below it) disables nothing. An empty key
    counts as absent and is no fault.
    """
    wrong: list[str] = []
    kept = dict(over)
    for section in _SECTIONS:
        above, below = over.get(section), under.get(section)
        if section not in over or not isinstance(below, dict):
            continue
        if isinstance(above, dict):
            kept[section] = {
                key: value
                for key, value in above.items()
                if _fits(below.get(key), value, f"{section}.{key}", wrong)
            }
        elif not _fits(below, above, section, wrong):
            del kept[section]
    return kept, wrong


def _fits(below: object, value: object, where: str, wrong: list[str]) -> bool:
    if isinstance(value, dict) or not isinstance(below, dict):
        return True
    if value is not None:
        wrong.append(f"{where}: {show(value)} is not a mapping; the earlier file still applies")
    return False


def deep_merge(
    under: dict[object, object],
    over: dict[object, object],
    depth: int = 0,
    known: dict[tuple[int, int, int], dict[object, object]] | None = None,
) -> dict[object, object]:
    """Return ``over`` merged into ``under``; neither is changed. Below 32 levels the upper value replaces.

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


# The files


def read_yaml(path: str) -> tuple[dict[object, object] | None, str]:
    """Return the mapping in ``path`` and a problem: (None, "") if there is no file, (None, why) if it can't
    be used.

    An empty file is an empty mapping.
    """
    try:
        data = read_bytes(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            return None, f"is a link to {os.readlink(path)}, which is not there; fix the link"
        return None, ""
    except (OSError, ValueError) as error:
        return None, f"can't be read: {error}"
    return parse_yaml(data)


def _yaml() -> tuple[Any, Any]:
    """Return PyYAML and its fastest safe loader; imported here, for most hooks find the file compiled."""
    import yaml  # type: ignore[import-untyped]

    return yaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(data: bytes) -> tuple[dict[object, object] | None, str]:
    """As ``read_yaml``, of bytes."""
    yaml, loader = _yaml()
    try:
        problem = _out_of_bounds(yaml.parse(data, Loader=loader))
        if problem:
            return None, problem
        value = yaml.load(data, Loader=loader)
    except yaml.MarkedYAMLError as error:
        at = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return None, f"is not YAML{at}: {error.problem or error.context or 'unreadable'}"
    except Exception as error:  # the parser lets ValueError, TypeError and others through for odd scalars
        return None, f"is not YAML: {type(error).__name__}: {str(error)[:120]}"
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return None, f"holds {show(value)}, not a mapping"
    return value, ""


def repeated_keys(path: str) -> list[str]:
    """Return problems for keys that one mapping of the file has twice: YAML silently uses the later one."""
    yaml, loader = _yaml()
    try:
        root = yaml.compose(read_bytes(path, MAX_BYTES), Loader=loader)
    except Exception:  # what can't be parsed was named by read_yaml
        return []
    problems: list[str] = []
    seen: set[int] = set()
    nodes = [root]
    while nodes and len(problems) < _REPEATED:
        node = nodes.pop()
        if node is None or id(node) in seen or isinstance(node.value, str):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            problems += _repeated_in(node)
            nodes += [value for _, value in node.value]
        else:
            nodes += node.value
    return problems


def _repeated_in(node: Any) -> list[str]:
    lines: dict[str, int] = {}
    problems = []
    for key, _ in node.value:
        if not isinstance(key.value, str) or key.value == "<<":
            continue
        line = key.start_mark.line + 1
        if key.value in lines:
            first = lines[key.value]
            problems.append(
                f"line {line}: {show(key.value)} is already in line {first}; only the later one counts"
            )
        lines[key.value] = line
    return problems


def _out_of_bounds(events: Any) -> str:
    depth = 0
    for count, event in enumerate(events):
        kind = type(event).__name__
        if kind.endswith("StartEvent"):
            depth += 1
        elif kind.endswith("EndEvent"):
            depth -= 1
        if depth > MAX_DEPTH:
            return f"is nested more than {MAX_DEPTH} levels deep"
        if count > MAX_EVENTS:
            return f"has more than {MAX_EVENTS} parts"
    return ""


def read_messages(
    root: str, claude_dir: str, requirements: object
) -> tuple[dict[str, dict[str, str]], Inputs, list[list[str]]]:
    """Return message templates by requirement, what was looked at with signatures, and problems.

    The first of .claude/messages.local, .claude/messages and the client's messages folder that has a file
    of the requirement's name gives all of its fields; ``_templates.yaml`` gives those that it lacks.
    """
    base = root.rstrip("/")
    folders = [f"{base}/.claude/messages.local", f"{base}/.claude/messages"]
    folders += [f"{claude_dir}/messages"] if claude_dir else []
    looked_at: Inputs = [(folder, signature(folder)) for folder in folders]
    there = [folder for folder, sign in looked_at if sign is not None]
    templates: dict[str, dict[str, str]] = {}
    problems: list[list[str]] = []
    names = [name for name in requirements if isinstance(name, str)] if isinstance(requirements, dict) else []
    for name in ["_templates", *names]:
        path = next((p for p in (f"{f}/{name}.yaml" for f in there) if os.path.isfile(p)), "")
        if "/" in name or not path:
            continue
        looked_at.append((path, signature(path)))
        content, problem = read_yaml(path)
        if content is not None:
            templates[name], problem = _template(content, partial=name.startswith("_"))
        if problem:
            problems.append(["warning", f"{path}: {problem}"])
    shared = templates.pop("_templates", {})
    return {name: {**shared, **templates.get(name, {})} for name in names}, looked_at, problems


def _template(content: dict[object, object], *, partial: bool) -> tuple[dict[str, str], str]:
    texts = {key: value for key in TEMPLATE_FIELDS if isinstance(value := content.get(key), str)}
    missing = [key for key in TEMPLATE_FIELDS if key not in texts]
    if missing and not partial:
        return texts, f"lacks {', '.join(missing)}; the built-in texts are used"
    return texts, ""
