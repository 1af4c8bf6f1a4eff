"""Finds what a consolidation changes: one module a finder (`duplicates`, `salience`, `replay`, `causal`,
`clusters`, `patterns`, `goals` with drift).

The others serve them: `words` and `closeness`. Start reading at `duplicates`.
"""
