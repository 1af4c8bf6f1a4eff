"""Lets other hosts than Claude Code use the same verbs: their input becomes Claude Code's, our answer theirs.

Knows shapes and names, but no sessions and no stores. ``translate`` is the door; one file a host has its
events, its tools and its two translations. ``install`` writes the files that each host reads. Imports are
light, for a gate decision without an owner waits for them. What works where: docs/hooks.md.
"""
