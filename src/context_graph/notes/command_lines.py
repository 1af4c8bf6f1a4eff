"""Reads from shell commands how a project is worked on: which of them test, build, lint or run, in what form.

A command is known by the names in it: of its program, of the subcommand or target after that, of the module
or script that an interpreter runs. So `python3 -m pytest`, `npm run test:unit`, `make check` and
`./tests/runtests.py` are all runs of tests, and so is a program that nobody has heard of, by its name.
"""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

from context_graph.text import phrases
from context_graph.text.patterns import linear
from context_graph.text.phrases import word_set
from context_graph.text.sentences import shortened

KINDS: Final = ("test", "build", "lint", "run")
LINE_CHARS: Final = 400
"""Characters that are read of a command."""
SHORTENS: Final = linear(r"\s*2>(?:&1|/dev/null)|\s*\|\s*(?:tail|head|grep|less|cat)(?:\s.*)?$")
"""What only cuts a command's output."""
EXAMPLE_CHARS: Final = 120
_LINES: Final = 8
_FORM_CHARS: Final = 60
_MAX_OPTIONS: Final = 8
_OPTION_CHARS: Final = 40

_NAMES: Final = {
    "test": word_set(
        """test tests testing check-tests unit unittest nose nose2 trial jest vitest mocha ava jasmine karma
        cypress playwright rspec minitest pest junit gtest behave cucumber tox nox bats prove spec specs e2e
        integration eunit ct hypothesis doctest"""
    ),
    "lint": word_set(
        """lint lints linter ruff flake8 pylint mypy pyright pyre black isort autopep8 yapf eslint prettier
        tsc clippy fmt format vet golangci rubocop standardrb shellcheck stylelint biome typecheck types style
        credo dialyzer phpstan psalm precommit checkstyle ktlint spotless check codespell"""
    ),
    "build": word_set(
        """build builds rebuild compile bundle webpack rollup esbuild ninja meson package assemble install
        sync dist wheel cmake docs html"""
    ),
    "run": word_set("run start serve server dev runserver up uvicorn gunicorn preview watch demo migrate"),
}
_NO_TEST: Final = word_set("latest contest attest fastest greatest protest")
_WITH_TARGETS: Final = word_set(
    """make gmake just task rake invoke inv npm pnpm yarn bun deno cargo go gradle gradlew mvn mvnw ant sbt
    lein mix swift zig bazel bazelisk dotnet composer artisan rails manage.py django-admin flask poetry pdm
    hatch uv pip pip3 docker docker-compose podman cmake ninja stack cabal dune forge hardhat nx turbo lerna
    setup.py tox nox pre-commit meson ./gradlew ./mvnw flutter dart elixir crystal"""
)
"""Programs whose next words say what they do."""
_OF_PACKAGES: Final = frozenset({"install", "sync"})
"""Targets that build only where a program of this kind is told: `rclone sync` copies, `bd sync` exchanges."""
_RUN_REST: Final = {
    **dict.fromkeys(("sudo", "env", "nice", "nohup", "time", "command", "exec", "stdbuf", "xvfb-run"), ""),
    **dict.fromkeys(("npx", "bunx", "pnpx"), ""),
    "timeout": "number",
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye"), "run"),
    **dict.fromkeys(("bundle", "pnpm", "yarn", "docker-compose"), "exec"),
}
"""Programs that run the words behind them: behind a number, or a subcommand, where one is named."""
_FETCHES: Final = frozenset(("install", "add", "i"))
_PACKAGE: Final = linear(r"(?:@[\w-]+/)?[A-Za-z][\w-]*(?:(?:==|[@~<>\[]).*)?")
"""A package by its name: no path, no file of requirements, no variable of make."""
_GIVES_TEXT: Final = {
    "": linear(r"-[A-Za-z]*e|--eval|--print|-p"),
    "php": linear("-r"),
    **dict.fromkeys(("python", "py", "pypy", "bash", "sh", "zsh"), linear(r"-[A-Za-z]*c")),
}
"""Options after which an interpreter reads its text; "" for most."""
_INTERPRETERS: Final = word_set("python py pypy node ruby perl php bash sh zsh tsx ts-node deno bun")
_NOTHING_DONE: Final = word_set(
    """mkdir rmdir rm touch cp mv ln chmod chown export cd pushd popd source alias set unset read tee kill
    wait sleep git gh apt apt-get brew : . [ [[ test true false which type printf curl wget tar unzip cat
    sed awk echo nl if for while until case esac fi done function return exit local trap"""
)
_BEFORE_COMMAND: Final = word_set("then do else time !")
_UNTOLD: Final = word_set("sudo env nice nohup time timeout command exec stdbuf")
"""Wrappers that say nothing of how a command is called."""
_SKIPPED_TARGETS: Final = word_set("run run-script exec -C --prefix -- compose")
_LOOKS: Final = word_set("--version --help")
_LOOKS_AT_END: Final = word_set("-h -V version help")
_READS_ONLY: Final = frozenset({"py_compile", "compileall", "tokenize", "ast", "tabnanny", "json.tool"})
"""Modules that only read the files they are given: nothing is built, and nothing runs."""
_VALUE: Final = linear(r"[\w:,+]{1,16}")
"""What may be an option's value, and is hardly a file; where it is another word, it differs at each run."""
_ASSIGNS: Final = linear(r"[A-Za-z_]\w*=")
_REDIRECT: Final = linear(r"\d?>>?&?\d?|\d?<|&>>?")
_WRITES: Final = linear(r"(?:^|\s)(?:>>?|tee)\s*([\w./-]+)")
_PART: Final = linear(r"[a-z]+")
_PIECES: Final = linear(r"""(?s)'[^']*'|"(?:[^"\\]|\\.)*"|\\.|&&|\|\||[;|\n]|[^'"\\&|;\n]+|.""")
_JOINTS: Final = frozenset({"&&", "||", ";", "|", "\n"})
_NAME: Final = linear(r"[\w.+@:-]+(?:/[\w.+@:-]+)*")
_FAILED_TEST: Final = linear(
    r"(?m)^(?:FAILED|ERROR) (\S+::\S+)|^(?:FAIL|ERROR): (\S+(?: \([\w.]+\))?)|^\s*--- FAIL: (\S+)|"
    r"^test (\S+) \.\.\. FAILED|^\s+(?:●|✕|✗|×) (.+)|^not ok \d+ (.+)"
)
_TESTS_NAMED: Final = 6
_NAME_CHARS: Final = 80
_FAILED: Final = linear(
    r"(?m)[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?)(?:\W|$)|(?:^|\W)FAILED(?:\W|$)|"
    r"^\s*(?:FAIL|--- FAIL|ERROR)(?:\W|$)|^Traceback |command not found|No module named|panicked at|"
    r"(?:^|: |\s)(?:Killed|Terminated|Aborted)(?: +\(core dumped\)|$)"
)

