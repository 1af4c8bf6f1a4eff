"""git's aliases, as its configuration files name them."""

from __future__ import annotations

from context_graph.requirements.files import read_bytes

__all__ = ["git_aliases"]

_BYTES = 256 << 10


def git_aliases(common_dir: str, home: str) -> dict[str, str]:
    """Alias to value, of the repository's and the user's configuration. Included files are not read.

    Cost: a read of up to three small files. A file that can't be read has none.
    """
    found: dict[str, str] = {}
    paths = [f"{home}/.config/git/config", f"{home}/.gitconfig"] if home else []
    for path in [*paths, f"{common_dir}/config"] if common_dir else paths:
        try:
            text = read_bytes(path, _BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
        found.update(_of_text(text))
    return found


def _of_text(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if line.startswith("["):
            section, _, rest = line[1:].partition("]")
            kind, _, name = section.partition(" ")
            inside, line = kind.strip().lower() == "alias", rest.strip()
            name = name.strip().strip('"')
        if not inside or line[:1] in ("", "#", ";"):
            continue
        key, _, value = line.partition("=")
        value = value.strip()
        if value[:1] == value[-1:] == '"' and len(value) > 1:
            value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        # [alias "ci"] command = commit is the newer way to write it.
        found[(name or key.strip()).lower()] = value
    return found
