"""Builds the kernels, the redactor in Rust and what tools/docs/built.py makes; all else is in pyproject.toml.

Each ext/kernels/<name>.pyx becomes context_graph.kernels.<name>; a new kernel file needs no change here.
CONTEXT_GRAPH_SAFE_KERNELS=1 turns Cython's run-time checks on, CONTEXT_GRAPH_ANNOTATE_KERNELS=1 writes its
annotation of each kernel beside the C.
"""

import os
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import Cython.Build.Dependencies  # noqa: F401  # here, so that the processes below do not each import it
from Cython.Compiler import Options
from Cython.Distutils import Extension, build_ext
from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools_rust import Binding, RustExtension

KERNELS = Path("ext/kernels")  # relative, because setuptools refuses absolute sources
Options.annotate = os.environ.get("CONTEXT_GRAPH_ANNOTATE_KERNELS", "") not in ("", "0")
SAFE = os.environ.get("CONTEXT_GRAPH_SAFE_KERNELS", "") not in ("", "0")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": SAFE,
    "initializedcheck": SAFE,
    "overflowcheck": SAFE,
    "cdivision": not SAFE,
    "wraparound": False,
    "binding": True,
    "embedsignature": True,
    "autotestdict": False,  # else stubtest meets a `__test__` that no stub declares
}

COMPILE_ARGS = [
    "-O3",
    "-g0",  # debug information makes each module several times its size
    "-ffp-contract=off",  # no fused multiply-add: the twins must round alike on every processor
    "-fno-math-errno",  # sqrt as one instruction; nobody reads errno
]

COMPILE_ARGS += os.environ.get("CONTEXT_GRAPH_KERNEL_CFLAGS", "").split()  # tools/sanitize.py's

extensions = [
    Extension(
        f"context_graph.kernels.{source.stem}",
        [str(source)],
        depends=[str(header) for header in sorted(KERNELS.glob("*.pxd"))],
        cython_include_dirs=[str(KERNELS)],
        cython_directives=DIRECTIVES,
        extra_compile_args=COMPILE_ARGS,
    )
    for source in sorted(KERNELS.glob("*.pyx"))
]


class BuildKernels(build_ext):
    """Builds the kernels side by side: Cython's part is Python, so each share takes a process."""

    def build_extensions(self) -> None:
        count = os.cpu_count() or 1
        largest_first = sorted(self.extensions, key=lambda one: -os.path.getsize(one.sources[0]))
        fork = get_context("fork")  # a command can't be pickled
        shares = [fork.Process(target=self._build, args=(largest_first[n::count],)) for n in range(count)]
        for share in shares:
            share.start()
        for share in shares:
            share.join()
        if any(share.exitcode for share in shares):
            raise SystemExit("a kernel could not be built: what is above says which and why")

    def _build(self, extensions: list[Extension]) -> None:
        for extension in extensions:
            self.build_extension(extension)


class BuildPython(build_py):
    """Makes the files that git does not have before it collects modules; pages are collected later."""

    def run(self) -> None:
        subprocess.run([sys.executable, "tools/docs/built.py"], check=True)
        super().run()


setup(
    package_dir={"": "src"},
    ext_modules=extensions,
    rust_extensions=[
        RustExtension(
            "context_graph.redact._redaction",
            "ext/redaction/binding/Cargo.toml",
            binding=Binding.PyO3,
            debug=False,  # an editable install is measured like a wheel
            cargo_manifest_args=["--locked"],
        )
    ],
    cmdclass={"build_ext": BuildKernels, "build_py": BuildPython},
    options={
        "build_ext": {
            "cython_c_in_temp": True,  # keeps generated C out of the source tree
            "force": True,  # Cython does not notice changed directives: a wheel must not get a safe build's C
        }
    },
)
