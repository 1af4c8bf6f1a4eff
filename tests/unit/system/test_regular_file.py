"""What somebody else put there is read up to a limit, whatever its size is said to be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from context_graph.system.small_files import read_bytes


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    assert read_bytes(str(path), 10) == b"x" * 10
    with pytest.raises(ValueError, match="more than 9 bytes"):
        read_bytes(str(path), 9)


@pytest.mark.skipif(not Path("/proc/self/pagemap").exists(), reason="no file here that tells a wrong size")
def test_what_has_no_end_is_not_read_to_it() -> None:
    """The system says 0 bytes of it."""
    path = "/proc/self/pagemap"
    assert os.stat(path).st_size == 0
    with pytest.raises(ValueError, match="more than 4096 bytes"):
        read_bytes(path, 4096)
