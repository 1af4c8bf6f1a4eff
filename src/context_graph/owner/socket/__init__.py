"""Serves the owner's socket: frames and JSON-RPC lines, each bounded. Start reading at ``server``."""
