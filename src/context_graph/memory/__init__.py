"""Keeps memories: stores, finds, shows and forgets them. Start reading at `memex`, the façade over all of it.

`core` holds what its parts share; `writing`, `editing`, `reading`, `recall` and `runs` are those
parts. `embed` makes vectors, `index` finds, `metrics` measures the store, `context` chooses what is put into
a context, `exchange` imports and exports. Records and keys belong to the store (`store.graph`), protocols and
hooks to the layers above.
"""
