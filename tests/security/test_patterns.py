"""No text makes a pattern of ours slow: each is RE2's or proved to take one pass, and all are measured."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from tests.support.patterns.hard_texts import hard_texts, why_not_linear
from tests.support.patterns.in_source import Found, locals_in, mentioning, modules, patterns_in, said
from tests.support.patterns.one_pass import why_not_one_pass

from context_graph.text.patterns import Linear, PatternError, linear

DOOR: Final = "context_graph.text.patterns"
"""The one module that calls RE2."""

OTHERS: Final = {
    "context_graph.gates.decide.tool_call": "runs what users write, within a time limit",
    "context_graph.gates.config.fields": "compiles what users write, to tell them whether it is a pattern",
    "context_graph.gates.config.schema": "compiles what users write, to tell them whether it is a pattern",
}
"""Modules that compile patterns which are not ours."""

OUR_OWN_TEXT: Final = {
    "context_graph.text.patterns": "reads our own patterns when they are compiled",
}
"""Modules whose use of `re` meets no text from outside."""

PYTHONS: Final = {
    "context_graph.cli.setup": "a name of a server",
    "context_graph.cli.doctor.canary_memory": "a front end, which loads no RE2",
    "context_graph.cli.doctor.hooks_in_use": "a front end, which loads no RE2",
    "context_graph.cli.doctor.surroundings": "a front end, which loads no RE2",
    "context_graph.consolidation.finders.patterns": "one call a word",
    "context_graph.consolidation.finders.words": "one call a text or a word",
    "context_graph.claude.settings.edit": "a front end, which loads no RE2",
    "context_graph.claude.settings.hook_commands": "a front end, which loads no RE2",
    "context_graph.claude.settings.settings": "a front end, which loads no RE2",
    "context_graph.identity.forecast": "several calls a hook",
    "context_graph.text.flattening": "several calls a hook",
    "context_graph.memory.index.blend": "all words of a query",
    "context_graph.memory.exchange.records": "the start of a value",
    "context_graph.text.quoting": "all words of a text, its tags and single characters",
    "context_graph.memory.context.ledger": "all words of a text",
    "context_graph.memory.context.passages": "each line of a memory",
    "context_graph.memory.context.error_lessons": "all pieces of an error's names",
    "context_graph.memory.context.lesson_text": "all words of an error",
    "context_graph.text.paraphrase": "all words of a text",
    "context_graph.text.phrases": "all words or stops of a text",
    "context_graph.memory.asked": "all words of a query",
    "context_graph.text.function_words": "all words of a text",
    "context_graph.text.english": "all words of a text",
    "context_graph.text.meaning": "all words of a text",
    "context_graph.text.sentences": "each line of a text",
    "context_graph.text.superseding": "all words of a short text",
    "context_graph.notes.named_files": "all words of a sentence",
    "context_graph.notes.said.about": "all words of a sentence",
    "context_graph.notes.said.content": "all commas of a sentence",
    "context_graph.notes.said.contradicting": "a sentence",
    "context_graph.notes.said.evidence": "a clause",
    "context_graph.notes.said.language": "all words of a clause",
    "context_graph.notes.said.likeness": "all words of a sentence",
    "context_graph.notes.said.reading": "all stops and commas of a prompt",
    "context_graph.notes.said.swaps": "all words of a sentence",
    "context_graph.wire.build": "a version",
    "context_graph.wire.store_folder": "names of files",
    "context_graph.claude.hooks.hook_input": "names of events",
    "context_graph.redact": "its own marks",
    "context_graph.gates.decide.evaluation": "all words and stops of a file",
    "context_graph.gates.decide.messages": "a name",
    "context_graph.gates.decide.permission": "several calls a command",
    "context_graph.store.sessions.sessions": "an id",
    "context_graph.sync.change": "an id",
    "context_graph.sync.folder": "names of files",
    "context_graph.store.salvage.repair": "names of files",
    "context_graph.store.graph.scrub": "lines that RocksDB writes",
    "context_graph.store.engine.integrity_seal": "names of files",
    "context_graph.owner.socket.lines": "single bytes",
}
"""Where `re` stays: a call of RE2 costs ten times as much, or RE2 can't be loaded. Each pattern is proved."""


def found_patterns() -> Iterator[Found]:
    for module, path in modules().items():
        yield from patterns_in(path, module)


def ours(module: str) -> list[Found]:
    """What is applied to text from outside."""
    if module in {*OTHERS, *OUR_OWN_TEXT}:
        return []
    return [one for one in patterns_in(modules()[module], module) if (one.engine, module) != ("re2", DOOR)]


def compiled(found: Found) -> list[Any]:
    """The pattern objects that a place makes; [] where they are made from what is known at run time only."""
    module = importlib.import_module(found.module)
    if found.name:
        made = getattr(module, found.name)
        return list(made) if isinstance(made, tuple) else [made]
    text = said(found.argument, {**vars(module), **locals_in(modules()[found.module])})
    return [re.compile(text)] if isinstance(text, str | bytes) and found.engine == "re" else []


def runs_of(found: Found) -> frozenset[str]:
    return found.runs or frozenset({"search"} if found.call in ("compile", "linear") else {found.call})


def test_re2_has_one_door() -> None:
    assert {found.module for found in found_patterns() if found.engine == "re2"} <= {DOOR}


