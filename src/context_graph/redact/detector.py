"""Finds secrets in linear time and replaces each by ``[redacted:<rule>]``: the Redactor.

One pass of RE2's multi-pattern filter tells which rules can match at all; only those run for their
spans. Two passes of our own stand beside it: values after telling names (keyed) and bare random
tokens (credential). All spans are found in the original text, merged, then replaced.

`load_redactor` gives the one to use. Its rules need a helper process the first time after an installation; a
session's start has no text to redact and does not wait for that, calls with text do.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from context_graph.redact import credential, headers, keyed
from context_graph.redact.credential import CORE_PATTERN, public_end, secret_run
from context_graph.redact.rules import OWN_RULES, Rule, is_cached, load_imported
from context_graph.text import patterns

_RULE_MEMORY: Final = 1 << 18
"""Bytes a rule's automaton may take; RE2 starts it afresh beyond, slower but still linear."""
_KEYED_MEMORY: Final = 1 << 20
_TAIL: Final = re.compile(rb"[A-Za-z0-9_-]*")
_TRIM_LEFT: Final = b" \t\r\n=:\"'"
_TRIM_RIGHT: Final = b" \t\r\n\"'"
_MARK: Final = b"[redacted"
_LONGEST_MARK: Final = 64
"""Bytes; rule names are short."""

_LAST_WORD: Final = 1024
"""Bytes; the part of a longer token that a window leaves is long enough for its rule."""

_USER_PASSWORD: Final = frozenset(("url-password", "curl-user"))
"""Rules for user:password, which pages write in just these words."""

_Span = tuple[int, int, str]
_Finder = Callable[[Any, bytes], Iterator[_Span]]


