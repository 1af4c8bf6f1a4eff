"""Writes the completion scripts of `completion`: everything is in the script, so no program runs at a Tab."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

PROGRAM: Final = "context-graph-cli"
SHELLS: Final = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Given:
    """One option: its name, its purpose in a few words, what it takes ("" for a flag) and known values."""

    name: str
    about: str
    takes: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """What may come next behind some words: commands of a group, or the options of a command."""

    words: str
    about: str
    below: tuple[str, ...] = ()
    """Of a command: the words that its argument may be."""
    options: tuple[Given, ...] = ()


def places(command: Any, words: str = "") -> Iterator[Place]:
    """Every group and command of Typer's, the program itself first."""
    below = getattr(command, "commands", None) or {}
    options = tuple(_given(one) for one in command.params if one.param_type_name == "option")
    arguments = [one.metavar or "" for one in command.params if one.param_type_name == "argument"]
    values = tuple(arguments[0].split("|")) if arguments and "|" in arguments[0] else ()
    about = (command.short_help or command.help or "").strip().partition("\n")[0].rstrip(".")
    yield Place(words, about, tuple(below) or values, options)
    for word, inner in below.items():
        yield from places(inner, f"{words} {word}".strip())


def _given(option: Any) -> Given:
    name = max(option.opts, key=len)
    about = (option.help or "").partition(". ")[0].rstrip(".")
    if option.is_flag:
        return Given(name, about)
    takes = option.metavar or "TEXT"
    plain = "|" in takes and "[" not in takes
    return Given(name, about, takes, tuple(takes.split("|")) if plain else ())


def script(shell: str, found: list[Place]) -> str:
    """The script for that shell, one of `SHELLS`."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](found)


def _longest_first(found: list[Place]) -> list[Place]:
    return sorted(found, key=lambda one: -one.words.count(" "))


def _bash(found: list[Place]) -> str:
    lines = [
        f"# Completes {PROGRAM} in bash; `{PROGRAM} completion bash` wrote it.",
        "_context_graph_cli() {",
        '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} said="" next="" i',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        '        [[ ${COMP_WORDS[i]} == -* ]] || said+=" ${COMP_WORDS[i]}"',
        "    done",
        "    said=${said# }",
        '    case "$said $before" in',
    ]
    for place, one in _valued(found):
        start = f'"{place.words} {one.name}"|"{place.words} "*" {one.name}"'
        lines.append(
            f'        {start}) COMPREPLY=($(compgen -W "{" ".join(one.values)}" -- "$word")); return ;;'
        )
    lines += ["    esac", '    case "$said" in']
    for place in _longest_first(found):
        start = f'"{place.words}"' + (f'|"{place.words} "*' if not place.below else "")
        names = " ".join(one.name for one in place.options)
        lines.append(
            f'        {start}) [[ $word == -* ]] && next="{names}" || next="{" ".join(place.below)}" ;;'
        )
    lines += [
        "    esac",
        '    COMPREPLY=($(compgen -W "$next" -- "$word"))',
        "}",
        f"complete -o default -F _context_graph_cli {PROGRAM}",
    ]
    return "\n".join(lines) + "\n"


def _valued(found: list[Place]) -> Iterator[tuple[Place, Given]]:
    for place in _longest_first(found):
        for one in place.options:
            if one.values:
                yield place, one


def _zsh(found: list[Place]) -> str:
    abouts = {one.words: one.about for one in found}
    lines = [
        f"#compdef {PROGRAM}",
        f"# Completes {PROGRAM} in zsh; `{PROGRAM} completion zsh` wrote it.",
        "_context-graph-cli() {",
        "    local said=() word before=$words[CURRENT-1] i",
        "    for ((i = 2; i < CURRENT; i++)); do [[ $words[i] == -* ]] || said+=($words[i]); done",
        "    local -a found",
        '    case "$said $before" in',
    ]
    for place, one in _valued(found):
        start = f'"{place.words} {one.name}"|"{place.words} "*" {one.name}"'
        lines.append(f"        {start}) compadd -- {' '.join(one.values)}; return ;;")
    lines += ["    esac", '    case "$said" in']
    for place in _longest_first(found):
        start = f'"{place.words}"' + (f'|"{place.words} "*' if not place.below else "")
        options = [_pair(one.name, one.about) for one in place.options]
        below = [_pair(word, abouts.get(f"{place.words} {word}".strip(), "")) for word in place.below]
        lines += [
            f"        {start})",
            f"            if [[ $words[CURRENT] == -* ]]; then found=({' '.join(options)})",
            f"            else found=({' '.join(below)}); fi ;;",
        ]
    lines += [
        "    esac",
        "    if (( $#found )); then _describe 'context-graph-cli' found; else _files; fi",
        "}",
        'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _context-graph-cli "$@"',
        f"else compdef _context-graph-cli {PROGRAM}; fi",
    ]
    return "\n".join(lines) + "\n"


def _pair(name: str, about: str) -> str:
    return _quoted(f"{name}:{about.replace(':', chr(92) + ':')}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(found: list[Place]) -> str:
    abouts = {one.words: one.about for one in found}
    lines = [
        f"# Completes {PROGRAM} in fish; `{PROGRAM} completion fish` wrote it.",
        "function __context_graph_at  # exactly these words were said, options aside",
        "    set -l said (commandline -opc)[2..-1]",
        "    test \"$(string match -v -- '-*' $said | string join ' ')\" = \"$argv\"",
        "end",
        "function __context_graph_in  # these words were said first",
        "    set -l said (commandline -opc)[2..-1]",
        "    string match -q -- \"$argv *\" \"$(string match -v -- '-*' $said | string join ' ') \"",
        "end",
    ]
    for place in found:
        here, inside = (f"-n '__context_graph_{word} {place.words}'" for word in ("at", "in"))
        for word in place.below:
            about = _quoted(abouts.get(f"{place.words} {word}".strip(), ""))
            lines.append(f"complete -c {PROGRAM} -f {here} -a {word} -d {about}")
        where = here if place.below else inside
        for one in place.options:
            takes = f" -x -a '{' '.join(one.values)}'" if one.values else " -r" if one.takes else ""
            about = _quoted(one.about)
            lines.append(f"complete -c {PROGRAM} {where} -l {one.name.removeprefix('--')}{takes} -d {about}")
    return "\n".join(lines) + "\n"
