"""Examines an installation from the client's end: tries out and measures what the client would run.

Knows the client's files, the owner's socket and the commands of hooks and tools; opens no store. Start
reading at ``command``; each other module examines one thing.
"""