class Redactor:
    """Replaces secrets in text. Immutable after construction; holds no text.

    Attributes:
        rule_count: Rules in force, the detector's and our own.
        problems: What is missing and why, in words for the log; empty when all is well.
    """

    def __init__(
        self, imported: Iterable[Rule] = (), keywords: Iterable[str] = (), problems: Iterable[str] = ()
    ) -> None:
        found = list(problems)
        self._filter = patterns.Prefilter()
        self._finders: list[Callable[[bytes], Iterator[_Span]]] = []
        options = patterns.options(_RULE_MEMORY)
        rules = [*OWN_RULES, *_usable(imported, found)]
        self._issued = {at for at, rule in enumerate(rule for rule in rules if rule.anchored) if rule.issued}
        for rule in rules:
            if rule.anchored:
                self._add(rule.pattern, options, _spans_of(rule))
        assignment, phrase, record = keyed.head_patterns(keywords)
        for name, pattern, value_of in (
            ("authorization", headers.AUTHORIZATION, headers.authorization_value),
            ("bearer", headers.BEARER, headers.bearer_value),
            ("cookie", headers.COOKIE, headers.cookie_value),
            ("keyed-value", assignment, keyed.assigned_value),
            ("keyed-value", phrase, keyed.phrase_value),
            ("keyed-value", record, keyed.earlier_value),
            ("keyed-value", keyed.ARGUMENTS, keyed.argument_value),
        ):
            self._add(pattern, patterns.options(_KEYED_MEMORY), _after_head(name, value_of))
        self._filter.Compile()
        adrift = [rule for rule in rules if not rule.anchored]
        compiled = [patterns.linear_bytes(rule.pattern, _RULE_MEMORY) for rule in adrift]
        self._adrift = list(zip(compiled, map(_spans_of, adrift), strict=True))
        self._core = patterns.linear_bytes(CORE_PATTERN, _RULE_MEMORY)
        # Hardly any text has a match of any of these: one search over all of them tells.
        gate = "|".join(f"(?:{pattern})" for pattern in (CORE_PATTERN, *(rule.pattern for rule in adrift)))
        self._gate = patterns.linear_bytes(gate, 2 * _RULE_MEMORY)
        self.rule_count: int = len(rules) + 8
        self.problems: tuple[str, ...] = tuple(found)

    @classmethod
    def load(cls, cache_dir: Path, *, timeout_s: float = 20.0) -> Redactor:
        """A redactor with detect-secrets' rules, from ``cache_dir`` or, once per version, a helper process.

        Without them (not installed, no cache, helper failed) our own rules still hold and ``problems``
        says so. Cost: about 5 ms with a warm cache; 0.3 s of another process when it is cold.
        """
        found = load_imported(cache_dir, timeout_s=timeout_s)
        return cls(found.rules, found.keywords, found.problems)

    def finds(self, text: str) -> bool:
        """Whether `redact` would replace anything."""
        return bool(self._find(text.encode("utf-8", "replace")))

    def redact(self, text: str) -> str:
        """``text`` with every secret replaced; the very same object when there is none.

        Cost: about 20 us for 4 KB of ordinary text, linear in its length whatever it holds.
        """
        data = text.encode("utf-8", "replace")
        spans = self._find(data)
        return _replaced(data, spans) if spans else text

    def redact_id(self, text: str) -> str:
        """An id, a name or a path without issuers' tokens: nothing else in it is taken for a secret."""
        data = text.encode("utf-8", "replace")
        spans = [
            span
            for index in self._filter.Match(data, potential=True) or ()
            if index in self._issued
            for span in self._finders[index](data)
            if not data[max(0, span[0] - 1) : span[0]].isalnum()
        ]
        return _replaced(data, spans) if spans else text

    def redact_cut(self, text: str, limit_bytes: int, window_bytes: int | None = None) -> str:
        """At most ``limit_bytes`` of the redacted start of ``text``, cut between characters.

        Only the first ``window_bytes`` (default four times the limit) are looked at. A secret that the
        window's end cuts in two may no longer look like one, so what follows the last white space
        there is dropped; a marker is never cut in two either.
        """
        window = 4 * limit_bytes if window_bytes is None else window_bytes
        data = text.encode("utf-8", "replace")
        if len(data) > window:
            data = _whole_words(data[:window])
        spans = self._find(data)
        clean = _replaced(data, spans).encode() if spans else data
        if len(clean) <= limit_bytes:
            return clean.decode("utf-8", "ignore")
        return _cut_before_mark(clean, limit_bytes).decode("utf-8", "ignore")

    def _add(self, pattern: str, options: Any, finder: _Finder) -> None:
        index = self._filter.Add(pattern.encode(), options)

        def find(data: bytes) -> Iterator[_Span]:
            return finder(self._filter.re(index), data)

        self._finders.append(find)

    def _find(self, data: bytes) -> list[_Span]:
        spans: list[_Span] = []
        for index in self._filter.Match(data, potential=True) or ():
            found = self._finders[index](data)
            spans.extend(found if index not in self._issued else _not_public(data, found))
        if self._gate.search(data) is not None:
            spans.extend(self._found_adrift(data))
        return [span for span in spans if span[0] < span[1] and not _in_mark(data, span[0])]

    def _found_adrift(self, data: bytes) -> Iterator[_Span]:
        """Spans of the rules that no word announces, then of bare random tokens."""
        for regexp, finder in self._adrift:
            yield from finder(regexp, data)
        done = 0
        for found in self._core.finditer(data):
            if found.start() < done:
                continue
            span = secret_run(data, found.start(), found.end(), done)
            if span is None:
                continue
            public = public_end(data, found.start(), done)
            if not public:
                yield span
            done = max(public, span[1])


def _not_public(data: bytes, spans: Iterator[_Span]) -> Iterator[_Span]:
    return (span for span in spans if not _is_public(data, span[0]))


def _is_public(data: bytes, at: int) -> bool:
    """Whether ``at`` is inside a public hash, key or certificate: base64 has all short prefixes and names."""
    inside = data[at - 1 : at].isalnum() or data[at - 1 : at] in b"+/\r\n"
    return inside and public_end(data, at, 0) > at


def _in_mark(data: bytes, at: int) -> bool:
    """Whether ``at`` lies in a marker of an earlier pass: redacting twice must change nothing."""
    mark = data.rfind(_MARK, max(0, at - _LONGEST_MARK), at + len(_MARK))
    return mark >= 0 and data.find(b"]", mark, at) < 0