def test_re_stays_where_it_is_listed_and_nowhere_else() -> None:
    """A new module that imports `re` must say why, or use context_graph.text.patterns."""
    using = {found.module for found in found_patterns() if found.engine == "re"}
    assert using == {*PYTHONS, *OTHERS, *OUR_OWN_TEXT}


def test_each_pattern_is_there_to_be_looked_at() -> None:
    """A pattern is a constant of its module or stands in the call; none is put together at run time."""
    blind = {found.where for module in modules() for found in ours(module) if not compiled(found)}
    assert {where.rpartition(":")[0] for where in blind} <= {
        "context_graph.text.phrases",  # _any_of's, which are constants where it is called
    }, blind


@pytest.mark.parametrize("module", PYTHONS)
def test_what_python_runs_takes_one_pass(module: str) -> None:
    for found in ours(module):
        for pattern in compiled(found) if found.engine == "re" else ():
            assert why_not_one_pass(pattern, runs_of(found)) == "", (found.where, pattern.pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"(a+)+$", r"(a|a)*b", r" [A-Z][a-z]+(?: [^\"]+)+$", r"\s+$", r"\w+@", r"a*a*b", r"x\s*\S*y"),
        *(
            r"\w*?n't",
            r"(?:a+b?)*c",
            r"\$\{[^}]*\}",
            r'"(?:[^"\\]|\\.)*"',
            r"(?m)^\s*x",
            r"a{1,200}a{1,200}b",
        ),
    ],
)
def test_the_proof_refuses_what_can_be_made_slow(pattern: str) -> None:
    assert why_not_one_pass(re.compile(pattern), frozenset({"search"}))


@pytest.mark.parametrize(
    ("pattern", "run"),
    [
        (r"(a+)+b", "match"),
        (r"(?:\w+-?)*", "fullmatch"),
        (r"(?:(?:a*+b)?+a)*+c", "match"),
        (r".*x.*y", "match"),
    ],
)
def test_it_refuses_it_at_one_place_too(pattern: str, run: str) -> None:
    assert why_not_one_pass(re.compile(pattern), frozenset({run}))


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("slow", [r"\s+$", r" [A-Z][a-z]+(?: [^\"'|&;$<>`\\{}=]+)+$"])
def test_the_measure_sees_what_is_quadratic_and_what_is_exponential(slow: str) -> None:
    assert why_not_linear(re.compile(slow).search, hard_texts())


def _measured(found: Found) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """(pattern, what runs it on a text) for each pattern of a place and each method it is used by."""
    for pattern in compiled(found):
        of_bytes = isinstance(pattern.pattern, bytes)
        shown = pattern.pattern.decode("latin-1") if of_bytes else pattern.pattern
        for run in runs_of(found):
            method = getattr(pattern, run)
            if run in ("sub", "subn"):
                method = _with(method, b"" if of_bytes else "")
            elif run == "finditer":
                method = _all_of(method)
            yield shown, _encoded(method) if of_bytes else method


def _with(method: Callable[..., Any], replacement: Any) -> Callable[[Any], Any]:
    return lambda text: method(replacement, text)


def _all_of(method: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Any]:
    return lambda text: [None for _ in method(text)]


def _encoded(method: Callable[[bytes], Any]) -> Callable[[str], Any]:
    return lambda text: method(text.encode())


@pytest.mark.parametrize("module", mentioning())
def test_time_grows_with_the_text_alone(module: str) -> None:
    for found in ours(module):
        for shown, run in _measured(found):
            assert why_not_linear(run, hard_texts(shown)) == "", (found.where, shown)


def test_a_pattern_that_re2_does_not_take_fails_when_it_is_first_used() -> None:
    for pattern in (r"(?=a)", r"(a)\1", r"\bword\b", r"[^\W_]", r"[a[b]", "("):
        with pytest.raises(PatternError):
            linear(pattern).found("")


def test_re2_takes_each_pattern_that_a_module_holds() -> None:
    """They are compiled when they are first used, which must not be when a fault in one is found."""
    using = [name for name, path in modules().items() if f"from {DOOR} import" in path.read_text("utf-8")]
    values = [value for name in using for value in vars(importlib.import_module(name)).values()]
    flat = [one for value in values for one in (value if isinstance(value, tuple) else (value,))]
    held = [one for one in flat if isinstance(one, Linear)]
    assert len(held) > 20 and all(one.found("") in (True, False) for one in held)


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"\w+", ("naïve", "中文", "über_1", "٣", "x̂", "", "-", "ﬁ", "²")),
        (r"\d+", ("12", "٣٤", "²", "Ⅷ", "a")),
        (r"\s+", (" ", "\u2003", "\x85", "\x1c", "\u200b", "\v", "\n", "\xa0")),
        (r"[\w.]+[^\s]", ("a.é", "中.", "..", ". ")),
        (r"\W\D\S", ("-a-", "中a-", "  1", "-\u2003x")),
    ],
)
def test_classes_mean_what_they_mean_in_python(pattern: str, texts: tuple[str, ...]) -> None:
    for text in texts:
        theirs = re.compile(pattern).fullmatch(text)
        assert (linear(pattern).fullmatch(text) is not None) == (theirs is not None), text


def test_a_lone_surrogate_is_a_sign_like_any_other() -> None:
    assert linear("a.b").found("a\ud800b") and linear("b").sub("c", "\udfffab") == "?ac"
    assert [found.span() for found in linear("b").finditer("\ud800b\ud800b")] == [(1, 2), (3, 4)]
    assert isinstance(linear("b"), Linear)
