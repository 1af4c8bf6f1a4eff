"""Parses untrusted YAML files within bounds, and sets a flag in one.

Every failure is described in words. A flag's place is found by the parser's own positions, so that comments,
order and layout stay. The result is parsed again and must differ from the old content in that one value;
otherwise nothing is changed and the user is asked to edit by hand.
"""

from __future__ import annotations

import os
from typing import Any

import yaml  # type: ignore[import-untyped]

from context_graph.errors import UsageError
from context_graph.gates.config.fields import TEMPLATE_FIELDS, show
from context_graph.gates.files import Signature, read_bytes, signature

MAX_BYTES = 1 << 20
MAX_DEPTH = 50
"""The C parser recurses once a level and has no guard of its own: deeper files would end the process."""
MAX_EVENTS = 100_000
_REPEATED = 20
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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
        problem = _out_of_bounds(yaml.parse(data, Loader=_LOADER))
        if problem:
            return None, problem
        value = yaml.load(data, Loader=_LOADER)
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
    """Problems for keys that one mapping of the file has twice: YAML silently uses the later one."""
    try:
        root = yaml.compose(read_bytes(path, MAX_BYTES), Loader=_LOADER)
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
) -> tuple[dict[str, dict[str, str]], list[tuple[str, Signature | None]], list[list[str]]]:
    """Message templates by requirement, what was looked at with signatures, and problems.

    The first of .claude/messages.local, .claude/messages and the client's messages folder that has a file
    of the requirement's name gives all of its fields; ``_templates.yaml`` gives those that it lacks.
    """
    base = root.rstrip("/")
    folders = [f"{base}/.claude/messages.local", f"{base}/.claude/messages"]
    folders += [f"{claude_dir}/messages"] if claude_dir else []
    looked_at: list[tuple[str, Signature | None]] = [(folder, signature(folder)) for folder in folders]
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
        return texts, f"lacks {', '.join(missing)}; the built-in texts stand in"
    return texts, ""


def set_flag(text: str, path: list[str], value: bool, *, file: str) -> str:
    """``text`` with the boolean at ``path`` set; missing mappings on the way are added.

    Args:
        file: The file's name, for messages.

    Raises:
        UsageError: If the text is no YAML mapping, or the value can't be set without touching others.
    """
    old, problem = parse_yaml(text.encode("utf-8", "surrogatepass"))
    if old is None:
        raise UsageError(f"{file} {problem}; mend it first")
    here: Any = old
    for key in path[:-1]:
        here = here.get(key)
        if here is None:
            break
        if not isinstance(here, dict):
            raise UsageError(f"{file}: {key} is no mapping; mend it first")
    new = _edited(text, path, "true" if value else "false")
    parsed = None if new is None else parse_yaml(new.encode("utf-8", "surrogatepass"))[0]
    if new is None or not _differs_only_at(path, old, parsed, value):
        shown = f"{'.'.join(path)}: {str(value).lower()}"
        raise UsageError(f"{file}: can't set {shown} without changing more; do it by hand")
    return new


def _differs_only_at(path: list[str], old: object, new: object, value: bool) -> bool:
    before = old if isinstance(old, dict) else {}
    if not isinstance(new, dict):
        return False
    key, rest = path[0], path[1:]
    if before.keys() | {key} != new.keys():
        return False
    if any(before[other] != new[other] for other in before if other != key):
        return False
    return _differs_only_at(rest, before.get(key), new[key], value) if rest else new[key] is value


def _edited(text: str, path: list[str], literal: str) -> str | None:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None  # the C parser, which reads the files, takes a little more than this one
    if node is None or (isinstance(node, yaml.MappingNode) and not node.value and not node.flow_style):
        return _with_newline(text) + _new_lines(path, literal, 0)
    for depth, key in enumerate(path):
        if not isinstance(node, yaml.MappingNode):
            return None
        found = [(k, v) for k, v in node.value if k.value == key]
        if not found:
            return _inserted(text, node, path[depth:], literal)
        name, child = found[-1]
        empty = child.start_mark.index == child.end_mark.index
        if depth == len(path) - 1:
            at, end = child.start_mark.index, child.end_mark.index
            return text[:at] + (" " if empty else "") + literal + text[end:]
        if empty:
            if node.flow_style:
                return None
            indent = name.start_mark.column + 2
            at = _line_end(text, name.end_mark.index)
            return _with_newline(text[:at]) + _new_lines(path[depth + 1 :], literal, indent) + text[at:]
        node = child
    return None


def _inserted(text: str, node: Any, path: list[str], literal: str) -> str:
    """``text`` with the rest of ``path`` as the last key of the mapping ``node``."""
    if node.flow_style:
        inner = f"{_key(path[-1])}: {literal}"
        for key in reversed(path[:-1]):
            inner = f"{_key(key)}: {{{inner}}}"
        at = node.start_mark.index + 1
        return text[:at] + inner + (", " if node.value else "") + text[at:]
    at = _last_leaf_end(node)
    if not (at and text[at - 1 : at] == "\n"):
        at = _line_end(text, at)
    return (
        _with_newline(text[:at]) + _new_lines(path, literal, node.value[0][0].start_mark.column) + text[at:]
    )


def _last_leaf_end(node: Any) -> int:
    while isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(node.end_mark.index)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _with_newline(text: str) -> str:
    return text + "\n" if text and not text.endswith("\n") else text


def _new_lines(path: list[str], literal: str, indent: int) -> str:
    lines = [f"{' ' * (indent + 2 * depth)}{_key(key)}:" for depth, key in enumerate(path)]
    return "\n".join(lines) + f" {literal}\n"


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    if plain.isascii() and plain.isalnum() and not plain[0].isdigit() and key.lower() not in _WORDS:
        return key
    return "'" + key.replace("'", "''") + "'"


_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
