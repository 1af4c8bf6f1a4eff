"""Stores, finds, shows and deletes memories. Start reading at `memex`.

`core` holds what the other modules share; `writing`, `editing`, `reading`, `recall` and `runs` do the work.
`embed` makes vectors, `index` searches them, `metrics` measures the store, `context` chooses what enters a
context, `exchange` imports and exports. Records and keys belong to `store.graph`.
"""
