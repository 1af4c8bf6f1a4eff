"""Recognises the files that gates depend on, and how close a path in a command or call is to one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from posixpath import join

from context_graph.gates.config.config import layers
from context_graph.gates.shell.command import ONE, STAR, UNKNOWN, could_be, is_plain
from context_graph.gates.state.project import Project, real_path
from context_graph.gates.state.state_files import FOLDER
from context_graph.git.repository import find_repo, parents
from context_graph.regular_file import open_regular


class Reach(IntEnum):
    """How close a path comes to the files."""

    NOTHING = 0
    ABOVE = 1
    """A folder further up."""
    HOME_OF = 2
    """The `.claude`, `.git` or client's folder that holds such files."""
    FILE = 3
    """One of the files, or in a folder that belongs to the gates alone."""


_SETTINGS = ("settings.json", "settings.local.json")
"""The client's settings say which hooks run: without ours no gate is asked."""

_TELLING = ("claude", "git", "requirements", "settings", "HEAD", "sessions")
"""What a word must say for its unknown parts to be taken for one of the files."""

_PATH_CHARS = 4096
_STARTS = 64
"""Folders in which one search begins that are compared."""

_TEXT_BYTES = 1 << 16


class Protected:
    """Files and folders of one project that decide what its gates do; computes which of them a path
    reaches.
    """

    def __init__(self, project: Project, claude_dir: str, cache_dir: str = "") -> None:
        homes = [project.root.rstrip("/") + "/.claude", *([claude_dir] if claude_dir else [])]
        files = [path for _, path in layers(project.root, claude_dir)]
        files += [f"{home}/{name}" for home in homes for name in _SETTINGS]
        files += [claude_dir + "/sessions.json"] if claude_dir else []
        trees = [cache_dir] if cache_dir else []
        if project.repo is not None:
            repo = project.repo
            trees.append(repo.common_dir + FOLDER)
            homes += [repo.git_dir, repo.common_dir, repo.top.rstrip("/") + "/.git"]
            files += [f"{folder}/HEAD" for folder in (repo.git_dir, repo.common_dir)]
        self._files, self._trees, self._homes = (
            {*paths, *map(_real, paths)} for paths in (files, trees, homes)
        )
        every = {*self._files, *self._trees, *self._homes}
        self._above = {parent for path in every for parent in parents(path)[1:]}
        self._every = every
        self._texts: dict[str, str] = {}
        self.names = {path.rpartition("/")[2] for path in every}
        """The last parts of all their paths."""

    def reach(self, word: str, cwds: Iterable[str]) -> Reach:
        """How close ``word`` may come, in one of the working folders ``cwds``."""
        if not 0 < len(word) <= _PATH_CHARS:
            return Reach.NOTHING
        word = _of_process(word) if word.lstrip("/").startswith("proc/") else word
        return max(self._reach(word if word[0] in "/" + UNKNOWN else f"{cwd}/{word}") for cwd in cwds)

    def lies_beside(self, folder: str, cwds: Sequence[str]) -> bool:
        """Whether the working tree around ``folder``, given in one of ``cwds``, has none of the files."""
        return bool(cwds) and all(self._is_beside(join(cwd, folder)) for cwd in cwds)

    def _is_beside(self, path: str) -> bool:
        if path[:1] != "/" or not is_plain(path):
            return False
        place = _real(path)
        repo = find_repo(place)
        top = place if repo is None else repo.top
        return top not in self._above and self._of_plain(top) is Reach.NOTHING

    def below(self, start: str, folders: Iterable[str], *, files: bool = False) -> Iterator[str]:
        """The files, and the folders that hold them, as a search that begins in ``start`` prints them."""
        every = {path for path in self._every if path not in self._homes} if files else self._every
        for folder in folders:
            top = _normal(join(folder, start))
            for above in {top, _real(top)}:
                base = above.rstrip("/") + "/"
                yield from (join(start, path[len(base) :]) for path in every if path.startswith(base))
                if above in every:
                    yield start

    def fits(self, pattern: str, folders: Iterable[str], *, any_case: bool = False) -> bool:
        """Whether a `find -path` pattern, used in one of ``folders``, may select one of the files or of the
        folders that hold them.
        """
        if len(pattern) > _PATH_CHARS:
            return True
        marked = _marked(pattern)
        every = {path.lower() for path in self._every} if any_case else self._every
        for folder in [""] if marked[:1] in ("/", UNKNOWN) else folders:
            whole = _normal(f"{folder}/{marked}") if folder else marked
            whole = whole.lower() if any_case else whole
            if any(could_be(whole, path) for path in every):
                return True
        return False

    def found_in(self, starts: Iterable[str], folders: Iterable[str]) -> list[str]:
        """The files that lie in, or are, one of ``starts``, each given in one of ``folders``."""
        whole = [
            _normal(start if start[:1] in ("/", UNKNOWN) else f"{folder}/{start}")
            for folder in folders
            for start in list(starts)[:_STARTS]
        ]
        return [path for path in self._files if any(_holds(one, path) for one in whole)]

    def text_of(self, path: str) -> str:
        """The beginning of one of the files; empty if it can't be read."""
        if path not in self._texts:
            try:
                with open_regular(path) as source:
                    self._texts[path] = source.read(_TEXT_BYTES).decode(errors="replace")
            except (OSError, ValueError):
                self._texts[path] = ""
        return self._texts[path]

    def shown_in(self, folders: Iterable[str]) -> list[str]:
        """The names by which lists that are made in one of ``folders`` have the files and their folders."""
        tops = [folder.rstrip("/") + "/" for folder in folders]
        below = [path.removeprefix(top) for top in tops for path in self._every if path.startswith(top)]
        return [*below, *(f"./{name}" for name in below)]

    def _reach(self, path: str) -> Reach:
        if is_plain(path):
            return max(map(self._of_plain, {_normal(path), _real(path)}))
        if UNKNOWN in path and not any(part in path for part in _TELLING):
            return Reach.NOTHING
        return self._of_marked(_normal(path))

    def _of_plain(self, path: str) -> Reach:
        if path in self._files or any(f"{path}/".startswith(tree + "/") for tree in self._trees):
            return Reach.FILE
        if path in self._homes:
            return Reach.HOME_OF
        return Reach.ABOVE if path in self._above else Reach.NOTHING

    def _of_marked(self, path: str) -> Reach:
        if any(could_be(path, one) for one in (*self._files, *self._trees)) or self._in_tree(path):
            return Reach.FILE
        if any(could_be(path, one) for one in self._homes):
            return Reach.HOME_OF
        return Reach.ABOVE if any(could_be(path, one) for one in self._above) else Reach.NOTHING

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


def _holds(above: str, path: str) -> bool:
    """Whether ``above``, with its marks filled in, may be ``path`` or a folder that it lies in."""
    if is_plain(above):
        return f"{path}/".startswith(above.rstrip("/") + "/")
    return any(could_be(above, one) for one in parents(path))


def _real(path: str) -> str:
    return real_path(path) or path


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


def _of_process(path: str) -> str:
    """``path`` as the command's own process would find it: /proc/self/cwd is not ours but its folder."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for at, part in enumerate(parts[2:5], 2):
        if part == "cwd":
            return "/".join(parts[at + 1 :]) or "."
        if part == "root":
            return "/" + "/".join(parts[at + 1 :])
    return path


def _marked(pattern: str) -> str:
    """A `find -path` pattern with marks for its signs: there ``*`` goes over slashes and dots."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        close = pattern.find("]", at + 2, at + 40) if char == "[" else -1
        if close > 0:
            char, at = "?", close
        parts.append({"*": UNKNOWN, "?": UNKNOWN}.get(char, char))
        at += 1
    return "".join(parts)
