"""Reads from a text what was done, in order: one action per clause, named by its kind.

The kinds are the sixteen groups of action words that make up the space of Steps (E10), so `ran the suite`
and `pytest` are both a test. Tools, commands and verbs missing from its lexicon get a kind below. All of it
is rules over words: the same text gives the same actions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from context_graph.memory.embed import packaged_table
from context_graph.text.phrases import word_set
from context_graph.text.sentences import Kind, segments

GROUPS: Final = (
    *("create", "change", "remove", "run", "test", "look", "talk", "go", "repair", "trade", "think", "meet"),
    *("exercise", "art", "store", "install"),
)
"""The first values of a word's row in the lexicon, in their order (research/distil/lexicons.py)."""
MAX_CHARS: Final = 6000
MAX_ACTIONS: Final = 64
"""Actions that are read of one text."""
LEAST: Final = 0.25
"""A word's share in a group from which it is of that kind."""
_PLAIN_VERB: Final = 2
"""The flag of verbs that are an imperative at the beginning of a sentence (docs/dev/formats.md)."""
_LOOKED: Final = 8
"""Words at the beginning of a clause among which its action is looked for."""
_SUBJECT: Final = 4
"""How many of these words a subject may take."""


def _table(text: str) -> dict[str, str]:
    """Return ``kind: word word; kind: …`` as word -> kind."""
    rows = (row.split(":") for row in text.split(";"))
    return {word: kind.strip() for kind, words in rows for word in words.split()}


def _pairs(text: str) -> dict[str, str]:
    """Return ``form:plain form:plain`` as a mapping."""
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
RUNNERS: Final = word_set("run rerun execute bash sh zsh shell terminal invoke use call launch start")
SKIPPED: Final = word_set(
    """i we you he she they it claude agent assistant user tool to had have has will would should must can
    could did do does was were is are be been being please always usually often just now later once when
    while by also again then next finally lastly first firstly second secondly third thirdly afterwards
    after before step and or so let let's lets that this which who not yet still only quickly carefully
    immediately manually each every time all everything another one both there here with via through ll
    ve re s d t if until because since up out off back on in successfully today yesterday"""
)
"""Words that may stand before a clause's verb."""
PERSONS: Final = word_set("i we you he she they claude")
DOERS: Final = word_set("agent assistant user tool")
"""The skipped words that an article is part of."""
ARTICLES: Final = word_set("the a an my our your his her its their these those some any no")
STOPS: Final = word_set("of for from at into about than as but")
OPENERS: Final = word_set("start begin try continue proceed go need want decide finish end help keep like")
"""Verbs that another follows: started by reading, tried to fix."""
NOT_DONE: Final = word_set(
    """whether true false sure clearly about instead original away off way path route idea mind money
    together see know say said remain stay hold need necessary party member guest memory contain provide
    thought come get port support book"""
)
"""Words of the lexicon that say nothing of what was done."""


class Action(NamedTuple):
    """One action that was done."""

    kind: str
    """One of `GROUPS`, or the verb or command itself."""
    word: str
    """The verb's plain form, or the tool's or command's name."""
    exact: bool
    """It is the name of a tool or command, which has no synonyms."""

    @property
    def tool(self) -> str:
        """The tool that separates works of one kind: "" for words, and for commands with many uses."""
        return self.word if self.exact and " " not in self.word else ""


