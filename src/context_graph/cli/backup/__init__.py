"""Makes, lists, checks and restores copies of a store. Start reading at ``make``.

``command`` restores one. All of it works on files; no database is opened in this process. Whether a copy
opens is tested in a process of its own.
"""
