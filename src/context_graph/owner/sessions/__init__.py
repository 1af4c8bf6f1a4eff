"""Applies hook events to the live sessions of a store, its gates and its memory.

Start reading at ``store_context``, one open store; ``live_sessions`` applies events, ``log_reader`` reads
those that hooks left in the event log.
"""
