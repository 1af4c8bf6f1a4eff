"""Has the commands `help` and `completion`, which are about all others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from context_graph.cli.words import ALONE, GROUPS, PROGRAM, WITHIN, Argument, Command, Option, every_command

SHELLS: Final = ("bash", "zsh", "fish")


def show_help(command: list[str]) -> None:
    """Show the help of a command, as its --help does.

    Exit codes: 0; 2 there is no such command.

    Example: context-graph-cli help memory recall
    """
    from context_graph.cli.main import main

    main([*command, "--help"])


def completion(shell: str) -> None:
    """Print a script that completes commands, options and their values at the Tab key.

    All of it is in the script, so nothing is run at the Tab key; print it again after an update.

    For bash make the folder ~/.local/share/bash-completion/completions (mkdir -p) and write the script to
    context-graph-cli in it; for zsh to _context-graph-cli in a folder of $fpath; for fish to
    context-graph-cli.fish in ~/.config/fish/completions.

    Exit codes: 0; 2 a shell that is not known.

    Example: context-graph-cli completion zsh > "${fpath[1]}/_context-graph-cli"
    """

    print(script(shell, list(places())), end="")


COMMANDS: Final = (
    Command.of(
        show_help,
        "Show the help of a command",
        Argument("COMMAND", "command", "The command's words; without: all commands.", many=True),
        word="help",
    ),
    Command.of(
        completion,
        "Print the completion script of a shell",
        Argument("SHELL", "shell", "The shell that reads the script.", required=True, choices=SHELLS),
    ),
)


@dataclass(frozen=True, slots=True)
class Place:
    """What may come next behind some words: commands of a group, or the options of a command."""

    words: str
    about: str
    below: tuple[str, ...] = ()
    """Of a command: the words that its argument may be."""
    options: tuple[Option, ...] = ()


_VERSION = (Option("--version", "Print the version."),)


def places() -> Iterator[Place]:
    """Yield the program itself, then every group and command."""
    commands = list(every_command())
    groups = {**{name: group.short for name, group in GROUPS.items()}, **WITHIN}
    yield Place("", "", (*GROUPS, *ALONE), _VERSION)
    for name, about in groups.items():
        behind = (words.removeprefix(f"{name} ") for words, _ in commands if words.startswith(f"{name} "))
        yield Place(name, about, tuple(dict.fromkeys(rest.partition(" ")[0] for rest in behind)))
    for words, command in commands:
        choices = command.arguments[0].choices if command.arguments else ()
        yield Place(words, command.short, choices, command.options)


def _about(option: Option) -> str:
    return option.help.partition(". ")[0].rstrip(".")


def script(shell: str, all_places: list[Place]) -> str:
    """Return the script for that shell: bash, zsh or fish."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](all_places)


def _longest_first(all_places: list[Place]) -> list[Place]:
    return sorted(all_places, key=lambda place: -place.words.count(" "))


def _bash(all_places: list[Place]) -> str:
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
    for place, option in _valued(all_places):
        start = f'"{place.words} {option.name}"|"{place.words} "*" {option.name}"'
        lines.append(
            f'        {start}) COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$word")); return ;;'
        )
    lines += ["    esac", '    case "$said" in']
    for place in _longest_first(all_places):
        start = f'"{place.words}"' + (f'|"{place.words} "*' if not place.below else "")
        names = " ".join(option.name for option in place.options)
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


def _valued(all_places: list[Place]) -> Iterator[tuple[Place, Option]]:
    for place in _longest_first(all_places):
        for option in place.options:
            if option.choices:
                yield place, option


def _zsh(all_places: list[Place]) -> str:
    abouts = {place.words: place.about for place in all_places}
    lines = [
        f"#compdef {PROGRAM}",
        f"# Completes {PROGRAM} in zsh; `{PROGRAM} completion zsh` wrote it.",
        "_context-graph-cli() {",
        "    local said=() word before=$words[CURRENT-1] i",
        "    for ((i = 2; i < CURRENT; i++)); do [[ $words[i] == -* ]] || said+=($words[i]); done",
        "    local -a found",
        '    case "$said $before" in',
    ]
    for place, option in _valued(all_places):
        start = f'"{place.words} {option.name}"|"{place.words} "*" {option.name}"'
        lines.append(f"        {start}) compadd -- {' '.join(option.choices)}; return ;;")
    lines += ["    esac", '    case "$said" in']
    for place in _longest_first(all_places):
        start = f'"{place.words}"' + (f'|"{place.words} "*' if not place.below else "")
        options = [_pair(option.name, _about(option)) for option in place.options]
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


def _fish(all_places: list[Place]) -> str:
    abouts = {place.words: place.about for place in all_places}
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
    for place in all_places:
        here, inside = (f"-n '__context_graph_{word} {place.words}'" for word in ("at", "in"))
        for word in place.below:
            about = _quoted(abouts.get(f"{place.words} {word}".strip(), ""))
            lines.append(f"complete -c {PROGRAM} -f {here} -a {word} -d {about}")
        where = here if place.below else inside
        for option in place.options:
            more = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.takes else ""
            text = _quoted(_about(option))
            lines.append(f"complete -c {PROGRAM} {where} -l {option.name.removeprefix('--')}{more} -d {text}")
    return "\n".join(lines) + "\n"
