"""A copy of a store that can be trusted: made from a checkpoint, listed, checked, and put back.

Files only: nothing here reaches an engine. Whether a copy opens is asked of a process of its own (`probe`).
"""
