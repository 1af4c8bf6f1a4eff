"""The preloaded parent: forks a Python program for each start that interpreter.c asks for.

Run as `python -P server.py SOCKET`. A fork gets what an exec would have given it: arguments, environment,
folder, descriptors, limits, umask. What a fork can't be given is refused, and the caller starts a real
interpreter: other rights or namespaces, another locale, variables that Python or the loader read at start.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import resource
import selectors
import signal
import socket
import struct
import sys
import threading
import traceback
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from setproctitle import setproctitle

_LEFT_OUT = (
    "context_graph.kernels.just_in_time",
    "context_graph.sync.batch",
    "context_graph.view",
)
"""What few programs load: each page of a parent costs each of its forks."""
_HEAD = struct.Struct("<4i60i")
_REFUSED, _FORKED, _DETACHED = 0, 1, 2
_BIND_AT_START = ("LD_", "PYTHON", "LC_", "LANG", "MALLOC_", "GCONV_", "GLIBC_")
"""Variables that an interpreter reads when it starts: with other ones than ours it has to start."""
_INDIFFERENT = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
_RIGHTS = ("Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:", "NoNewPrivs:", "Seccomp:")
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


@dataclass(frozen=True)
class Start:
    """One start of an interpreter, as its stand-in sent it."""

    pid: int
    umask: int
    descriptors: dict[int, int]
    """By their number there, the number here."""
    folder: int
    words: list[str]
    env: dict[str, str]
    limits: list[tuple[int, tuple[int, int]]]
    """Resource limits other than ours."""

    @property
    def detached(self) -> bool:
        """Whether nobody waits for its end: an owner in the background."""
        return "context_graph.owner" in self.words and "--lock-fd" in self.words

    def close(self) -> None:
        for number in (*self.descriptors.values(), self.folder):
            os.close(number)


def main(address: str) -> None:
    """Serve until standard input ends: whoever started this is gone."""
    _preload()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(address)
        listening.listen(64)
        gc.collect()
        gc.freeze()
        print("ready", flush=True)
        Parent(listening).serve()


def _preload() -> None:
    """Import what commands and owners are made of, and what Typer imports at its first call."""
    import context_graph

    for found in pkgutil.walk_packages(context_graph.__path__, "context_graph."):
        if not found.name.startswith(_LEFT_OUT):
            importlib.import_module(found.name)
    from context_graph.cli.main import main as command

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        command(["session", "list", "--help"])
    _use_once()
    assert threading.active_count() == 1, "a fork takes no threads along"


def _use_once() -> None:
    """Read and compile what each program does at its first use: word lists, patterns, tables."""
    from context_graph.memory.embed import default_provider
    from context_graph.notes.said.language import LANGUAGES, language
    from context_graph.text.patterns import Linear

    for code in LANGUAGES:
        language(code)
    for made in gc.get_objects():
        if isinstance(made, Linear):
            made.found("")
    default_provider().encode("word")


class Parent:
    """Forks for whoever connects, and tells each how its fork ended."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[int, socket.socket] = {}
        """By the pid of a fork, who waits for its end."""

    def serve(self) -> None:
        ended, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        self._selector.register(self._listening, selectors.EVENT_READ, "start")
        self._selector.register(ended, selectors.EVENT_READ, "ended")
        self._selector.register(0, selectors.EVENT_READ, "over")
        while True:
            for key, _ in self._selector.select():
                if key.data == "over":
                    return
                if key.data == "ended":
                    with contextlib.suppress(BlockingIOError):
                        os.read(ended, 4096)
                    self._reap()
                elif key.data == "start":
                    self._begin(self._listening.accept()[0])
                else:
                    self._abandoned(key.data)

    def _begin(self, caller: socket.socket) -> None:
        caller.settimeout(10)
        try:
            start = _receive(caller)
        except (OSError, EOFError):  # it was killed meanwhile
            caller.close()
            return
        if not _is_ours(start):
            start.close()
            self._answer(caller, _REFUSED, 0)
            caller.close()
            return
        pid = os.fork()
        if not pid:
            _become(start)
        start.close()
        self._answer(caller, _DETACHED if start.detached else _FORKED, pid)
        if start.detached:
            caller.close()
            return
        self._waiting[pid] = caller
        self._selector.register(caller, selectors.EVENT_READ, pid)

    def _answer(self, caller: socket.socket, *numbers: int) -> None:
        with contextlib.suppress(OSError):
            caller.sendall(struct.pack(f"<{len(numbers)}i", *numbers))

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            caller = self._waiting.pop(pid, None)
            if caller is not None:
                self._selector.unregister(caller)
                self._answer(caller, status)
                caller.close()

    def _abandoned(self, pid: int) -> None:
        """The stand-in was killed, and with it what it stands for."""
        caller = self._waiting.pop(pid, None)
        if caller is not None:
            self._selector.unregister(caller)
            caller.close()
            os.kill(pid, signal.SIGKILL)


def _receive(caller: socket.socket) -> Start:
    head, sent, _, _ = socket.recv_fds(caller, _HEAD.size, 64)
    try:
        if len(head) < _HEAD.size:
            raise EOFError
        size, pid, umask, count, *numbers = _HEAD.unpack(head)
        body = bytearray()
        while len(body) < size:
            part = caller.recv(size - len(body))
            if not part:
                raise EOFError
            body += part
        limits = _limits(pid)
    except BaseException:
        for number in sent:
            os.close(number)
        raise
    words, rest = _words(bytes(body))
    entries, _ = _words(rest)
    env = {name: value for name, _, value in (entry.partition("=") for entry in entries)}
    descriptors = dict(zip(numbers[:count], sent[:count], strict=True))
    return Start(pid, umask, descriptors, sent[count], words, env, limits)


