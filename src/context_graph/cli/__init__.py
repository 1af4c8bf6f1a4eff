"""The Python half of `context-graph-cli`: every command that the native launcher does not do itself.

Front ends translate: options into a request, a reply into output and an exit code. Nothing here
opens a store or computes a measure. Start reading at ``main``.
"""
