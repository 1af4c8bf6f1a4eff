"""Drive the real Claude Code client through one session, sealed on loopback.

    python tests/realclient/run.py PROJECT --prompt "go" --script SCRIPT.json --logs LOGS [-- CLIENT OPTIONS]

Client, hooks and scripted model live in a fresh network, process and mount namespace: nothing can leave, and
what they started ends with the run. The environment is built from nothing: no credentials, a home in LOGS.
LOGS then has summary.json (also printed), requests.jsonl (what the model was sent), stdout.jsonl (the
client's events, ``_t`` in seconds), debug.log, stderr.txt and, with --keys, tty.txt. Exit code 1: the client
had to be killed at --timeout; 2: it can't be driven here. The script's forms: model.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import installed
import sealed
from model import ScriptedModel, hold
from terminal import Terminal
from told import summary_of

_API_KEY = "dummy-key-for-the-scripted-model"


def main(argv: list[str]) -> int:
    options = _options(argv)
    if options.inside:
        return _inside(options)
    missing = installed.why_not()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    shutil.rmtree(options.logs, ignore_errors=True)
    options.logs.mkdir(parents=True)
    given = {"PATH": sealed.PATH, "LANG": "C.UTF-8", "REALCLIENT_DIR": str(installed.FOLDER)}
    command = [*installed.NAMESPACES, sys.executable, __file__, "--inside", *argv]
    return subprocess.run(command, env=given, timeout=options.timeout + options.linger + 60).returncode


def _options(argv: list[str]) -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], epilog="What follows a lone -- goes to the client."
    )
    add = parser.add_argument
    add("project", type=Path, help="folder that the client runs in")
    add("--prompt", action="append", default=[], help="again for each further prompt of the session")
    add("--script", type=Path, required=True, help="JSON: the model's turns (model.py)")
    add("--logs", type=Path, required=True, help="folder for this run's files; emptied first")
    add("--marker", action="append", default=[], help="tell where this text reached the model")
    add("--timeout", type=float, default=60, help="seconds that the client has")
    add("--linger", type=float, default=1, help="seconds from its end to the look at what is left")
    add("--permission-mode", default="bypassPermissions")
    add("--env", action="append", default=[], metavar="K=V", help="a variable for client, hooks and servers")
    add("--home", type=Path, help="home that is kept between runs (else a fresh one in LOGS)")
    add("--trust", action="store_true", help="the folder counts as trusted: no dialog")
    add("--keys", "--tty", type=Path, help="interactive: JSON list of [text to wait for, keys to type]")
    add("--aux", action="append", default=[], metavar="COMMAND", help="shell command beside the client")
    add("--signal-after", type=float, help="seconds after which the client gets --signal")
    add("--signal", default="INT", help="INT, TERM, HUP or KILL")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    cut = argv.index("--") if "--" in argv else len(argv)
    options = parser.parse_args(argv[:cut])
    options.client = argv[cut + 1 :]
    for name in ("project", "script", "logs", "home", "keys"):
        path = getattr(options, name)
        setattr(options, name, path and path.absolute())
    return options


def _inside(options: argparse.Namespace) -> int:
    sealed.loopback_up()
    sealed.hide_managed_settings()
    logs: Path = options.logs
    home: Path = options.home or logs / "home"
    (home / ".claude").mkdir(parents=True, exist_ok=True)
    text = options.script.read_text(encoding="utf-8")
    script = json.loads(text.replace("@PROJECT@", str(options.project)).replace("@LOGS@", str(logs)))
    model = ScriptedModel(script, logs / "requests.jsonl")
    env = sealed.environment(home, model.url, _API_KEY)
    env.update(item.split("=", 1) for item in options.env)
    if options.trust or options.keys:
        sealed.seed_config(home, options.project, _API_KEY, trusted=options.trust)
    beside = _beside(options, env)
    client = _Client(options, env, model.prompts or options.prompt or ["hello"])
    if options.signal_after is not None:
        number = getattr(signal, f"SIG{options.signal}")
        threading.Timer(options.signal_after, client.process.send_signal, [number]).start()
    client.finish()
    time.sleep(options.linger)
    left = sealed.survivors({os.getpid(), client.process.pid, *beside})
    summary = summary_of(client.events, logs, options.marker)
    summary |= {
        "exit_code": client.process.returncode,
        "timed_out": client.timed_out,
        "wall_s": client.wall_s,
        "keys_typed": client.terminal.typed if client.terminal else None,
        "turns_played": dict(model.played),
        "survivors": left,
    }
    out = json.dumps(summary, indent=1)
    (logs / "summary.json").write_text(out, encoding="utf-8")
    print(out)
    return 1 if client.timed_out else 0


def _beside(options: argparse.Namespace, env: dict[str, str]) -> list[int]:
    """Start the helpers of --aux; each has half a second to be ready."""
    pids = []
    for number, line in enumerate(options.aux):
        with (options.logs / f"aux{number}.txt").open("wb") as out:
            started = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {line}"],
                cwd=options.project,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        pids.append(started.pid)
        time.sleep(0.5)
    return pids


class _Client:
    """The client's process, its events as they come, and its prompts."""

    def __init__(self, options: argparse.Namespace, env: dict[str, str], prompts: list[Any]) -> None:
        self._options = options
        self.events: list[dict[str, Any]] = []
        self.timed_out = False
        self.wall_s = 0.0
        self.terminal: Terminal | None = None
        self._prompts = prompts
        self._began = time.monotonic()
        self._ended_turn = threading.Semaphore(0)
        common = [
            "--permission-mode",
            options.permission_mode,
            "--debug-file",
            str(options.logs / "debug.log"),
        ]
        program = str(installed.program())
        if options.keys:
            steps = json.loads(options.keys.read_text(encoding="utf-8"))
            command = [program, *common, *options.client]
            self.terminal = Terminal(command, options.project, env, steps, options.logs / "tty.txt")
            self.process = self.terminal.process
            return
        printing = ["-p", "--output-format", "stream-json", "--verbose", "--include-hook-events"]
        several = len(self._prompts) > 1
        said = ["--input-format", "stream-json"] if several else ["--", self._prompts[0]]
        options_first = said if several else []
        with (options.logs / "stderr.txt").open("wb") as err:
            self.process = subprocess.Popen(
                [program, *printing, *common, *options_first, *options.client, *([] if several else said)],
                cwd=options.project,
                env=env,
                stdin=subprocess.PIPE if several else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with (self._options.logs / "stdout.jsonl").open("w", encoding="utf-8") as out:
            for raw in self.process.stdout:
                try:
                    event = json.loads(raw)
                except ValueError:
                    event = {"type": "unparsed", "raw": raw.decode("utf-8", "replace")}
                event["_t"] = round(time.monotonic() - self._began, 4)
                self.events.append(event)
                out.write(json.dumps(event) + "\n")
                out.flush()
                if event.get("type") == "result":
                    self._ended_turn.release()

    def finish(self) -> None:
        """Give it its prompts, one after another's result, and wait for its end, or kill it."""
        try:
            if self.process.stdin is not None:
                for prompt in self._prompts:
                    self._ask(prompt)
                self.process.stdin.close()
            self.process.wait(timeout=max(1.0, self._left_s()))
        except (subprocess.TimeoutExpired, TimeoutError, BrokenPipeError):
            self.timed_out = self.process.poll() is None
            self.process.kill()
            self.process.wait()
        self.wall_s = round(time.monotonic() - self._began, 3)

    def _ask(self, prompt: Any) -> None:
        assert self.process.stdin is not None
        if isinstance(prompt, dict):
            hold(prompt["after"])
            prompt = prompt["say"]
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()
        if not self._ended_turn.acquire(timeout=max(1.0, self._left_s())):
            raise TimeoutError

    def _left_s(self) -> float:
        return float(self._options.timeout) - (time.monotonic() - self._began)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
