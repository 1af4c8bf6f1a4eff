"""Memories: what is stored, found, told and forgotten. Start reading at `memex`, the façade over all of it.

`core` holds what its parts share, `editing`, `linking` and `listing` are those parts; `embed` makes vectors,
`index` and `recall` find, `introspection` says how the store is. Records and keys are the store's business
(`store.graph`), protocols and hooks that of the layers above.
"""
