"""Defines the `req …` commands in one table (words, options, help, action), and runs them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from context_graph.cli.console.terminal import complain, print_folded, shown
from context_graph.cli.native import become_launcher
from context_graph.cli.req import run as req_run
from context_graph.cli.req import text as req_text
from context_graph.cli.words import JSON, OUTPUT, Argument, Command, Option
from context_graph.config import locate
from context_graph.gates.commands import commands, setup, upkeep
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.gates.event import CACHE_FOLDER

_CODES = "Exit codes: 0 done; 1 could not be done; 2 a usage error."


class Action:
    """What a command takes, does and shows."""

    def __init__(
        self,
        run: Callable[..., Any],
        text: Callable[[Any, dict[str, Any], CommandContext], str],
        short: str,
        help: str,
        *takes: Option | Argument,
        codes: str = _CODES,
        fails: Callable[[Any], bool] = lambda answer: False,
        is_native: bool = False,
    ) -> None:
        """
        Args:
            run: Takes the context and the options by name, and gives what ``--json`` prints.
            fails: Whether what was found means exit code 1.
            is_native: The launcher serves it, and it has no other form than its own.
        """
        self.run, self.text, self.short, self.help = run, text, short, help
        self.takes, self.codes, self.fails, self.is_native = takes, codes, fails, is_native


SESSION = Option(
    "--session",
    "The session; its first digits are enough, four or more. Default: CLAUDE_CODE_SESSION_ID, else the "
    "live session that started this command.",
    "ID",
    short="-s",
)
BRANCH = Option("--branch", "For every session, on that branch.", "NAME", short="-b")
NAMES = Argument("NAME", "names", "Requirements, as `req status` names them.", many=True)
NAME = Argument("NAME", "name", "A requirement; all of them without.")
_SATISFY = (
    SESSION,
    BRANCH,
    Option(
        "--ttl",
        "How long it counts: 90 (seconds), 10min, 12h, 7d. Default: for good, or approval_ttl.",
        "TIME",
        kind="span",
    ),
    Option("--metadata", "An object to keep with it.", "JSON", short="-m", kind="json"),
    Option("--force", "Also a name that the configuration does not have."),
)

ACTIONS = {
    "status": Action(
        commands.status,
        req_text.status,
        "What holds here",
        """Show which requirements are met, for this session on this branch. `req` alone is the same.

        Example: context-graph-cli req status --verbose
        """,
        SESSION,
        Option("--branch", "Another branch than HEAD's.", "NAME", short="-b"),
        Option("--verbose", "Triggers, texts, and what is switched off.", short="-v", shown=True),
        Option("--summary", "One line.", shown=True),
    ),
    "satisfy": Action(
        commands.satisfy,
        req_text.satisfied,
        "Mark requirements as met",
        """Mark requirements as met, for one session or with --branch for every session.

        This is the command that a refusal ends with. A requirement with human_only takes it from a person's
        terminal only.

        Example: context-graph-cli req satisfy commit_plan --session 0ae1c2d3
        """,
        NAMES,
        *_SATISFY,
    ),
    "approve": Action(
        commands.satisfy,
        req_text.satisfied,
        "The same as satisfy",
        """Approve what a dynamic requirement measures, for its approval_ttl; the same command as satisfy.

        Example: context-graph-cli req approve branch_size --ttl 600
        """,
        NAMES,
        *_SATISFY,
    ),
    "accept": Action(
        commands.accept,
        req_text.accepted,
        "Take changed requirements as they are",
        """Accept what the files ask for now, although running sessions have seen them ask for more.

        A session keeps to the human_only requirements that it has seen until a person runs this, in a
        terminal.

        Example: context-graph-cli req accept
        """,
    ),
    "clear": Action(
        commands.clear,
        req_text.cleared,
        "Take satisfactions back",
        """Take satisfactions back: the session's own, or with --branch everybody's.

        Example: context-graph-cli req clear commit_plan
        """,
        NAMES,
        Option("--all", "Every requirement.", short="-a", field="every"),
        SESSION,
        Option("--branch", "Everybody's on that branch, not one session's.", "NAME", short="-b"),
    ),
    "pause": Action(
        commands.pause,
        req_text.paused,
        "Lift the gates for a session",
        """Lift the gates for one session until `req resume` or its end; an agent's pause spares human_only
        ones.

        Example: context-graph-cli req pause --reason 'hotfix'
        """,
        SESSION,
        Option("--reason", "Why; kept in the log.", "TEXT"),
    ),
    "resume": Action(
        commands.resume,
        req_text.resumed,
        "End a pause",
        """Let the gates hold again for a session that was paused.

        Example: context-graph-cli req resume
        """,
        SESSION,
    ),
    "list": Action(
        lambda context: {"branches": upkeep.branches(context)},
        req_text.branches,
        "Branches with state",
        """List the branches on which requirements were met, or asked for.

        Example: context-graph-cli req list
        """,
    ),
    "prune": Action(
        upkeep.prune,
        req_text.pruned,
        "Remove what belongs to vanished branches",
        """Remove the state of branches that are gone, and of nothing else.

        Example: context-graph-cli req prune --preview
        """,
        Option("--preview", "Only say what would be removed."),
    ),
    "sessions": Action(
        lambda context, **options: {"sessions": upkeep.sessions(context, **options)},
        req_text.sessions,
        "Live sessions",
        """List the sessions whose client is alive, with project and branch.

        Example: context-graph-cli req sessions --project
        """,
        Option("--project", "Those of this project alone."),
    ),
    "enable": Action(
        partial(setup.set_enabled, enabled=True),
        req_text.switched,
        "Switch on, for this checkout",
        """Switch a requirement on in requirements.local.yaml, or all of them; comments there stay.

        Example: context-graph-cli req enable commit_plan
        """,
        NAME,
    ),
    "disable": Action(
        partial(setup.set_enabled, enabled=False),
        req_text.switched,
        "Switch off, for this checkout",
        """Switch a requirement off in requirements.local.yaml, or all of them; comments there stay.

        Example: context-graph-cli req disable commit_plan
        """,
        NAME,
    ),
    "config show": Action(
        setup.config_show,
        req_text.configuration,
        "What all files say together",
        """Show what the global, the project's and the local file say together; `req config NAME` is short
        for it.

        Example: context-graph-cli req config show commit_plan --sources
        """,
        NAME,
        Option("--sources", "Say for each value which file it is from."),
    ),
    "init": Action(
        req_run.init,
        req_text.initialised,
        "Write a requirements file",
        """Write .claude/requirements.yaml; from then on the project has requirements.

        Example: context-graph-cli req init --preset strict --preview
        """,
        Option("--preset", "relaxed, strict, minimal, advanced or inherit.", "NAME", default="relaxed"),
        Option("--yes", "Accepted for older scripts; nothing is asked.", shown=True),
        Option("--project", "Write requirements.yaml, which is the default.", shown=True),
        Option("--local", "Write requirements.local.yaml instead."),
        Option("--force", "Replace a file that is there; it is kept as .bak."),
        Option("--preview", "Print it, write nothing."),
    ),
    "check": Action(
        commands.check,
        req_text.checked,
        "What the gate would say",
        """Show what the gate would answer to a call of a tool. Nothing is recorded.

        Example: context-graph-cli req check Bash --input '{"command": "git commit"}' --json
        """,
        Argument("TOOL", "tool", "The tool's name; Edit without."),
        Option(
            "--input",
            'The tool\'s input, such as {"command": "git push"}.',
            "JSON",
            kind="json",
            field="arguments",
        ),
        SESSION,
        codes="Exit codes: 0 the call would pass; 1 it would be held back, or the command is wrong.",
        fails=lambda answer: bool(answer["decision"] != "allow"),
    ),
    "keys": Action(
        req_run.keys,
        req_text.keys,
        "The keys of requirements.yaml",
        """List the keys of requirements.yaml: type, default and meaning.

        Example: context-graph-cli req keys scope
        """,
        Argument("NAME", "name", "A key; all of them without."),
    ),
    "git-hooks install": Action(
        req_run.install_git_hooks,
        req_text.git_hooks,
        "Have git ask before commits and pushes",
        """Put hooks into this repository that ask an agent's requirements, for hosts other than Claude Code.

        In Claude Code a session's start sees to it by itself. A hook that is there runs after ours.

        Example: context-graph-cli req git-hooks install
        """,
    ),
    "git-hooks remove": Action(
        upkeep.remove_git_hooks,
        req_text.git_hooks,
        "Take these hooks out again",
        """Take the hooks of `git-hooks install` out; what was there before is put back. For a person.

        Example: context-graph-cli req git-hooks remove
        """,
    ),
    "doctor": Action(
        req_run.doctor,
        req_text.findings,
        "Look for what keeps the gates from holding",
        """Look at settings, configuration and state, and say what is wrong and how to mend it.

        Example: context-graph-cli req doctor
        """,
        fails=lambda answer: not answer["sound"],
    ),
    "log": Action(
        req_run.log,
        req_text.entries,
        "What was refused and what satisfied it",
        """Show what the gates refused and what satisfied them, from the store's log.

        Without an owner, and where none can be started, it shows the project's own journal and says so.

        Example: context-graph-cli req log --requirement commit_plan
        """,
        Option(
            "--limit",
            "Entries, the newest first.",
            "N",
            default="50",
            kind="int",
            limits=(1, req_run.MOST_ENTRIES),
        ),
        SESSION,
        Option("--requirement", "Entries about it alone.", "NAME"),
        Option("--kind", "denied, blocked, satisfied, consumed, error and so on.", "WORD"),
    ),
    "statusline": Action(
        lambda context: become_launcher(["req", "statusline"]),
        lambda answer, options, context: "",
        "One line for the client's status bar",
        """Print one line about requirements for the client's status bar; reads its status JSON on standard
        input.

        In settings.json: "statusLine": {"type": "command", "command": "context-graph-cli req statusline"}

        Example: echo '{}' | context-graph-cli req statusline
        """,
        codes="Exit codes: always 0.",
        is_native=True,
    ),
}


def plain(words: Sequence[str]) -> tuple[Command, Sequence[str]] | None:
    """Return the command that ``words`` (behind `req`) name, and what is left of them.

    No word at all means `status`; `config NAME` means `config show NAME`, as in the original.
    """
    name, rest = _named(words)
    return None if name is None else (_command(name), rest)


def _named(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        return "status", words
    for length in (1, 2):
        name = " ".join(words[:length])
        if len(words) >= length and name in ACTIONS:
            return name, words[length:]
    if words[0] == "config" and words[1:2] not in (["-h"], ["--help"]):
        return "config show", words[1:]
    return None, words


def _command(name: str) -> Command:
    action = ACTIONS[name]
    answers = () if action.is_native else (OUTPUT, JSON)
    takes = (*action.takes, *answers)
    return Command(name, partial(_run, name), action.short, takes, action.help, action.codes)


def _run(name: str, /, *, as_json: bool = False, **values: Any) -> int:
    """Run the command with what was given; its exit code.

    Raises:
        UsageError: What the user has to mend; exit code 1.
    """
    here, site = os.getcwd(), locate(None)
    options = {
        key: value for key, value in values.items() if not (value is None or value is False or value == "")
    }
    action = ACTIONS[name]
    hidden = {word.parameter for word in action.takes if isinstance(word, Option) and word.shown}
    try:
        context = CommandContext(
            here,
            os.environ,
            cache_dir=f"{site.root}/{CACHE_FOLDER}",
            pid=os.getppid(),
            terminal=sys.stdin is not None and sys.stdin.isatty(),
            session=options.get("session", ""),
        )
        answer = action.run(context, **{key: value for key, value in options.items() if key not in hidden})
    except OSError as error:
        raise unwritable(f"`req {name}` could not be done", error) from error
    problem = req_run.report(answer.pop("records", []), here, site)
    if problem:
        complain(problem)
    if as_json:
        print(json.dumps(answer))
    elif text := action.text(answer, options, context):
        print_folded(shown(text))
    return int(action.fails(answer))


COMMANDS: Final = tuple(_command(name) for name in ACTIONS)
