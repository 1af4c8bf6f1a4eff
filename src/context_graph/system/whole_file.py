"""Writes a file beside its place and moves it there: a reader finds the old file or the new one, whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o600, is_durable: bool = False) -> Iterator[IO[bytes]]:
    """A file to write into, which takes ``path``'s place at the end of the block; after an error it is gone.

    A link stays a link: what it leads to is replaced.

    Args:
        path: Its folder must be there.
        mode: Permissions of the new file.
        is_durable: The text is on the disk before the file takes its place.

    Raises:
        OSError: It can't be written; what was there is as it was.
    """
    from tempfile import (
        mkstemp,  # it loads random and hashlib: a command's start that writes nothing does without
    )

    path = Path(os.path.realpath(path))
    handle, draft = mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            if is_durable:
                os.fsync(out.fileno())
        os.chmod(draft, mode)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
