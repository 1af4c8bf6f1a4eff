"""Installs into a project or the user's settings (`setup`): hooks, memory tools, skills and permissions.

Knows the client's files, but no sessions and no stores. Start reading at ``plan``, which also records how
the files were before; ``entries`` identifies our entries in them, ``link`` sets up the rest.
"""
