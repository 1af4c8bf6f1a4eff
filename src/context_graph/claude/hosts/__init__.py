"""Lets other hosts than Claude Code use the same verbs: their input becomes Claude Code's, our answer theirs.

Knows shapes and names, but no sessions and no stores. ``translate`` is the door; one file a host has its
events, its tools, its two translations and what reads its session files. ``install`` writes the files that
each host reads. What works where: docs/hooks.md.
"""
