"""Defines the Python half of `context-graph-cli`: every command that the native launcher does not serve.

Commands turn options into a request, and a reply into output and an exit code. Nothing here opens a store.
Start reading at ``main``; ``console`` asks and prints, ``memory`` and ``req`` hold the larger groups.
"""