def _usable(rules: Iterable[Rule], problems: list[str]) -> Iterator[Rule]:
    """``rules`` that this RE2 takes; a cache may have been written with another."""
    for rule in rules:
        try:
            patterns.linear_bytes(rule.pattern, _RULE_MEMORY)
        except patterns.PatternError as error:
            problems.append(f"redaction: rule {rule.name} does not compile: {error}")
            continue
        yield rule


def _spans_of(rule: Rule) -> _Finder:
    """Spans of a plain rule: the first group that took part, else the whole match with its tail."""

    def find(regexp: Any, data: bytes) -> Iterator[_Span]:
        for found in regexp.finditer(data):
            start, end = _secret_of(found, regexp.groups) if rule.grouped else found.span()
            if not rule.grouped:
                start, end = _trimmed(data, start, end)
            elif _in_mark(data, found.start()) or not _is_meant(rule, data, found.start(), start, end):
                continue
            yield start, end, rule.name

    return find


def _is_meant(rule: Rule, data: bytes, head: int, start: int, end: int) -> bool:
    said = credential.text_of(data, start, end)
    if credential.is_reference(said) or (rule.name in _USER_PASSWORD and credential.is_placeholder(said)):
        return False
    return not rule.judged or keyed.is_typed_value(data, head, start, end)


def _secret_of(found: Any, groups: int) -> tuple[int, int]:
    for group in range(1, groups + 1):
        if found.start(group) >= 0:
            return found.span(group)  # type: ignore[no-any-return]  # re2 has no annotations
    return found.span()  # type: ignore[no-any-return]


