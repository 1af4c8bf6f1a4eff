"""Claude Code's hook JSON and seed 001's HookInput/HookOutput, to and from plain records.

Knows shapes, limits and names; knows no session, no store and no number's meaning. Used inside the
owner, so its imports stay light (msgspec alone). Start reading at ``spec``.
"""
