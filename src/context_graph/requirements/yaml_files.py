"""YAML files that anybody may have written: parsed within bounds, every failure in words."""

from __future__ import annotations

import os

from context_graph.requirements.fields import TEMPLATE_FIELDS, show
from context_graph.requirements.files import read_bytes, signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["parse_yaml", "read_messages", "read_yaml", "repeated_keys"]

MAX_BYTES = 1 << 20
MAX_DEPTH = 50
"""The C parser recurses once a level and has no guard of its own: deeper files would end the process."""
MAX_EVENTS = 100_000
_REPEATED = 20


def read_yaml(path: str) -> tuple[dict[object, object] | None, str]:
    """The mapping in ``path`` and a problem: (None, "") if there is no file, (None, why) if it can't be used.

    An empty file is an empty mapping.
    """
    try:
        data = read_bytes(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            return None, f"is a link to {os.readlink(path)}, which is not there; mend the link"
        return None, ""
    except (OSError, ValueError) as error:
        return None, f"can't be read: {error}"
    return parse_yaml(data)


def parse_yaml(data: bytes) -> tuple[dict[object, object] | None, str]:
    """As ``read_yaml``, of bytes."""
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        return None, "can't be read: PyYAML is not installed"
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        problem = _out_of_bounds(yaml.parse(data, Loader=loader))
        if problem:
            return None, problem
        value = yaml.load(data, Loader=loader)
    except yaml.MarkedYAMLError as error:
        at = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return None, f"is no YAML{at}: {error.problem or error.context or 'unreadable'}"
    except Exception as error:  # the parser lets ValueError, TypeError and others through for odd scalars
        return None, f"is no YAML: {type(error).__name__}: {str(error)[:120]}"
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return None, f"holds {show(value)}, not a mapping"
    return value, ""


def repeated_keys(path: str) -> list[str]:
    """What is wrong with keys that one mapping of the file has twice: the later one silently holds."""
    import yaml

    try:
        root = yaml.compose(read_bytes(path, MAX_BYTES), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except Exception:  # what can't be parsed was named by read_yaml
        return []
    found: list[str] = []
    seen: set[int] = set()
    nodes = [root]
    while nodes and len(found) < _REPEATED:
        node = nodes.pop()
        if node is None or id(node) in seen or isinstance(node.value, str):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            found += _repeated_in(node)
            nodes += [value for _, value in node.value]
        else:
            nodes += node.value
    return found


def _repeated_in(node: Any) -> list[str]:
    lines: dict[str, int] = {}
    found = []
    for key, _ in node.value:
        if not isinstance(key.value, str) or key.value == "<<":
            continue
        line = key.start_mark.line + 1
        if key.value in lines:
            first = lines[key.value]
            found.append(
                f"line {line}: {show(key.value)} stands in line {first} already; only this one counts"
            )
        lines[key.value] = line
    return found


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
) -> tuple[dict[str, dict[str, str]], list[list[Any]], list[list[str]]]:
    """Message templates by requirement, what was looked at with signatures, and problems.

    The first of .claude/messages.local, .claude/messages and the client's messages folder that has a file
    of the requirement's name gives all of its fields; ``_templates.yaml`` gives those that it lacks.
    """
    base = root.rstrip("/")
    folders = [f"{base}/.claude/messages.local", f"{base}/.claude/messages"]
    folders += [f"{claude_dir}/messages"] if claude_dir else []
    looked_at: list[list[Any]] = [[folder, signature(folder)] for folder in folders]
    there = [folder for folder, sign in looked_at if sign is not None]
    templates: dict[str, dict[str, str]] = {}
    problems: list[list[str]] = []
    names = [name for name in requirements if isinstance(name, str)] if isinstance(requirements, dict) else []
    for name in ["_templates", *names]:
        path = next((p for p in (f"{f}/{name}.yaml" for f in there) if os.path.isfile(p)), "")
        if "/" in name or not path:
            continue
        looked_at.append([path, signature(path)])
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
        return texts, f"lacks {', '.join(missing)}; the built-in texts stand in"
    return texts, ""
