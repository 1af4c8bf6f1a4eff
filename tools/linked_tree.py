"""A second environment for another tree of this project, made of hard links in seconds."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

__all__ = ["LEFT_OUT", "ROOT", "link_environment"]

ROOT: Final = Path(__file__).resolve().parents[1]
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "target", ".pytest_cache", ".hypothesis")


def link_environment(tree: Path) -> Path:
    """Make ``tree``/.venv of the environment that runs this; the package that it imports is ``tree``'s.

    Returns:
        Its interpreter.
    """
    target = tree / ".venv"
    shutil.copytree(Path(sys.prefix), target, symlinks=True, copy_function=_linked, ignore=LEFT_OUT)
    texts = [*target.glob("bin/*"), *target.glob("lib/*/site-packages/*.pth")]
    for file in (path for path in texts if path.is_file() and not path.is_symlink()):
        content = file.read_bytes()
        if content[:4] != b"\x7fELF" and os.fsencode(ROOT) in content:
            mode = file.stat().st_mode
            file.unlink()  # a hard link: the original stays as it is
            file.write_bytes(content.replace(os.fsencode(ROOT), os.fsencode(tree)))
            file.chmod(mode)
    return target / "bin" / "python"


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system
        shutil.copy2(source, target, follow_symlinks=False)
