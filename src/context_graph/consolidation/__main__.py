"""Computes one consolidation in a process beside the owner: `python -m context_graph.consolidation FOLDER`.

`messages` describes its input and output. It lowers its priority before NumPy starts threads, because threads
inherit the priority of the thread that creates them.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
from pathlib import Path

import msgspec

from context_graph.consolidation.messages import ABANDONED, Failed, Line, Request, read_request, write_line
from context_graph.errors import ContextGraphError
from context_graph.system.processes import give_way

_STDIN, _STDOUT = 0, 1
_USAGE = 64
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
"""One: finders share out what is worth it themselves, and BLAS's threads wait for each other at work, which
on a busy machine is most of what they do."""
_OOM_SCORE = "600"
"""Out of 1000: when memory runs out, this process goes before the owner and the user's programs."""


def main(argv: list[str]) -> int:
    """Compute what the folder ``argv[1]`` holds; the exit code of `messages`."""
    if len(argv) != 2:
        print("usage: python -m context_graph.consolidation FOLDER (started by the owner)", file=sys.stderr)
        return _USAGE
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
    line = sys.stdin.buffer.readline()  # nothing follows it
    if not line:
        return ABANDONED
    try:
        request = read_request(line)
    except (msgspec.DecodeError, ContextGraphError) as error:
        return _fail(getattr(error, "code", "usage"), str(error))
    _give_way()
    os.environ.setdefault(_BLAS_THREADS, "1")
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    return _compute(Path(argv[1]), request)


def _compute(folder: Path, request: Request) -> int:
    # Few objects here are in cycles, and looking for those among millions of others takes a second.
    gc.disable()
    try:
        from context_graph.consolidation.run import compute  # NumPy, after _give_way

        compute(folder, request, _say)
    except ContextGraphError as error:
        return _fail(error.code, str(error))
    except Exception as error:
        logging.exception("the consolidation failed")
        return _fail("owner", f"the consolidation failed: {type(error).__name__}: {error}")
    return 0


def _give_way() -> None:
    """Lower this process's priority, and leave one processor to others: no hook waits for it."""
    problem = give_way(_OOM_SCORE)
    if problem:  # not everywhere allowed, and not needed for a right answer
        logging.warning("can't lower the priority further: %s", problem)


def _end_with_stdin() -> None:
    """End this process when its parent is gone."""
    while os.read(_STDIN, 4096):
        pass
    os._exit(ABANDONED)


def _say(line: Line) -> None:
    left = memoryview(write_line(line))
    try:
        while left:
            left = left[os.write(_STDOUT, left) :]
    except BrokenPipeError:
        os._exit(ABANDONED)


def _fail(code: str, message: str) -> int:
    _say(Failed(code, message))
    return 1


if __name__ == "__main__":
    # Not sys.exit: what the interpreter would tear down goes with the process, in a fifth of the time.
    status = main(sys.argv)
    sys.stderr.flush()
    os._exit(status)