_REFUSED: Final = linear(r"(?i)^(?:[\w./-]+: )?(?:error|fatal|usage)\s*:")


@dataclass(slots=True)
class Command:
    """One command of a line."""

    kind: str
    """One of `KINDS`; "" for a program of which no name says."""
    form: str
    """As it was called, without options and arguments: "uv run pytest", "python3 -m pytest"."""
    key: str
    """What was called, whatever way: "pytest"."""
    raw: str
    """The command as it stands in the line, with what the line sets and enters before it."""
    options: list[str] = field(default_factory=list)
    hidden: bool = False
    """Whether the line's outcome is not the command's: a pipe or `;` follows."""
    script: str = ""
    """The script that an interpreter was given; "" for a module or a program."""
    snippet: bool = False
    """Whether an interpreter was given its text."""


def line_of(command: str) -> str:
    """Return the lines of a shell command that are read, up to a here-document."""
    lines = command.strip()[: 4 * LINE_CHARS].splitlines()
    kept = ""
    for line in lines[:_LINES]:
        if line.strip() and not line.lstrip().startswith("#"):
            bare = line.strip()
            kept += f"{bare[:-1]} " if bare.endswith("\\") else f"{bare}\n"
        if "<<" in line:
            break
    return kept.rstrip()[:LINE_CHARS]


def written_by(line: str) -> list[str]:
    """Return the files that a command line writes with `>` or `tee`."""
    return [
        path.removeprefix("./")
        for path in (match[1] for match in _WRITES.finditer(line))
        if path != "/dev/null"
    ]


