"""Merges our hooks into the client's settings.json and writes hook scripts for four shells.

Serves `hooks generate-config` and `setup`; knows the client's hook schema, but no sessions and no stores.
Start reading at ``settings``, which merges; ``hook_commands`` checks the result, ``scripts`` writes the shell
files, ``edit`` edits files.
"""
