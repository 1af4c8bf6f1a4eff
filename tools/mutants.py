"""Mutants: small faults put into a copy of the source, each of which some test must notice.

    python tools/mutants.py                 all of them
    python tools/mutants.py --only A1       one, or several: --only A1,A2; or all whose ids begin so: --only H
    python tools/mutants.py --list          what they are
    python tools/mutants.py --part 1/2      every second one, so that two processes share the work

They stand in `tools/mutated/*.toml`. The tree is copied (its environment by hard links), a mutant is applied
there, and its tests run there; nothing is changed in place. A kernel is compiled before. Exit code 1 if a
mutant survives, no longer applies, does not compile, or its tests do not run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.linked_tree import LEFT_OUT, ROOT, link_environment

_COPIED: Final = (
    "src",
    "tests",
    "tools",
    "research",
    "benches",
    "docs",
    "ext",
    "pyproject.toml",
    "setup.py",
    "README.md",
    "Makefile",
)
_LIMIT_S: Final = 1800
KILLED: Final = "killed"
_FAILED: Final = 1  # pytest's exit code for tests that failed; others say that it could not run them
_KERNEL: Final = """
import runpy, setuptools, sys
whole = setuptools.setup
def of_one_kernel(**given):
    kernels = [one for one in given.pop("ext_modules") if one.name.endswith("." + sys.argv[1])]
    del given["rust_extensions"], sys.argv[1]
    whole(ext_modules=kernels, **given)
setuptools.setup = of_one_kernel
runpy.run_path("setup.py")
"""
"""Compiles one kernel in place, with the flags that ship."""


@dataclass(frozen=True)
class Mutant:
    """One fault."""

    id: str
    what: str
    file: str
    old: str
    """Stands in the file exactly once."""
    new: str
    tests: tuple[str, ...]
    """Of these at least one must fail: pytest's, or words for `cargo test` where the file is Rust."""

    @property
    def crate(self) -> str:
        """The folder of its crate; empty for other languages."""
        return self.file.partition("/src/")[0] if self.file.endswith(".rs") else ""

    def applied(self, root: Path) -> str:
        """The file's text with the fault in it.

        Raises:
            ValueError: The text that it replaces is not there, or more than once.
        """
        text = (root / self.file).read_text()
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.id} no longer applies: {self.file} has its text {text.count(self.old)} times"
            )
        return text.replace(self.old, self.new)


def _read() -> Iterator[Mutant]:
    for table in sorted((ROOT / "tools" / "mutated").glob("*.toml")):
        for row in tomllib.loads(table.read_text())["mutant"]:
            yield Mutant(**{**row, "tests": tuple(row["tests"])})


MUTANTS: Final = tuple(_read())


class Copy:
    """The tree in a folder of its own, with an environment whose package is the copy's."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir()
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.root / name, ignore=LEFT_OUT)
            elif source.exists():
                shutil.copy2(source, self.root / name)
        link_environment(self.root)

    def judge(self, mutant: Mutant) -> str:
        """What became of it: KILLED, or why not."""
        target = self.root / mutant.file
        modules = {path: path.read_bytes() for path in self._modules(target)}
        original = target.read_text()
        try:
            target.write_text(mutant.applied(self.root))
        except ValueError as error:
            return str(error)
        try:
            return self._tried(mutant)
        finally:
            target.write_text(original)
            for path, data in modules.items():
                path.unlink()
                path.write_bytes(data)

    def _modules(self, file: Path) -> list[Path]:
        kernel = file.suffix == ".pyx"
        return [*self.root.glob(f"src/context_graph/kernels/{file.stem}.*.so")] if kernel else []

    def _tried(self, mutant: Mutant) -> str:
        kernel = Path(mutant.file).stem if mutant.file.endswith(".pyx") else ""
        build = [["-c", _KERNEL, kernel, "--quiet", "build_ext", "--inplace"]] if kernel else []
        if any(self._run(self._python, *words) for words in build):
            return f"{mutant.id} does not compile: {mutant.what}"
        if mutant.crate:
            if self._cargo(mutant.crate, "--no-run"):
                return f"{mutant.id} does not compile: {mutant.what}"
            failed = any(self._cargo(mutant.crate, *words.split()) for words in mutant.tests)
            code = _FAILED if failed else 0
        else:
            code = self._pytest(mutant.tests)
        if code == _FAILED:
            return KILLED
        return (
            f"{mutant.id} survives: {mutant.what}" if code == 0 else f"{mutant.id}: pytest ended with {code}"
        )

    @property
    def _python(self) -> str:
        return str(self.root / ".venv" / "bin" / "python")

    def _cargo(self, crate: str, *words: str) -> int:
        return self._run("cargo", "test", "--quiet", "--offline", *words, folder=self.root / crate)

    def _pytest(self, tests: Sequence[str]) -> int:
        options = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist")
        return self._run(self._python, "-m", "pytest", *options, "--all", "-m", "not torture", *tests)

    def _run(self, *words: str, folder: Path | None = None) -> int:
        path = f"{Path(self._python).parent}:{os.environ['PATH']}"
        # Without bytecode: a fault and its original may have one time and one size.
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PATH": path}
        done = subprocess.run(
            words, cwd=folder or self.root, env=env, timeout=_LIMIT_S, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        failed = [
            line
            for line in done.stdout.splitlines()
            if line.startswith(("FAILED", "ERROR", "test result: F"))
        ]
        print("".join(f"    {line[:160]}\n" for line in failed[:3]), end="")
        return done.returncode


def _chosen(given: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Mutant]:
    chosen = list(MUTANTS)
    if given.only:
        ids = {one.id for one in MUTANTS}
        wanted = [one for one in given.only.split(",") if one]
        chosen = [
            one
            for one in MUTANTS
            if any(one.id == id_ or (id_ not in ids and one.id.startswith(id_)) for id_ in wanted)
        ]
        if unknown := [id_ for id_ in wanted if not any(one.id.startswith(id_) for one in MUTANTS)]:
            parser.error(f"no mutant {', '.join(unknown)}")
    if given.part:
        number, _, count = given.part.partition("/")
        if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
            parser.error(f"--part {given.part}: must be N/M, such as 1/2")
        chosen = chosen[int(number) - 1 :: int(count)]
    return chosen


def main(words: Sequence[str] | None = None) -> int:
    """See the module; the exit code."""
    parser = argparse.ArgumentParser(description="Put faults into a copy of the source and see a test fail.")
    parser.add_argument("--only", metavar="ID", help="these alone, with commas between them")
    parser.add_argument("--part", metavar="N/M", help="the Nth of M shares")
    parser.add_argument("--list", action="store_true", help="say what they are and end")
    given = parser.parse_args(words)
    chosen = _chosen(given, parser)
    if given.list:
        print("\n".join(f"{one.id}  {one.what} ({one.file}; {', '.join(one.tests)})" for one in chosen))
        return 0
    bad = 0
    with tempfile.TemporaryDirectory(prefix="cg-mutants-") as folder:
        copy = Copy(Path(folder))
        for mutant in chosen:
            verdict = copy.judge(mutant)
            bad += verdict != KILLED
            print(f"{mutant.id}  {verdict}", flush=True)
    print(f"{len(chosen) - bad} of {len(chosen)} killed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