@lru_cache(maxsize=128)  # a summary and its notes read the same lines
def commands_in(line: str) -> tuple[Command, ...]:
    """Return the commands of ``line`` that do something, in order. Cost: some 100 us for 100 characters."""
    commands: list[Command] = []
    before: list[str] = []
    for raw, joint, piped in _parts(line):
        words = _words(raw)
        while words and words[0] in _BEFORE_COMMAND:
            words = words[1:]
        if words and words[0] == "cd" and joint in ("&&", ";", "\n"):
            before = [*before[-1:], f"{raw} {joint if joint == '&&' else '&&'} "]
            continue
        if piped or not words or phrases.is_lookup(SHORTENS.sub("", raw)):
            continue
        command = _command(words)
        if command is not None:
            command.raw = shortened("".join(before) + SHORTENS.sub("", raw), EXAMPLE_CHARS)
            command.hidden = joint in ("|", "||", ";")
            commands.append(command)
    return tuple(commands)


def parts_of(line: str) -> list[str]:
    """Return the commands of ``line``, each as it stands there, also those that only look."""
    return [raw for raw, _, _ in _parts(line) if raw]


def failed_by(output: str) -> bool:
    """Return whether a run's output says that something failed, for runs whose exit code a pipe has
    hidden."""
    return _FAILED.found(output)


def hid_failure(command: Command, output: str) -> bool:
    """Return whether a run failed though its line did not: a pipe or `;` behind it had the last word. What a
    program prints that neither tests nor builds may speak of errors; that it refused stands first.
    """
    return command.hidden and (failed_by(output) if command.kind else _REFUSED.found(output.lstrip()))


def only_looks(command: str) -> bool:
    """Return whether a command only asks a program for its help or its version."""
    *_, last = parts_of(SHORTENS.sub("", line_of(command))) or [""]
    return _asks_about_itself(last.split()[1:])


def _asks_about_itself(words: Sequence[str]) -> bool:
    """Return whether what follows a program asks for its help or version: `psql -h db` names a host."""
    return not _LOOKS.isdisjoint(words) or not _LOOKS_AT_END.isdisjoint(words[-1:])


def hides_failure(command: str, output: str) -> bool:
    """Return whether one of the runs in a shell command failed, though the whole did not."""
    return any(hid_failure(each, output) for each in commands_in(line_of(command)))


def failed_tests(output: str) -> list[str]:
    """Return the names of the first tests that a run's output says failed; [] where it names none."""
    first = [match for _, match in zip(range(_TESTS_NAMED), _FAILED_TEST.finditer(output), strict=False)]
    names = (shortened(next(filter(None, match.groups())), _NAME_CHARS) for match in first)
    return list(dict.fromkeys(names))


def _parts(line: str) -> Iterator[tuple[str, str, bool]]:
    """Yield (command, what joins the next one to it, whether it reads a pipe) for each command in
    ``line``."""
    part, piped = "", False
    pieces = [match[0] for match in _PIECES.finditer(line)]
    for place, piece in enumerate(pieces):
        if piece in _JOINTS:
            yield part.strip(), piece, piped
            part, piped = "", piece == "|"
        elif piece in ("'", '"'):  # never closed: what follows is no command
            part += "".join(pieces[place:])
            break
        else:
            part += piece
    yield part.strip(), "\n", piped


def _words(raw: str) -> list[str]:
    try:
        words = shlex.split(raw)
    except ValueError:
        words = raw.split()
    kept, skip = [], False
    for word in words:
        redirect = _REDIRECT.match(word)
        if skip or redirect:
            skip = redirect is not None and redirect.end() == len(word) and "&" not in word
            continue
        if word == "<<" or word.startswith("<<"):
            break
        kept.append(word.strip("()") if word[:1] == "(" else word)
    while kept and _ASSIGNS.match(kept[0]):
        kept = kept[1:]
    return kept


def _program(word: str) -> str:
    return word.rsplit("/", 1)[-1].lower()


def _after_wrappers(words: list[str]) -> int:
    """Return where in ``words`` the program stands that does the work."""
    at = 0
    while at < len(words) - 1:
        needs = _RUN_REST.get(_program(words[at]))
        if needs is None or (needs not in ("", "number") and words[at + 1] != needs):
            break
        step = at + (2 if needs else 1)
        while step < len(words) - 1 and (words[step].startswith("-") or _ASSIGNS.match(words[step])):
            step += 1
        if step >= len(words):
            break
        at = step
    return at


