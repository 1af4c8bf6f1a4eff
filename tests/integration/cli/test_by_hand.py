"""What a person at a terminal meets: hints, questions, exit codes, narrow terminals, pipes, Ctrl-C."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from tests.support.cli import Cli
from tests.support.sessions import hook, memory, remember, work_session

from context_graph.cli.typer_words import build_app, meant_by
from context_graph.cli.words import every_command

TAKES_AWAY = {"forget", "clear", "prune", "restore", "repair", "stop", "remove", "consolidate"}
LOOKS = (
    "get",
    "cat",
    "show",
    "view",
    "find",
    "query",
    "ls",
    "list",
    "gorget",
    "store",
    "report",
    "status",
)


def _named(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def at_terminal(cli: Cli, answer: str, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run a command on a terminal where a person types ``answer``: its exit code, and what it showed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cli.project)
        os.execve(cli.launcher, ["context-graph-cli", *words], {**cli.env, **(env or {})})
    os.write(terminal, answer.encode())
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # its end, on Linux
            break
        if not part:
            break
        seen += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()


# Hints


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["memory", "get", "1234"], "'show'"),
        (["memory", "read", "1234"], "'show'"),
        (["memory", "rm", "1234"], "'forget'"),
        (["memory", "delete", "1234"], "'forget'"),
        (["memory", "add", "x"], "'store'"),
        (["memory", "remember", "x"], "'store'"),
        (["memory", "forgt", "1234"], "'forget'"),
        (["store", "x"], "'memory store'"),
        (["recall", "x"], "'memory recall'"),
        (["session", "ls"], "'list'"),
        (["req", "done", "x"], "'satisfy'"),
        (["req", "add", "plan"], "'init'"),
    ],
    ids=_named,
)
def test_an_unknown_word_gets_the_command_that_is_called_so_elsewhere(
    shared_cli: Cli, words: list[str], meant: str
) -> None:
    done = shared_cli.run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"; did you mean {meant}? `context-graph-cli " in done.stderr


def test_what_takes_away_is_never_proposed_to_who_wants_to_look() -> None:
    """Each word for looking against all commands, and each group's alone."""
    names = [name for name, _ in every_command()]
    groups = {name.partition(" ")[0] for name in names if " " in name}
    below = [[name.partition(" ")[2] for name in names if name.startswith(f"{one} ")] for one in groups]
    for commands in (names, *below):
        for word in LOOKS:
            assert meant_by(word, commands).rpartition(" ")[2] not in TAKES_AWAY, (word, commands)
    assert meant_by("forgt", names) == "memory forget" and meant_by("qqqq", names) == ""


# Deleting for good


def test_deleting_for_good_shows_the_text_asks_and_wants_eight_digits(cli: Cli) -> None:
    node_id = remember(cli, "Staging listens on 8443")
    short = cli.run("memory", "forget", node_id[:7], "--permanent", "--yes")
    assert short.returncode == 2 and "--permanent needs 8 digits of it" in short.stderr
    unasked = cli.run("memory", "forget", node_id, "--permanent")
    assert (
        unasked.returncode == 1 and "run it in a terminal" in unasked.stderr and "--yes" not in unasked.stderr
    )
    code, seen = at_terminal(cli, "n\n", "memory", "forget", node_id[:8], "--permanent")
    assert code == 1 and "Staging listens on 8443" in seen and "Delete it for good?" in seen
    assert memory(cli, "show", node_id)["content"] == "Staging listens on 8443"
    code, seen = at_terminal(cli, "y\n", "memory", "forget", node_id[:8], "--permanent")
    assert code == 0 and "forgotten for good" in seen
    assert cli.run("memory", "show", node_id).returncode == 1
    other = remember(cli, "Deploys run from main")
    assert cli.run("memory", "forget", other, "--permanent", "--yes").returncode == 0


# Sessions


