"""Applies hook events to the live sessions of a store, its gates and its memory.

Start reading at ``store_context``, one open store; ``live_sessions`` applies events, ``spool`` those that
came while no owner ran.
"""