_BREAK: Final = re.compile(
    r"\n+|(?P<arrow>(?:->|=>|→|⇒|➜|➔|»|>>)\s*|\s>\s)|[.;!?](?=\s|$)|(?P<label>:)(?=\s|$)|,\s+(?:and\s+)?|"
    r",(?=[\"'])|\s\|\s|\s&&\s|\s[–—]\s|\s\(?\d++[.)]\s|"
    r"\b(?:and\s++)?(?:then|afterwards|subsequently|finally|followed\s++by|after\s++which)\b|\sand\s",
    re.IGNORECASE,
)
_INDENTED: Final = re.compile(r"\n(?: {2,}+|\t)\S|```|~~~")
_SHELL: Final = re.compile(r"(?:```|~~~)\s*+(?:(?:ba|z)?sh(?:ell|-session)?|console)\s|\s*+\$ ")
_FENCE: Final = re.compile(r"^[^\S\n]*+(?:```|~~~).*+$", re.MULTILINE)
_NAME: Final = re.compile(r"\W*+(?P<name>[A-Za-z]\w*+)\s*+(?P<call>\(.*+)?\W*+", re.DOTALL)
_NOUN: Final = re.compile(r"(?:ment|tion|ness)s?$")
_HUMP: Final = re.compile(r"[a-z][A-Z]")
_PART: Final = re.compile(r"[A-Z]?[a-z'’-]+|[A-Z]{1,160}(?![a-z])|\d+|[^\sA-Za-z0-9_]")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:['’-][A-Za-z0-9_]+)*|\d+|[^\sA-Za-z0-9]")


def actions(text: str) -> list[Action]:
    """Return the actions in ``text``, in order; at most MAX_ACTIONS.

    An action repeated at once counts once. Cost: some 10 us a clause.
    """
    steps: list[Action] = []
    at, chained = 0, False
    text = _told(text[:MAX_CHARS])
    for mark in _BREAK.finditer(text):
        arrow = mark["arrow"] is not None
        _take(steps, text[at : mark.start()], label=mark["label"] is not None, chained=chained or arrow)
        at, chained = mark.end(), arrow
        if len(steps) >= MAX_ACTIONS:
            return steps[:MAX_ACTIONS]
    _take(steps, text[at:], label=False, chained=chained)
    return steps[:MAX_ACTIONS]


def _told(text: str) -> str:
    """Return ``text`` without code, except commands: a program's text does not say what was done."""
    if not _INDENTED.search(text):
        return text
    parts = segments(text)
    kept = (part.text for part in parts if part.kind is not Kind.CODE or _SHELL.match(part.text))
    return _FENCE.sub("", "\n".join(kept))


def _take(steps: list[Action], clause: str, *, label: bool, chained: bool) -> None:
    """Add what a clause says; a colon follows a label, an arrow stands before or behind what is chained."""
    if not clause.strip():
        return
    name = _NAME.fullmatch(clause) if len(clause) <= 160 else None
    action = _action(clause)
    if name is not None and not label and (action is None or not action.exact):
        action = _by_name(name["name"], action, certain=chained or name["call"] is not None)
    if action is None or (label and (not action.exact or action.word in RUNNERS)):
        return  # `Ran: pytest` says it once, `Decision: …` says nothing of what was done
    if not steps or steps[-1] != action:
        steps.append(action)


def _by_name(name: str, action: Action | None, *, certain: bool) -> Action | None:
    """Return the action of a clause that is one word: the tool of that name, if it is one.

    ``action`` is what its parts say (`edit_file`); it is ``certain`` if called, or between arrows.
    """
    name = name.rsplit("__", 1)[-1]
    if not _HUMP.search(name) and "_" not in name:
        return action
    if action is not None and action.kind in GROUPS:
        return Action(action.kind, name, True)
    return Action(name.lower(), name, True) if certain or _HUMP.search(name) else None


def _action(clause: str) -> Action | None:
    """Return the action of a clause: its first verb, tool or command that is no noun."""
    words = _words_of(clause)
    subject, noun, at = 0, False, 0
    while at < len(words) and at < _LOOKED:
        word = words[at].lower()
        at += 1
        if not word[0].isalpha() or word in SKIPPED:
            noun = noun and word not in DOERS
            continue
        if word in ARTICLES:
            noun = True
            subject += 1
            continue
        action = None if noun else _named(word, words[at:])
        if action is not None and (not subject or word in IRREGULAR or word.endswith("ed")):
            following = words[at].lower() if at < len(words) else ""
            if action.word in OPENERS and (following in ("to", "by", "with") or following.endswith("ing")):
                continue
            return _of_object(action, words[at:])
        if word in STOPS and not subject:  # For this ticket I …
            at = next(
                (place + 1 for place in range(at, len(words)) if words[place].lower() in PERSONS), len(words)
            )
            continue
        if word in STOPS or subject >= _SUBJECT:
            return None
        noun = False
        subject += 1
    return None


def _words_of(clause: str) -> list[str]:
    """Return the first words of a clause; `edit_file` and `runTests` are two each."""
    words: list[str] = []
    for word in _WORD.findall(clause[:160])[: 3 * _LOOKED]:
        whole = word.lower()
        if whole in TOOLS or (word.isalpha() and (word.islower() or word.isupper() or word[1:].islower())):
            words.append(word)
        else:
            words += _PART.findall(word.rsplit("__", 1)[-1]) or [word]
    return words


def _named(word: str, after: list[str]) -> Action | None:
    if word in COMMANDS:
        following = next((token.lower() for token in after[:3] if token[0].isalpha()), "")
        if word == "npm" and following == "run":
            following = next(
                (token.lower() for token in after[1:4] if token.isalpha() and token != "run"), ""
            )
        kind = COMMANDS[word].get(following)
        if kind is not None:
            return Action(kind, f"{word} {following}", True)
        return None if word in ("go", "make") else Action("run", word, True)
    word = ALIASES.get(word, word)
    if word in TOOLS:
        return Action(TOOLS[word], word, True)
    return _verb(word)


def _of_object(action: Action, after: list[str]) -> Action | None:
    """Return the action of the thing that is run, if that is more specific than `run`."""
    if action.word not in RUNNERS:
        return action
    for place, word in enumerate(after[:6]):
        low = word.lower()
        if low in STOPS or low in ("to", "and"):
            break
        if low in OBJECTS:
            return Action(*OBJECTS[low], exact=False)
        if low in TOOLS or low in COMMANDS:
            return _named(low, after[place + 1 :]) or action
    return None if action.word == "use" else action


@cache
def _verb(word: str) -> Action | None:
    """Return the action of a verb in any form; None for what is none."""
    kinds, plain = _lexicon()
    base = IRREGULAR.get(word, word)
    if base in TOOLS:
        return Action(TOOLS[base], base, True)
    stem = _stem(base)
    kind = kinds.get(stem)
    if kind is None or (_NOUN.search(base) and plain[stem] != base.removesuffix("s")):
        return None
    return Action(kind, plain[stem], False)


@cache
def _lexicon() -> tuple[dict[str, str], dict[str, str]]:
    """Return (stem -> kind, stem -> plain form) of the lexicon of Steps, of `VERBS`, and of other plain
    verbs."""
    sections = packaged_table().sections
    vocabulary = bytes(sections["vocabulary"]).decode().split("\n")
    pieces = sections["Steps.pieces"].cast("H")
    scales = sections["Steps.scales"].cast("f")
    values = sections["Steps.values"].cast("b")
    width = len(values) // len(pieces)
    best: dict[str, tuple[float, str]] = {}
    plain: dict[str, str] = {}
    for row, piece in enumerate(pieces):
        word = vocabulary[piece]
        shares = [scales[row] * values[width * row + column] for column in range(len(GROUPS))]
        share = max(shares)
        if share < LEAST or word in NOT_DONE:
            continue
        stem = _stem(word)
        best[stem] = max(best.get(stem, (0.0, "")), (share, GROUPS[shares.index(share)]))
        plain[stem] = min(plain.get(stem, word), word, key=len)
    kinds = {stem: kind for stem, (_, kind) in best.items()}
    for word, kind in VERBS.items():
        kinds[_stem(word)] = kind
        plain[_stem(word)] = word
    marks = sections["marks"]
    for piece in range(len(vocabulary)):
        if marks[2 * piece + 1] & _PLAIN_VERB and vocabulary[piece] not in NOT_DONE:
            stem = _stem(vocabulary[piece])
            kinds.setdefault(stem, vocabulary[piece])
            plain.setdefault(stem, vocabulary[piece])
    return kinds, plain


@cache
def _stem(word: str) -> str:
    import Stemmer  # type: ignore[import-not-found]  # here, as in memory.embed

    stem: str = Stemmer.Stemmer("english").stemWord(word)
    return stem
