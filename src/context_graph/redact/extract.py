"""Prints detect-secrets' rules as JSON, in RE2's dialect: `python -m context_graph.redact.extract`.

It is a process of its own, run once per installed version: importing detect-secrets costs as much as the
owner's whole start, and 20 MB. Nothing of that project is stored in this one.

Rules that RE2 can't express are rewritten to match more: look-arounds are dropped, large upper bounds opened.
What still fails is listed under ``skipped``, never dropped silently.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import pkgutil
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from context_graph.redact.rules import IMPORT_FORMAT
from context_graph.text.patterns import PatternError, Prefilter, linear_bytes

_LEFT_OUT: Final = {
    "Public IP (ipv4)": "an address is no secret",
    "Private Key": "it marks the header line; our private-key rule takes the whole block",
    "Basic Auth Credentials": "our url-password rule takes the password alone, and more kinds of it",
}
_OURS_WITHOUT_ANCHOR: Final = {
    "AWS Access Key": "aws-key-id",
    "Discord Bot Token": "discord-token",
    "Twilio API Key": "twilio-key",
}
"""Rules without a literal that a prefilter could look for would run on every text; ours find the same."""
_SAMPLE_MODULES: Final = ("argparse", "logging", "subprocess", "ssl", "urllib.request")
_PIECE_BYTES: Final = 4096
_WOKEN_SHARE: Final = 0.25
"""A rule that the prefilter would wake on more of the samples' pieces is better off in the shared pass."""
_REPEAT: Final = re.compile(r"\{(\d++),(\d++)\}")
_RE2_REPEAT_MAX: Final = 1000


def collect() -> dict[str, Any]:
    """All rules of the installed detect-secrets: rules, keywords, and what was left out and why."""
    from detect_secrets import plugins

    rules: list[tuple[str, str, bool]] = []
    keywords: list[str] = []
    skipped: list[tuple[str, str]] = []
    for info in pkgutil.iter_modules(plugins.__path__):
        module = importlib.import_module(f"{plugins.__name__}.{info.name}")
        names = getattr(module, "DENYLIST", ())
        keywords += [name for name in names if isinstance(name, str) and _compiles(name)]
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                _take(kind, rules, skipped)
    return {"format": IMPORT_FORMAT, "rules": rules, "keywords": sorted(set(keywords)), "skipped": skipped}


def _take(kind: type, rules: list[tuple[str, str, bool]], skipped: list[tuple[str, str]]) -> None:
    name = getattr(kind, "secret_type", None)
    patterns = getattr(kind, "denylist", None)
    if not isinstance(name, str) or not isinstance(patterns, (list, tuple)):
        return  # the base classes, and detectors without patterns (keywords, entropy: ours do those)
    if name in _LEFT_OUT:
        skipped.append((name, f"left out: {_LEFT_OUT[name]}"))
        return
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    for pattern in patterns:
        try:
            text = to_re2(pattern.pattern, pattern.flags)
        except ValueError as error:
            skipped.append((name, f"failed: {error}"))
            continue
        if name in _OURS_WITHOUT_ANCHOR and not _has_anchor(text):
            skipped.append((name, f"left out: {_OURS_WITHOUT_ANCHOR[name]} finds the same, and cheaply"))
        else:
            rules.append((slug, text, _has_anchor(text)))


def _has_anchor(pattern: str) -> bool:
    """Whether a prefilter can rule ``pattern`` out on most ordinary code."""
    probe = Prefilter()
    probe.Add(pattern.encode())
    probe.Compile()
    pieces = _sample_pieces()
    woken = sum(probe.Match(piece, potential=True) is not None for piece in pieces)
    return woken <= _WOKEN_SHARE * len(pieces)


@cache
def _sample_pieces() -> list[bytes]:
    pieces = []
    for name in _SAMPLE_MODULES:
        found = importlib.util.find_spec(name)
        text = Path(found.origin).read_bytes() if found and found.origin else b""
        pieces += [text[at : at + _PIECE_BYTES] for at in range(0, len(text), _PIECE_BYTES)]
    return pieces


def to_re2(pattern: str, flags: int = 0) -> str:
    """``pattern`` of Python's ``re`` in RE2's dialect, matching at least as much.

    Raises ValueError if RE2 does not take it after all rewriting.
    """
    text = _without_verbose(pattern) if flags & re.VERBOSE else pattern
    text = _without_lookarounds(text).replace(r"\Z", r"\z")
    text = _REPEAT.sub(lambda found: _opened(int(found[1]), int(found[2])), text)
    # Their detectors see one line at a time, so ^ and $ are a line's ends.
    text = "(?m" + ("i" if flags & re.IGNORECASE else "") + ("s" if flags & re.DOTALL else "") + ")" + text
    if not _compiles(text):
        raise ValueError(f"RE2 does not take {pattern!r}")
    return text


def _opened(low: int, high: int) -> str:
    return f"{{{low},}}" if high > _RE2_REPEAT_MAX else f"{{{low},{high}}}"


def _without_verbose(pattern: str) -> str:
    """Remove white space and comments as re.VERBOSE does; classes and escapes stay."""
    return "".join(piece for piece in _pieces(pattern) if not piece.isspace() and not piece.startswith("#"))


def _pieces(pattern: str) -> list[str]:
    """Escapes, classes, comments and single characters of ``pattern``, in order."""
    return re.findall(r"\\.|\[\]?\^?\]?(?:\\.|[^\]\\])*\]|#[^\n]*|.", pattern, re.DOTALL)


def _without_lookarounds(pattern: str) -> str:
    """``pattern`` without (?=...), (?!...), (?<=...), (?<!...): every removal matches more, never less."""
    pieces = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|.", pattern, re.DOTALL)
    kept: list[str] = []
    depth = 0
    for piece in pieces:
        if depth:
            depth += piece.startswith("(")
            depth -= piece == ")"
        elif len(piece) > 2 and piece.startswith("(?"):
            depth = 1
        else:
            kept.append(piece)
    return "".join(kept)


def _compiles(pattern: str) -> bool:
    try:
        linear_bytes(pattern)
    except PatternError:
        return False
    return True


if __name__ == "__main__":
    json.dump(collect(), sys.stdout)
