"""Words of doing beside the Behavioral lexicon: tools, commands, irregular forms, and what is passed over.

Kinds are its groups (`actions.GROUPS`); what belongs to none, such as `git pull`, is a kind by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = [
    "ALIASES",
    "ARTICLES",
    "COMMANDS",
    "DOERS",
    "IRREGULAR",
    "NOT_DONE",
    "OBJECTS",
    "OPENERS",
    "PERSONS",
    "RUNNERS",
    "SKIPPED",
    "STOPS",
    "TOOLS",
    "VERBS",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(text: str) -> dict[str, str]:
    """``kind: word word; kind: …`` as word -> kind."""
    rows = (row.split(":") for row in text.split(";"))
    return {word: kind.strip() for kind, words in rows for word in words.split()}


def _pairs(text: str) -> dict[str, str]:
    """``form:plain form:plain`` as a mapping."""
    return dict((pair.split(":")[0], pair.split(":")[1]) for pair in text.split())


TOOLS: Final = _table(
    """look: read grep glob ls cat head tail less rg ag fd tree websearch webfetch curl wget notebookread;
    change: edit multiedit notebookedit sed black prettier; create: write touch mkdir cmake gcc; run:
    bash sh zsh shell terminal kubectl terraform ansible; remove: rm; test: pytest jest vitest mocha tox
    nox ctest ruff mypy eslint flake8 pylint clippy tsc rspec junit; install: pip pip3 apt apt-get brew
    conda; think: todowrite exitplanmode"""
)
"""Names of tools and of commands that do one thing."""
ALIASES: Final = _pairs(
    "multiedit:edit notebookedit:edit notebookread:read zsh:bash sh:bash pip3:pip apt-get:apt rg:grep ag:grep"
)
"""Other names of the same."""
_BUILDERS: Final = _table(
    """test: test check lint bench clippy vet; create: build compile package; install: install add ci sync
    get; run: run start exec up; store: publish push; remove: clean uninstall remove rm"""
)
COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "git": _table(
        """store: add commit push tag stash; look: status diff log show blame grep; repair: revert bisect
    reset; remove: clean rm; git pull: pull fetch; git merge: merge rebase cherry-pick; git clone:
    clone; git checkout: checkout switch branch"""
    ),
    **dict.fromkeys(
        ("npm", "yarn", "pnpm", "cargo", "make", "go", "gradle", "mvn", "poetry", "uv", "docker", "bundle"),
        _BUILDERS,
    ),
}
"""Commands that do what their next word says."""
VERBS: Final = _table(
    """look: open scan review view inspect browse fetch trace; change: rename refactor rewrite format tune
    add extend simplify migrate optimize; create: implement scaffold define document; remove: uninstall
    clean drop; test: debug reproduce profile benchmark lint validate compare; store: stage tag release
    publish merge log; repair: revert undo rollback bisect reset; talk: report comment notify reply send
    summarize; go: navigate; run: restart rerun deploy trigger schedule use invoke; install: configure
    integrate; think: analyze analyse"""
)
"""Verbs of software work that the lexicon does not have, or has elsewhere."""
IRREGULAR: Final = _pairs(
    """ran:run wrote:write written:write built:build made:make found:find sent:send went:go drew:draw
    drove:drive bought:buy sold:sell paid:pay told:tell said:say spoke:speak thought:think met:meet
    swam:swim sang:sing kept:keep left:leave gave:give took:take began:begin understood:understand
    flew:fly chose:choose saw:see grepped:grep undid:undo rewrote:rewrite reran:run rerun:run re-ran:run
    set:set"""
)
OBJECTS: Final = {
    **dict.fromkeys(("test", "tests", "suite", "testsuite"), ("test", "run tests")),
    **dict.fromkeys(("linter", "lint", "linters"), ("test", "lint")),
    **dict.fromkeys(("build", "compiler"), ("create", "build")),
    "formatter": ("change", "format"),
    **dict.fromkeys(("migration", "migrations"), ("migrate", "migrate")),
    **dict.fromkeys(("benchmark", "benchmarks"), ("test", "benchmark")),
}
"""What is run, where that says more than that it is: word -> (kind, what to call it)."""
RUNNERS: Final = _words("run rerun execute bash sh zsh shell terminal invoke use call launch start")
SKIPPED: Final = _words(
    """i we you he she they it claude agent assistant user tool to had have has will would should must can
    could did do does was were is are be been being please always usually often just now later once when
    while by also again then next finally lastly first firstly second secondly third thirdly afterwards
    after before step and or so let let's lets that this which who not yet still only quickly carefully
    immediately manually each every time all everything another one both there here with via through ll
    ve re s d t if until because since up out off back on in successfully today yesterday"""
)
"""Words that may stand before a clause's verb."""
PERSONS: Final = _words("i we you he she they claude")
DOERS: Final = _words("agent assistant user tool")
"""Of those, the ones that an article is part of."""
ARTICLES: Final = _words("the a an my our your his her its their these those some any no")
STOPS: Final = _words("of for from at into about than as but")
OPENERS: Final = _words("start begin try continue proceed go need want decide finish end help keep like")
"""Verbs that another follows: started by reading, tried to fix."""
NOT_DONE: Final = _words(
    """whether true false sure clearly about instead original away off way path route idea mind money
    together see know say said remain stay hold need necessary party member guest memory contain provide
    thought come get port support book"""
)
"""Words of the lexicon that say nothing of what was done."""
