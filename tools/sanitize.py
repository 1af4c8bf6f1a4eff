"""Build the kernels with ASan and UBSan in a scratch folder and run their tests.

`make sanitize`. The sources are copied, so neither the working tree nor the installed kernels change. Leak
detection is off: CPython itself frees little at its end. Exit code: pytest's, or 1 without sanitizers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
COPIED = (
    "src",
    "ext/kernels",
    "ext/redaction",
    "tests",
    "tools",
    "setup.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
# A report ends the process, so that no test can pass beside it.
FLAGS = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"


def main(words: list[str]) -> int:
    """Copy, build, test; ``words`` are handed to pytest, by default the tests of the kernels."""
    library = _runtime("libasan.so")
    if library is None:
        print("sanitize: this compiler has no AddressSanitizer")
        return 1
    with tempfile.TemporaryDirectory(prefix="cg-sanitize-") as scratch:
        top = Path(scratch)
        _copy(top)
        _build(top)
        return _test(top, library, words or ["tests/kernels", "tests/fuzz/test_fuzz_records.py"])


def _runtime(name: str) -> str | None:
    said = subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    found = said.stdout.strip()
    return os.path.realpath(found) if "/" in found else None


def _copy(top: Path) -> None:
    skip = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info", "target")
    for name in COPIED:
        source, target = TOP / name, top / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=skip)
        else:
            shutil.copy2(source, target)


def _build(top: Path) -> None:
    """CFLAGS come after setup.py's own, so its -O3 gives way; distutils links with LDSHARED and LDFLAGS."""
    env = {**os.environ, "LDFLAGS": "-fsanitize=address,undefined", "CONTEXT_GRAPH_KERNEL_CFLAGS": FLAGS}
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], cwd=top, env=env, check=True
    )


def _test(top: Path, library: str, words: list[str]) -> int:
    """Run pytest below the sanitizer; the copy's package goes before the installed one."""
    env = {
        **os.environ,
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PYTHONPATH": os.fspath(top / "src"),
        "PYTHONMALLOC": "malloc",  # in CPython's own pools no read past a small buffer is seen
    }
    origin = "import context_graph.kernels.pairs as k; print('sanitized:', k.__file__)"
    subprocess.run([sys.executable, "-c", origin], cwd=top, env=env, check=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--timeout=0",
    ]
    done = subprocess.run([*command, *words], cwd=top, env=env, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
