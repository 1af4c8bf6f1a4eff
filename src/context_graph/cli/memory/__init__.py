"""Defines the `memory …` commands. Start reading at ``commands``; ``call`` makes most from operations."""