def test_a_session_is_named_by_its_first_digits_and_the_list_says_what_it_was_about(cli: Cli) -> None:
    session = "5e551011-1111-4222-8333-444444444444"
    work_session(cli, session)
    shown = cli.run("session", "show", "5e551")
    assert (shown.returncode, session in shown.stdout) == (0, True)
    assert json.loads(cli.run("session", "export", "5e551").stdout)["sessions"][0]["session_id"] == session
    head, row = cli.run("session", "list", env={"COLUMNS": "160"}).stdout.splitlines()
    assert head.split() == ["SESSION", "AGO", "LENGTH", "BRANCH", "OUTCOME", "GOAL"]
    (found,) = json.loads(cli.run("session", "list", "--json").stdout)["sessions"]
    nobody = cli.run("session", "show", "0123")
    assert nobody.returncode == 1
    assert "no session '0123' in this store; `context-graph-cli session list` shows them" in nobody.stderr
    assert row.startswith("5e551011  ") and found["goal"] in row and found["outcome"] in row
    assert found["outcome"].startswith("1 file") and found["ended_ms"] >= found["began_ms"] > 0
    assert session not in row


def test_a_session_is_shown_with_what_it_was_for(cli: Cli) -> None:
    work_session(cli, "5e551011-1111-4222-8333-444444444444")
    goal = cli.run("session", "list", env={"COLUMNS": "160"}).stdout.splitlines()[1].split("  ")[-1].strip()
    assert goal and f"goal       {goal}" in cli.run("session", "show", "5e55").stdout


def test_ids_that_begin_alike_are_shown_as_far_as_they_differ(cli: Cli) -> None:
    for session in ("session-1", "session-2"):
        hook(cli, "prompt-submit", session, prompt="Why is it red?", prompt_id=session)
    rows = cli.run("session", "list").stdout.splitlines()[1:]
    assert sorted(row.split()[0] for row in rows) == ["session-1", "session-2"]
    assert all(row.endswith("Why is it red?") for row in rows)


# Looking


def test_the_list_marks_what_was_superseded_and_looking_counts_no_use(cli: Cli) -> None:
    old = remember(cli, "Staging listens on 8443")
    new = memory(cli, "store", "Staging listens on 9443", "--supersedes", old)["id"]
    first, second = memory(cli, "list")["nodes"]
    assert (first["id"], first.get("superseded_by")) == (new, None)
    assert (second["id"], second["superseded_by"]) == (old, new)
    wide = cli.run("memory", "list", env={"COLUMNS": "160"}).stdout
    assert f"[superseded by {new[:8]}] Staging listens on 8443" in wide
    for words in (("recall", "staging port"), ("inject", "staging port"), ("list",), ("show", new)):
        assert cli.run("memory", *words).returncode == 0
    assert {node["access_count"] for node in memory(cli, "list")["nodes"]} == {0}


def test_status_says_in_words_what_verbose_has_as_numbers(cli: Cli) -> None:
    work_session(cli, "s-1")
    plain, verbose = cli.run("status").stdout, cli.run("status", "--verbose").stdout
    assert re.search(r"^identity +(on course|drifting|has left)", plain, re.MULTILINE)
    assert "consciousness" not in plain and not re.search(
        r"[01]\.\d\d", plain.split("\n", 1)[1].split("owner")[0]
    )
    assert re.search(r"^numbers +continuity \d\.\d\d \(\w+\), consciousness \d\.\d\d", verbose, re.MULTILINE)


# Help


def test_help_names_what_it_takes_in_words(shared_cli: Cli) -> None:
    """No brackets of brackets, no types of Python, and no page that an installation does not have."""
    root = typer.main.get_command(build_app())
    for name, _ in every_command():
        command: Any = root
        for word in name.split():
            command = command.commands[word]
        text = command.get_help(typer.Context(command, info_name=name))
        usage = text.partition("\n\n")[0]
        assert not re.search(r"\[\[|\{|<", usage), usage
        assert not re.search(r"<\w[\w|\[\] ]*>|\[\[|docs/", text), (name, text)
    assert "[TOKEN]" in shared_cli.run("memory", "undo", "--help").stdout
    assert "TEXT…" in shared_cli.run("memory", "store", "--help").stdout


