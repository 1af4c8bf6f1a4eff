"""Merges our hooks into the client's settings.json and writes hook scripts for four shells.

Serves `hooks generate-config` and `setup`; knows the client's hook schema, but no sessions and no stores.
Start reading at ``settings``, which merges; ``schema`` checks the result, ``events`` lists what is
registered, ``scripts`` writes the shell files, ``json_edit`` and ``changes`` edit files.
"""
