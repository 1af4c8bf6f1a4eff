"""Handles the verbs of the socket, one module per group of verbs. Start reading at ``call`` and ``hooks``."""
