"""Reads and writes Claude Code's hook JSON and seed 001's HookInput and HookOutput, as plain records.

Knows shapes, limits and names, but no sessions and no stores. The owner loads it, so its imports stay light
(msgspec alone). Start reading at ``hook_input``; ``hook_output`` writes the answers, ``origin`` tells
who caused an event.
"""
