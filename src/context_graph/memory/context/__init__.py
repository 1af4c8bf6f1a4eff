"""Chooses which memories are put into a context, quotes them, and records it.

Start reading at `inject`. `distill` shortens, `passages` and `told_lines` word what is told, `ledger` keeps
count, `summary` summarises sessions.
"""