def _words(body: bytes) -> tuple[list[str], bytes]:
    size = int.from_bytes(body[:4], "little")
    return [os.fsdecode(word) for word in body[4 : 4 + size].split(b"\0")[:-1]], body[4 + size :]


def _limits(pid: int) -> list[tuple[int, tuple[int, int]]]:
    numbers = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
    found = [(number, resource.prlimit(pid, number)) for number in dict.fromkeys(numbers)]
    return [(number, limits) for number, limits in found if limits != resource.getrlimit(number)]


def _is_ours(start: Start) -> bool:
    """Whether a fork of this process can be what was asked for."""
    if _program(start.words) is None:
        return False
    bound = [
        {
            name: value
            for name, value in env.items()
            if name.startswith(_BIND_AT_START) and name not in _INDIFFERENT
        }
        for env in (start.env, os.environ)
    ]
    if bound[0] != bound[1]:
        return False
    try:
        return _rights(start.pid) == _rights(os.getpid()) and all(
            os.readlink(f"/proc/{start.pid}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}")
            for name in _NAMESPACES
        )
    except OSError:
        return False


def _rights(pid: int) -> list[str]:
    with open(f"/proc/{pid}/status") as source:
        return [line for line in source if line.startswith(_RIGHTS)]


def _program(words: Sequence[str]) -> tuple[str, str, list[str]] | None:
    """The kind (`-m`, `-c` or `script`), the module, code or path, and the words behind it.

    None for a command line that is not `python -P …`: another option may change more than the path.
    """
    if words[1:2] != ["-P"] or len(words) < 3:
        return None
    if words[2] in ("-m", "-c") and len(words) > 3:
        return words[2], words[3], [*words[4:]]
    return None if words[2].startswith("-") else ("script", words[2], [*words[3:]])


def _become(start: Start) -> None:
    """In the fork: be the program, and end as it ends."""
    code = 1
    try:
        _settle(start)
        program = _program(start.words)
        assert program is not None
        sys.orig_argv = list(start.words)
        sys.executable = start.words[0]
        if program[1] == "context_graph.consolidation" and os.path.exists(start.env.get("HOLD_RUNS", "")):
            os.kill(os.getpid(), signal.SIGSTOP)  # a test wants to see a run under way, not its end
        code = _run(*program)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _settle(start: Start) -> None:
    """Take over what an exec hands on."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.umask(start.umask)
    os.fchdir(start.folder)
    for number, limits in start.limits:
        resource.setrlimit(number, limits)
    # Clear of all numbers that are to be taken, ours among them.
    top = max((*start.descriptors, *start.descriptors.values(), start.folder, 2)) + 1
    clear = {}
    for number, here in start.descriptors.items():
        clear[number] = top
        os.dup2(here, top)
        top += 1
    for number, here in clear.items():
        os.dup2(here, number)
    for number in set(range(top)) - clear.keys():
        with contextlib.suppress(OSError):
            os.close(number)
    os.closerange(top, 1024)
    setproctitle(" ".join(start.words).encode(errors="replace").decode())
    os.environ.clear()
    os.environ.update(start.env)
    _open_streams(set(start.descriptors))
    _keep_priority()


def _keep_priority() -> None:
    """A consolidation gives way to all others; on a busy machine a test would wait for it without end."""
    os.nice = lambda _increment: 0
    os.sched_setscheduler = lambda _pid, _policy, _param: None
    os.sched_setaffinity = lambda _pid, _mask: None


def _open_streams(there: set[int]) -> None:
    """Standard streams as Python opens them: the old ones may hold what an earlier user left in them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, f"__{name}__")
        if number not in there:
            new = None
        else:
            raw = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
            new = io.TextIOWrapper(raw, encoding=old.encoding, errors=old.errors, line_buffering=number == 2)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _run(kind: str, target: str, words: list[str]) -> int:
    """Run it as `__main__`, then what Python does at its end; the exit code."""
    code = 0
    try:
        _execute(kind, target, words)
    except SystemExit as end:
        code = _code_of(end)
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as an interpreter's end does
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 120
    return code


def _execute(kind: str, target: str, words: list[str]) -> None:
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = [target, *words]
    if kind == "-m":
        spec, code = _module(target)
        main.__dict__.update(__spec__=spec, __file__=spec.origin, __package__=spec.parent)
        sys.argv[0] = spec.origin or target
    elif kind == "-c":
        code = compile(target, "<string>", "exec")
        sys.argv[0] = "-c"
    else:
        code = compile(Path(target).read_bytes(), target, "exec")
        main.__file__ = target
    exec(code, main.__dict__)


def _module(name: str) -> tuple[importlib.machinery.ModuleSpec, types.CodeType]:
    """What `python -m` would run; runpy would warn of one that is loaded already."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{sys.executable}: No module named {name}")
    code: types.CodeType = spec.loader.get_code(spec.name)  # type: ignore[attr-defined]  # a source file
    return spec, code


def _code_of(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if Path(path) != Path(__file__).parent]
    main(sys.argv[1])