def _command(words: list[str]) -> Command | None:
    at = _after_wrappers(words)
    program = _program(words[at])
    bare = program.rstrip("0123456789.")
    if program in _NOTHING_DONE or not _NAME.fullmatch(words[at].removeprefix("./").removeprefix("/")):
        return None
    skipped = 0
    while skipped < at and _program(words[skipped]) not in _RUN_REST.keys() - _UNTOLD:
        skipped += 1
    words, at = words[skipped:], at - skipped
    if bare in _INTERPRETERS and not (bare in _WITH_TARGETS and _kind_of_target(words[at + 1 :])[0]):
        return _interpreted(words, at, bare)
    named = words[at].removeprefix("./")
    subject = named if "/" in named and not named.startswith("/") else program
    kind, end = _kind_of(os.path.splitext(program)[0]), at + 1
    if program in _WITH_TARGETS or not kind:
        target, count = _kind_of_target(words[at + 1 :])
        if program in _WITH_TARGETS or (target and words[at + count] not in _OF_PACKAGES):
            kind, end = target or kind, at + 1 + count
        if program in ("make", "gmake", "ninja") and count == 0:
            kind = "build"
        if program in ("make", "gmake") and words[end - 1] == "check":
            kind = "test"
    key = " ".join((subject, *words[at + 1 : end]))
    return _made(kind, words[:end], key, words[end:])


def _interpreted(words: list[str], at: int, bare: str) -> Command | None:
    """Return the command of an interpreter: the module or the script that it runs, else a snippet."""
    place, gives_text = at + 1, _GIVES_TEXT.get(bare, _GIVES_TEXT[""])
    while place < len(words) and words[place].startswith("-") and words[place] not in ("-m", "-"):
        if gives_text.fullmatch(words[place]):
            return _text_given(words[: at + 1], bare)
        place += 1
    argument = words[place] if place < len(words) else ""
    if argument == "-m" and place + 1 < len(words):
        module = words[place + 1]
        if module in _READS_ONLY:
            return None
        kind, end = _kind_of(module), place + 2
        if module in _WITH_TARGETS:
            target, count = _kind_of_target(words[end:])
            kind, end = target or kind, end + count
        return _made(kind, words[:end], " ".join((module, *words[place + 2 : end])), words[end:])
    if not argument or argument.startswith("-") or any(map(gives_text.fullmatch, words[place + 1 :][:1])):
        return _text_given(words[: at + 1], bare)
    script = argument.removeprefix("./")
    kind = _kind_of(os.path.splitext(os.path.basename(script))[0]) or "run"
    end = place + 1
    if _program(script) in _WITH_TARGETS:
        target, count = _kind_of_target(words[end:])
        kind, end = target or kind, end + count
    made = _made(kind, words[:end], " ".join((script, *words[place + 1 : end])), words[end:])
    if made is not None:
        made.script = script
    return made


def _text_given(form: list[str], key: str) -> Command | None:
    made = _made("", form, key, [])
    if made is not None:
        made.snippet = True
    return made


def _made(kind: str, form: list[str], key: str, rest: list[str]) -> Command | None:
    if _asks_about_itself(rest):
        return None
    if form[-1] in _FETCHES and any(map(_PACKAGE.fullmatch, rest)):
        kind = ""  # one package more, not the project
    options = []
    for word, following in pairwise([*rest, ""]):
        if word.startswith("-") and len(word) > 1 and word != "--" and "/" not in word:
            value = following if _VALUE.fullmatch(following) and "=" not in word else ""
            options.append(f"{word} {value}".strip()[:_OPTION_CHARS])
    return Command(
        kind, shortened(" ".join(form), _FORM_CHARS), shortened(key, _FORM_CHARS), "", options[:_MAX_OPTIONS]
    )


def _kind_of_target(words: list[str]) -> tuple[str, int]:
    """Return (kind, how many of ``words`` say it) of what follows a program: "run test:unit" is ("test",
    2)."""
    for place, word in enumerate(words[:3]):
        if word in _SKIPPED_TARGETS:
            continue
        if word.startswith("-") or "=" in word or "/" in word or "." in word.strip("."):
            break
        kind = _kind_of(word)
        return (kind, place + 1) if kind else ("run", place + 1) if "run" in words[:place] else ("", 0)
    return "", 0


def _kind_of(name: str) -> str:
    """Return the kind that the words in ``name`` tell; tests go before the rest."""
    parts = [match[0] for match in _PART.finditer(name.lower()[:_FORM_CHARS])]
    parts.append("".join(parts))
    for part in parts:
        if part in _NAMES["test"] or (part.endswith(("test", "tests")) and part not in _NO_TEST):
            return "test"
    for kind in ("lint", "build", "run"):
        if not _NAMES[kind].isdisjoint(parts):
            return kind
    return ""