def _trimmed(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Drop the delimiters that a foreign rule included, and add the rest of a longer token."""
    piece = data[start:end]
    start = end - len(piece.lstrip(_TRIM_LEFT))
    end -= len(piece) - len(piece.rstrip(_TRIM_RIGHT))
    tail = _TAIL.match(data, end) if end and data[end - 1 : end].isalnum() else None
    return start, tail.end() if tail else end


def _after_head(name: str, value_of: Callable[[bytes, int, int], tuple[int, int] | None]) -> _Finder:
    """Spans of values behind the heads that a pattern finds, called ``name``."""

    def find(regexp: Any, data: bytes) -> Iterator[_Span]:
        at = 0
        while found := regexp.search(data, at):
            # A refused value may hold a head of its own, so the search goes on right behind this one.
            at = found.end()
            value = value_of(data, found.start(), at)
            if value is not None and not (_in_mark(data, found.start()) or _is_public(data, found.start())):
                yield (*value, name)
                at = max(at, value[1])

    return find


def _replaced(data: bytes, spans: Sequence[_Span]) -> str:
    """``data`` as text, each of the merged ``spans`` replaced by its marker."""
    parts: list[bytes] = []
    at = 0
    for start, end, name in _merged(spans):
        start, end = _on_characters(data, max(start, at), end)
        parts += (data[at:start], b"[redacted:", name.encode(), b"]")
        at = end
    parts.append(data[at:])
    return b"".join(parts).decode("utf-8", "replace")


def _merged(spans: Sequence[_Span]) -> Iterator[_Span]:
    """Disjoint spans in order; an overlap is named after the rule listed first, the most specific one."""
    ranked = sorted((start, end, rank, name) for rank, (start, end, name) in enumerate(spans))
    start, end, rank, name = ranked[0]
    for next_start, next_end, next_rank, next_name in ranked[1:]:
        if next_start >= end:
            yield start, end, name
            start, end, rank, name = next_start, next_end, next_rank, next_name
            continue
        end = max(end, next_end)
        if next_rank < rank:
            rank, name = next_rank, next_name
    yield start, end, name


def _on_characters(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Extend the span to whole characters: a bounded repetition over bytes may stop inside one."""
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def _whole_words(data: bytes) -> bytes:
    """``data`` up to its last white space; a last word longer than _LAST_WORD loses so many bytes."""
    kept = data.rsplit(None, 1)[0] if data[-1:].strip() and data.strip() else data
    floor = max(0, len(data) - _LAST_WORD)
    return kept if floor <= len(kept) < len(data) else data[:floor]


def _cut_before_mark(data: bytes, limit: int) -> bytes:
    """The first ``limit`` bytes; a marker that the cut would split goes whole."""
    mark = data.rfind(_MARK, max(0, limit - _LONGEST_MARK), limit)
    if mark >= 0 and data.find(b"]", mark, limit) < 0:
        return data[:mark]
    return data[:limit]


_WHOLE_MARK: Final = re.compile(r"\[redacted:([a-z0-9-]{1,48})\]")


class TextRedactor(Protocol):
    """Removes secrets from text; see Redactor."""

    @property
    def rule_count(self) -> int: ...
    @property
    def problems(self) -> tuple[str, ...]: ...
    def finds(self, text: str) -> bool: ...
    def redact(self, text: str) -> str: ...
    def redact_id(self, text: str) -> str: ...
    def redact_cut(self, text: str, limit_bytes: int, window_bytes: int | None = None) -> str: ...


def load_redactor(cache_dir: Path, log: logging.Logger) -> TextRedactor:
    """The redactor: at once when its rules are cached, else loading in a thread. Problems are logged."""
    return _loaded(cache_dir, log) if is_cached(cache_dir) else DeferredRedactor(cache_dir, log)


def _loaded(cache_dir: Path, log: logging.Logger) -> Redactor:
    redactor = Redactor.load(cache_dir)
    for problem in redactor.problems:
        log.warning("%s", problem)
    return redactor


class DeferredRedactor(Redactor):
    """A Redactor whose first use waits, some 0.3 s, until it is loaded; if that fails, our own rules hold."""

    def __init__(self, cache_dir: Path, log: logging.Logger) -> None:
        self._loading = threading.Thread(
            target=self._load, args=(cache_dir, log), name="redaction-rules", daemon=True
        )
        self._loading.start()

    def _load(self, cache_dir: Path, log: logging.Logger) -> None:
        self.__dict__.update(vars(_loaded(cache_dir, log)))

    def __getattr__(self, name: str) -> Any:
        """Wait for the rules, then return what only a loaded redactor has."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._loading.join()
        if "rule_count" not in self.__dict__:  # the thread died of a bug: it has been logged by its own hook
            own = Redactor(problems=("redaction: rules could not be loaded; only our own are used",))
            self.__dict__.update(vars(own))
        return object.__getattribute__(self, name)


class Tally:
    """A redactor that passes on what another one does, and counts it by kind; it keeps no text."""

    def __init__(self, redactor: TextRedactor) -> None:
        self._redactor = redactor
        self._counts: Counter[str] = Counter()
        self.finds = redactor.finds
        self.redact_cut = (
            redactor.redact_cut
        )  # not counted: what is cut off can't be told from what was masked

    @property
    def rule_count(self) -> int:
        """As the redactor's."""
        return self._redactor.rule_count

    @property
    def problems(self) -> tuple[str, ...]:
        """As the redactor's."""
        return self._redactor.problems

    def redact(self, text: str) -> str:
        """As the redactor's; new marks are counted."""
        return self._counted(text, self._redactor.redact(text))

    def redact_id(self, text: str) -> str:
        """As the redactor's; new marks are counted."""
        return self._counted(text, self._redactor.redact_id(text))

    def _counted(self, text: str, clean: str) -> str:
        if clean is not text:
            self._counts += Counter(_WHOLE_MARK.findall(clean)) - Counter(_WHOLE_MARK.findall(text))
        return clean

    @contextmanager
    def counting(self) -> Iterator[dict[str, int]]:
        """Count what is masked inside the `with`, by kind; filled when it ends."""
        before, found = Counter(self._counts), dict[str, int]()
        try:
            yield found
        finally:
            found.update(sorted((self._counts - before).items()))
