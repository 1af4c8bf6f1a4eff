"""The files that gates depend on, and whether a path, as a shell or a tool would be given it, reaches one."""

from __future__ import annotations

import os

from context_graph.requirements.config import layers
from context_graph.requirements.project import Project
from context_graph.requirements.shell_words import ONE, STAR, UNKNOWN, could_be, is_plain
from context_graph.requirements.state_files import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["ABOVE", "FILE", "HOME_OF", "Protected", "Touch"]

FILE = 3
"""A path is one of the files, or lies in a folder that belongs to the gates alone."""
HOME_OF = 2
"""A path is the `.claude`, `.git` or client's folder that holds such files."""
ABOVE = 1
"""A path is a folder further up."""

_SETTINGS = ("settings.json", "settings.local.json")
"""The client's settings say which hooks run: without ours no gate is asked."""

_TELLING = ("claude", "git", "requirements", "settings", "HEAD", "sessions")
"""What a word must say for its unknown parts to be taken for one of the files."""


class Touch:
    """What a command might do: ``names`` are the requirements it is about, ``why`` says what is the matter.

    An empty ``why`` means that it leaves the gates alone.
    """

    __slots__ = ("names", "why")

    def __init__(self, why: str = "", names: Collection[str] = ()) -> None:
        self.why, self.names = why, list(names)


class Protected:
    """Files and folders of one project that decide what its gates do, and which of them a path reaches."""

    def __init__(self, project: Project, claude_dir: str, cache_dir: str = "") -> None:
        files = [path for _, path in layers(project.root, claude_dir)]
        homes = [project.root.rstrip("/") + "/.claude", *([claude_dir] if claude_dir else [])]
        files += [f"{home}/{name}" for home in homes for name in _SETTINGS]
        files += [claude_dir + "/sessions.json"] if claude_dir else []
        trees = [cache_dir] if cache_dir else []
        if project.repo is not None:
            repo = project.repo
            trees.append(repo.common_dir + FOLDER)
            homes += [repo.git_dir, repo.common_dir, repo.top.rstrip("/") + "/.git"]
            files += [f"{folder}/HEAD" for folder in (repo.git_dir, repo.common_dir)]
        self._files = {*files, *map(_real, files)}
        self._trees = {*trees, *map(_real, trees)}
        self._homes = {*homes, *map(_real, homes)}
        self._above = {up for path in (*self._homes, *self._files, *self._trees) for up in _parents(path)}
        self.names = {path.rpartition("/")[2] for path in (*self._files, *self._homes, *self._trees)}
        """The last parts of all their paths."""

    def reach(self, word: str, cwd: str) -> int:
        """How near ``word`` comes, in the working folder ``cwd``: FILE, HOME_OF, ABOVE or 0."""
        if not word or len(word) > 4096:
            return 0
        path = word if word[0] in "/" + UNKNOWN else f"{cwd}/{word}"
        if UNKNOWN in path and not any(part in path for part in _TELLING):
            return 0
        return self._of_plain(path) if is_plain(path) else self._of_marked(_normal(path))

    def _of_plain(self, path: str) -> int:
        near = 0
        for one in {_normal(path), _real(path)}:
            if one in self._files or any(f"{one}/".startswith(tree + "/") for tree in self._trees):
                return FILE
            near = max(near, HOME_OF if one in self._homes else ABOVE if one in self._above else 0)
        return near

    def _of_marked(self, path: str) -> int:
        if any(could_be(path, one) for one in (*self._files, *self._trees)) or self._in_tree(path):
            return FILE
        if any(could_be(path, one) for one in self._homes):
            return HOME_OF
        return ABOVE if any(could_be(path, one) for one in self._above) else 0

    def _in_tree(self, path: str) -> bool:
        for tree in self._trees:
            depth = tree.count("/")
            if UNKNOWN in path:
                head, found, tail = path.rpartition(tree[tree.rindex("/") :] + "/")
                if found and could_be(head, tree[: tree.rindex("/")]) and tail:
                    return True
            elif path.count("/") > depth and could_be("/".join(path.split("/")[: depth + 1]), tree):
                return True
        return False


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def _normal(path: str) -> str:
    """``path`` without `.`, `..` and double slashes; marks stay."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != UNKNOWN:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    made = "/".join(parts)
    return made if path[:1] in (UNKNOWN, STAR, ONE) else "/" + made


def _parents(path: str) -> list[str]:
    found = []
    while path.count("/") > 1:
        path = path.rpartition("/")[0]
        found.append(path)
    return [*found, "/"]
