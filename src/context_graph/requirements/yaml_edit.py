"""One value of a YAML file changed in its text, so that comments, order and layout stay.

The place is found with the parser's own positions. The result is parsed again and must differ from the old
content in that one value; if it does not, nothing is changed and the user is asked to edit by hand.
"""

from __future__ import annotations

from context_graph.errors import UsageError
from context_graph.requirements.yaml_files import parse_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["set_flag"]


def set_flag(text: str, path: list[str], value: bool, *, file: str) -> str:
    """``text`` with the boolean at ``path`` set, mappings on the way made as needed.

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
    import yaml  # type: ignore[import-untyped]

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None  # the C parser, which reads the files, takes a little more than this one
    if node is None or (isinstance(node, yaml.MappingNode) and not node.value and not node.flow_style):
        return _with_newline(text) + _lines(path, literal, 0)
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
            return _with_newline(text[:at]) + _lines(path[depth + 1 :], literal, indent) + text[at:]
        node = child
    return None


def _inserted(text: str, node: Any, path: list[str], literal: str) -> str:
    """The rest of ``path`` as the last key of the mapping ``node``."""
    if node.flow_style:
        inner = f"{_key(path[-1])}: {literal}"
        for key in reversed(path[:-1]):
            inner = f"{_key(key)}: {{{inner}}}"
        at = node.start_mark.index + 1
        return text[:at] + inner + (", " if node.value else "") + text[at:]
    at = _last_leaf_end(node)
    if not (at and text[at - 1 : at] == "\n"):
        at = _line_end(text, at)
    return _with_newline(text[:at]) + _lines(path, literal, node.value[0][0].start_mark.column) + text[at:]


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


def _lines(path: list[str], literal: str, indent: int) -> str:
    lines = [f"{' ' * (indent + 2 * depth)}{_key(key)}:" for depth, key in enumerate(path)]
    return "\n".join(lines) + f" {literal}\n"


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    if plain.isascii() and plain.isalnum() and not plain[0].isdigit() and key.lower() not in _WORDS:
        return key
    return "'" + key.replace("'", "''") + "'"


_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