# Exit codes, pipes, terminals


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["memory", "recall"], 2),
        (["memory", "list", "--limit", "0"], 2),
        (["memory", "list", "--limit", "many"], 2),
        (["session", "list", "--limit", "0"], 2),
        (["req", "list", "--format", "yaml"], 2),
        (["completion", "tcsh"], 2),
        (["memory", "show", "00000000"], 1),
        (["session", "show", "nobody"], 1),
        (["session", "restore-identity", "--bogus"], 1),
        (["session", "persist-identity", "--bogus"], 1),
        (["consciousness", "inject-context", "--format", "short"], 1),
        (["consciousness", "check-identity", "--bogus"], 0),
        (["hooks", "stop", "--bogus"], 4),
    ],
    ids=_named,
)
def test_a_wrong_command_line_exits_2_but_never_one_that_a_client_runs(
    shared_cli: Cli, words: list[str], code: int
) -> None:
    """For the seeds' commands 2 means corruption."""
    done = shared_cli.run(*words)
    assert done.returncode == code, done.stderr


def test_who_reads_only_the_first_line_hears_no_complaint(cli: Cli) -> None:
    for number in range(30):
        remember(cli, f"Fact {number}: " + "a long text, of which a pipe takes only so much. " * 100)
    command = f"{cli.launcher} memory export | head -c 100; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=dict(cli.env), cwd=cli.project,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout) == 100


def test_a_dumb_terminal_gets_no_escapes(cli: Cli) -> None:
    assert "\x1b[" in at_terminal(cli, "", "status", env={"TERM": "xterm"})[1]
    assert "\x1b[" not in at_terminal(cli, "", "status", env={"TERM": "dumb"})[1]


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_table_fits_a_narrow_terminal(cli: Cli, columns: int) -> None:
    text = "Staging listens on 8443, which only the deploy job knows"
    node_id = remember(cli, text, "--tag", "infrastructure", "--tag", "deployment")
    work_session(cli, "5e551011-1111-4222-8333-444444444444")
    for words in (("memory", "list"), ("memory", "recall", "staging"), ("session", "list")):
        rows = cli.run(*words, env={"COLUMNS": str(columns)}).stdout.splitlines()
        assert max(map(len, rows)) <= columns, rows
    assert node_id[:8] in cli.run("memory", "list", env={"COLUMNS": str(columns)}).stdout


def test_in_40_columns_a_table_keeps_the_id_and_room_for_what_tells_most(cli: Cli) -> None:
    node_id = remember(cli, "Staging listens on 8443, which only the deploy job knows", "--tag", "deployment")
    head, row = cli.run("memory", "list", env={"COLUMNS": "40"}).stdout.splitlines()
    assert head.split() == ["ID", "AGE", "CONTENT"]
    assert row.startswith(node_id[:8]) and "Staging listens on" in row
    assert "deployment" in cli.run("memory", "list", env={"COLUMNS": "80"}).stdout


@pytest.mark.parametrize(
    "words",
    [
        ["memory", "get", "1234"],
        ["memory", "show", "ffffffff"],
        ["memory", "recall", "x", "--top-k", "0"],
        ["memory", "recall", "anything"],
        ["req", "init", "--preset", "strict"],
        ["req", "status"],
        ["req", "satisfy", "nothing"],
        ["status"],
        ["hub", "status"],
    ],
    ids=_named,
)
def test_a_terminal_gets_lines_that_end_between_words_and_commands_whole(cli: Cli, words: list[str]) -> None:
    env = {"TERM": "dumb", "COLUMNS": "64"}
    seen = at_terminal(cli, "", *words, env=env)[1].replace("\r\n", "\n")
    lines = seen.splitlines()
    too_long = [line for line in lines if len(line) > 64 and str(cli.project) not in line]
    assert lines and not too_long, seen
    piped = cli.run(*words)
    whole = piped.stdout + piped.stderr
    spoken = set(re.findall(r"`[^`\n]+`", whole))
    assert {one for one in spoken if len(one) <= 64} <= set(re.findall(r"`[^`\n]+`", seen)), seen
    if words != ["status"] and words[1] != "init":  # the one shows ages, the other finds its file
        assert seen.split() == whole.split()
        assert whole.count("\n") <= len(lines)


