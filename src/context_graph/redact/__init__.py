"""Removes secrets from text before the first write (REQ-HOOKS-33): ``Redactor.load(cache).redact(text)``.

Knows patterns and text, but no events and no stores. The rules are in ``rules`` (issuers' tokens and their
shapes), ``keyed`` (values after telling names), ``headers`` (Authorization and Cookie), ``credential`` (a
secret or a word? and bare random tokens). ``extract`` reads detect-secrets' rules in a process of its own.
Start reading at ``detector``.
"""

from context_graph.redact.detector import Redactor, Tally, TextRedactor, load_redactor

__all__ = ["Redactor", "Tally", "TextRedactor", "load_redactor"]
