"""Reads texts into the bags of the thirteen spaces: the same for a session's events and for memories."""