def test_a_value_that_is_folded_goes_on_below_itself(cli: Cli) -> None:
    """`memory show`: names in the first column, and none of their values in it."""
    rationale = "The deploy job alone knows that port, and its log names it in the first line of each run"
    node_id = memory(cli, "store", "Staging listens on 8443", "--rationale", rationale)["id"]
    seen = at_terminal(cli, "", "memory", "show", node_id, env={"TERM": "dumb", "COLUMNS": "60"})[1]
    lines = seen.replace("\r\n", "\n").partition("\n\n")[0].splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("rationale"))
    begins = len("rationale") + lines[at][len("rationale") :].index("The")
    assert max(map(len, lines[at : at + 2])) <= 60 and lines[at + 1][:begins].isspace()
    assert " ".join(f"{lines[at][begins:]} {lines[at + 1]}".split()) == rationale


def test_help_says_exit_codes_before_the_example_everywhere(shared_cli: Cli) -> None:
    for words in (["req", "satisfy"], ["hub", "join"], ["hooks", "git"], ["memory", "store"]):
        shown = shared_cli.run(*words, "--help").stdout
        codes, example, options = (shown.index(part) for part in ("Exit codes", "Example:", "Options:"))
        assert codes < example < options, shown


def test_a_terminal_that_only_hears_of_problems_is_measured_too(cli: Cli) -> None:
    """Standard output goes to a file, as with `> list.txt`."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 44, 0, 0))
    env = {key: value for key, value in cli.env.items() if key != "COLUMNS"}
    words = [str(cli.launcher), "memory", "recall", "x", "--top-k", "0"]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=side, env=env, cwd=cli.project,
        timeout=60, check=False,
    )  # fmt: skip
    os.close(side)
    lines = os.read(main, 65536).decode().splitlines()
    os.close(main)
    assert done.returncode == 2
    assert lines == ["context-graph-cli: --top-k is '0'; give a", "whole number from 1 to 100"]


def test_an_input_that_is_none_is_named_and_only_five_faults_are_shown(cli: Cli, tmp_path: Path) -> None:
    missing = cli.run("memory", "import", str(tmp_path / "nothing"))
    assert (missing.returncode, missing.stderr.endswith("nothing: no such file or folder\n")) == (1, True)
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("not JSON\n" * 26)
    *faults, rest, verdict = cli.run("memory", "import", str(wrong)).stderr.splitlines()
    assert [one.partition(":")[0] for one in faults] == [f"line {number}" for number in range(1, 6)]
    assert rest == "… and 21 more" and verdict.endswith("26 faults; nothing was written")


# Ctrl-C


def test_ctrl_c_while_python_starts_is_silent(cli: Cli, tmp_path: Path) -> None:
    """The signal comes while no line of ours has been read yet."""
    started, go = tmp_path / "started", tmp_path / "go"
    (tmp_path / "sitecustomize.py").write_text(
        f"import os, time\nopen({str(started)!r}, 'w').close()\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
    )
    command = subprocess.Popen(
        [str(cli.launcher), "memory", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**cli.env, "PYTHONPATH": str(tmp_path), "CONTEXT_GRAPH_PYTHON": sys.executable}, cwd=cli.project,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    command.send_signal(signal.SIGINT)
    go.touch()
    out, err = command.communicate(timeout=60)
    assert (command.returncode, out, err) == (130, "", "")


def test_ctrl_c_while_modules_load_is_silent(cli: Cli, tmp_path: Path) -> None:
    """In whatever module: in some an exception becomes another error, and native ones may crash."""
    directly = [sys.executable, "-P", "-m", "context_graph.cli"]
    for start, module in (
        *(([str(cli.launcher)], one) for one in ("dataclasses", "typer", "click", "msgspec")),
        *((directly, one) for one in ("context_graph.cli.main", "context_graph.cli.words")),
    ):
        hook = tmp_path / module
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(_INTERRUPTED_AT.format(module=module))
        env = {**cli.env, "PYTHONPATH": str(hook), "CONTEXT_GRAPH_PYTHON": sys.executable}
        done = subprocess.run(
            [*start, "memory", "recall", "--help"], env=env, cwd=cli.project, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        if (hook / "reached").exists():
            assert (done.returncode, done.stdout, done.stderr) == (130, "", ""), module
        else:  # newer versions of Typer bring a click of their own
            assert (module, done.returncode) == ("click", 0)


_INTERRUPTED_AT: Final = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            open(os.path.join(os.path.dirname(__file__), "reached"), "w").close()
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
