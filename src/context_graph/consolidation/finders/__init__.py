"""Finds what a consolidation changes: one module a finder (`duplicates`, `salience`, `replay`, `causal`,
`clusters`, `patterns`, `goals`, `drift`).

The others serve them: `words`, `actions`, `sequences` and `closeness`. Start reading at `duplicates`.
"""
