"""Secrets out of text, before the first write (REQ-HOOKS-33): ``Redactor.load(cache).redact(text)``.

Knows patterns and text, nothing of events or stores. What is found and what is kept on purpose is told
in ``rules`` (issuers' tokens and shapes), ``keyed`` (values after telling names), ``headers`` (what
follows Authorization or Cookie), ``credential`` (a secret or a word?) and ``runs`` (bare random tokens);
``imported`` brings in detect-secrets' rules, ``tally`` counts. Start reading at ``detector``.
"""

from context_graph.redact.deferred import TextRedactor, load_redactor
from context_graph.redact.detector import Redactor
from context_graph.redact.tally import Tally

__all__ = ["Redactor", "Tally", "TextRedactor", "load_redactor"]
