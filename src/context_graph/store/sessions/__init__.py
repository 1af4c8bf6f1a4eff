"""Keeps sessions: snapshots, events, and the queue of consolidation requests. Start reading at `sessions`."""
