"""Recognises what a user says that must hold later: rules, facts of the environment, decisions.

Pure: reads its own data files and nothing else.
"""

from context_graph.notes.said.concerns import concerns
from context_graph.notes.said.contradicting import contradicts
from context_graph.notes.said.finding import decisions, read, statements
from context_graph.notes.said.likeness import ending, ends, repeated, replaces
from context_graph.notes.said.statement import About, Statement

__all__ = [
    "About",
    "Statement",
    "concerns",
    "contradicts",
    "decisions",
    "ending",
    "ends",
    "read",
    "repeated",
    "replaces",
    "statements",
]
