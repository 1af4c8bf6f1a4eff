"""Chooses which memories are put into a context, quotes them, and records it.

Start reading at `inject`. `relevance` measures, `selection` and `distill` shorten, `passages` and
`told_lines` word what is told, `quoting` fences the text, `ledger` keeps
count, `summary` summarises sessions.
"""
